<?php

declare(strict_types=1);

require_once __DIR__ . '/ShopOrder.php';
require_once __DIR__ . '/ShopPayment.php';

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
    /** Events a page. */
    private const NEWS = 50;
    /** Pages at most, before the next time. */
    private const PAGES = 20;
    /** Payments that are tried again, at most. */
    private const LATER = 100;
    /** Of the hash of the shop's address, at the end of an alias. */
    private const SHOP_DIGITS = 6;

    /** Comptoir's currencies and their digits. An operator may take fewer of them. */
    private const DIGITS = ['EUR' => 2, 'CHF' => 2, 'XPF' => 0, 'USD' => 2, 'GBP' => 2];

    public function __construct(
        private readonly Comptoir $api,
        private readonly string $till,
        private readonly string $webhookSecret,
    ) {
    }

    /**
     * Opens a payment for a shop's order, unless one is there already: paid, held for a person, or still open.
     * @param string $amount decimal text
     * @param array{shop: string, webhook: string, return: string, cancel: string} $urls shop: the shop's own address
     * @param string[] $codes every payment that was opened for the order before
     */
    public function open(string $reference, string $amount, string $currency, array $urls, array $codes): ShopPayment
    {
        $alias = self::aliasOf($reference, $urls['shop']);
        $newest = $this->newest($alias);
        $known = $newest === null ? null : $this->paymentOf($newest, $urls['shop']);
        $payments = $this->look(array_diff($codes, [$known?->code]), $urls['shop']);
        if ($known !== null) {
            $payments[] = $known;
        }
        // whatever the cart costs by now: who paid is not asked for the whole price again
        $paid = array_filter($payments, fn ($payment) => $payment->hasPaid());
        $withMoney = [...$paid, ...array_filter($payments, fn ($payment) => $payment->hasMoney())];
        if ($withMoney !== []) {
            return $withMoney[0];
        }
        // the cart changed while its payment was open: the old price must not be paid any more
        if ($known?->state === 'open' && ($known->costs($amount, $currency) || !$this->cancel($known->code))) {
            return $known;
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
        $made = $this->api->createOrder($body, hash('sha256', implode('|', [...$body, $known?->code ?? ''])));
        return $this->paymentOf($made['order'], $urls['shop']);
    }

    /**
     * Reads payments of one order again. Those that this Comptoir does not know are left out.
     * @param string[] $codes
     * @param string $shop the shop's own address
     * @return ShopPayment[]
     */
    public function look(array $codes, string $shop): array
    {
        $orders = array_map(fn ($code) => self::found(fn () => $this->api->getOrder($code)), array_values($codes));
        return array_map(fn ($order) => $this->paymentOf($order, $shop), array_values(array_filter($orders)));
    }

    /**
     * Another request has been changing the order for too long: nothing was changed, and it is tried again later.
     * @param string|null $lock what GET_LOCK answered: 1, 0 after its time, null in a database without such locks
     * @throws ComptoirError
     */
    public static function checkLock(?string $lock): void
    {
        if ($lock === '0') {
            throw new ComptoirError(0, 'SHOP_BUSY', 'The order is busy with another request. Try again in a minute.');
        }
    }

    /**
     * Which of the order's other payments bring no money any more. Only the end of a payment asks for it.
     * @param string[] $codes every payment that was opened for the order
     * @param string $shop the shop's own address
     * @return string[]
     */
    public function overBeside(ShopPayment $payment, array $codes, string $shop): array
    {
        if ($payment->state !== 'ended') {
            return [];
        }
        $others = array_diff($codes, [$payment->code]);
        $alive = array_filter($this->look($others, $shop), fn ($other) => !$other->isOver());
        return array_diff($others, array_column($alive, 'code'));
    }

    /**
     * Cancels what was opened beside a payment that came. What cannot be cancelled has ended, or its money is on its
     * way and is announced by a webhook of its own.
     * @param string[] $codes
     */
    public function close(array $codes): void
    {
        array_map($this->cancel(...), $codes);
    }

    /** @return bool it is cancelled */
    private function cancel(string $code): bool
    {
        try {
            $this->api->cancelOrder($code);
            return true;
        } catch (ComptoirError $error) {
            $isOver = in_array($error->errorCode, ['ORDER_STATE_CONFLICT', 'ORDER_NOT_FOUND'], true);
            return $isOver ? false : throw $error;
        }
    }

    private function newest(string $alias): ?array
    {
        return self::found(fn () => $this->api->getOrderByReference($alias));
    }

    private static function found(callable $read, string $missing = 'ORDER_NOT_FOUND'): ?array
    {
        try {
            return $read();
        } catch (ComptoirError $error) {
            return $error->errorCode === $missing ? null : throw $error;
        }
    }

    /**
     * Deliveries may come late, twice or out of order, so the webhook only says which order to look at.
     * @param string $shop the shop's own address
     * @return ShopPayment|null null: a test event, or news that changes no order
     * @throws WebhookVerificationError
     */
    public function read(string $rawBody, array $headers, string $shop): ?ShopPayment
    {
        $event = Comptoir::verifyWebhook($rawBody, $headers, $this->webhookSecret);
        if (($event['test'] ?? false) === true || !str_starts_with($event['event'] ?? '', 'order.')) {
            return null;
        }
        return $this->paymentOf($this->api->getOrder($event['code']), $shop);
    }

    /**
     * Makes up for lost webhooks. An order that cannot be changed now holds up no other one.
     * @param string|null $after where the last time ended; null: from now on
     * @param string[] $again payments whose orders could not be changed the last time
     * @param callable(ShopPayment): void $apply
     * @param callable(string, string[]): void $keep where to go on, and what to try again
     * @throws ComptoirError the next time begins at what was kept
     */
    public function catchUp(string $shop, ?string $after, array $again, callable $apply, callable $keep): void
    {
        [$found, $failed] = [$this->look($again, $shop), []];
        for ([$pages, $isMore] = [0, true]; $isMore && $pages < self::PAGES; $pages++) {
            [$news, $after, $isMore] = $this->news($after, $shop);
            foreach ([...$found, ...$news] as $payment) {
                try {
                    $apply($payment);
                } catch (ComptoirError $error) {
                    $failed[] = $error->errorCode === 'SHOP_BUSY' ? $payment->code : throw $error;
                }
            }
            $keep($after, array_slice(array_unique($failed), -self::LATER));
            $found = [];
        }
    }

    /**
     * What happened since the last time.
     * @param string|null $after where the last time ended; null: from now on
     * @param string $shop the shop's own address
     * @return array{ShopPayment[], string, bool} each order's payment as it is now, where to go on, and whether there is more
     */
    private function news(?string $after, string $shop): array
    {
        $page = $this->api->listEvents($after ?? 'latest', self::NEWS);
        $codes = array_unique(array_map(fn ($event) => $event['order']['code'], $page['events']));
        return [$this->look($codes, $shop), $page['nextCursor'], count($page['events']) === self::NEWS];
    }

    /**
     * Which of these refunds have ended. No webhook says that one was rejected: the order is paid again, as before.
     * @param string[] $ids
     * @return array<string, bool> by id: the money has gone back
     */
    public function endedRefunds(array $ids): array
    {
        $ended = [];
        foreach ($ids as $id) {
            $status = self::found(fn () => $this->api->getRefund($id), 'OBJECT_NOT_FOUND')['status'] ?? 'rejected';
            if (in_array($status, ['settled', 'rejected', 'refused'], true)) {
                $ended[$id] = $status === 'settled';
            }
        }
        return $ended;
    }

    /** For the people of the shop, whose books say that the money went back. */
    public static function rejectedRefund(string $id): string
    {
        return "Refund $id was rejected in Comptoir, and no money has gone back, although it is booked here as refunded. "
            . 'Look in Comptoir why, and correct this order or refund it another way.';
    }

    public static function takes(string $currency): bool
    {
        return isset(self::DIGITS[$currency]);
    }

    /** Decimal text with the currency's digits; shops keep their sums as floats or as text. */
    public static function amountOf(float $amount, string $currency): string
    {
        return number_format($amount, self::DIGITS[$currency] ?? 2, '.', '');
    }

    /** Several shops of a company, and the staging copy of one, number their orders alike. */
    private static function aliasOf(string $reference, string $shop): string
    {
        return $reference . '-' . substr(hash('sha256', $shop), 0, self::SHOP_DIGITS);
    }

    private function paymentOf(array $order, string $shop): ShopPayment
    {
        $alias = $order['alias'] ?? '';
        $reference = (string) preg_replace('/^([A-Z]+-\d+)-[0-9a-f]{' . self::SHOP_DIGITS . '}$/', '$1', $alias);
        $state = self::STATES[$order['status']] ?? 'open';
        [$isHeld, $arrived] = $state === 'ended' ? $this->undecidedMoney($order) : [false, ''];
        return new ShopPayment(
            $order['code'],
            $reference,
            $alias === self::aliasOf($reference, $shop),
            $isHeld ? 'held' : $state,
            $order['fromAmount'],
            $order['fromAsset'],
            $order['paymentUrl'],
            $arrived,
        );
    }

    /**
     * Money of an order that ended without being paid: too little, too late, or stopped by the screening.
     * @return array{bool, string} whether the customer must not be asked to pay again; what arrived
     */
    private function undecidedMoney(array $order): array
    {
        $path = '/api/next/mispayments?limit=100&code=' . rawurlencode($order['code']);
        $records = $this->api->call('GET', $path)['mispayments'];
        // what left the chain again is no money of the customer
        $open = array_filter($records, fn ($one) => $one['status'] === 'open' && $one['kind'] !== 'orphaned');
        $dollars = array_sum(array_map(self::dollarsOf(...), $open));
        $isStopped = in_array('held', array_column($open, 'kind'), true)
            // a provider may hold money without saying how much: then there is no record of it
            || ($order['status'] === 'KYT_FAILED' && ($open !== [] || $records === []));
        $texts = array_map(fn ($one) => self::shortAmount($one) . " {$one['asset']}", $open);
        return [$isStopped || $dollars >= self::units($order['toAmount'], 6), implode(' and ', $texts)];
    }

    /** USDC and USDT are one value, as in Comptoir; a token whose digits it does not know has none. */
    private static function dollarsOf(array $record): int
    {
        $isDollar = in_array($record['asset'], ['USDC', 'USDT'], true) && $record['amount'] !== null;
        return $isDollar ? self::units(self::shortAmount($record), 6) : 0;
    }

    /** A provider counts other coins with 18 digits; what is under the sixth is cut. */
    private static function shortAmount(array $record): string
    {
        return (string) preg_replace('/(\.\d{6})\d+$/', '$1', $record['amount'] ?? 'an amount of');
    }

    /**
     * Starts a refund. The service refunds USDC: a part of the price is the same part of what was paid, rounded down.
     * @param string|null $amount decimal text in the order's currency; null: all that is left
     * @param string $key the shop's own name of this refund, so that a click that is repeated refunds once
     * @return string the refund's id
     */
    public function refund(string $code, ?string $amount, string $reason, string $key): string
    {
        $whole = $reason === '' ? [] : ['reason' => (string) preg_replace('/^(.{0,256}).*$/us', '$1', $reason)];
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
