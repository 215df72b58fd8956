<?php

/**
 * Plugin Name: Comptoir for WooCommerce
 * Description: Crypto payments settled in USDC, by your own Comptoir.
 * Version: 0.5.0
 * Requires PHP: 8.1
 * Requires Plugins: woocommerce
 * License: Apache-2.0
 */

declare(strict_types=1);

defined('ABSPATH') || exit;

require_once __DIR__ . '/ComptoirClient.php';
require_once __DIR__ . '/ShopPayments.php';

const COMPTOIR_LOOK = 'comptoir_look';
const COMPTOIR_LOOK_SECONDS = 300;

function comptoir_gateway(): ?WC_Gateway_Comptoir
{
    // WooCommerce may be switched off while this plugin is on
    return function_exists('WC') ? WC()->payment_gateways()->payment_gateways()['comptoir'] ?? null : null;
}

add_action('plugins_loaded', function (): void {
    if (class_exists('WC_Payment_Gateway')) {
        require_once __DIR__ . '/kept.php';
        require_once __DIR__ . '/journal.php';
        require_once __DIR__ . '/orders.php';
        require_once __DIR__ . '/gateway.php';
    }
});
add_filter('woocommerce_payment_gateways', fn (array $gateways): array => [...$gateways, 'WC_Gateway_Comptoir']);

// orders are read and written through WooCommerce's own classes alone, wherever it keeps them
add_action('before_woocommerce_init', function (): void {
    $features = 'Automattic\WooCommerce\Utilities\FeaturesUtil';
    if (class_exists($features)) {
        $features::declare_compatibility('custom_order_tables', __FILE__, true);
        $features::declare_compatibility('cart_checkout_blocks', __FILE__, true);
    }
});
// a new shop's checkout is made of blocks, which show no other payment method
add_action('woocommerce_blocks_payment_method_type_registration', function (object $methods): void {
    require_once __DIR__ . '/blocks.php';
    $methods->register(new Comptoir_Blocks_Method());
});

// who pays and closes the tab while the shop is down for longer than Comptoir repeats a webhook is found by this
add_action('init', function (): void {
    if (function_exists('as_has_scheduled_action') && !as_has_scheduled_action(COMPTOIR_LOOK)) {
        as_schedule_recurring_action(time(), COMPTOIR_LOOK_SECONDS, COMPTOIR_LOOK, [], 'comptoir');
    }
});
register_deactivation_hook(__FILE__, function (): void {
    if (function_exists('as_unschedule_all_actions')) {
        as_unschedule_all_actions(COMPTOIR_LOOK);
    }
});
add_action('admin_notices', function (): void {
    $fault = current_user_can('manage_woocommerce') ? (comptoir_gateway()?->fault() ?? '') : '';
    if ($fault !== '') {
        echo '<div class="notice notice-error"><p>', esc_html($fault), '</p></div>';
    }
});
add_action(COMPTOIR_LOOK, fn () => comptoir_gateway()?->catch_up());
// after all others: what they keep is not closed
add_filter(
    'woocommerce_cancel_unpaid_order',
    fn ($cancels, $order) => $cancels && (comptoir_gateway()?->may_cancel($order) ?? true),
    1000,
    2,
);
add_action('woocommerce_order_status_cancelled', fn ($id) => comptoir_gateway()?->close_payments((int) $id));
add_action('woocommerce_order_status_refunded', fn ($id) => comptoir_gateway()?->note_stop((int) $id));
