<?php

declare(strict_types=1);

/** What a shop's webhook says about one of its orders, checked against the service. */
final class ShopPayment
{
    public function __construct(
        /** Comptoir's code of the order. */
        public readonly string $code,
        /** The shop's own reference, as it was given to open(). */
        public readonly string $reference,
        /** `paid`, `refunding`, `partly_refunded`, `refunded`, `ended` or `open`. */
        public readonly string $state,
        /** Decimal text in the currency of the shop's order. */
        public readonly string $amount,
        public readonly string $currency,
    ) {
    }
}

/** What every shop module does with Comptoir: pay, listen, refund, test the connection. No shop system is known here. */
final class ShopPayments
{
    private const STATES = [
        'PAID' => 'paid',
        'REFUNDING' => 'refunding',
        'REFUNDED' => 'partly_refunded',
        'FULL_REFUNDED' => 'refunded',
        'CANCELLED' => 'ended',
        'EXPIRED' => 'ended',
        'ERROR' => 'ended',
        'KYT_FAILED' => 'ended',
    ];
    /** Of the hash of the shop's address, at the end of an alias. */
    private const SHOP_DIGITS = 6;

    public function __construct(
        private readonly Comptoir $api,
        private readonly string $till,
        private readonly string $webhookSecret,
    ) {
    }

    /**
     * Opens a payment for a shop's order, or finds the open one when the customer comes back to pay.
     * @param string $amount decimal text
     * @param array{shop: string, webhook: string, return: string, cancel: string} $urls shop: the shop's own address
     * @return array{code: string, url: string}
     */
    public function open(string $reference, string $amount, string $currency, array $urls): array
    {
        // several shops of a company, and the staging copy of one, number their orders alike
        $alias = $reference . '-' . substr(hash('sha256', $urls['shop']), 0, self::SHOP_DIGITS);
        $known = $this->newest($alias);
        $state = $known === null ? 'none' : self::stateOf($known['status']);
        $fits = $known !== null && $known['fromAmount'] === $amount && $known['fromAsset'] === $currency;
        if ($state === 'paid' && $fits) {
            return ['code' => $known['code'], 'url' => $urls['return']];
        }
        if ($state === 'open') {
            if ($fits) {
                return ['code' => $known['code'], 'url' => $known['paymentUrl']];
            }
            // the cart changed while its payment was open: the old price must not be paid any more
            $this->api->cancelOrder($known['code']);
        }
        $body = [
            'amount' => $amount,
            'fromAsset' => $currency,
            'merchantIdentifier' => $this->till,
            'alias' => $alias,
            'webhookUrl' => $urls['webhook'],
            'returnUrl' => $urls['return'],
            'cancelUrl' => $urls['cancel'],
        ];
        // two clicks at once make one order; after an order that has ended, the next one
        $made = $this->api->createOrder($body, hash('sha256', implode('|', [...$body, $known['code'] ?? ''])));
        return ['code' => $made['code'], 'url' => $made['paymentUrl']];
    }

    private function newest(string $alias): ?array
    {
        try {
            return $this->api->getOrderByReference($alias);
        } catch (ComptoirError $error) {
            return $error->errorCode === 'ORDER_NOT_FOUND' ? null : throw $error;
        }
    }

    /**
     * Deliveries may come late, twice or out of order, so the webhook only says which order to look at.
     * @return ShopPayment|null null: a test event, or news that changes no order
     * @throws WebhookVerificationError
     */
    public function read(string $rawBody, array $headers): ?ShopPayment
    {
        $event = Comptoir::verifyWebhook($rawBody, $headers, $this->webhookSecret);
        if (($event['test'] ?? false) === true || !str_starts_with($event['event'] ?? '', 'order.')) {
            return null;
        }
        $order = $this->api->getOrder($event['code']);
        return new ShopPayment(
            $order['code'],
            (string) preg_replace('/^([A-Z]+-\d+)-[0-9a-f]{' . self::SHOP_DIGITS . '}$/', '$1', $order['alias'] ?? ''),
            self::stateOf($order['status']),
            $order['fromAmount'],
            $order['fromAsset'],
        );
    }

    public static function stateOf(string $status): string
    {
        return self::STATES[$status] ?? 'open';
    }

