<?php

declare(strict_types=1);

use Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType;

defined('ABSPATH') || exit;

/** The payment method in the checkout block; the payment itself starts in the gateway, as in every checkout. */
final class Comptoir_Blocks_Method extends AbstractPaymentMethodType
{
    protected $name = 'comptoir';

    public function initialize(): void
    {
        $this->settings = get_option('woocommerce_comptoir_settings', []);
    }

    public function is_active(): bool
    {
        return (bool) comptoir_gateway()?->is_available();
    }

    /** @return string[] */
    public function get_payment_method_script_handles(): array
    {
        $needs = ['wc-blocks-registry', 'wc-settings', 'wp-element', 'wp-html-entities'];
        wp_register_script('comptoir-blocks', plugins_url('blocks.js', __FILE__), $needs, '0.5.0', true);
        return ['comptoir-blocks'];
    }

    /** What the script shows. */
    public function get_payment_method_data(): array
    {
        $gateway = comptoir_gateway();
        return [
            'title' => $gateway?->title ?? '',
            'description' => $gateway?->description ?? '',
            'supports' => $gateway?->supports ?? [],
        ];
    }
}
