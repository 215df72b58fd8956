<?php

declare(strict_types=1);

require_once __DIR__ . '/ShopOrder.php';
require_once __DIR__ . '/ShopPayment.php';
require_once __DIR__ . '/ShopPlace.php';
require_once __DIR__ . '/ShopRound.php';

/** What every shop module does with Comptoir: pay, listen, refund, test. No shop system is known here. */
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
    /** Money came for it, or may have. */
    private const MONEY = ['PAID', 'REFUNDING', 'REFUNDED', 'WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED'];
    /** Refunds of one order that are asked about at a time. */
    private const REFUNDS = 10;
    /** Three days in which a refund that Comptoir does not know may be a wrong setting. */
    private const UNKNOWN_SECONDS = 259_200;
    /** Of the hash of the order's secret, at the end of an alias. */
    private const SECRET_DIGITS = 12;

    /** Comptoir's currencies and their digits. An operator may take fewer of them. */
    private const DIGITS = ['EUR' => 2, 'CHF' => 2, 'XPF' => 0, 'USD' => 2, 'GBP' => 2];

    public function __construct(
        private readonly Comptoir $api,
        private readonly string $till,
        private readonly string $webhookSecret,
    ) {
    }

    /**
     * Opens a payment for a shop's order, unless it has one: paid, held for a person, or still open.
     * A payment belongs to the order that keeps its code, and to no other: a shop gives a number again once its orders
     * were deleted or a backup was restored. So neither the number nor the alias finds a payment here, and the order's
     * secret is in both the alias and the key. When an answer was lost, the next click has the same key, which lives two
     * days, and gets the same payment. With another key, as from another session, whose addresses differ, the open
     * payment is found by its alias.
     * @param string $secret of the order, which no other one has, nor a later one with the same number
     * @param string $amount decimal text
     * @param array{webhook: string, return: string, cancel: string} $urls
     * @param string[] $codes every payment that the order keeps
     * @throws ComptoirError also PAID_ELSEWHERE: money came in another account, and is not asked for again
     */
    public function open(
        string $reference,
        string $secret,
        string $amount,
        string $currency,
        array $urls,
        array $codes,
    ): ShopPayment {
        $orders = $this->shown($codes);
        $payments = $this->ownOf($orders);
        // whatever the cart costs by now: who paid is not asked for the whole price again
        $paid = array_filter($payments, fn ($payment) => $payment->hasPaid());
        $withMoney = [...$paid, ...array_filter($payments, fn ($payment) => $payment->hasMoney())];
        if ($withMoney !== []) {
            return $withMoney[0];
        }
        self::checkElsewhere($orders);
        foreach (array_reverse(self::openOf($payments)) as $payment) {
            // the cart changed while its payment was open: the old price must not be paid any more
            if ($payment->costs($amount, $currency) || !$this->cancelEmpty($payment)) {
                return $payment;
            }
        }
        $body = [
            'amount' => $amount,
            'fromAsset' => $currency,
            'merchantIdentifier' => $this->till,
            'alias' => $reference . '-' . substr(hash('sha256', $secret), 0, self::SECRET_DIGITS),
            'webhookUrl' => $urls['webhook'],
            'returnUrl' => $urls['return'],
            'cancelUrl' => $urls['cancel'],
        ];
        try {
            return $this->create($body, $secret, $codes);
        } catch (ComptoirError $error) {
            return $error->errorCode === 'ALIAS_IN_USE'
                ? $this->takeUp($body, $secret, $codes, $error)
                : throw $error;
        }
    }

    /** @param string[] $codes */
    private function create(array $body, string $secret, array $codes): ShopPayment
    {
        // two clicks at once make one order; after an order that has ended, the next one
        $key = hash('sha256', implode('|', [...$body, $secret, ...$codes]));
        return $this->paymentOf($this->api->createOrder($body, $key)['order']);
    }

    /**
     * The order's open payment, whose answer was lost: nobody ever saw its page.
     * @param string[] $codes
     * @throws ComptoirError the given one, if the payment is not this shop's
     */
    private function takeUp(array $body, string $secret, array $codes, ComptoirError $error): ShopPayment
    {
        $order = self::found(fn () => $this->api->getOrderByReference($body['alias']));
        // a copy of the shop has its orders and their secrets, and its own address
        if ($order === null || $order['webhookUrl'] !== $body['webhookUrl']) {
            throw $error;
        }
        $payment = $this->paymentOf($order);
        $isOpen = $payment->state === 'open';
        $fits = $payment->costs($body['amount'], $body['fromAsset']);
        if ($payment->hasMoney() || ($isOpen && ($fits || !$this->cancelEmpty($payment)))) {
            return $payment;
        }
        return $this->create($body, $secret, [...$codes, $payment->code]);
    }

    /**
     * Reads payments of one order again. Those that this account of Comptoir does not know are left out: they are in
     * another one since the settings were changed, and the key that is used now can neither cancel nor refund them.
     * @param string[] $codes
     * @return ShopPayment[]
     */
    public function look(array $codes): array
    {
        return $this->ownOf($this->shown($codes));
    }

    /** @param string[] $codes @return array[] what Comptoir shows to everybody, and of this account's orders more */
    private function shown(array $codes): array
    {
        $orders = array_map(fn ($code) => self::found(fn () => $this->api->getOrder($code)), array_values($codes));
        return array_values(array_filter($orders));
    }

    /** @param array[] $orders @return ShopPayment[] @throws ComptoirError also when the API key is wrong */
    private function ownOf(array $orders): array
    {
        $own = array_values(array_filter($orders, self::isOwn(...)));
        if (count($own) < count($orders)) {
            // with a wrong key, too, Comptoir shows an order as to a stranger. Asked after the orders were read: it may
            // have been revoked meanwhile
            $this->tills(1);
        }
        return array_map($this->paymentOf(...), $own);
    }

    /** @return array[] @throws ComptoirError the API key is not accepted */
    private function tills(int $most): array
    {
        return $this->api->call('GET', "/api/next/collectors/list?limit=$most")['collectors'];
    }

    /** Comptoir shows the webhook's address to the order's own account alone. */
    private static function isOwn(array $order): bool
    {
        return array_key_exists('webhookUrl', $order);
    }

    /** @param array[] $orders @throws ComptoirError */
    private static function checkElsewhere(array $orders): void
    {
        foreach ($orders as $order) {
            if (!self::isOwn($order) && in_array($order['status'], self::MONEY, true)) {
                $message = 'Money came for an earlier payment of this order. Please ask the shop.';
                throw new ComptoirError(0, 'PAID_ELSEWHERE', $message, null, ['code' => $order['code']]);
            }
        }
    }

    /** @param string[] $codes @return array<string, int> the shop's numbers of the orders that they were opened for */
    public function numbersOf(array $codes): array
    {
        $orders = $this->shown($codes);
        return array_combine(array_column($orders, 'code'), array_map(self::numberOf(...), $orders));
    }

    /**
     * Payments of an order that cannot be read, for a person: nobody here would hear of their money.
     * @param string[] $codes
     */
    public static function elsewhereNote(array $codes): string
    {
        return 'The payment ' . implode(', ', $codes) . ' of this order was opened in another account of Comptoir, or '
            . 'where this shop was before. It can be neither read nor cancelled from here: look there whether money '
            . 'came for it, and cancel it if it is open.';
    }

    /** For the people of the shop, when a customer is not asked to pay again. */
    public static function paidElsewhereNote(string $code): string
    {
        return "Money came for the payment $code of this order in another account of Comptoir, from before the settings "
            . 'of this shop were changed. The customer wanted to pay again and was not asked to. Look in that account. If '
            . 'the money counts, set this order to paid by hand. If it goes back, refund it whole there and let this order '
            . 'wait for a payment again: then the customer can pay. A payment that the screening stopped stays as it is '
            . 'also when its money went back: cancel this order, and let the customer order anew.';
    }

    /** @param string[] $codes */
    public static function uncancelledNote(array $codes): string
    {
        return 'Comptoir does not know the payment ' . implode(', ', $codes) . ', so this order is not cancelled by '
            . "itself. Look in Comptoir's account of that time whether it was paid, and cancel it here if not.";
    }

    /** @param string[] $codes @param ShopPayment[] $payments what was found of them @return string[] */
    public static function unknownOf(array $codes, array $payments): array
    {
        return array_values(array_diff($codes, array_column($payments, 'code')));
    }

    /**
     * Payments of another account beside one of this account. An order that has only those is left as it was.
     * @param string[] $codes all that the order keeps
     * @param ShopPayment[] $payments what was found of them
     * @return string[]
     */
    public static function elsewhereOf(array $codes, array $payments): array
    {
        return $payments === [] ? [] : self::unknownOf($codes, $payments);
    }

    /** @param ShopPayment[] $payments @return ShopPayment[] those that the customer can still pay */
    private static function openOf(array $payments): array
    {
        return array_values(array_filter($payments, fn ($payment) => $payment->state === 'open'));
    }

    /**
     * @param ShopPayment[] $payments
     * @return string[] those of which Comptoir said that they bring no money any more
     */
    public static function overOf(array $payments): array
    {
        return array_column(array_filter($payments, fn ($payment) => $payment->isOver()), 'code');
    }

    /**
     * What must not be paid any more: what is open beside money that came, or for an order that is paid or cancelled.
     * @param ShopPayment[] $payments of the order
     * @return string[]
     */
    public static function toClose(ShopOrder $order, array $payments): array
    {
        $withMoney = array_filter($payments, fn ($payment) => $payment->hasMoney());
        $isDue = !$order->isPaid && !$order->isCancelled && $withMoney === [];
        return $isDue ? [] : array_column(self::openOf($payments), 'code');
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
     * Cancels what must not be paid any more. What cannot be cancelled has ended, or its money is on its way and is
     * announced by a webhook of its own.
     * @param string[] $codes
     * @return string[] those that this account does not know: they may be open in another one
     */
    public function close(array $codes): array
    {
        return array_values(array_filter($codes, fn ($code) => $this->end($code) === 'ORDER_NOT_FOUND'));
    }

    /**
     * Money of payments that are still open: not enough yet, in another coin, or not final. Whoever sent it may send the
     * rest, and closing the payment would take that from them.
     * @param ShopPayment[] $payments
     * @return array<string, string> a sentence for a person, by the payment's code
     */
    public function partNotes(array $payments): array
    {
        $notes = [];
        foreach (self::openOf($payments) as $payment) {
            $came = $this->cameFor($payment->code);
            if ($came !== '') {
                $notes[$payment->code] = $payment->partNote($came);
            }
        }
        return $notes;
    }

    /** @return string what came for an open payment; empty: nothing */
    private function cameFor(string $code): string
    {
        // anyone can make a token of any name, and send it to any address
        $isMoney = fn ($one) => self::isUndecided($one) && !str_contains($one['asset'], '…');
        $came = self::textOf(array_filter($this->mispaymentsOf($code), $isMoney));
        return $came === '' && $this->isConfirming($code) ? 'an amount that is not final yet' : $came;
    }

    /** Whether a chain or a provider shows money for it: the status of the order tells it only of the whole price. */
    private function isConfirming(string $code): bool
    {
        $story = $this->api->call('GET', '/api/next/confirm_conversion/story/' . rawurlencode($code));
        $payments = array_filter($story['entries'], fn ($entry) => $entry['kind'] === 'payment');
        return in_array('confirming', array_column(array_column($payments, 'facts'), 'status'), true);
    }

    /**
     * Whether none of an order's payments can bring money any more: Comptoir said so of each, or closes it now.
     * @param string[] $codes all that the order keeps
     * @param ShopPayment[] $payments what Comptoir has just said of them
     */
    public function closeAll(array $codes, array $payments): bool
    {
        // one that Comptoir does not know is open in another account, or was before a backup was restored
        if (self::unknownOf($codes, $payments) !== []) {
            return false;
        }
        foreach ($payments as $payment) {
            if (!$payment->isOver() && ($payment->state !== 'open' || !$this->cancel($payment->code))) {
                return false;
            }
        }
        return true;
    }

    /** @return bool it is cancelled; not where a part came, which would wait for a person although its payer is here */
    private function cancelEmpty(ShopPayment $payment): bool
    {
        return $this->cameFor($payment->code) === '' && $this->cancel($payment->code);
    }

    /** @return bool it is cancelled */
    private function cancel(string $code): bool
    {
        return $this->end($code) === '';
    }

    /** @return string why it cannot be cancelled; empty: it is */
    private function end(string $code): string
    {
        try {
            $this->api->cancelOrder($code);
            return '';
        } catch (ComptoirError $error) {
            $isFinal = in_array($error->errorCode, ['ORDER_STATE_CONFLICT', 'ORDER_NOT_FOUND'], true);
            return $isFinal ? $error->errorCode : throw $error;
        }
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
     * @return array{string, int}|null the payment's code, and the number of the order that may keep it (0: none); null:
     *     a test event, or news that changes no order
     * @throws WebhookVerificationError
     */
    public function read(string $rawBody, array $headers): ?array
    {
        $event = Comptoir::verifyWebhook($rawBody, $headers, $this->webhookSecret);
        if (($event['test'] ?? false) === true || !str_starts_with($event['event'] ?? '', 'order.')) {
            return null;
        }
        return [(string) $event['code'], self::numberOf($event)];
    }

    /** The shop's number of an order, in the alias of every version. */
    private static function numberOf(array $order): int
    {
        preg_match('/^[A-Z]+-(\d{1,18})(-[0-9a-f]+)?$/', (string) ($order['alias'] ?? ''), $found);
        return (int) ($found[1] ?? 0);
    }

    /**
     * Money for a payment that this shop opened, and that no order of it keeps any more: for a person.
     * @return string empty: there is none
     */
    public function strayNote(string $code): string
    {
        $stray = current($this->look([$code]));
        if (!$stray || (!$stray->hasMoney() && $stray->arrived === '')) {
            return '';
        }
        return "Comptoir received money for the payment $code ($stray->amount $stray->currency), which no order of "
            . 'this shop keeps: the order was deleted, or is newer than a backup that was restored. Look in Comptoir '
            . 'who paid, and refund it there or write the order again.';
    }

    /**
     * What has become of refunds that the shop began. No webhook says that one was rejected: the order is paid again, as
     * before.
     * @param array<string, array> $open by id, as the shop keeps them
     * @return array<string, string> by id: `settled`, `rejected`, `unknown`, or on its way
     */
    public function refundStates(array $open): array
    {
        $ids = array_map(strval(...), array_keys($open));
        // of very many, others the next time
        shuffle($ids);
        $ids = array_slice($ids, 0, self::REFUNDS);
        $found = fn (string $id) => self::found(fn () => $this->api->getRefund($id), 'OBJECT_NOT_FOUND');
        return array_combine($ids, array_map(fn ($id) => $found($id)['status'] ?? 'unknown', $ids));
    }

    /**
     * What a shop keeps of its refunds, and says of them. One that Comptoir does not know was not rejected: a backup was
     * restored there, or the settings name another account. It is asked about on.
     * @param array<string, array{account: string, unknownSince?: int}> $open as the shop keeps them now
     * @param array<string, string> $states
     * @return array{array<string, array>, array<string, string>} those to keep; sentences for a person, by id
     */
    public static function followRefunds(array $open, array $states): array
    {
        $notes = [];
        foreach (array_intersect_key($states, $open) as $id => $state) {
            $since = $open[$id]['unknownSince'] ?? time();
            unset($open[$id]['unknownSince']);
            if ($state === 'unknown') {
                $open[$id]['unknownSince'] = $since;
                if (time() - $since >= self::UNKNOWN_SECONDS) {
                    $notes[$id] = self::unknownRefund((string) $id, $open[$id]['account']);
                }
            } elseif (in_array($state, ['settled', 'rejected', 'refused'], true)) {
                $notes += $state === 'settled' ? [] : [$id => self::rejectedRefund((string) $id)];
                unset($open[$id]);
            }
        }
        return [$open, $notes];
    }

    /** For the people of the shop, whose books say that the money went back. */
    private static function rejectedRefund(string $id): string
    {
        return "Refund $id was rejected in Comptoir, and no money has gone back, although it is booked here as refunded. "
            . 'Look in Comptoir why, and correct this order or refund it another way.';
    }

    private static function unknownRefund(string $id, string $account): string
    {
        $begun = $account === '' ? '' : ", which this shop began with the API key $account";
        return "Comptoir does not know the refund $id$begun. Its money may have gone back all the same: look in the books "
            . 'of that account before you refund again.';
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

    private function paymentOf(array $order): ShopPayment
    {
        $state = self::STATES[$order['status']] ?? 'open';
        [$isHeld, $arrived] = $state === 'ended' ? $this->undecidedMoney($order) : [false, ''];
        return new ShopPayment(
            $order['code'],
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
        $records = $this->mispaymentsOf($order['code']);
        $open = array_filter($records, self::isUndecided(...));
        $dollars = array_sum(array_map(self::dollarsOf(...), $open));
        $isStopped = in_array('held', array_column($open, 'kind'), true)
            // a provider may hold money without saying how much: then there is no record of it
            || ($order['status'] === 'KYT_FAILED' && ($open !== [] || $records === []));
        return [$isStopped || $dollars >= self::units($order['toAmount'], 6), self::textOf($open)];
    }

    /** @return array[] what came for the order without paying it */
    private function mispaymentsOf(string $code): array
    {
        return $this->api->call('GET', '/api/next/mispayments?limit=100&code=' . rawurlencode($code))['mispayments'];
    }

    /** What left the chain again is no money of the customer. */
    private static function isUndecided(array $record): bool
    {
        return $record['status'] === 'open' && $record['kind'] !== 'orphaned';
    }

    /** @param array[] $records */
    private static function textOf(array $records): string
    {
        return implode(' and ', array_map(fn ($one) => self::shortAmount($one) . " {$one['asset']}", $records));
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
     * What a refund is to be taken from, where the shop does not know which payment paid: a person marked the order as
     * paid, or accepted money that came late.
     * @param string[] $codes all that the order keeps
     * @return string the only one that has paid; where none has, the newest: Comptoir says why it refuses that
     * @throws InvalidArgumentException several have paid
     */
    public function paidOf(array $codes): string
    {
        $payments = $this->look($codes);
        $paid = array_column(array_filter($payments, fn ($payment) => $payment->hasPaid()), 'code');
        if (count($paid) > 1) {
            throw new \InvalidArgumentException('Several payments have paid this order: ' . implode(' and ', $paid)
                . '. Choose in Comptoir which of them is refunded.');
        }
        // a click that is repeated after all went back
        $over = array_column(array_filter($payments, fn ($payment) => $payment->state === 'refunded'), 'code');
        return (string) current(array_reverse([...$codes, ...$over, ...$paid]));
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
        $bodies = $amount === null ? [$whole] : $this->refundBodies($code, $amount, $whole);
        foreach ($bodies as $index => $body) {
            try {
                return $this->api->refundOrder($code, $body, $key)['refundId'];
            } catch (ComptoirError $error) {
                // the same click came before, when something else was left
                if ($error->errorCode !== 'IDEMPOTENCY_KEY_REUSED' || $index === count($bodies) - 1) {
                    throw $error;
                }
            }
        }
    }

    /**
     * What a refund of a part may ask for: what it is now, then what the same click may have asked for before.
     * @return array[]
     */
    private function refundBodies(string $code, string $amount, array $whole): array
    {
        $order = $this->api->getOrder($code);
        $part = fn (int $of, string $amount) => self::partOf(self::decimal($of), $amount, $order['fromAmount']);
        $price = self::units($order['toAmount'], 6);
        $path = '/api/next/confirm_conversion/revert/' . rawurlencode($code);
        $left = self::units($this->api->call('GET', $path)['refundableAmount'], 6);
        // while a refund is under way nothing is left, and only the click that began it is not refused
        $isUnderWay = $order['status'] === 'REFUNDING';
        // less than the price may have arrived: the shop's tolerance, or a person's decision
        $came = $isUnderWay ? 0 : min($price, $left + self::units($order['refundedAmount'], 6));
        $all = $came > 0 ? $came : $price;
        $now = $part($all, $amount);
        $rest = $left - self::units($now, 6);
        // less than the smallest part of the price is what rounding left: it goes with the last part. An earlier part may
        // have been one of the price, and more than its part of what came
        $isLast = $rest < self::units($part($all, '0.01'), 6) && $rest >= $all - $price;
        // the whole price is all that is left, whatever rounding did before
        $bodies = $isLast || $amount === $order['fromAmount']
            ? [$whole, $whole + ['amount' => $now]]
            : [$whole + ['amount' => $now], $whole];
        if ($all < $price) {
            $bodies[] = $whole + ['amount' => $part($price, $amount)];
        }
        if ($isUnderWay) {
            $begun = $this->api->call('GET', '/api/next/refunds?limit=1&code=' . rawurlencode($code))['refunds'];
            $bodies = [...$bodies, ...array_map(fn ($refund) => $whole + ['amount' => $refund['amount']], $begun)];
        }
        return $bodies;
    }

    /**
     * Whether a refund may have started although this came in its place: no answer, or one of the second attempt, which
     * hides that the first was cut off while Comptoir was at work.
     */
    public static function mayHaveStarted(\Throwable $error): bool
    {
        $codes = ['CONNECTION_FAILED', 'UNEXPECTED_ANSWER', 'IDEMPOTENCY_IN_PROGRESS'];
        return $error instanceof ComptoirError
            && (in_array($error->errorCode, $codes, true) || $error->status === 429 || $error->status >= 500);
    }

    /** $whole (USDC) × $part ÷ $total (both fiat) in exact decimal text with six digits, rounded down. */
    public static function partOf(string $whole, string $part, string $total): string
    {
        [$units, $share, $all] = [self::units($whole, 6), self::units($part, 2), self::units($total, 2)];
        if ($all <= 0 || $share <= 0 || $share > $all) {
            throw new \InvalidArgumentException('The amount of the refund is not a part of the order.');
        }
        // 10^11 × 10^11 would not fit in 64 bits: the share is multiplied in two halves
        [$rest, $high, $low] = [$units % $all, intdiv($share, 1_000_000), $share % 1_000_000];
        $result = intdiv($units, $all) * $share + intdiv($rest * $high, $all) * 1_000_000
            + intdiv($rest * $high % $all * 1_000_000 + $rest * $low, $all);
        return self::decimal($result);
    }

    /** USDC in decimal text with six digits. */
    private static function decimal(int $units): string
    {
        return sprintf('%d.%06d', intdiv($units, 1_000_000), $units % 1_000_000);
    }

    /** Decimal text as a whole number of its smallest units. */
    private static function units(string $text, int $digits): int
    {
        if (preg_match('/^(\d{1,9})(?:\.(\d{1,6}))?$/', $text, $found) !== 1 || strlen($found[2] ?? '') > $digits) {
            throw new \InvalidArgumentException("\"$text\" is not an amount.");
        }
        return (int) ($found[1] . str_pad($found[2] ?? '', $digits, '0'));
    }

    /** @return string[] what is wrong, in sentences; empty: everything works */
    public function test(): array
    {
        try {
            $tills = $this->tills(100);
        } catch (ComptoirError $error) {
            return match (true) {
                $error->status === 0 => ['Comptoir does not answer. Check the address.'],
                $error->errorCode === 'UNEXPECTED_ANSWER' => ['Something else than Comptoir answers. Check the address.'],
                $error->status === 401 => ['Comptoir does not accept the API key. Check the key and its secret.'],
                default => [$error->getMessage()],
            };
        }
        $names = array_column(array_filter($tills, fn ($till) => $till['active']), 'identifier');
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
