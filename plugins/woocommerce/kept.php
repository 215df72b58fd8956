<?php

declare(strict_types=1);

defined('ABSPATH') || exit;

/**
 * What the module keeps with an order. Other plugins copy an order's metas to a renewal, a subscription or a clone, and
 * tools copy a whole shop: so each value says which order it belongs to, and where the shop was that wrote it.
 */
final class Comptoir_Kept
{
    public const CODE = '_comptoir_code';
    public const SAID = '_comptoir_said';
    public const SURPLUS = '_comptoir_surplus';
    public const REFUND = '_comptoir_refund';
    public const OPEN_REFUNDS = '_comptoir_open_refunds';
    private const NAMES = [self::CODE, self::SAID, self::SURPLUS, self::REFUND, self::OPEN_REFUNDS];
    /** The owner of what an earlier version wrote, and another plugin copied from another order. */
    private const ANOTHER = '0000000000000000';

    /** @return string[] the order's own values, the newest last */
    public static function listOf(WC_Order $order, string $name): array
    {
        return self::textsOf(self::rowsOf($order, $name), fn ($row) => $row['owner'] === self::ownerOf($order));
    }

    /** @return string[] those of them that this shop wrote, not the one that it is a copy of */
    public static function hereOf(WC_Order $order, string $name): array
    {
        return self::textsOf(self::rowsOf($order, $name), fn ($row) => self::isReadable($order, $row));
    }

    /** @return string[] codes that may be the order's and may not be read: nobody knows whether they bring money */
    public static function hiddenCodes(WC_Order $order): array
    {
        $isHidden = fn ($row) => !self::isReadable($order, $row)
            && in_array($row['owner'], ['', self::ownerOf($order)], true);
        return self::textsOf(self::rowsOf($order, self::CODE), $isHidden);
    }

    public static function hasCodes(WC_Order $order): bool
    {
        return [...self::hereOf($order, self::CODE), ...self::hiddenCodes($order)] !== [];
    }

    public static function add(WC_Order $order, string $name, string $text): void
    {
        $order->add_meta_data($name, self::signed(self::ownerOf($order), $text));
    }

    /** Puts one value in the place of all that `hereOf` finds. Empty: none. */
    public static function replace(WC_Order $order, string $name, string $text): void
    {
        $rows = array_filter(self::rowsOf($order, $name), fn ($row) => self::isReadable($order, $row));
        foreach (array_values($rows) as $index => $row) {
            if ($index === 0 && $text !== '') {
                $order->update_meta_data($name, self::signed(self::ownerOf($order), $text), $row['id']);
            } else {
                $order->delete_meta_data_by_mid($row['id']);
            }
        }
        if ($rows === [] && $text !== '') {
            self::add($order, $name, $text);
        }
    }

    /** Whether an earlier version wrote some of it, without an owner. */
    public static function isUnclaimed(WC_Order $order): bool
    {
        return array_filter(self::NAMES, fn ($name) => self::unclaimedOf($order, $name) !== []) !== [];
    }

    /** @return string[] codes of which Comptoir's alias must say whose they are */
    public static function unclaimedCodes(WC_Order $order): array
    {
        return array_column(self::unclaimedOf($order, self::CODE), 'text');
    }

    /**
     * Gives what an earlier version wrote to its owner, each value where it is. What belongs to no one payment belongs
     * to the order if one of its codes does. A code that Comptoir does not know stays, and is asked about again.
     * @param array<string, int> $numbers by the unclaimed codes, what their aliases say
     */
    public static function claim(WC_Order $order, array $numbers): void
    {
        $own = self::ownerOf($order);
        $ownerOf = fn (string $code): ?string => match ($numbers[$code] ?? null) {
            null => null,
            $order->get_id() => $own,
            default => self::ANOTHER,
        };
        $codes = array_map($ownerOf, self::unclaimedCodes($order));
        $known = [...$codes, ...array_column(self::rowsOf($order, self::CODE), 'owner')];
        $rest = in_array($own, $known, true) ? $own : (in_array(null, $codes, true) ? null : self::ANOTHER);
        foreach (self::NAMES as $name) {
            foreach (self::unclaimedOf($order, $name) as $row) {
                $owner = match ($name) {
                    self::CODE => $ownerOf($row['text']),
                    self::SURPLUS => $ownerOf($row['text']) ?? $rest,
                    default => $rest,
                };
                if ($owner !== null) {
                    $text = self::named($order, $row['text']);
                    $order->update_meta_data($name, self::signed($owner, $text), $row['id']);
                }
            }
        }
        $order->save_meta_data();
    }

    /** Until 0.4.0 this sentence named no payment; it was said of the one that paid the order. */
    private static function named(WC_Order $order, string $text): string
    {
        $codes = self::hereOf($order, self::CODE);
        $paid = (string) $order->get_transaction_id();
        return $text === 'Refunded through Comptoir.'
            ? ShopPayment::refundedNote(in_array($paid, $codes, true) ? $paid : (string) end($codes))
            : $text;
    }

    /** A shop gives a number again once its orders were deleted, and leaves their metas behind if that went wrong. */
    private static function ownerOf(WC_Order $order): string
    {
        return substr(hash('sha256', "{$order->get_id()}|{$order->get_order_key('edit')}"), 0, strlen(self::ANOTHER));
    }

    private static function signed(string $owner, string $text): string
    {
        return "$owner " . get_option('comptoir_place', '') . " $text";
    }

    /** @return array{id: int, owner: string, place: string, text: string}[] without an owner: of an earlier version */
    private static function rowsOf(WC_Order $order, string $name): array
    {
        $row = function (object $meta): array {
            $isSigned = preg_match('/^([0-9a-f]{16}) (\S*) (.*)$/s', (string) $meta->value, $found) === 1;
            [, $owner, $place, $text] = $isSigned ? $found : ['', '', '', (string) $meta->value];
            return ['id' => (int) $meta->id, 'owner' => $owner, 'place' => $place, 'text' => $text];
        };
        return array_map($row, array_values($order->get_meta($name, false)));
    }

    private static function unclaimedOf(WC_Order $order, string $name): array
    {
        $isUnclaimed = fn ($row) => $row['owner'] === '' && self::isHere($order, $row);
        return array_values(array_filter(self::rowsOf($order, $name), $isUnclaimed));
    }

    private static function isReadable(WC_Order $order, array $row): bool
    {
        return $row['owner'] === self::ownerOf($order) && self::isHere($order, $row);
    }

    /** In a copy of a shop, what the shop itself wrote is not the copy's. Earlier versions kept no place with it. */
    private static function isHere(WC_Order $order, array $row): bool
    {
        $copied = (int) get_option('comptoir_copied', 0);
        return $copied === 0 || ($row['owner'] === ''
            ? ($order->get_date_created()?->getTimestamp() ?? 0) >= $copied
            : $row['place'] === get_option('comptoir_place', ''));
    }

    private static function textsOf(array $rows, callable $isMeant): array
    {
        return array_column(array_filter($rows, $isMeant), 'text');
    }
}
