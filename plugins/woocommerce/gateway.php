<?php

declare(strict_types=1);

defined('ABSPATH') || exit;

/** The payment method, its settings, the webhook's address and refunds from the order's page. */
final class WC_Gateway_Comptoir extends WC_Payment_Gateway
{
    /** Refunds that are asked about at a time. */
    private const REFUNDS = 20;

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
        add_action('woocommerce_thankyou_comptoir', [$this, 'look_again']);
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

    /** @param int $timeout seconds; with no retry, for a page that a customer looks at */
    private function payments(int $timeout = 30, int $maxRetries = 3): ShopPayments
    {
        $api = new Comptoir(
            (string) $this->get_option('base_url'),
            (string) $this->get_option('api_key'),
            (string) $this->get_option('api_secret'),
            $timeout,
            $maxRetries,
        );
        return new ShopPayments($api, (string) $this->get_option('till'), (string) $this->get_option('webhook_secret'));
    }

    /** Saving the settings tries them at once. */
    public function save_and_test(): void
    {
        $this->process_admin_options();
        // another account has another feed
        delete_option('comptoir_cursor');
        $faults = $this->payments()->test();
        foreach ($faults as $fault) {
            WC_Admin_Settings::add_error($fault);
        }
        if ($faults === []) {
            WC_Admin_Settings::add_message('Comptoir answers, and the till is there.');
        }
    }

    /** On the page that pays an order, its own currency counts, not the one of the shop. */
    public function is_available(): bool
    {
        $order = wc_get_order(absint(get_query_var('order-pay')));
        return parent::is_available()
            && ShopPayments::takes($order ? $order->get_currency() : get_woocommerce_currency());
    }

    private static function amountOf(WC_Order $order): string
    {
        return ShopPayments::amountOf((float) $order->get_total(), $order->get_currency());
    }

    /** home_url() would differ from one language of a shop to another. */
    private static function address(): string
    {
        return (string) get_option('siteurl');
    }

    /** @return string[] what the module wrote to the order under this name, the newest last */
    private static function listOf(WC_Order $order, string $name): array
    {
        return array_values(array_map(fn ($meta) => (string) $meta->value, $order->get_meta($name, false)));
    }

    /** @return string[] every payment that was opened for the order, the newest last */
    private static function codesOf(WC_Order $order): array
    {
        return self::listOf($order, '_comptoir_code');
    }

    /** The payment that paid the order; empty: another one, or none. */
    private static function paidBy(WC_Order $order): string
    {
        $code = (string) $order->get_transaction_id();
        return in_array($code, self::codesOf($order), true) ? $code : '';
    }

    /**
     * An order that a person or this module put on hold, or that was cancelled, is still paid; one that the shop asks
     * payment for is not. WooCommerce keeps the date, whoever paid the order and whatever becomes of its status.
     */
    private static function isPaid(WC_Order $order): bool
    {
        return match (true) {
            $order->has_status(['pending', 'failed']) => false,
            $order->has_status(['on-hold', 'cancelled']) => $order->get_date_paid() !== null,
            default => true,
        };
    }

