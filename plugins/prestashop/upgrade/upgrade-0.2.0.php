<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** PrestaShop runs this once in a shop that had an earlier version: displayPaymentReturn is new in 0.2.0. */
function upgrade_module_0_2_0(ComptoirPay $module): bool
{
    return $module->bringUpToDate();
}
