<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** Each row says which order it belongs to, and has its open refunds. */
function upgrade_module_0_4_0(ComptoirPay $module): bool
{
    return $module->bringUpToDate();
}
