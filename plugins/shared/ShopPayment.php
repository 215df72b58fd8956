<?php

declare(strict_types=1);

/** One payment of a shop's order, as Comptoir answers it, and what it changes in the shop. */
final class ShopPayment
{
    public function __construct(
        /** Comptoir's code of the order. */
        public readonly string $code,
        /**
         * `paid`, `held`, `refunding`, `partly_refunded`, `refunded`, `ended` or `open`. Held: the money is there, but
         * does not count, and a person decides about it in Comptoir.
         */
        public readonly string $state,
        /** Decimal text in the currency of the shop's order. */
        public readonly string $amount,
        public readonly string $currency,
        /** The page of this payment. */
        public readonly string $url,
        /** What arrived without paying and waits for a person: `20.000000 USDC`. Empty: nothing. */
        public readonly string $arrived = '',
    ) {
    }

    /**
     * What this payment changes in the shop's order, the same in every shop system. `complete`: the order is paid;
     * `review`: a person must see it; `surplus`: the same, and the order was paid before; `late`: the same, and it was
     * cancelled before; `compare`: the same, and the order is sent meanwhile; `wait`: it waits on; `fail`; `refund`;
     * `opened`: a sentence for each time that a person opens a paid order again; `note`: only a sentence; `none`.
     * @param string[] $over the order's other payments that bring no money any more
     * @return array{string, string} what to do, and a sentence for the people of the shop
     */
    public function decide(ShopOrder $order, array $over = []): array
    {
        return match ($this->state) {
            'paid', 'refunding', 'partly_refunded' => $this->decidePaid($order),
            'held' => [$order->waits && !$order->isPaid ? 'wait' : 'note', $this->heldPayment()],
            // one payment's end does not end an order that waits for another one, or for a person who decides about it
            'ended' => match (true) {
                $order->waits && !$order->isPaid && array_diff($order->codes, [$this->code], $over) === [] =>
                    ['fail', $this->endedPayment()],
                $this->arrived !== '' => ['note', $this->endedPayment()],
                default => ['none', ''],
            },
            'refunded' => [$this->isPaymentOf($order) ? 'refund' : 'note', self::refundedNote($this->code)],
            default => ['none', ''],
        };
    }

    /** @return array{string, string} */
    private function decidePaid(ShopOrder $order): array
    {
        $fits = $this->costs($order->amount, $order->currency);
        $hasPaid = in_array($this->code, $order->havePaid, true);
        $isBack = $order->overwritten === $this->code;
        return match (true) {
            // a person decides about it, whatever becomes of the order's status meanwhile
            $this->isSurplus($order) => ['none', ''],
            $order->isPaid && $order->paidBy === $this->code =>
                $isBack && $fits ? $this->decideOverwritten($order) : ['none', ''],
            $order->isPaid && $hasPaid => ['compare', $this->paidFirst()],
            $order->isPaid => ['surplus', $this->secondPayment($order->paidBy)],
            // it pays the order once, whatever a person has made of the order since
            $hasPaid && !$isBack => ['opened', $this->openedAgain()],
            $order->isCancelled => ['late', $this->latePayment()],
            $fits => $isBack ? $this->decideOverwritten($order) : ['complete', $this->refundNews()],
            default => ['review', $this->withRefundNews(
                "Paid $this->amount $this->currency by $this->code, which is not the total.",
            )],
        };
    }

    /** @return array{string, string} nothing is sent for money that goes back, or that a person had stopped before */
    private function decideOverwritten(ShopOrder $order): array
    {
        return match (true) {
            $order->wasStopped =>
                ['review', $this->overwritten('It was on hold, cancelled or refunded before: decide what it is now.')],
            $this->state !== 'paid' => ['review', $this->overwritten('Decide whether it is still to be sent.')],
            $order->isPaid => ['note', $this->overwritten('Set its status back.')],
            default => ['complete', $this->overwritten('It is completed again.')],
        };
    }

