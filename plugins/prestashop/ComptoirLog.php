<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/**
 * PrestaShop's log. It writes the same entry once, but mails an entry of the weight 3 or more before it looks whether
 * it is there, so what is found again every few minutes is kept from it here.
 */
final class ComptoirLog
{
    /** Entries that are remembered. PrestaShop reads its settings whole on every page. */
    private const TOLD = 50;

    public static function ofOrder(int $id, string $text, int $weight): void
    {
        PrestaShopLogger::addLog("Comptoir: $text", $weight, null, 'Order', $id);
    }

    /** Each time it happens, also in the same words. */
    public static function always(int $id, string $text, int $weight): void
    {
        PrestaShopLogger::addLog("Comptoir: $text", $weight, null, 'Order', $id, true);
    }

    /** @param int $id of an order; 0: of none */
    public static function once(string $text, int $weight, int $id = 0): void
    {
        $told = ComptoirOrders::listOf((string) Configuration::get('COMPTOIR_TOLD'));
        $key = ComptoirOrders::keyOf("$id $text");
        if (in_array($key, $told, true)) {
            return;
        }
        Configuration::updateValue('COMPTOIR_TOLD', implode(',', array_slice([...$told, $key], -self::TOLD)));
        PrestaShopLogger::addLog("Comptoir: $text", $weight, null, $id === 0 ? null : 'Order', $id ?: null);
    }

    /** What stops all of it is this, as far as is known. */
    public static function isFault(string $fault): bool
    {
        return (string) Configuration::get('COMPTOIR_WARNED') === ComptoirOrders::keyOf($fault);
    }

    /** Orders that wait for the next time, when that begins: a mail for each says no more. @param string $text empty: none */
    public static function passing(string $text): void
    {
        $was = (string) Configuration::get('COMPTOIR_BUSY');
        if (($was === '') === ($text === '')) {
            return;
        }
        Configuration::updateValue('COMPTOIR_BUSY', $text === '' ? '' : '1');
        if ($text !== '') {
            PrestaShopLogger::addLog("Comptoir: $text", 3, null, null, null, true);
        }
    }

    /** What stops all of it, when it begins or changes. @param string $fault empty: nothing */
    public static function fault(string $fault): void
    {
        $key = $fault === '' ? '' : ComptoirOrders::keyOf($fault);
        if ($key === (string) Configuration::get('COMPTOIR_WARNED')) {
            return;
        }
        Configuration::updateValue('COMPTOIR_WARNED', $key);
        if ($fault !== '') {
            PrestaShopLogger::addLog("Comptoir: $fault", 4, null, null, null, true);
        }
    }
}
