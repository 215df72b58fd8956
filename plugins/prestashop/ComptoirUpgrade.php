<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** What any earlier version kept, brought to today's form. Each step may be interrupted, and done again. */
final class ComptoirUpgrade
{
    /**
     * @param callable $change changes an order that is there, one request at a time
     * @param float $seconds for the orders; the rest of them is left to the next run
     */
    public static function run(callable $change, float $seconds = INF): bool
    {
        if (!self::makeTable() || !self::addColumns()) {
            return false;
        }
        self::moveOrders($change, microtime(true) + $seconds);
        self::moveRefunds($change);
        return self::nameRefunds();
    }

    /** Whether a run was interrupted after it had the table: PrestaShop does not do it again. */
    public static function isUnfinished(): bool
    {
        return self::oldRows() !== [];
    }

    private static function makeTable(): bool
    {
        $table = _DB_PREFIX_ . ComptoirOrders::TABLE;
        return Db::getInstance()->execute("CREATE TABLE IF NOT EXISTS `$table` (
            id_order INT UNSIGNED NOT NULL PRIMARY KEY, secret CHAR(64) NOT NULL DEFAULT '', codes TEXT NOT NULL,
            paid VARCHAR(64) NOT NULL, said TEXT NOT NULL, refunds TEXT NOT NULL
        ) DEFAULT CHARSET=utf8mb4");
    }