    /**
     * Changes an order as it is in the database now, one request at a time: the webhook and the customer who comes back
     * arrive together. No call to Comptoir may be made in it.
     * @throws ComptoirError
     */
    private static function change(int $id, callable $do): mixed
    {
        global $wpdb;
        $lock = "comptoir_{$wpdb->prefix}$id";
        ShopPayments::checkLock($wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, 10)', $lock)));
        try {
            clean_post_cache($id);
            $cache = 'Automattic\WooCommerce\Caches\OrderCache';
            if (class_exists($cache)) {
                wc_get_container()->get($cache)->remove($id);
            }
            $order = wc_get_order($id);
            if (!$order) {
                return null;
            }
            $order->read_meta_data(true);
            return $do($order);
        } finally {
            $wpdb->query($wpdb->prepare('SELECT RELEASE_LOCK(%s)', $lock));
        }
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
                    'shop' => self::address(),
                    'webhook' => WC()->api_request_url('comptoir'),
                    'return' => $this->get_return_url($order),
                    'cancel' => $order->get_cancel_order_url_raw(),
                ],
                self::codesOf($order),
            );
            self::change($order->get_id(), fn (WC_Order $order) => self::remember($order, $payment));
            $this->apply($payment);
        } catch (ComptoirError $error) {
            wc_add_notice('The payment cannot be started now: ' . $error->getMessage(), 'error');
            return ['result' => 'failure'];
        }
        $redirect = $payment->hasPaid() ? $this->get_return_url($order) : $payment->url;
        return ['result' => 'success', 'redirect' => $redirect];
    }

    /** Before the customer sees the payment's page: from then on, money may come. */
    private static function remember(WC_Order $order, ShopPayment $payment): void
    {
        if (!in_array($payment->code, self::codesOf($order), true)) {
            $order->add_meta_data('_comptoir_code', $payment->code);
            $order->save_meta_data();
        }
        // on hold, WooCommerce would empty the cart of a customer who goes back, or place a second order at the next
        // click: its checkout goes on only with an order that is pending or failed
        if ($payment->state === 'open' && $order->has_status('failed')) {
            $order->update_status('pending', 'Waiting for the payment.');
        }
    }

    /** The customer is back from the payment's page. If the webhook is late or lost, Comptoir still knows. */
    public function look_again($order_id): void
    {
        $order = wc_get_order($order_id);
        if (!$order || self::isPaid($order)) {
            return;
        }
        try {
            $payments = $this->payments(5, 0);
            foreach ($payments->look(self::codesOf($order), self::address()) as $payment) {
                $this->apply($payment, $payments);
            }
        } catch (ComptoirError) {
            // the page is shown all the same, and the webhook may still come
        }
    }

    /** What webhooks would have said, for those that were lost. Called every few minutes. */
    public function catch_up(): void
    {
        try {
            $payments = $this->payments();
            $payments->catchUp(
                self::address(),
                get_option('comptoir_cursor') ?: null,
                (array) get_option('comptoir_later', []),
                fn (ShopPayment $payment) => $this->apply($payment, $payments),
                function (string $cursor, array $later): void {
                    update_option('comptoir_later', $later, false);
                    update_option('comptoir_cursor', $cursor, false);
                },
            );
            $this->end_refunds($payments);
        } catch (ComptoirError) {
            // the cursor stays where it was: the next time begins there
        }
    }

    /** A refund that was rejected is put before a person. */
    private function end_refunds(ShopPayments $payments): void
    {
        $open = (array) get_option('comptoir_refunds', []);
        $ids = array_keys($open);
        // those that wait for weeks hold up no other one
        shuffle($ids);
        foreach ($payments->endedRefunds(array_slice($ids, 0, self::REFUNDS)) as $id => $hasGone) {
            $order = $hasGone ? false : wc_get_order($open[$id]);
            if ($order) {
                self::review($order, "refund $id", ShopPayments::rejectedRefund($id), 'refund');
            }
            // another request may have begun a refund meanwhile
            update_option('comptoir_refunds', array_diff_key((array) get_option('comptoir_refunds', []), [$id => 1]), false);
        }
    }

    /** WooCommerce is about to cancel an order for want of a payment. */
    public function is_paid_after_all(WC_Order $order): bool
    {
        if ($order->get_payment_method() !== $this->id) {
            return false;
        }
        $this->look_again($order->get_id());
        $now = wc_get_order($order->get_id());
        return $now && !$now->has_status('pending');
    }

    /** Nobody may pay for what the shop has cancelled. What is paid all the same is put before a person. */
    public function close_payments(int $id): void
    {
        $order = wc_get_order($id);
        if (!$order || $order->get_payment_method() !== $this->id || self::isPaid($order)) {
            return;
        }
        try {
            $this->payments(5, 0)->close(self::codesOf($order));
        } catch (ComptoirError $error) {
            self::say($order, "Its payment could not be closed in Comptoir: {$error->getMessage()}", 'close');
        }
    }

    /** The webhook's address. Whatever it says, the order is looked up at Comptoir. */
    public function receive(): void
    {
        try {
            $body = (string) file_get_contents('php://input');
            $payment = $this->payments()->read($body, self::headers(), self::address());
            if ($payment !== null) {
                $this->apply($payment);
            }
        } catch (WebhookVerificationError) {
            status_header(400);
            return;
        } catch (ComptoirError) {
            // not known for sure now: a refusal makes Comptoir deliver again
            status_header(503);
            return;
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

    public function apply(ShopPayment $payment, ?ShopPayments $payments = null): void
    {
        $isHere = str_starts_with($payment->reference, 'WC-');
        $order = $isHere ? wc_get_order((int) substr($payment->reference, 3)) : false;
        if (!$order) {
            return;
        }
        $payments ??= $this->payments();
        $over = $payments->overBeside($payment, self::codesOf($order), self::address());
        $settle = fn (WC_Order $order) => $this->settle($order, $payment, $over);
        $payments->close(self::change($order->get_id(), $settle) ?? []);
    }

    /**
     * @param string[] $over the order's other payments that bring no money any more
     * @return string[] the payments that must not be paid any more
     */
    private function settle(WC_Order $order, ShopPayment $payment, array $over): array
    {
        $codes = self::codesOf($order);
        if (!in_array($payment->code, $codes, true)) {
            if (!$payment->isOwn) {
                return [];
            }
            // opened before the module kept every code
            array_unshift($codes, $payment->code);
        }
        // an order that is paid another way, or was ended by the shop, does not wait for this payment
        $waits = $order->get_payment_method() === $this->id && $order->has_status(['on-hold', 'pending', 'failed']);
        [$action, $note] = $payment->decide(new ShopOrder(
            codes: $codes,
            isPaid: self::isPaid($order),
            paidBy: self::paidBy($order),
            waits: $waits,
            amount: self::amountOf($order),
            currency: $order->get_currency(),
            surplus: self::listOf($order, '_comptoir_surplus'),
            isCancelled: $order->has_status('cancelled'),
        ), $over);
        match ($action) {
            'complete' => $this->complete($order, $payment->code, $note),
            'review', 'surplus', 'late' => self::review($order, $payment->code, $note, $action),
            'wait', 'fail', 'refund', 'note' => self::say($order, $note, $note),
            'none' => null,
        };
        $status = ['wait' => 'on-hold', 'fail' => 'failed', 'refund' => 'refunded'][$action] ?? null;
        if ($status !== null && !$order->has_status($status)) {
            $order->update_status($status);
        }
        return $payment->hasMoney() ? array_diff($codes, [$payment->code]) : [];
    }

    private function complete(WC_Order $order, string $code, string $note): void
    {
        if ($note !== '') {
            self::say($order, $note, $note);
        }
        if (!in_array($code, self::codesOf($order), true)) {
            $order->add_meta_data('_comptoir_code', $code);
        }
        // WooCommerce catches whatever another plugin throws meanwhile, and says only that it did not work
        if ($order->payment_complete($code) === false) {
            throw new ComptoirError(0, 'SHOP_BUSY', 'The order could not be completed. Try again in a minute.');
        }
    }

    /** A person must see it: in the order, in the list of orders where nothing was sent yet, and in the mail. */
    private static function review(WC_Order $order, string $code, string $note, string $action): void
    {
        if (in_array($action, ['surplus', 'late'], true)) {
            $order->add_meta_data('_comptoir_surplus', $code);
            $order->save_meta_data();
        }
        // what a person has settled since is not opened again
        if (!self::say($order, $note, "review $code")) {
            return;
        }
        // an order that was sent, or is over, keeps its status
        if (in_array($action, ['review', 'late'], true) || $order->has_status('processing')) {
            $order->update_status('on-hold');
        }
        $subject = "Order {$order->get_order_number()}: please check its payment";
        wp_mail((string) get_option('admin_email'), $subject, $note);
    }

    /** Adds a note once, however often it is news. @return bool it was news */
    private static function say(WC_Order $order, string $note, string $key): bool
    {
        if (in_array($key, self::listOf($order, '_comptoir_said'), true)) {
            return false;
        }
        $order->add_meta_data('_comptoir_said', $key);
        $order->save_meta_data();
        $order->add_order_note($note);
        return true;
    }

    public function process_refund($order_id, $amount = null, $reason = ''): bool|WP_Error
    {
        $order = wc_get_order($order_id);
        // an order that a person marked as paid: the newest payment; Comptoir refuses what is not paid
        $codes = self::codesOf($order);
        $code = self::paidBy($order) ?: (string) end($codes);
        if ($code === '') {
            return new WP_Error('comptoir', 'This order was not paid through Comptoir.');
        }
        $text = $amount === null ? null : ShopPayments::amountOf((float) $amount, $order->get_currency());
        // WooCommerce deletes the record of a refund whose answer was lost, and a person may delete any: what has
        // started is counted here. So the same amount may be refunded twice, and a repeated click refunds once
        $key = "wc-refund-{$order->get_id()}-" . count(self::listOf($order, '_comptoir_refund')) . "-$text";
        try {
            $id = $this->payments()->refund($code, $text, (string) $reason, $key);
            // a refund that has started and could not be counted is found again by the next click, which has its key
            $isNew = self::change($order->get_id(), function (WC_Order $order) use ($id): bool {
                if (in_array($id, self::listOf($order, '_comptoir_refund'), true)) {
                    return false;
                }
                $order->add_meta_data('_comptoir_refund', $id);
                $order->save_meta_data();
                $open = (array) get_option('comptoir_refunds', []);
                update_option('comptoir_refunds', [...$open, $id => $order->get_id()], false);
                $note = "Refund $id has started at Comptoir. The customer may be asked for a wallet address.";
                $order->add_order_note($note);
                return true;
            });
        } catch (ComptoirError | InvalidArgumentException $error) {
            return new WP_Error('comptoir', $error->getMessage());
        }
        return $isNew ?: new WP_Error('comptoir', "Refund $id has started already, by another click.");
    }
}
