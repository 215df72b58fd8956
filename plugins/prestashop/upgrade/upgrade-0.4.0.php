<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** Each row says which order it belongs to, and has its open refunds; the company's events are no longer followed. */
function upgrade_module_0_4_0(ComptoirPay $module): bool
{
    if (!ComptoirOrders::addColumns() || !$module->registerHooks()) {
        return false;
    }
    $refunds = (array) json_decode((string) Configuration::get('COMPTOIR_REFUNDS'), true);
    foreach ($refunds as $id => $number) {
        $order = new Order((int) $number);
        if (Validate::isLoadedObject($order)) {
            ComptoirOrders::keepRefunds($order, ComptoirOrders::openRefunds($order) + [$id => ['account' => '']]);
        }
    }
    Configuration::deleteByName('COMPTOIR_REFUNDS');
    Configuration::deleteByName('COMPTOIR_CURSOR');
    Configuration::deleteByName('COMPTOIR_LATER');
    return true;
}
