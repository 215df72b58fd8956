<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** What the module knows of each order, in a table: PrestaShop reads its settings whole on every page. */
final class ComptoirOrders
{
    public const TABLE = 'comptoir_order';
    private const EMPTY = ['codes' => '', 'paid' => '', 'said' => '', 'refunds' => ''];
    /** What is said of an order without a payment that was cancelled, once: a person may set it back. */
    public const UNOPENED = 'unopened';
    private const DAY = 86400;
    private const NOT_UPGRADED = 'The module was replaced and not upgraded, or an earlier version has worked here '
        . 'since. Upgrade it on the page of the modules; where it offers none, uninstall it there, install it again '
        . 'and enter its settings: what it keeps of the orders stays.';
    private const UNFINISHED = 'What an earlier version kept of some orders could not be read again yet. It is tried '
        . 'every few minutes, and no order is looked at before.';

    public static function hasColumn(string $name): bool
    {
        $table = _DB_PREFIX_ . self::TABLE;
        return (bool) Db::getInstance()->executeS("SHOW COLUMNS FROM `$table` LIKE '$name'", true, false);
    }

    /** @return string what is wrong where the files are newer than what is kept; empty: nothing */
    public static function fault(): string
    {
        return match (true) {
            !self::hasColumn('secret') => self::NOT_UPGRADED,
            ComptoirUpgrade::isUnfinished() => self::UNFINISHED,
            default => '',
        };
    }

    /** @throws ComptoirError nobody knows which order keeps which payment */
    public static function check(bool $isUpgraded): void
    {
        if (!$isUpgraded) {
            throw new ComptoirError(0, 'SHOP_OLD', self::NOT_UPGRADED);
        }
    }

    /**
     * PrestaShop gives the numbers of deleted orders again, for example after its own cleaner. The reference is nine
     * random letters and the key is the customer's own.
     */
    public static function secretOf(Order $order): string
    {
        return hash('sha256', "$order->reference|$order->secure_key");
    }

    /**
     * @return array<string, string> what the module knows of this order, not of an earlier one with its number
     * @throws ComptoirError
     */
    private static function rowOf(Order $order): array
    {
        return self::isCopied($order) ? self::EMPTY : self::ownRow($order);
    }

    /** In a copy of a shop, what the shop itself did is not the copy's. */
    private static function isCopied(Order $order): bool
    {
        return (string) $order->date_add < (string) Configuration::get('COMPTOIR_COPIED');
    }

    private static function ownRow(Order $order): array
    {
        $table = _DB_PREFIX_ . self::TABLE;
        $row = Db::getInstance()->getRow("SELECT * FROM `$table` WHERE id_order = " . (int) $order->id, false);
        // before an upgrade, or while it is under way
        self::check(!is_array($row) || ($row['secret'] ?? '') !== '');
        $isOwn = is_array($row) && $row['secret'] === self::secretOf($order);
        return $isOwn ? array_intersect_key($row, self::EMPTY) : self::EMPTY;
    }

    /** @return string[] payments of the order that may not be read here: this is a copy of the shop, or it has moved */
    public static function hiddenCodes(Order $order): array
    {
        return self::isCopied($order) ? self::listOf(self::ownRow($order)['codes']) : [];
    }

    /**
     * An order that has waited for longer than that, from its last change on, and that no person has touched. An order
     * of another shop, which this one is a copy of, or of before a move, has payments that are not read here.
     * @param int $minutes 0: no order
     */
    public static function isOverdue(Order $order, int $minutes): bool
    {
        return $minutes > 0
            && $order->module === 'comptoirpay'
            && in_array((int) $order->current_state, ComptoirStates::unpaid(), true)
            && (string) $order->date_upd <= self::before($minutes)
            && !self::isCopied($order)
            && !$order->hasBeenPaid()
            && !self::isSaid($order, self::UNOPENED)
            && !self::isTouched($order);
    }

