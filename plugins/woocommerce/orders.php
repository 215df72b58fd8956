<?php

declare(strict_types=1);

defined('ABSPATH') || exit;

/** The shop's orders, and what the module keeps with each. */
final class Comptoir_Orders
{
    private const DAY = 86400;

    /** An order, not the record of a refund, which WooCommerce finds by the same function. */
    public static function find(int $id): ?WC_Order
    {
        $order = $id > 0 ? wc_get_order($id) : null;
        return $order instanceof WC_Order ? $order : null;
    }

    /**
     * The orders that are looked at in turn. Comptoir keeps its events for 90 days, and watches a payment for 30.
     * `meta_key` works wherever WooCommerce keeps its orders; `meta_query` does not.
     * @return array<string, int[]>
     */
    public static function kinds(): array
    {
        $find = fn (string $meta, array $more = []): array =>
            wc_get_orders(['type' => 'shop_order', 'limit' => -1, 'return' => 'ids', 'meta_key' => $meta, ...$more]);
        $since = fn (int $days): array => ['date_modified' => '>' . (time() - $days * self::DAY)];
        return [
            'fresh' => $find(Comptoir_Kept::CODE, $since(1)),
            'recent' => $find(Comptoir_Kept::CODE, $since(90)),
            'refunds' => $find(Comptoir_Kept::OPEN_REFUNDS),
        ];
    }

    public static function amountOf(WC_Order $order): string
    {
        return ShopPayments::amountOf((float) $order->get_total(), $order->get_currency());
    }

    /** @return string[] every payment that was opened for the order, the newest last */
    public static function codesOf(WC_Order $order): array
    {
        return Comptoir_Kept::hereOf($order, Comptoir_Kept::CODE);
    }

    /**
     * The payment that paid the order; empty: another one, or none. WooCommerce keeps it as the transaction, and
     * empties that when it forgets the customer ("0") or takes a form that was opened before the payment: then the
     * module's own word counts, unless the order is paid another way by now. Not every way has a transaction.
     */
    public static function paidBy(WC_Order $order): string
    {
        $code = (string) $order->get_transaction_id();
        if (!in_array($code, ['', '0'], true)) {
            return in_array($code, self::codesOf($order), true) ? $code : '';
        }
        return $order->get_payment_method() === 'comptoir' ? Comptoir_Journal::last($order)[1] : '';
    }

    /**
     * What alone has paid an order whose customer was forgotten ("0") before this version looked at it; empty: unknown.
     * @param ShopPayment[] $payments
     */
    private static function forgottenPayment(WC_Order $order, array $payments): string
    {
        $surplus = Comptoir_Kept::listOf($order, Comptoir_Kept::SURPLUS);
        $own = array_filter($payments, fn ($one) => $one->hasPaid() && !in_array($one->code, $surplus, true));
        $isForgotten = (string) $order->get_transaction_id() === '0' && $order->get_payment_method() === 'comptoir';
        return $isForgotten && self::isPaid($order) && count($own) === 1 ? current($own)->code : '';
    }

    /**
     * An order that a person or this module put on hold, or that was cancelled, is still paid; one that the shop asks
     * payment for is not. WooCommerce keeps the date, whoever paid the order and whatever becomes of its status, and a
     * shop adds states of its own to those that ask for payment, or that count as paid: its two functions know them.
     */
    public static function isPaid(WC_Order $order): bool
    {
        $isDated = $order->get_date_paid() !== null;
        return !$order->needs_payment()
            && ($order->is_paid() || ($isDated && Comptoir_Journal::isDateProof($order, self::paidBy($order))));
    }

    /** An order that is paid another way, or was ended by the shop, does not wait for a payment of Comptoir. */
    private static function waits(WC_Order $order): bool
    {
        return $order->get_payment_method() === 'comptoir'
            && ($order->needs_payment() || $order->has_status('on-hold'));
    }

    /**
     * WooCommerce's form sends the status and the transaction that it was opened with: those from before the payment.
     * Whoever opens a paid order again leaves its transaction.
     * @return array{string, string} the last word before it, and on which payment; empty: no such form was saved
     */
    private static function overwritten(WC_Order $order): array
    {
        $last = array_slice(Comptoir_Journal::last($order), 0, 2);
        $isBack = self::waits($order)
            && (string) $order->get_transaction_id() === ''
            && in_array($last[0], [Comptoir_Journal::PAID, Comptoir_Journal::STOPPED], true);
        return $isBack ? $last : ['', ''];
    }

