<?php

declare(strict_types=1);

defined('ABSPATH') || exit;

/** The payment method, its settings, the webhook's address and refunds from the order's page. */
final class WC_Gateway_Comptoir extends WC_Payment_Gateway
{
    /** Orders of each kind that are looked at in five minutes. */
    private const ORDERS = 40;
    /** Action Scheduler ends what takes half a minute. */
    private const SECONDS = 20.0;
    /** Seconds in which a Comptoir that did not answer is not asked whether an order may be cancelled. */
    private const SILENCE = 60;

    private static int $silentAt = 0;

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
            'moved' => [
                'title' => 'This shop has moved here',
                'type' => 'checkbox',
                'default' => 'no',
                'label' => 'It is the same shop at another address, not a copy: its earlier orders go on here.',
            ],
        ];
    }

    /**
     * @param int $timeout seconds of an attempt. A customer waits for most of them, and Comptoir for the webhook's answer
     * @param float $deadline seconds of all calls and attempts together
     * @throws ComptoirError in a copy of the shop
     */
    private function payments(int $timeout = 4, int $maxRetries = 1, float $deadline = 9): ShopPayments
    {
        ShopPlace::check(self::place(), self::address());
        $api = new Comptoir(
            (string) $this->get_option('base_url'),
            (string) $this->get_option('api_key'),
            (string) $this->get_option('api_secret'),
            $timeout,
            $maxRetries,
            $deadline,
        );
        return new ShopPayments($api, (string) $this->get_option('till'), (string) $this->get_option('webhook_secret'));
    }

    /** home_url() would differ from one language of a shop to another. */
    private static function address(): string
    {
        return (string) get_option('siteurl');
    }

    /** Where the settings were saved; the first version that asks takes where it is. */
    private static function place(): string
    {
        $place = (string) get_option('comptoir_place', '');
        if ($place === '') {
            $place = ShopPlace::of(self::address());
            update_option('comptoir_place', $place, false);
        }
        return $place;
    }

    /** A copy of the shop, or one that has moved. */
    public function place_fault(): string
    {
        return ShopPlace::fault(self::place(), self::address());
    }

    /** What the back office shows on every page. */
    public function fault(): string
    {
        return $this->place_fault() ?: (string) get_option('comptoir_fault', '');
    }

    /** A key that is not accepted stops everything until a person mends it. @param string $fault empty: it is over */
    private static function keep_fault(string $fault): void
    {
        if ((string) get_option('comptoir_fault', '') === $fault) {
            return;
        }
        update_option('comptoir_fault', $fault, true);
        $fault === '' || wc_get_logger()->warning($fault, ['source' => 'comptoir']);
    }

    /** The shop may have moved, and would not be paid by its customers: also by mail, once for each place. */
    private function warn(): void
    {
        $here = ShopPlace::of(self::address());
        $fault = $this->place_fault();
        if ($fault !== '' && get_option('comptoir_warned') !== $here) {
            update_option('comptoir_warned', $here, false);
            wp_mail((string) get_option('admin_email'), 'Comptoir is switched off in your shop', $fault);
        }
    }

    /** Saving the settings tries them at once. */
    public function save_and_test(): void
    {
        $this->process_admin_options();
        if ($this->get_option('moved') === 'yes') {
            delete_option('comptoir_copied');
            $this->update_option('moved', 'no');
        } elseif ($this->place_fault() !== '') {
            update_option('comptoir_copied', time(), false);
            WC_Admin_Settings::add_message('Comptoir is used here for new orders. Those from before are left alone.');
        }
        update_option('comptoir_place', ShopPlace::of(self::address()), false);
        $faults = $this->payments()->test();
        foreach ($faults as $fault) {
            WC_Admin_Settings::add_error($fault);
        }
        if ($faults === []) {
            self::keep_fault('');
            WC_Admin_Settings::add_message('Comptoir answers, and the till is there.');
        }
    }

    /** On the page that pays an order, its own currency counts, not the one of the shop. */
    public function is_available(): bool
    {
        $order = wc_get_order(absint(get_query_var('order-pay')));
        return parent::is_available()
            && $this->place_fault() === ''
            && ShopPayments::takes($order ? $order->get_currency() : get_woocommerce_currency());
    }

    public function process_payment($order_id): array
    {
        try {
            $payments = $this->payments();
            $order = $this->find((int) $order_id, $payments);
            $payment = $payments->open(
                'WC-' . $order->get_id(),
                $order->get_order_key(),
                Comptoir_Orders::amountOf($order),
                $order->get_currency(),
                [
                    'webhook' => WC()->api_request_url('comptoir'),
                    'return' => $this->get_return_url($order),
                    'cancel' => $order->get_cancel_order_url_raw(),
                ],
                Comptoir_Orders::codesOf($order),
            );
            self::keep_fault('');
            $remember = fn (WC_Order $order) => Comptoir_Orders::remember($order, $payment);
            Comptoir_Orders::change($order->get_id(), $remember);
            if ($payment->hasMoney()) {
                $this->look_at($order->get_id(), $payments);
            }
        } catch (ComptoirError $error) {
            if (ShopRound::faultOf($error) === ShopRound::KEY) {
                self::keep_fault(ShopRound::KEY);
            }
            if ($error->errorCode === 'PAID_ELSEWHERE') {
                self::tellOfElsewhere((int) $order_id, $error->details['code']);
            }
            wc_add_notice('The payment cannot be started now: ' . $error->getMessage(), 'error');
            return ['result' => 'failure'];
        }
        // a person opened the order again, and may want a difference: its payment is neither asked for again nor enough
        if ($payment->hasPaid() && Comptoir_Orders::fresh($order->get_id())?->needs_payment()) {
            $notice = 'This order has been paid already, but waits for a payment again. Please ask the shop why.';
            wc_add_notice($notice, 'error');
            return ['result' => 'failure'];
        }
        $redirect = $payment->hasPaid() ? $this->get_return_url($order) : $payment->url;
        return ['result' => 'success', 'redirect' => $redirect];
    }

    /** The customer paid before the account was changed: no webhook of that account is taken any more. */
    private static function tellOfElsewhere(int $id, string $code): void
    {
        $note = ShopPayments::paidElsewhereNote($code);
        try {
            Comptoir_Orders::change($id, fn (WC_Order $order) =>
                Comptoir_Orders::review($order, "elsewhere $code", $note, 'review'));
        } catch (ComptoirError) {
            // the order is busy: the next click tells it
        }
    }

    /** An order. Its codes that an earlier version kept are given to the orders that they were opened for. */
    private function find(int $id, ShopPayments $payments): ?WC_Order
    {
        $order = Comptoir_Orders::find($id);
        if ($order === null || !Comptoir_Kept::isUnclaimed($order)) {
            return $order;
        }
        $numbers = $payments->numbersOf(Comptoir_Kept::unclaimedCodes($order));
        Comptoir_Orders::change($id, fn (WC_Order $order) => Comptoir_Journal::claim($order, $numbers));
        return Comptoir_Orders::find($id);
    }

    /** What Comptoir says of an order's payments, and what it changes here. @return ShopPayment[] */
    private function look_at(int $id, ShopPayments $payments): array
    {
        $order = $this->find($id, $payments);
        if ($order === null) {
            return [];
        }
        $found = $payments->look(Comptoir_Orders::codesOf($order));
        $settle = fn (WC_Order $order) => Comptoir_Orders::settle($order, $found);
        $payments->close(Comptoir_Orders::change($id, $settle) ?? []);
        $refunds = Comptoir_Orders::openRefunds($order);
        if ($refunds !== []) {
            $states = $payments->refundStates($refunds);
            Comptoir_Orders::change($id, fn (WC_Order $order) => Comptoir_Orders::followRefunds($order, $states));
        }
        return $found;
    }

    /** The customer is back from the payment's page. If the webhook is late or lost, Comptoir still knows. */
    public function look_again($order_id): void
    {
        $order = Comptoir_Orders::find((int) $order_id);
        if ($order === null || Comptoir_Orders::isPaid($order)) {
            return;
        }
        try {
            $this->look_at($order->get_id(), $this->payments(4, 0));
        } catch (ComptoirError) {
            // the page is shown all the same, and the webhook may still come
        }
    }

    /** What webhooks would have said, for those that were lost. Called every few minutes. */
    public function catch_up(): void
    {
        $this->warn();
        if ($this->place_fault() !== '') {
            return;
        }
        Comptoir_Orders::upgrade();
        $payments = $this->payments(10, 1, self::SECONDS);
        $warn = fn (string $text) => wc_get_logger()->warning($text, ['source' => 'comptoir']);
        $hasAnswered = false;
        $fault = ShopRound::run(
            Comptoir_Orders::kinds(),
            (array) get_option('comptoir_places', []),
            self::ORDERS,
            function (int $id) use ($payments, &$hasAnswered): void {
                $hasAnswered = $this->look_at($id, $payments) !== [] || $hasAnswered;
            },
            fn (array $places) => update_option('comptoir_places', $places, false),
            fn (int $id, Throwable $error) => $warn("Order $id: {$error->getMessage()}"),
        );
        if ($fault === ShopRound::KEY || $hasAnswered) {
            self::keep_fault($fault === ShopRound::KEY ? $fault : '');
        } elseif (($fault ?? '') !== '') {
            $warn($fault);
        }
    }

    /**
     * WooCommerce is about to cancel an order for want of a payment, and to sell its goods to somebody else. It may once
     * no payment can bring money any more; without an answer of Comptoir it may not, and asks again with its next run.
     */
    public function may_cancel(WC_Order $order): bool
    {
        $id = $order->get_id();
        if (!Comptoir_Kept::hasCodes($order)) {
            return true;
        }
        // WooCommerce asks about every unpaid order in one go
        if (time() - self::$silentAt < self::SILENCE) {
            return false;
        }
        try {
            $payments = $this->payments(4, 0);
            $found = $this->look_at($id, $payments);
            $order = Comptoir_Orders::find($id);
            if ($order === null) {
                return false;
            }
            $codes = Comptoir_Orders::codesOf($order);
            $unread = [...ShopPayments::unknownOf($codes, $found), ...Comptoir_Kept::hiddenCodes($order)];
            if ($unread !== []) {
                $note = ShopPayments::uncancelledNote($unread);
                Comptoir_Orders::change($id, fn (WC_Order $order) => Comptoir_Orders::say($order, $note, $note));
            }
            if ($unread !== [] || !$order->has_status('pending')) {
                return false;
            }
            $parts = $payments->partNotes($found);
            if ($parts !== []) {
                Comptoir_Orders::change($id, fn (WC_Order $order) => Comptoir_Orders::sayParts($order, $parts));
            }
            return $parts === [] && $payments->closeAll($codes, $found);
        } catch (Throwable $error) {
            // what is wrong with this order only holds up no other one
            self::$silentAt = ShopRound::ends($error) ? time() : self::$silentAt;
            return false;
        }
    }

    /** A paid order is cancelled or refunded. A form that was opened before may take that back before the next look. */
    public function note_stop(int $id): void
    {
        $order = Comptoir_Orders::find($id);
        $order === null || Comptoir_Orders::see($order);
    }

    /** Nobody may pay for what the shop has cancelled. What is paid all the same is put before a person. */
    public function close_payments(int $id): void
    {
        $order = Comptoir_Orders::find($id);
        if ($order === null || Comptoir_Orders::isPaid($order) || !Comptoir_Kept::hasCodes($order)) {
            $this->note_stop($id);
            return;
        }
        try {
            $payments = $this->payments(4, 0);
            $order = $this->find($id, $payments) ?? $order;
            $unknown = $payments->close(Comptoir_Orders::codesOf($order));
            Comptoir_Orders::sayElsewhere($order, [...$unknown, ...Comptoir_Kept::hiddenCodes($order)]);
        } catch (ComptoirError $error) {
            $note = "Its payment is not closed in Comptoir yet, and is tried again: {$error->getMessage()}";
            Comptoir_Orders::say($order, $note, 'close');
        }
    }

    /** The webhook's address. Whatever it says, the order is looked up at Comptoir. */
    public function receive(): void
    {
        try {
            $this->take((string) file_get_contents('php://input'), self::headers());
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

    /** @throws WebhookVerificationError */
    public function take(string $body, array $headers): void
    {
        $payments = $this->payments();
        [$code, $id] = $payments->read($body, $headers) ?? ['', 0];
        $order = $this->find($id, $payments);
        if ($order !== null && in_array($code, Comptoir_Orders::codesOf($order), true)) {
            $this->look_at($id, $payments);
        } elseif ($code !== '' && ($note = $payments->strayNote($code)) !== '') {
            $isHidden = $order !== null && in_array($code, Comptoir_Kept::hiddenCodes($order), true);
            Comptoir_Orders::tellOfStray($code, $isHidden ? ShopPlace::hiddenNote($code, $id) : $note);
        }
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

    public function process_refund($order_id, $amount = null, $reason = ''): bool|WP_Error
    {
        $account = $this->get_option('api_key') . ' at ' . $this->get_option('base_url');
        $id = '';
        try {
            $payments = $this->payments(15, 1, 40);
            $order = $this->find((int) $order_id, $payments);
            $code = Comptoir_Orders::paidBy($order) ?: $payments->paidOf(Comptoir_Orders::codesOf($order));
            if ($code === '') {
                $hint = Comptoir_Kept::hasCodes($order) ? ', or not at this address and in this account' : '';
                return new WP_Error('comptoir', "This order was not paid through Comptoir$hint.");
            }
            $text = $amount === null ? null : ShopPayments::amountOf((float) $amount, $order->get_currency());
            // WooCommerce deletes the record of a refund whose answer was lost, and a person may delete any: what has
            // started is counted here. So the same amount may be refunded twice, and a repeated click refunds once
            $started = count(Comptoir_Kept::listOf($order, Comptoir_Kept::REFUND));
            $key = "wc-refund-{$order->get_id()}-$started-$text";
            $first = fn (WC_Order $order) => Comptoir_Orders::reasonOf($order, $key, (string) $reason);
            $reason = Comptoir_Orders::change($order->get_id(), $first);
            $id = $payments->refund($code, $text, $reason, $key);
            // a refund that has started and could not be counted is found again by the next click, which has its key
            $begin = fn (WC_Order $order) => Comptoir_Orders::beginRefund($order, $id, $account);
            $isNew = Comptoir_Orders::change($order->get_id(), $begin);
        } catch (ComptoirError | InvalidArgumentException $error) {
            return new WP_Error('comptoir', self::refundFault($id, $error));
        }
        return $isNew ?: new WP_Error('comptoir', "Refund $id has started already, by another click.");
    }

    /** WooCommerce deletes its record of a refund that is refused: nobody may think that no money goes back. */
    private static function refundFault(string $id, Throwable $error): string
    {
        $what = match (true) {
            $id !== '' => "Refund $id has started, but is not counted here",
            ShopPayments::mayHaveStarted($error) => 'It is not known whether this refund has started',
            default => '',
        };
        $hint = 'Refund the same amount again first, within a day: it is sent once. Look in Comptoir before you refund '
            . 'another amount or another way.';
        return $what === '' ? $error->getMessage() : "$what: {$error->getMessage()} $hint";
    }
}
