<?php

/**
 * Plugin Name: Comptoir for WooCommerce
 * Description: Crypto payments settled in USDC, by your own Comptoir.
 * Version: 0.2.0
 * Requires PHP: 8.1
 * Requires Plugins: woocommerce
 * License: Apache-2.0
 */

declare(strict_types=1);

defined('ABSPATH') || exit;

require_once __DIR__ . '/Comptoir.php';
require_once __DIR__ . '/ShopPayments.php';

add_action('plugins_loaded', function (): void {
    if (class_exists('WC_Payment_Gateway')) {
        require_once __DIR__ . '/gateway.php';
    }
});
add_filter('woocommerce_payment_gateways', fn (array $gateways): array => [...$gateways, 'WC_Gateway_Comptoir']);
