<?php

declare(strict_types=1);

defined('ABSPATH') || exit;

/** The payment method, its settings, the webhook's address and refunds from the order's page. */
final class WC_Gateway_Comptoir extends WC_Payment_Gateway
{
    public function __construct()
    {
        $this->id = 'comptoir';
        $this->method_title = 'Comptoir';
        $this->method_description = 'Customers pay with crypto; you are settled in USDC.';
        $this->has_fields = false;
        $this->supports = ['products', 'refunds'];
        $this->init_form_fields();
        $this->init_settings();
        $this->title = (string) $this->get_option('title');
        $this->description = (string) $this->get_option('description');
        add_action('woocommerce_update_options_payment_gateways_comptoir', [$this, 'save_and_test']);
        add_action('woocommerce_api_comptoir', [$this, 'receive']);
    }

    public function init_form_fields(): void
    {
        $this->form_fields = [
            'enabled' => ['title' => 'Enabled', 'type' => 'checkbox', 'default' => 'no'],
            'title' => ['title' => 'Title', 'type' => 'text', 'default' => 'Crypto (USDC and others)'],
            'description' => ['title' => 'Description', 'type' => 'textarea', 'default' => 'Pay from a wallet or an exchange.'],
            'base_url' => ['title' => 'Address of Comptoir', 'type' => 'text', 'placeholder' => 'https://pay.example'],
            'api_key' => ['title' => 'API key', 'type' => 'text', 'placeholder' => 'pk_…'],
            'api_secret' => ['title' => 'API secret', 'type' => 'password', 'placeholder' => 'sk_…'],
            'webhook_secret' => ['title' => 'Signing secret of webhooks', 'type' => 'password', 'placeholder' => 'whsec_…'],
            'till' => ['title' => 'Till', 'type' => 'text', 'default' => 'TILL-1'],
        ];
    }

    private function payments(): ShopPayments
    {
        $api = new Comptoir(
            (string) $this->get_option('base_url'),
            (string) $this->get_option('api_key'),
            (string) $this->get_option('api_secret'),
        );
        return new ShopPayments($api, (string) $this->get_option('till'), (string) $this->get_option('webhook_secret'));
    }

    /** Saving the settings tries them at once. */
    public function save_and_test(): void
    {
        $this->process_admin_options();
        $faults = $this->payments()->test();
        foreach ($faults as $fault) {
            WC_Admin_Settings::add_error($fault);
        }
        if ($faults === []) {
            WC_Admin_Settings::add_message('Comptoir answers, and the till is there.');
        }
    }

    /** Decimal text with the currency's digits; WooCommerce keeps totals as decimal text. */
    private static function amountOf(WC_Order $order): string
    {
        return number_format((float) $order->get_total(), $order->get_currency() === 'XPF' ? 0 : 2, '.', '');
    }

    public function process_payment($order_id): array
    {
        $order = wc_get_order($order_id);
        try {
            $payment = $this->payments()->open(
                'WC-' . $order->get_id(),
                self::amountOf($order),
                $order->get_currency(),
                [
                    // home_url() would differ from one language of a shop to another
                    'shop' => (string) get_option('siteurl'),
                    'webhook' => WC()->api_request_url('comptoir'),
                    'return' => $this->get_return_url($order),
                    'cancel' => $order->get_cancel_order_url_raw(),
                ],
            );
        } catch (ComptoirError $error) {
            wc_add_notice('The payment cannot be started now: ' . $error->getMessage(), 'error');
            return ['result' => 'failure'];
        }
        $order->update_meta_data('_comptoir_code', $payment['code']);
        $order->update_status('on-hold', 'Waiting for the payment.');
        $order->save();
        return ['result' => 'success', 'redirect' => $payment['url']];
    }

    /** The webhook's address. Whatever it says, the order is looked up at Comptoir. */
    public function receive(): void
    {
        try {
            $payment = $this->payments()->read((string) file_get_contents('php://input'), self::headers());
        } catch (WebhookVerificationError) {
            status_header(400);
            return;
        } catch (ComptoirError) {
            // not known for sure now: a refusal makes Comptoir deliver again
            status_header(503);
            return;
        }
        if ($payment !== null) {
            $this->apply($payment);
        }
        status_header(200);
    }

    /** @return array<string, string> */
    private static function headers(): array
    {
        $headers = [];
        foreach ($_SERVER as $name => $value) {
            if (str_starts_with($name, 'HTTP_')) {
                $headers[strtolower(str_replace('_', '-', substr($name, 5)))] = (string) $value;
            }
        }
        return $headers;
    }

    public function apply(ShopPayment $payment): void
    {
        $order = str_starts_with($payment->reference, 'WC-') ? wc_get_order((int) substr($payment->reference, 3)) : false;
        // a customer who paid twice, or an order of another shop: a person decides in Comptoir
        if (!$order || $order->get_meta('_comptoir_code') !== $payment->code) {
            return;
        }
        if ($payment->state === 'paid' && !$order->is_paid()) {
            if ($payment->amount !== self::amountOf($order) || $payment->currency !== $order->get_currency()) {
                $order->update_status('on-hold', "Paid {$payment->amount} {$payment->currency}, which is not the total.");
                return;
            }
            $order->payment_complete($payment->code);
        }
        // an order that is paid another way, or was ended by the shop, does not wait for this payment
        $waits = $order->get_payment_method() === $this->id && $order->has_status(['on-hold', 'pending']);
        if ($payment->state === 'ended' && $waits) {
            $order->update_status('failed', 'The payment ended without money.');
        }
        if ($payment->state === 'refunded' && $order->get_status() !== 'refunded') {
            $order->update_status('refunded', 'Refunded through Comptoir.');
        }
    }

    public function process_refund($order_id, $amount = null, $reason = ''): bool|WP_Error
    {
        $order = wc_get_order($order_id);
        $code = (string) $order->get_meta('_comptoir_code');
        if ($code === '') {
            return new WP_Error('comptoir', 'This order was not paid through Comptoir.');
        }
        $digits = $order->get_currency() === 'XPF' ? 0 : 2;
        $text = $amount === null ? null : number_format((float) $amount, $digits, '.', '');
        // refunds so far are part of the key: the same amount may be refunded twice, a repeated click refunds once
        $key = "wc-{$order->get_id()}-" . count($order->get_refunds()) . "-$text";
        try {
            $id = $this->payments()->refund($code, $text, (string) $reason, $key);
        } catch (ComptoirError | InvalidArgumentException $error) {
            return new WP_Error('comptoir', $error->getMessage());
        }
        $order->add_order_note("Refund $id has started at Comptoir. The customer may be asked for a wallet address.");
        return true;
    }
}