    /** A person made it in the back office, or has changed its state: that person decides about it. */
    private static function isTouched(Order $order): bool
    {
        $history = _DB_PREFIX_ . 'order_history';
        $query = "SELECT COUNT(*) FROM `$history` WHERE id_order = " . (int) $order->id . ' AND id_employee <> 0';
        return (int) Db::getInstance()->getValue($query, false) > 0;
    }

    private static function before(int $minutes): string
    {
        return date('Y-m-d H:i:s', time() - $minutes * 60);
    }

    /**
     * @param array<string, string> $changes
     * @throws ComptoirError they could not be kept: no customer may pay what the shop would not know
     */
    public static function keep(Order $order, array $changes): void
    {
        $row = [...self::rowOf($order), ...$changes, 'secret' => self::secretOf($order)];
        $data = ['id_order' => (int) $order->id, ...array_map(pSQL(...), $row)];
        if (!Db::getInstance()->insert(self::TABLE, $data, false, true, Db::REPLACE)) {
            throw new ComptoirError(0, 'SHOP_BUSY', 'The order could not be written. Upgrade the module, or try again.');
        }
    }

    /**
     * The orders of one shop that are looked at in turn. Comptoir keeps its events for 90 days, and watches a payment
     * for 30. An order that nobody paid has no row where the process ended that placed it.
     * @param int $minutes after which one is unpaid; 0: none is
     * @return array<string, int[]>
     */
    public static function kinds(int $shop, int $minutes): array
    {
        [$table, $orders] = [_DB_PREFIX_ . self::TABLE, _DB_PREFIX_ . 'orders'];
        $find = fn (string $which): array => array_column(Db::getInstance()->executeS(
            "SELECT c.id_order FROM `$table` c JOIN `$orders` o ON o.id_order = c.id_order
            WHERE o.id_shop = $shop AND $which",
        ) ?: [], 'id_order');
        $since = fn (int $days): string => "o.date_upd > '" . date('Y-m-d H:i:s', time() - $days * self::DAY) . "'";
        $unpaid = "SELECT o.id_order FROM `$orders` o WHERE o.id_shop = $shop AND o.module = 'comptoirpay'
            AND o.current_state IN (" . implode(', ', ComptoirStates::unpaid()) . ')
            AND o.date_upd <= \'' . self::before($minutes) . "'";
        return [
            'unpaid' => $minutes > 0 ? array_column(Db::getInstance()->executeS($unpaid) ?: [], 'id_order') : [],
            'fresh' => $find($since(1)),
            'recent' => $find($since(90)),
            'refunds' => $find("c.refunds <> ''"),
        ];
    }

    /** @return string[] codes with commas between them */
    public static function listOf(string $text): array
    {
        return array_values(array_filter(explode(',', $text)));
    }

    /** @return string[] every payment that was opened for the order, the newest last */
    public static function codesOf(Order $order): array
    {
        return self::listOf(self::rowOf($order)['codes']);
    }

    /** The payment that paid the order; empty: another one, or none. */
    public static function paidBy(Order $order): string
    {
        return self::rowOf($order)['paid'];
    }

    /** @return array<string, array> what the module knows of refunds whose end it does not know, by id */
    public static function openRefunds(Order $order): array
    {
        return (array) json_decode(self::rowOf($order)['refunds'], true);
    }

    public static function keepRefunds(Order $order, array $open): void
    {
        self::keep($order, ['refunds' => $open === [] ? '' : json_encode($open, JSON_UNESCAPED_SLASHES)]);
    }

    /** A key or a sentence, as it is kept: the table would be full of sentences otherwise. */
    public static function keyOf(string $text): string
    {
        return substr(hash('sha256', $text), 0, 16);
    }

    /** @return string[] what was said of the order, by `keyOf`, the newest last */
    public static function saidOf(Order $order): array
    {
        return self::listOf(self::rowOf($order)['said']);
    }

    public static function isSaid(Order $order, string $key): bool
    {
        return in_array(self::keyOf($key), self::saidOf($order), true);
    }

    public static function mark(Order $order, string $key): void
    {
        self::keep($order, ['said' => implode(',', [...self::saidOf($order), self::keyOf($key)])]);
    }
}
