<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** What any earlier version kept, brought to today's form. Each step may be interrupted, and done again. */
final class ComptoirUpgrade
{
    /** @throws ComptoirError an order could not be written */
    public static function run(): bool
    {
        if (!self::makeTable() || !self::addColumns()) {
            return false;
        }
        self::moveOrders();
        self::moveRefunds();
        return self::nameRefunds();
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

    /** Until 0.2.0 it was among PrestaShop's settings, three rows an order. */
    private static function moveOrders(): void
    {
        $table = _DB_PREFIX_ . 'configuration';
        $rows = Db::getInstance()->executeS("SELECT name, value FROM `$table` WHERE name LIKE 'COMPTOIR\\_ORDER\\_%'");
        foreach ($rows ?: [] as ['name' => $name, 'value' => $codes]) {
            $id = (int) substr($name, strlen('COMPTOIR_ORDER_'));
            $order = new Order($id);
            if (Validate::isLoadedObject($order)) {
                self::moveOrder($order, ComptoirOrders::listOf((string) $codes));
            }
            // the codes first: with them and without the rest, it would be guessed again what paid the order
            foreach (['ORDER', 'PAID', 'SAID'] as $kind) {
                Configuration::deleteByName("COMPTOIR_{$kind}_$id");
            }
        }
    }

    /** @param string[] $codes beside those that a later version keeps, where the earlier one was installed again */
    private static function moveOrder(Order $order, array $codes): void
    {
        $paid = Configuration::get("COMPTOIR_PAID_$order->id");
        // an order of the first version has one payment, and no word of which one paid it
        if ($paid === false) {
            $paid = $order->hasBeenPaid() ? $codes[0] ?? '' : '';
        }
        $said = ComptoirOrders::listOf((string) Configuration::get("COMPTOIR_SAID_$order->id"));
        ComptoirOrders::keep($order, [
            'codes' => implode(',', array_unique([...ComptoirOrders::codesOf($order), ...$codes])),
            'paid' => ComptoirOrders::paidBy($order) ?: (string) $paid,
            'said' => implode(',', [...ComptoirOrders::saidOf($order), ...$said]),
        ]);
    }

    /** Until 0.3.0 open refunds were in one setting for all orders, beside a place in the company's events. */
    private static function moveRefunds(): void
    {
        $refunds = (array) json_decode((string) Configuration::get('COMPTOIR_REFUNDS'), true);
        foreach ($refunds as $id => $number) {
            $order = new Order((int) $number);
            if (Validate::isLoadedObject($order)) {
                ComptoirOrders::keepRefunds($order, ComptoirOrders::openRefunds($order) + [$id => ['account' => '']]);
            }
        }
        foreach (['COMPTOIR_REFUNDS', 'COMPTOIR_CURSOR', 'COMPTOIR_LATER'] as $name) {
            Configuration::deleteByName($name);
        }
    }

    /** Until 0.4.0 the sentence of a refund named no payment; it was said of the one that paid the order. */
    private static function nameRefunds(): bool
    {
        $table = _DB_PREFIX_ . ComptoirOrders::TABLE;
        $old = ComptoirOrders::keyOf('Refunded through Comptoir.');
        $code = "IF(paid <> '', paid, SUBSTRING_INDEX(codes, ',', -1))";
        $sentence = "CONCAT('" . implode("', $code, '", explode('%', ShopPayment::refundedNote('%'))) . "')";
        return Db::getInstance()->execute("UPDATE `$table`
            SET said = REPLACE(said, '$old', LEFT(SHA2($sentence, 256), 16)) WHERE said LIKE '%$old%'");
    }
}
