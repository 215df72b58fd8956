<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** What the module knows of each order, in a table: PrestaShop reads its settings whole on every page. */
final class ComptoirOrders
{
    private const TABLE = 'comptoir_order';

    public static function makeTable(): bool
    {
        $table = _DB_PREFIX_ . self::TABLE;
        return Db::getInstance()->execute("CREATE TABLE IF NOT EXISTS `$table` (
            id_order INT UNSIGNED NOT NULL PRIMARY KEY, codes TEXT NOT NULL, paid VARCHAR(64) NOT NULL, said TEXT NOT NULL
        ) DEFAULT CHARSET=utf8mb4");
    }

    /** @return array{codes: string, paid: string, said: string} what the module knows of an order */
    private static function rowOf(int $id): array
    {
        $table = _DB_PREFIX_ . self::TABLE;
        $row = Db::getInstance()->getRow("SELECT codes, paid, said FROM `$table` WHERE id_order = $id", false);
        return is_array($row) ? $row : ['codes' => '', 'paid' => '', 'said' => ''];
    }

    /** @param array<string, string> $changes */
    public static function keep(int $id, array $changes): void
    {
        $row = array_map(pSQL(...), [...self::rowOf($id), ...$changes]);
        Db::getInstance()->insert(self::TABLE, ['id_order' => $id, ...$row], false, true, Db::REPLACE);
    }

    /** @return string[] codes with commas between them */
    public static function listOf(string $text): array
    {
        return array_values(array_filter(explode(',', $text)));
    }

    /** @return string[] every payment that was opened for the order, the newest last */
    public static function codesOf(int $id): array
    {
        return self::listOf(self::rowOf($id)['codes']);
    }

    /** The payment that paid the order; empty: another one, or none. */
    public static function paidBy(int $id): string
    {
        return self::rowOf($id)['paid'];
    }

    public static function isSaid(int $id, string $key): bool
    {
        $said = self::listOf(self::rowOf($id)['said']);
        return in_array(substr(hash('sha256', $key), 0, 16), $said, true);
    }

    /** @return bool it was not marked before */
    public static function mark(int $id, string $key): bool
    {
        if (self::isSaid($id, $key)) {
            return false;
        }
        $said = self::listOf(self::rowOf($id)['said']);
        self::keep($id, ['said' => implode(',', [...$said, substr(hash('sha256', $key), 0, 16)])]);
        return true;
    }
}
