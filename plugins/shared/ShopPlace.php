<?php

declare(strict_types=1);

/**
 * Where a shop is. A copy of it, for staging, has the same keys and the same orders: it must not close the payments of
 * the shop itself, nor send its money back. So the module works only where its settings were saved.
 */
final class ShopPlace
{
    /**
     * Scheme, www and a slash at the end change without a move.
     * @return string in base64: tools that copy a shop replace its address wherever they find it in the database
     */
    public static function of(string $address): string
    {
        return base64_encode((string) preg_replace('#^(https?:)?//(www\.)?|/+$#', '', strtolower(trim($address))));
    }

    /** @return string what is wrong, for the people of the shop; empty: the settings were saved here */
    public static function fault(string $saved, string $address): string
    {
        if ($saved === '' || $saved === self::of($address)) {
            return '';
        }
        $was = (string) base64_decode($saved);
        return "Comptoir is switched off here: its settings were saved for $was, and this shop is at "
            . base64_decode(self::of($address)) . '. No payment is offered, looked at or refunded. If this is a copy, '
            . 'leave it so, or save the settings to use Comptoir here, for new orders only. If the shop has moved, tick '
            . '"This shop has moved here" and save the settings.';
    }

    /** Money for a payment that may be the shop's own, if it has moved: nobody should refund it before that is known. */
    public static function hiddenNote(string $code, int $order): string
    {
        return "Comptoir received money for the payment $code of the order $order, which was opened where this shop "
            . 'was before its settings were saved here. If the shop has moved, tick "This shop has moved here" and save '
            . 'the settings: then it pays its order. If this is a copy, the shop itself hears of it.';
    }

    /** @throws ComptoirError */
    public static function check(string $saved, string $address): void
    {
        $fault = self::fault($saved, $address);
        if ($fault !== '') {
            throw new ComptoirError(0, 'SHOP_COPY', $fault);
        }
    }
}
