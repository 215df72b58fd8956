<?php

declare(strict_types=1);

/** What the shop knows of its own order, the same in every shop system. */
final class ShopOrder
{
    public function __construct(
        /** @var string[] every payment that was opened for it, the newest last */
        public readonly array $codes,
        /** It is paid, whoever paid it, also while a person looks into it. */
        public readonly bool $isPaid,
        /** The payment that paid it, if it is paid; empty: none of these. */
        public readonly string $paidBy,
        /** It waits for a payment through Comptoir. */
        public readonly bool $waits,
        /** What it costs now. */
        public readonly string $amount,
        public readonly string $currency,
        /** @var string[] payments that came when it was paid or cancelled before; a person decides about them */
        public readonly array $surplus,
        /** The shop cancelled it: its goods may be sold to somebody else. */
        public readonly bool $isCancelled = false,
        /** @var string[] payments of which the module itself has seen that they paid it, whatever it says now */
        public readonly array $havePaid = [],
        /**
         * The payment that had paid it before a form was saved that was opened earlier: it waits again, and nobody
         * decided that. Empty: none.
         */
        public readonly string $overwritten = '',
        /** It was on hold, cancelled or refunded before that: it is not sent without a person. */
        public readonly bool $wasStopped = false,
    ) {
    }
}