    /**
     * Keeps what paid the order, and whether it is to be sent, before a form takes that back.
     * @param ShopPayment[] $payments
     */
    public static function see(WC_Order $order, array $payments = []): void
    {
        $code = self::isPaid($order) ? self::paidBy($order) ?: self::forgottenPayment($order, $payments) : '';
        if ($code !== '' && self::overwritten($order)[1] === '') {
            Comptoir_Journal::keepPaid($order, $code);
        }
    }

    /**
     * Changes an order as it is in the database now, one request at a time: the webhook and the customer who comes back
     * arrive together. No call to Comptoir may be made in it.
     * @throws ComptoirError
     */
    public static function change(int $id, callable $do): mixed
    {
        global $wpdb;
        $lock = "comptoir_{$wpdb->prefix}$id";
        ShopPayments::checkLock($wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, 10)', $lock)));
        try {
            $order = self::fresh($id);
            return $order === null ? null : $do($order);
        } finally {
            $wpdb->query($wpdb->prepare('SELECT RELEASE_LOCK(%s)', $lock));
        }
    }

    /** An order as it is in the database now. */
    public static function fresh(int $id): ?WC_Order
    {
        self::forget($id);
        $order = self::find($id);
        $order?->read_meta_data(true);
        return $order;
    }

    /** What this request, or a cache of all requests, has read of an order, wherever WooCommerce keeps it. */
    private static function forget(int $id): void
    {
        clean_post_cache($id);
        $cache = 'Automattic\WooCommerce\Caches\OrderCache';
        if (class_exists($cache)) {
            wc_get_container()->get($cache)->remove($id);
        }
        // the first one leaves out the metas of an order whose row it does not have
        foreach (['OrdersTableDataStore', 'OrdersTableDataStoreMeta'] as $name) {
            $store = "Automattic\\WooCommerce\\Internal\\DataStores\\Orders\\$name";
            if (method_exists($store, 'clear_cached_data')) {
                wc_get_container()->get($store)->clear_cached_data([$id]);
            }
        }
    }

    /** Before the customer sees the payment's page: from then on, money may come. */
    public static function remember(WC_Order $order, ShopPayment $payment): void
    {
        if (!in_array($payment->code, self::codesOf($order), true)) {
            Comptoir_Kept::add($order, Comptoir_Kept::CODE, $payment->code);
            // an order from long ago that is paid now is one of the last days again
            $order->set_date_modified(time());
            $order->save();
        }
        // on hold, WooCommerce would empty the cart of a customer who goes back, or place a second order at the next
        // click: its checkout goes on only with an order that is pending or failed
        // WooCommerce deletes a draft of its checkout block after a day, and with it the payment's code
        if ($payment->state === 'open' && $order->has_status(['failed', 'checkout-draft'])) {
            $order->update_status('pending', 'Waiting for the payment.');
        }
    }

    /** What a payment changes depends on this. */
    private static function known(WC_Order $order): ShopOrder
    {
        $surplus = Comptoir_Kept::listOf($order, Comptoir_Kept::SURPLUS);
        $isReviewed = fn (string $code): bool => self::isSaid($order, "review $code");
        $reviewed = array_filter($surplus, $isReviewed);
        [$word, $overwritten] = self::overwritten($order);
        return new ShopOrder(
            codes: self::codesOf($order),
            isPaid: self::isPaid($order),
            paidBy: self::paidBy($order),
            waits: self::waits($order),
            amount: self::amountOf($order),
            currency: $order->get_currency(),
            surplus: $reviewed,
            // what a process that ended too early did not put before a person is made up for
            isCancelled: $order->has_status(['cancelled', 'refunded', 'trash']) || $surplus !== $reviewed,
            havePaid: Comptoir_Journal::paidCodes($order),
            overwritten: $overwritten,
            wasStopped: $word === Comptoir_Journal::STOPPED,
        );
    }

