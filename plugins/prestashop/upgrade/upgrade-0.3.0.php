<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** What earlier versions kept among PrestaShop's settings, three rows an order, moves to a table. */
function upgrade_module_0_3_0(ComptoirPay $module): bool
{
    $hasTable = ComptoirOrders::makeTable() && ComptoirOrders::addColumns();
    if (!$hasTable || !$module->registerHooks() || ComptoirStates::waiting() === 0) {
        return false;
    }
    $table = _DB_PREFIX_ . 'configuration';
    $rows = Db::getInstance()->executeS("SELECT name, value FROM `$table` WHERE name LIKE 'COMPTOIR\\_ORDER\\_%'");
    foreach ($rows ?: [] as ['name' => $name, 'value' => $codes]) {
        $id = (int) substr($name, strlen('COMPTOIR_ORDER_'));
        $paid = Configuration::get("COMPTOIR_PAID_$id");
        $order = new Order($id);
        // an order of the first version has one payment, and no word of which one paid it
        if ($paid === false) {
            $paid = $order->hasBeenPaid() ? explode(',', (string) $codes)[0] : '';
        }
        $said = (string) Configuration::get("COMPTOIR_SAID_$id");
        if (Validate::isLoadedObject($order)) {
            ComptoirOrders::keep($order, ['codes' => (string) $codes, 'paid' => (string) $paid, 'said' => $said]);
        }
        foreach (['ORDER', 'PAID', 'SAID'] as $kind) {
            Configuration::deleteByName("COMPTOIR_{$kind}_$id");
        }
    }
    return true;
}