    /**
     * Starts a refund. The service refunds USDC: a part of the price is the same part of what was paid, rounded down.
     * @param string|null $amount decimal text in the order's currency; null: all that is left
     * @param string $key the shop's own name of this refund, so that a click that is repeated refunds once
     * @return string the refund's id
     */
    public function refund(string $code, ?string $amount, string $reason, string $key): string
    {
        $whole = $reason === '' ? [] : ['reason' => (string) preg_replace('/^(.{0,500}).*$/us', '$1', $reason)];
        if ($amount === null) {
            return $this->api->refundOrder($code, $whole, $key)['refundId'];
        }
        $order = $this->api->getOrder($code);
        $part = self::partOf($order['toAmount'], $amount, $order['fromAmount']);
        $left = $this->api->call('GET', '/api/next/confirm_conversion/revert/' . rawurlencode($code))['refundableAmount'];
        $rest = self::units($left, 6) - self::units($part, 6);
        // less than the smallest part of the price is what rounding left: it goes with the last part
        $isLast = $rest >= 0 && $rest < self::units(self::partOf($order['toAmount'], '0.01', $order['fromAmount']), 6);
        // the whole price is all that is left, whatever rounding did before
        $bodies = [$whole + ['amount' => $part], $whole];
        if ($isLast || $amount === $order['fromAmount']) {
            $bodies = array_reverse($bodies);
        }
        try {
            return $this->api->refundOrder($code, $bodies[0], $key)['refundId'];
        } catch (ComptoirError $error) {
            if ($error->errorCode !== 'IDEMPOTENCY_KEY_REUSED') {
                throw $error;
            }
            // the same click came before, when something else was left
            return $this->api->refundOrder($code, $bodies[1], $key)['refundId'];
        }
    }

    /** $whole (USDC) × $part ÷ $total (both fiat) in exact decimal text with six digits, rounded down. */
    public static function partOf(string $whole, string $part, string $total): string
    {
        [$units, $share, $all] = [self::units($whole, 6), self::units($part, 2), self::units($total, 2)];
        if ($all <= 0 || $share <= 0 || $share > $all) {
            throw new InvalidArgumentException('The amount of the refund is not a part of the order.');
        }
        // 10^11 × 10^11 would not fit in 64 bits: the share is multiplied in two halves
        [$rest, $high, $low] = [$units % $all, intdiv($share, 1_000_000), $share % 1_000_000];
        $result = intdiv($units, $all) * $share + intdiv($rest * $high, $all) * 1_000_000
            + intdiv($rest * $high % $all * 1_000_000 + $rest * $low, $all);
        return sprintf('%d.%06d', intdiv($result, 1_000_000), $result % 1_000_000);
    }

    /** Decimal text as a whole number of its smallest units. */
    private static function units(string $text, int $digits): int
    {
        if (preg_match('/^(\d{1,9})(?:\.(\d{1,6}))?$/', $text, $found) !== 1 || strlen($found[2] ?? '') > $digits) {
            throw new InvalidArgumentException("\"$text\" is not an amount.");
        }
        return (int) ($found[1] . str_pad($found[2] ?? '', $digits, '0'));
    }

    /** @return string[] what is wrong, in sentences; empty: everything works */
    public function test(): array
    {
        try {
            $tills = $this->api->call('GET', '/api/next/collectors/list?limit=100');
        } catch (ComptoirError $error) {
            return match (true) {
                $error->status === 0 => ['Comptoir does not answer. Check the address.'],
                $error->errorCode === 'UNEXPECTED_ANSWER' => ['Something else than Comptoir answers. Check the address.'],
                $error->status === 401 => ['Comptoir does not accept the API key. Check the key and its secret.'],
                default => [$error->getMessage()],
            };
        }
        $names = array_column(array_filter($tills['collectors'], fn ($till) => $till['active']), 'identifier');
        $faults = [];
        if (!in_array($this->till, $names, true)) {
            $faults[] = "There is no active till \"{$this->till}\". Choose one of: " . implode(', ', $names) . '.';
        }
        if (!str_starts_with($this->webhookSecret, 'whsec_')) {
            $faults[] = 'The signing secret begins with whsec_. Copy it from Webhooks in the back office.';
        }
        return $faults;
    }
}
