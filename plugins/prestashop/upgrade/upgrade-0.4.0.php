<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** Each row says which order it belongs to, and the module no longer follows the company's events. */
function upgrade_module_0_4_0(ComptoirPay $module): bool
{
    if (!ComptoirOrders::addColumns()) {
        return false;
    }
    Configuration::deleteByName('COMPTOIR_CURSOR');
    Configuration::deleteByName('COMPTOIR_LATER');
    return true;
}