    /**
     * The table of an earlier version, also where an upgrade was interrupted: the database keeps each of its steps.
     * Rows belong to the orders that have their numbers now; those of deleted orders to none.
     */
    private static function addColumns(): bool
    {
        $table = _DB_PREFIX_ . ComptoirOrders::TABLE;
        $orders = _DB_PREFIX_ . 'orders';
        $db = Db::getInstance();
        foreach (['refunds' => 'TEXT NOT NULL', 'secret' => "CHAR(64) NOT NULL DEFAULT ''"] as $name => $type) {
            if (!ComptoirOrders::hasColumn($name) && !$db->execute("ALTER TABLE `$table` ADD $name $type")) {
                return false;
            }
        }
        return $db->execute("UPDATE `$table` c LEFT JOIN `$orders` o ON o.id_order = c.id_order
            SET c.secret = COALESCE(SHA2(CONCAT(o.reference, '|', o.secure_key), 256), '-') WHERE c.secret = ''");
    }

    /**
     * What versions before 0.3.0 kept among PrestaShop's settings, of all shops.
     * @return array<string, string>[] its rows, the oldest first
     */
    private static function oldRows(): array
    {
        $table = _DB_PREFIX_ . 'configuration';
        $isOld = "name REGEXP '^COMPTOIR_((ORDER|PAID|SAID)_[0-9]+|REFUNDS)$'";
        $query = "SELECT id_configuration, name, value, id_shop, date_add, date_upd FROM `$table` WHERE $isOld";
        return Db::getInstance()->executeS("$query ORDER BY id_configuration", true, false) ?: [];
    }

    /** Until 0.2.0 three rows an order. What ends on the way, or is not done in time, is done by the next run. */
    private static function moveOrders(callable $change, float $until): void
    {
        $found = [];
        foreach (self::oldRows() as $row) {
            if (preg_match('/^COMPTOIR_([A-Z]+)_(\d+)$/', $row['name'], $parts) === 1) {
                $found[(int) $parts[2]][] = [...$row, 'kind' => $parts[1]];
            }
        }
        foreach ($found as $id => $rows) {
            if (microtime(true) >= $until) {
                return;
            }
            $move = fn (Order $order): array => self::moveOrder($order, $rows);
            self::move($rows, fn (): array => $change($id, $move) ?? []);
        }
    }

    /** @param callable(): array $do returns the rows that were moved. One order that fails holds up no other. */
    private static function move(array $rows, callable $do): void
    {
        try {
            $moved = array_column($do(), 'id_configuration');
        } catch (Throwable $error) {
            ComptoirLog::once("{$rows[0]['name']} is not moved yet: {$error->getMessage()}", 3);
            return;
        }
        $table = _DB_PREFIX_ . 'configuration';
        $isLeft = fn ($row) => !in_array($row['id_configuration'], $moved, true);
        if ($moved !== []) {
            Db::getInstance()->execute("DELETE FROM `$table` WHERE id_configuration IN (" . implode(',', $moved) . ')');
        }
        foreach (array_filter($rows, $isLeft) as ['id_configuration' => $id, 'name' => $name, 'value' => $value]) {
            // under a name that is not asked for again
            $left = 'COMPTOIR_LEFT_' . substr($name, strlen('COMPTOIR_'));
            Db::getInstance()->execute("UPDATE `$table` SET name = '$left' WHERE id_configuration = $id");
            $note = "the setting $name ($value) of an earlier version belongs to no order that is there now";
            PrestaShopLogger::addLog("Comptoir: $note. It is kept as $left.", 2);
        }
    }

    /**
     * PrestaShop gives the numbers of deleted orders again, and no earlier customer's payment may pay a later order.
     * @param string $written when the setting was
     */
    private static function isOwn(Order $order, string $written): bool
    {
        return $order->module === 'comptoirpay' && (string) $order->date_add <= $written;
    }

    /** A shop of several wrote its own settings; one alone wrote those of all. */
    private static function isInShop(Order $order, array $row): bool
    {
        return in_array((int) $row['id_shop'], [0, (int) $order->id_shop], true);
    }

    /**
     * Beside what a later version keeps, where the earlier one was installed again.
     * @return array[] those of the rows that are the order's own
     */
    private static function moveOrder(Order $order, array $rows): array
    {
        $own = array_values(array_filter($rows, fn ($row) => self::isInShop($order, $row)));
        // the first one was written when the order was placed, the others later
        if ($own === [] || !self::isOwn($order, $own[0]['date_add'])) {
            return [];
        }
        $textsOf = fn (string $kind): array =>
            array_column(array_filter($own, fn ($row) => $row['kind'] === $kind), 'value');
        $codes = ComptoirOrders::listOf(implode(',', $textsOf('ORDER')));
        // an order of the first version has one payment, and no word of which one paid it
        $paid = $textsOf('PAID') ?: [$order->hasBeenPaid() ? $codes[0] ?? '' : ''];
        $said = ComptoirOrders::listOf(implode(',', $textsOf('SAID')));
        ComptoirOrders::keep($order, [
            'codes' => implode(',', array_unique([...ComptoirOrders::codesOf($order), ...$codes])),
            'paid' => ComptoirOrders::paidBy($order) ?: (string) end($paid),
            'said' => implode(',', array_unique([...ComptoirOrders::saidOf($order), ...$said])),
        ]);
        // before its rows are deleted: nothing would show that this is left to do
        self::nameRefunds("AND id_order = $order->id");
        return $own;
    }

    /** Until 0.3.0 open refunds were in one setting for all orders, beside a place in the company's events. */
    private static function moveRefunds(callable $change): void
    {
        foreach (self::oldRows() as $row) {
            if ($row['name'] === 'COMPTOIR_REFUNDS') {
                self::move([$row], fn (): array => self::moveRefundsOf($change, $row) ? [$row] : []);
            }
        }
        foreach (['COMPTOIR_CURSOR', 'COMPTOIR_LATER'] as $name) {
            Configuration::deleteByName($name);
        }
    }

    /** @return bool all of them have their order */
    private static function moveRefundsOf(callable $change, array $row): bool
    {
        $isAll = true;
        foreach ((array) json_decode((string) $row['value'], true) as $id => $number) {
            $isAll = $change((int) $number, function (Order $order) use ($id, $row): bool {
                // written with each refund
                if (!self::isInShop($order, $row) || !self::isOwn($order, $row['date_upd'])) {
                    return false;
                }
                ComptoirOrders::keepRefunds($order, ComptoirOrders::openRefunds($order) + [$id => ['account' => '']]);
                return true;
            }) && $isAll;
        }
        return $isAll;
    }

    /** Until 0.4.0 the sentence of a refund named no payment; it was said of the one that paid the order. */
    private static function nameRefunds(string $which = ''): bool
    {
        $table = _DB_PREFIX_ . ComptoirOrders::TABLE;
        $old = ComptoirOrders::keyOf('Refunded through Comptoir.');
        $code = "IF(paid <> '', paid, SUBSTRING_INDEX(codes, ',', -1))";
        $sentence = "CONCAT('" . implode("', $code, '", explode('%', ShopPayment::refundedNote('%'))) . "')";
        return Db::getInstance()->execute("UPDATE `$table`
            SET said = REPLACE(said, '$old', LEFT(SHA2($sentence, 256), 16)) WHERE said LIKE '%$old%' $which");
    }
}
