<?php

declare(strict_types=1);

defined('ABSPATH') || exit;

/**
 * The module's own words on how an order was paid, among what was said of it. WooCommerce's status and transaction are
 * two facts: where orders are posts, the one may be written without the other, and forms put both back.
 */
final class Comptoir_Journal
{
    /** Before the order is completed by a payment: what is left half written is finished by the next look. */
    public const PAYING = 'paying';
    /** The order was seen paid by it. */
    public const PAID = 'paid';
    /** The order was seen on hold, cancelled or refunded after that, or in another state in which it is not sent. */
    public const STOPPED = 'stopped';
    /** A person opened the order again after that. */
    public const OPENED = 'opened';
    private const HAVE_PAID = [self::PAID, self::STOPPED, self::OPENED];

    /** @return bool it is news: the payment's last word was another one */
    public static function write(WC_Order $order, string $word, string $code, string $from = ''): bool
    {
        [$last, , $before] = self::last($order, [$code]);
        if ($last === $word && $before === $from) {
            return false;
        }
        Comptoir_Kept::add($order, Comptoir_Kept::SAID, rtrim("$word $code $from"));
        $order->save_meta_data();
        return true;
    }

    /** The order is about to be completed by it. */
    public static function begin(WC_Order $order, string $code): void
    {
        self::write($order, self::PAYING, $code, $order->get_status());
    }

    /**
     * @param string[]|null $codes null: all payments of the order but those that a person decides about
     * @return array{string, string, string} the last word on any of them, on which one, and the status from which it
     *     was to be completed; empty: none
     */
    public static function last(WC_Order $order, ?array $codes = null): array
    {
        $codes ??= array_diff(
            Comptoir_Kept::hereOf($order, Comptoir_Kept::CODE),
            Comptoir_Kept::listOf($order, Comptoir_Kept::SURPLUS),
        );
        foreach (array_reverse(Comptoir_Kept::listOf($order, Comptoir_Kept::SAID)) as $said) {
            [$word, $code, $from] = [...explode(' ', $said, 3), '', ''];
            if (in_array($word, [self::PAYING, ...self::HAVE_PAID], true) && in_array($code, $codes, true)) {
                return [$word, $code, $from];
            }
        }
        return ['', '', ''];
    }

    /** @return string[] the payments that have paid the order, whatever it says now */
    public static function paidCodes(WC_Order $order): array
    {
        $hasPaid = fn (string $code): bool => in_array(self::last($order, [$code])[0], self::HAVE_PAID, true);
        return array_values(array_filter(Comptoir_Kept::hereOf($order, Comptoir_Kept::CODE), $hasPaid));
    }

    /**
     * Whether the date of a payment proves it outside a paid status: not where the order was only half completed, so
     * that it has the status from before, or was ended since; nor where it is on hold for another way of payment after
     * one that the journal knows, whose date it may be. Any other status is one that a plugin gives to paid orders.
     */
    public static function isDateProof(WC_Order $order, string $paidBy): bool
    {
        [$word, , $from] = self::last($order);
        $from = $from === '' ? 'on-hold' : $from;
        $isHalf = $word === self::PAYING && $order->has_status([$from, 'cancelled', 'refunded', 'trash']);
        $waitsOtherwise = $order->has_status('on-hold') && $word !== '' && $paidBy === '';
        return !$isHalf && !$waitsOtherwise;
    }

    /** The order is paid by it. Where only its status was written, WooCommerce's own facts are missing. */
    public static function keepPaid(WC_Order $order, string $code): void
    {
        if (self::last($order, [$code])[0] === self::PAYING && !$order->get_transaction_id()) {
            $order->set_transaction_id($code);
            $order->get_date_paid() ?? $order->set_date_paid(time());
            $order->save();
        }
        self::write($order, $order->is_paid() ? self::PAID : self::STOPPED, $code);
    }

    /**
     * Of an order of an earlier version, only its transaction says what paid it, also where a person has opened it
     * again.
     * @param array<string, int> $numbers by the codes that no order owns yet, what their aliases say
     */
    public static function claim(WC_Order $order, array $numbers): void
    {
        Comptoir_Kept::claim($order, $numbers);
        $code = (string) $order->get_transaction_id();
        if (in_array($code, Comptoir_Kept::hereOf($order, Comptoir_Kept::CODE), true) && self::last($order)[0] === '') {
            self::keepPaid($order, $code);
        }
    }
}