    /**
     * Whether what it changes (`wait`, `fail`, `refund`) is news: once, and again only after other news of the same
     * payment. An order is looked at for months, and what a person has decided about it since is not undone.
     * @param string[] $said what was said of the order, the newest last
     * @param callable(string): string $keyOf how the shop keeps it
     */
    public function isNews(string $action, string $note, array $said, callable $keyOf): bool
    {
        $keys = array_map(fn ($one) => $keyOf("$one $this->code"), ['wait', 'fail', 'refund']);
        $known = array_intersect($said, $keys);
        // until 0.4.0 the sentence alone was kept
        return $known === [] ? !in_array($keyOf($note), $said, true) : end($known) !== $keyOf("$action $this->code");
    }

    /** For the people of the shop, whose order is not cancelled by itself. */
    public function partNote(string $came): string
    {
        return "Nobody paid this order in time, but $came came for its payment $this->code, which is still open. So it is "
            . 'not cancelled by itself: decide about the money in Comptoir, or cancel the order here.';
    }

    public static function refundedNote(string $code): string
    {
        return "The payment $code was refunded in full.";
    }

    /** It paid its whole price. What was refunded of it since is not asked for again. */
    public function hasPaid(): bool
    {
        return in_array($this->state, ['paid', 'refunding', 'partly_refunded'], true);
    }

    /** The money is there: no other payment of the order may be paid any more. */
    public function hasMoney(): bool
    {
        return $this->hasPaid() || $this->state === 'held';
    }

    /** It brings no money any more, unless some arrives late. */
    public function isOver(): bool
    {
        return in_array($this->state, ['ended', 'refunded'], true);
    }

    public function costs(string $amount, string $currency): bool
    {
        return $this->amount === $amount && $this->currency === $currency;
    }

    /**
     * This payment paid the order, or was to pay it: its refund is the order's. An order that was paid another way, and
     * one whose second payment a person decides about, is still paid when that second payment goes back; one that a
     * person opened again after it was paid waits for another payment.
     */
    private function isPaymentOf(ShopOrder $order): bool
    {
        return $order->isPaid
            ? $this->code === $order->paidBy
            : ($order->havePaid === [] || $order->overwritten === $this->code)
                && $this->isNewest($order) && !$this->isSurplus($order);
    }

    private function isNewest(ShopOrder $order): bool
    {
        return array_slice($order->codes, -1) === [$this->code];
    }

    private function isSurplus(ShopOrder $order): bool
    {
        return in_array($this->code, $order->surplus, true);
    }

    private function refundNews(): string
    {
        return $this->state === 'paid' ? '' : "A refund of the payment $this->code has begun in Comptoir. Look there "
            . 'what the customer has paid before you send anything.';
    }

    private function withRefundNews(string $note): string
    {
        return rtrim("$note {$this->refundNews()}");
    }

    private function secondPayment(string $paidBy): string
    {
        $what = "$this->code ($this->amount $this->currency)";
        return $paidBy === ''
            ? "Comptoir received the payment $what, but the order no longer waited for one. If the customer paid "
                . 'twice, refund it in Comptoir.'
            : "Paid a second time: $what. The first payment was $paidBy. Refund the second one in Comptoir.";
    }

    private function openedAgain(): string
    {
        return "The payment $this->code ($this->amount $this->currency) paid this order before it was opened again. It "
            . 'is not asked for again here: set the status back, or ask for a difference another way.';
    }

    private function paidFirst(): string
    {
        return "The payment $this->code ($this->amount $this->currency) paid this order first, and the order names "
            . 'another payment now. Compare both sums with the total: only what is too much has to go back.';
    }

    private function overwritten(string $what): string
    {
        return $this->withRefundNews("The payment $this->code ($this->amount $this->currency) has paid this order. A "
            . "form that was opened before was saved since, and put the old status back. $what");
    }

    private function latePayment(): string
    {
        return "Paid $this->amount $this->currency by $this->code after the order had been cancelled here. Send the "
            . 'goods if you still have them, or refund the payment in Comptoir.';
    }

    private function heldPayment(): string
    {
        $what = $this->arrived === '' ? '' : " with $this->arrived";
        return "The payment $this->code$what is held and does not count yet. A person decides about it in Comptoir; "
            . 'until then the customer is not asked to pay again. If the money goes back, this order hears nothing of '
            . 'it: cancel it here.';
    }

    private function endedPayment(): string
    {
        return $this->arrived === ''
            ? "The payment $this->code ended unpaid."
            : "The payment $this->code ended, but $this->arrived arrived for it. A person decides about that in "
                . 'Comptoir.';
    }
}