    /**
     * @param ShopPayment[] $payments of the order, as Comptoir has just said
     * @return string[] the payments that must not be paid any more
     */
    public static function settle(WC_Order $order, array $payments): array
    {
        self::see($order, $payments);
        foreach ($payments as $payment) {
            [$action, $note] = $payment->decide(self::known($order), ShopPayments::overOf($payments));
            match ($action) {
                'complete' => self::complete($order, $payment->code, $note),
                'review', 'surplus', 'late', 'compare' => self::review($order, $payment->code, $note, $action),
                'wait', 'fail', 'refund' => self::follow($order, $payment, $action, $note),
                'opened' => Comptoir_Journal::write($order, Comptoir_Journal::OPENED, $payment->code)
                    && $order->add_order_note($note),
                'note' => self::say($order, $note, $note),
                'none' => null,
            };
        }
        self::sayElsewhere($order, ShopPayments::elsewhereOf(self::codesOf($order), $payments));
        return ShopPayments::toClose(self::known($order), $payments);
    }

    /** @param string[] $codes payments of the order that only a person can look at */
    public static function sayElsewhere(WC_Order $order, array $codes): void
    {
        if ($codes !== []) {
            $note = ShopPayments::elsewhereNote($codes);
            self::say($order, $note, $note);
        }
    }

    private static function follow(WC_Order $order, ShopPayment $payment, string $action, string $note): void
    {
        $status = ['wait' => 'on-hold', 'fail' => 'failed', 'refund' => 'refunded'][$action];
        $said = Comptoir_Kept::listOf($order, Comptoir_Kept::SAID);
        if ($payment->isNews($action, $note, $said, fn (string $key): string => $key)) {
            if (!$order->has_status($status) && !self::isTaken($order, fn () => $order->update_status($status))) {
                return;
            }
            // after the status: a process that ends between them does both again, and loses neither
            Comptoir_Kept::add($order, Comptoir_Kept::SAID, "$action $payment->code");
            $order->save_meta_data();
        }
        self::say($order, $note, $note);
    }

    /**
     * @param callable(): bool $change of the status, by WooCommerce
     * @return bool false: the order is as it was, and the next look tries again. WooCommerce notes itself what another
     *     plugin threw meanwhile, and says true although it caught what its database threw. What was written, and moved
     *     back at once by another plugin, was changed. A plugin may also choose the status that the order has.
     */
    private static function isTaken(WC_Order $order, callable $change): bool
    {
        $before = self::fresh($order->get_id());
        if ($before === null || $change() === false) {
            return false;
        }
        $after = self::fresh($order->get_id());
        $isUnwritten = isset($order->get_changes()['status'])
            || $after?->get_date_modified() == $before->get_date_modified();
        return !$isUnwritten || !$after?->has_status($before->get_status()) || $order->has_status($after->get_status());
    }

    private static function complete(WC_Order $order, string $code, string $note): void
    {
        if ($note !== '') {
            self::say($order, $note, $note);
        }
        Comptoir_Journal::begin($order, $code);
        // in a state of the shop's own, WooCommerce would do nothing and say that it worked
        $filter = 'woocommerce_valid_order_statuses_for_payment_complete';
        $addState = fn (array $states): array => [...$states, $order->get_status()];
        add_filter($filter, $addState, 1000);
        try {
            $isTaken = self::isTaken($order, fn (): bool => $order->payment_complete($code));
        } finally {
            remove_filter($filter, $addState, 1000);
        }
        // where orders are posts, the transaction is written also if the status was not taken, and not always after it
        if (!$isTaken || self::fresh($order->get_id())?->get_transaction_id() !== $code) {
            throw new ComptoirError(0, 'SHOP_BUSY', 'The order could not be completed. Try again in a minute.');
        }
        // after the order: one whose payment is kept is not completed again
        Comptoir_Journal::keepPaid($order, $code);
    }

    /** A person must see it: in the order, in the list of orders where nothing was sent yet, and in the mail. */
    public static function review(WC_Order $order, string $code, string $note, string $action): void
    {
        $isSurplus = in_array($action, ['surplus', 'late', 'compare'], true);
        if ($isSurplus && !in_array($code, Comptoir_Kept::listOf($order, Comptoir_Kept::SURPLUS), true)) {
            Comptoir_Kept::add($order, Comptoir_Kept::SURPLUS, $code);
            $order->save_meta_data();
        }
        // what a person has settled since is not opened again
        if (self::isSaid($order, "review $code")) {
            return;
        }
        // an order that was sent, or is over, keeps its status, and one in the bin stays there
        $isAsked = $action === 'review' || ($action === 'late' && $order->has_status('cancelled'));
        $isUnsent = $order->has_status('processing') && $action !== 'compare';
        $isMoved = ($isAsked || $isUnsent) && !$order->has_status('on-hold');
        if ($isMoved && !self::isTaken($order, fn () => $order->update_status('on-hold'))) {
            return;
        }
        self::say($order, $note, "review $code");
        $subject = "Order {$order->get_order_number()}: please check its payment";
        wp_mail((string) get_option('admin_email'), $subject, $note);
    }

