<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** News of a payment changes its order once; what earlier versions have said of it counts. */
function upgrade_module_0_5_0(ComptoirPay $module): bool
{
    return $module->bringUpToDate();
}
