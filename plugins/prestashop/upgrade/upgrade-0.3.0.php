<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** What earlier versions kept among PrestaShop's settings moves to a table. */
function upgrade_module_0_3_0(ComptoirPay $module): bool
{
    return $module->bringUpToDate();
}