    /** A payment that no order keeps, for the shop's administrator, once. */
    public static function tellOfStray(string $code, string $note): void
    {
        $known = (array) get_option('comptoir_strays', []);
        if (!in_array($code, $known, true)) {
            update_option('comptoir_strays', array_slice([...$known, $code], -1000), false);
            wp_mail((string) get_option('admin_email'), "Please check the payment $code", $note);
        }
    }

    /** Adds a note once, however often it is news. */
    public static function say(WC_Order $order, string $note, string $key): void
    {
        if (!self::isSaid($order, $key)) {
            Comptoir_Kept::add($order, Comptoir_Kept::SAID, $key);
            $order->save_meta_data();
            $order->add_order_note($note);
        }
    }

    /** @param array<string, string> $notes by the payment's code: once, however much more comes */
    public static function sayParts(WC_Order $order, array $notes): void
    {
        foreach ($notes as $code => $note) {
            self::say($order, $note, "part $code");
        }
    }

    private static function isSaid(WC_Order $order, string $key): bool
    {
        return in_array($key, Comptoir_Kept::listOf($order, Comptoir_Kept::SAID), true);
    }

    /** @return array<string, array> what the module knows of refunds whose end it does not know, by id */
    public static function openRefunds(WC_Order $order): array
    {
        $decoded = fn (string $text): array => (array) json_decode($text, true);
        return array_replace([], ...array_map($decoded, Comptoir_Kept::hereOf($order, Comptoir_Kept::OPEN_REFUNDS)));
    }

    private static function keepRefunds(WC_Order $order, array $open): void
    {
        Comptoir_Kept::replace($order, Comptoir_Kept::OPEN_REFUNDS, $open === [] ? '' : json_encode($open));
        $order->save_meta_data();
    }

    /** @return bool it is new */
    public static function beginRefund(WC_Order $order, string $id, string $account): bool
    {
        if (in_array($id, Comptoir_Kept::listOf($order, Comptoir_Kept::REFUND), true)) {
            return false;
        }
        Comptoir_Kept::add($order, Comptoir_Kept::REFUND, $id);
        self::keepRefunds($order, self::openRefunds($order) + [$id => ['account' => $account]]);
        $order->add_order_note("Refund $id has started at Comptoir. The customer may be asked for a wallet address.");
        return true;
    }

    /** @param array<string, string> $states what Comptoir has just said of the order's refunds */
    public static function followRefunds(WC_Order $order, array $states): void
    {
        $before = self::openRefunds($order);
        [$open, $notes] = ShopPayments::followRefunds($before, $states);
        foreach ($notes as $id => $note) {
            self::review($order, isset($open[$id]) ? "unknown refund $id" : "refund $id", $note, 'refund');
        }
        if ($open !== $before) {
            self::keepRefunds($order, $open);
        }
    }

    /** The reason that a refund was first tried with: a click that is repeated under its key must say the same. */
    public static function reasonOf(WC_Order $order, string $key, string $reason): string
    {
        $reasons = (array) json_decode((string) $order->get_meta('_comptoir_refund_reasons'), true);
        if (!isset($reasons[$key])) {
            $reasons[$key] = $reason;
            $order->delete_meta_data('_comptoir_refund_reasons');
            $order->add_meta_data('_comptoir_refund_reasons', json_encode($reasons));
            $order->save_meta_data();
        }
        return $reasons[$key];
    }

    /** Until 0.3.0 open refunds were in one option for all orders, beside a place in the company's events. */
    public static function upgrade(): void
    {
        $refunds = (array) get_option('comptoir_refunds', []);
        foreach ($refunds as $id => $order) {
            try {
                $keep = fn (WC_Order $order) =>
                    self::keepRefunds($order, self::openRefunds($order) + [$id => ['account' => '']]);
                self::change((int) $order, $keep);
            } catch (ComptoirError) {
                // its order is busy: the next time
                continue;
            }
            $refunds = array_diff_key($refunds, [$id => 1]);
            update_option('comptoir_refunds', $refunds, false);
        }
        if ($refunds === []) {
            array_map(delete_option(...), ['comptoir_refunds', 'comptoir_cursor', 'comptoir_later']);
        }
    }
}
