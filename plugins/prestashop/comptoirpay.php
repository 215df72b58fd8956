<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

require_once __DIR__ . '/ComptoirClient.php';
require_once __DIR__ . '/ShopPayments.php';
require_once __DIR__ . '/ComptoirLog.php';
require_once __DIR__ . '/ComptoirOrders.php';
require_once __DIR__ . '/ComptoirPlaces.php';
require_once __DIR__ . '/ComptoirSlip.php';
require_once __DIR__ . '/ComptoirStates.php';
require_once __DIR__ . '/ComptoirUpgrade.php';

/** Crypto payments settled in USDC, by your own Comptoir. For PrestaShop 8; PHP 8.1 or newer. */
class ComptoirPay extends PaymentModule
{
    private const SETTINGS = [
        'COMPTOIR_BASE_URL' => 'Address of Comptoir',
        'COMPTOIR_API_KEY' => 'API key',
        'COMPTOIR_API_SECRET' => 'API secret',
        'COMPTOIR_WEBHOOK_SECRET' => 'Signing secret of webhooks',
        'COMPTOIR_TILL' => 'Till',
        'COMPTOIR_MINUTES' => 'Minutes after which an order that nobody paid is cancelled (0: never)',
    ];

    private const HOOKS = [
        'paymentOptions',
        'displayPaymentReturn',
        'actionOrderSlipAdd',
        'actionOrderStatusPostUpdate',
        'displayBackOfficeHeader',
        'displayBackOfficeTop',
    ];
    /** PrestaShop keeps an order's goods for it, and a payment may be open for a month. */
    private const MINUTES = 60;
    private const LOOK_EVERY = 300;
    /** Later than a cron job asks, so that pages do its work only where there is none. */
    private const PAGE_EVERY = 420;
    private const PAGE_ORDERS = 5;
    private const PAGE_SECONDS = 4;

    /** An order is being changed here, where no call to Comptoir may be made. */
    private static bool $isChanging = false;

    public function __construct()
    {
        $this->name = 'comptoirpay';
        $this->tab = 'payments_gateways';
        $this->version = '0.5.0';
        $this->author = 'Comptoir';
        $this->currencies = true;
        $this->currencies_mode = 'checkbox';
        $this->ps_versions_compliancy = ['min' => '8.0', 'max' => _PS_VERSION_];
        parent::__construct();
        $this->displayName = 'Comptoir';
        $this->description = 'Customers pay with crypto; you are settled in USDC.';
    }

    /** What the module keeps outlives it, and an earlier version may have written it. */
    public function install(): bool
    {
        return parent::install() && $this->bringUpToDate();
    }

    /**
     * After an installation and after every upgrade. PrestaShop calls only the hooks in its table. A new one needs a
     * higher version and a file in upgrade/, or a shop that has the module never calls it; a hook that is there already
     * stays.
     */
    public function bringUpToDate(): bool
    {
        foreach (self::HOOKS as $hook) {
            if (!$this->registerHook($hook)) {
                return false;
            }
        }
        return ComptoirStates::waiting() > 0 && ComptoirUpgrade::run(self::change(...));
    }

    /** The settings go; which payment belongs to which order stays, for refunds after a new installation. */
    public function uninstall(): bool
    {
        foreach (array_keys(self::SETTINGS) as $name) {
            Configuration::deleteByName($name);
        }
        return parent::uninstall();
    }

    /**
     * @param int $timeout seconds of an attempt. A customer waits for most of them, and Comptoir for the webhook's answer
     * @param float $deadline seconds of all calls and attempts together
     * @throws ComptoirError in a copy of the shop
     */
    public function payments(int $timeout = 4, int $maxRetries = 1, float $deadline = 9): ShopPayments
    {
        $place = ComptoirPlaces::fault($this->context->shop);
        if ($place !== '') {
            throw new ComptoirError(0, 'SHOP_COPY', $place);
        }
        $api = new Comptoir(
            (string) Configuration::get('COMPTOIR_BASE_URL'),
            (string) Configuration::get('COMPTOIR_API_KEY'),
            (string) Configuration::get('COMPTOIR_API_SECRET'),
            $timeout,
            $maxRetries,
            $deadline,
        );
        return new ShopPayments($api, (string) Configuration::get('COMPTOIR_TILL'), (string) Configuration::get('COMPTOIR_WEBHOOK_SECRET'));
    }

    /** The shop may have moved, and would not be paid by its customers. */
    public function hookDisplayBackOfficeTop(array $params): string
    {
        $fault = ComptoirPlaces::fault($this->context->shop)
            ?: (ComptoirLog::isFault(ShopRound::KEY) ? ShopRound::KEY : '');
        return $fault === '' ? '' : '<div class="alert alert-danger">' . htmlspecialchars($fault, ENT_QUOTES) . '</div>';
    }

    /** The settings page: saving tries them at once. */
    public function getContent(): string
    {
        $message = '';
        if (Tools::isSubmit('submitComptoirPay')) {
            foreach (array_keys(self::SETTINGS) as $name) {
                $value = trim((string) Tools::getValue($name));
                // an empty secret keeps the one that is stored
                if ($value !== '' || !str_contains($name, 'SECRET')) {
                    Configuration::updateValue($name, $value);
                }
            }
            ComptoirPlaces::save($this->context->shop, (bool) Tools::getValue('COMPTOIR_MOVED'));
            $faults = $this->payments()->test();
            if ($faults === []) {
                ComptoirLog::fault('');
            }
            $message = $faults === []
                ? $this->displayConfirmation('Comptoir answers, and the till is there.')
                : $this->displayError($faults);
        }
        $fields = '';
        foreach (self::SETTINGS as $name => $label) {
            $isSecret = str_contains($name, 'SECRET');
            $kept = $name === 'COMPTOIR_MINUTES' ? self::minutes() : Configuration::get($name);
            $value = $isSecret ? '' : htmlspecialchars((string) $kept, ENT_QUOTES);
            $type = $isSecret ? 'password' : 'text';
            $fields .= "<p><label>$label<br><input type=\"$type\" name=\"$name\" value=\"$value\" size=\"50\"></label></p>";
        }
        $fields .= '<p><label><input type="checkbox" name="COMPTOIR_MOVED" value="1"> This shop has moved here: it is the same '
            . 'shop at another address, not a copy, and its earlier orders go on here.</label></p>';
        $news = htmlspecialchars($this->context->link->getModuleLink($this->name, 'news', [], true), ENT_QUOTES);
        $hint = "<p>A cron job that asks for <code>$news</code> every five minutes makes up for lost webhooks.</p>";
        return "$message$hint<form method=\"post\">$fields<button name=\"submitComptoirPay\" value=\"1\">Save and test</button></form>";
    }

    /** Anything but a number is the default. */
    private static function minutes(): int
    {
        $text = (string) Configuration::get('COMPTOIR_MINUTES');
        return preg_match('/^\d{1,6}$/', $text) === 1 ? (int) $text : self::MINUTES;
    }

    public function hookPaymentOptions(array $params): array
    {
        $currency = (string) $this->context->currency->iso_code;
        if (!$this->active || !$this->canTake($currency, $this->context->cart)) {
            return [];
        }
        $option = new PrestaShop\PrestaShop\Core\Payment\PaymentOption();
        $option->setModuleName($this->name);
        $option->setCallToActionText('Pay with crypto (USDC and others)');
        $option->setAction($this->context->link->getModuleLink($this->name, 'validation', [], true));
        return [$option];
    }

    /** Whether a cart may be paid here: no order is placed whose payment cannot open. */
    public function canTake(string $currency, Cart $cart): bool
    {
        return ShopPayments::takes($currency) && !self::hasParcels($cart) && ComptoirPlaces::fault($this->context->shop) === '';
    }

    /** PrestaShop makes an order of each parcel, and one payment pays one order. */
    private static function hasParcels(Cart $cart): bool
    {
        return count(array_merge(...array_values($cart->getPackageList()))) > 1;
    }

    /**
     * Changes an order as it is in the database now, one request at a time: the webhook and the customer who comes back
     * arrive together. No call to Comptoir may be made in it.
     * @throws ComptoirError
     */
    private static function change(int $id, callable $do): mixed
    {
        $lock = pSQL('comptoir_' . _DB_PREFIX_ . $id);
        $answer = Db::getInstance()->getValue("SELECT GET_LOCK('$lock', 10)", false);
        // a number or text, as the database's driver has it
        ShopPayments::checkLock(is_scalar($answer) ? (string) $answer : null);
        try {
            Cache::clean("objectmodel_Order_{$id}_*");
            // whether it has been paid, as this request asked before it had the lock
            if (method_exists('Order', 'cleanHistoryCache')) {
                Order::cleanHistoryCache();
            }
            self::$isChanging = true;
            $order = new Order($id);
            return Validate::isLoadedObject($order) ? $do($order) : null;
        } finally {
            self::$isChanging = false;
            Db::getInstance()->getValue("SELECT RELEASE_LOCK('$lock')", false);
        }
    }

    /** Opens the payment of a placed order. @return string the payment page */
    public function openPayment(Order $order, string $currency): string
    {
        $link = $this->context->link;
        $id = (int) $order->id;
        $urls = [
            'webhook' => $link->getModuleLink($this->name, 'webhook', [], true),
            'return' => $link->getPageLink('order-confirmation', true, null, [
                'id_cart' => $order->id_cart,
                'id_module' => $this->id,
                'id_order' => $id,
                'key' => $order->secure_key,
            ]),
            'cancel' => $link->getPageLink('history', true),
        ];
        $amount = ShopPayments::amountOf((float) $order->total_paid, $currency);
        $payments = $this->payments();
        $secret = ComptoirOrders::secretOf($order);
        try {
            $payment = $payments->open("PS-$id", $secret, $amount, $currency, $urls, ComptoirOrders::codesOf($order));
        } catch (ComptoirError $error) {
            if (ShopRound::faultOf($error) === ShopRound::KEY) {
                ComptoirLog::fault(ShopRound::KEY);
            }
            throw $error;
        }
        self::change($id, function (Order $order) use ($payment): void {
            $codes = array_unique([...ComptoirOrders::codesOf($order), $payment->code]);
            ComptoirOrders::keep($order, ['codes' => implode(',', $codes)]);
        });
        if ($payment->hasMoney()) {
            $this->lookAt($id, $payments);
        }
        return $payment->hasPaid() ? $urls['return'] : $payment->url;
    }

    /** The customer is back from the payment's page. If the webhook is late or lost, Comptoir still knows. */
    public function hookDisplayPaymentReturn(array $params): string
    {
        $order = $params['order'] ?? null;
        if (!$order instanceof Order || $order->module !== $this->name || $order->hasBeenPaid()) {
            return '';
        }
        try {
            $this->lookAt((int) $order->id, $this->payments(4, 0));
        } catch (ComptoirError) {
            // the page is shown all the same, and the webhook may still come
        }
        return '';
    }

    /** @throws WebhookVerificationError */
    public function take(string $body, array $headers): void
    {
        $payments = $this->payments();
        [$code, $id] = $payments->read($body, $headers) ?? ['', 0];
        $order = new Order($id);
        if (Validate::isLoadedObject($order) && in_array($code, ComptoirOrders::codesOf($order), true)) {
            $this->lookAt($id, $payments);
        } elseif ($code !== '' && ($note = $payments->strayNote($code)) !== '') {
            ComptoirOrders::check(ComptoirOrders::fault() === '');
            $isHidden = Validate::isLoadedObject($order) && in_array($code, ComptoirOrders::hiddenCodes($order), true);
            $note = $isHidden ? ShopPlace::hiddenNote($code, $id) : $note;
            ComptoirLog::once($note, 3);
        }
    }

    /** What Comptoir says of an order's payments, and what it changes here. @return ShopPayment[] */
    private function lookAt(int $id, ShopPayments $payments): array
    {
        $order = new Order($id);
        if (!Validate::isLoadedObject($order)) {
            return [];
        }
        $found = $payments->look(ComptoirOrders::codesOf($order));
        $payments->close(self::change($id, fn (Order $order) => self::settle($order, $found)) ?? []);
        $refunds = ComptoirOrders::openRefunds($order);
        $states = $payments->refundStates($refunds);
        if ($refunds !== []) {
            self::change($id, fn (Order $order) => self::followRefunds($order, $states));
        }
        return $found;
    }

    /**
     * An order that nobody paid in time goes back on sale, once no payment of it can bring money any more: each is
     * closed first, and its end cancels the order. What a person has made of the order since stays.
     * @return bool Comptoir knows a payment of it
     */
    private function lookInTurn(int $id, ShopPayments $payments): bool
    {
        $found = $this->lookAt($id, $payments);
        $order = new Order($id);
        if (Validate::isLoadedObject($order) && ComptoirOrders::isOverdue($order, self::minutes())) {
            $this->endOverdue($id, $payments, $found);
        }
        return $found !== [];
    }

    /** @param ShopPayment[] $found */
    private function endOverdue(int $id, ShopPayments $payments, array $found): void
    {
        $order = new Order($id);
        $codes = ComptoirOrders::codesOf($order);
        $unknown = ShopPayments::unknownOf($codes, $found);
        if ($unknown !== []) {
            $note = ShopPayments::uncancelledNote($unknown);
            self::change($id, fn (Order $order) => self::say($order, $note, $note));
        } elseif ($codes === []) {
            self::change($id, self::endUnopened(...));
        } elseif (($parts = $payments->partNotes($found)) !== []) {
            self::change($id, fn (Order $order) => self::sayParts($order, $parts));
        } elseif ($payments->closeAll($codes, $found)) {
            $this->lookAt($id, $payments);
        }
    }

    /** @param array<string, string> $notes by the payment's code: once, however much more comes */
    private static function sayParts(Order $order, array $notes): void
    {
        foreach ($notes as $code => $note) {
            self::say($order, $note, "part $code");
        }
    }

    /** The process that placed it ended before it kept a payment, whose page nobody has seen. */
    private static function endUnopened(Order $order): void
    {
        $isMeant = ComptoirOrders::isOverdue($order, self::minutes()) && ComptoirOrders::codesOf($order) === [];
        if ($isMeant && self::moveTo($order, (int) Configuration::get('PS_OS_CANCELED'))) {
            self::say($order, 'No payment was opened for this order, so it was cancelled.', ComptoirOrders::UNOPENED);
        }
    }

    /** What a payment changes depends on this. */
    private static function known(Order $order): ShopOrder
    {
        $codes = ComptoirOrders::codesOf($order);
        $currency = (new Currency((int) $order->id_currency))->iso_code;
        // hasBeenPaid() asks the order's history, which no later state changes: only what came late is kept
        $late = array_filter($codes, fn ($code) => ComptoirOrders::isSaid($order, "late $code"));
        $reviewed = array_filter($late, fn ($code) => ComptoirOrders::isSaid($order, "review $code"));
        // PrestaShop itself moves an order of something out of stock on
        // and an order of an earlier version of the module waits as one for a bank wire
        $names = ['PS_OS_BANKWIRE', 'PS_OS_OUTOFSTOCK_UNPAID'];
        $waiting = [ComptoirStates::waiting(), ...array_map(fn ($name) => (int) Configuration::get($name), $names)];
        return new ShopOrder(
            codes: $codes,
            isPaid: (bool) $order->hasBeenPaid(),
            // kept before the state, which PrestaShop may fail to change: then it is completed again
            paidBy: $order->hasBeenPaid() ? ComptoirOrders::paidBy($order) : '',
            // what ended late changes no order that was paid or that the shop moved on
            waits: in_array((int) $order->current_state, $waiting, true),
            amount: ShopPayments::amountOf((float) $order->total_paid, $currency),
            currency: $currency,
            surplus: $reviewed,
            // also by this module: its goods went back on sale. A process that ended too early is made up for
            isCancelled: $late !== $reviewed
                || (int) $order->current_state === (int) Configuration::get('PS_OS_CANCELED'),
        );
    }

    /**
     * @param ShopPayment[] $payments of the order, as Comptoir has just said
     * @return string[] the payments that must not be paid any more
     */
    private static function settle(Order $order, array $payments): array
    {
        foreach ($payments as $payment) {
            [$action, $note] = $payment->decide(self::known($order), ShopPayments::overOf($payments));
            self::follow($order, $payment, $action, $note);
        }
        self::sayElsewhere($order, ShopPayments::elsewhereOf(ComptoirOrders::codesOf($order), $payments));
        return ShopPayments::toClose(self::known($order), $payments);
    }

    /** @param string[] $codes payments of the order that only a person can look at */
    private static function sayElsewhere(Order $order, array $codes): void
    {
        if ($codes !== []) {
            $note = ShopPayments::elsewhereNote($codes);
            self::say($order, $note, $note);
        }
    }

    private static function follow(Order $order, ShopPayment $payment, string $action, string $note): void
    {
        $isReview = in_array($action, ['review', 'surplus', 'late'], true);
        [$noteKey, $newsKey] = [$isReview ? "review $payment->code" : $note, "$action $payment->code"];
        $isNews = match ($action) {
            'complete' => true,
            'wait', 'fail', 'refund' =>
                $payment->isNews($action, $note, ComptoirOrders::saidOf($order), ComptoirOrders::keyOf(...)),
            default => !ComptoirOrders::isSaid($order, $noteKey),
        };
        if ($action === 'complete') {
            ComptoirOrders::keep($order, ['paid' => $payment->code]);
            if ($note !== '') {
                self::say($order, $note, $noteKey);
            }
        }
        if ($action === 'late' && !ComptoirOrders::isSaid($order, $newsKey)) {
            ComptoirOrders::mark($order, $newsKey);
        }
        $state = $isNews ? self::stateOf($order, $action) : null;
        $isKept = in_array($action, ['wait', 'fail', 'refund'], true);
        $isMoved = $state !== null && (int) $order->current_state !== $state;
        if ($isMoved && !self::moveTo($order, $state) && $isKept) {
            return;
        }
        // after the state: a process that ends between them does both again, and loses neither
        if ($isNews && $isKept) {
            ComptoirOrders::mark($order, $newsKey);
        }
        if ($note !== '') {
            self::say($order, $note, $noteKey);
        }
    }

    /** @return bool false: PrestaShop does not say that its database did not take it, and the next look tries again */
    private static function moveTo(Order $order, int $state): bool
    {
        $before = self::stateNow($order);
        $order->setCurrentState($state);
        return self::stateNow($order) !== $before;
    }

    /** @return array{int, string} an order's state in the database, and when its row was written */
    private static function stateNow(Order $order): array
    {
        Cache::clean("objectmodel_Order_{$order->id}_*");
        $now = new Order((int) $order->id);
        return [(int) $now->current_state, (string) $now->date_upd];
    }

    /** @return int|null null: the order keeps its state */
    private static function stateOf(Order $order, string $action): ?int
    {
        return match ($action) {
            'complete' => (int) Configuration::get('PS_OS_PAYMENT'),
            'review', 'late' => (int) Configuration::get('PS_OS_ERROR'),
            'surplus' => self::surplusState($order),
            'fail' => (int) Configuration::get('PS_OS_CANCELED'),
            'refund' => (int) Configuration::get('PS_OS_REFUND'),
            default => null,
        };
    }

    /** @param array<string, string> $states what Comptoir has just said of the order's refunds */
    private static function followRefunds(Order $order, array $states): void
    {
        $before = ComptoirOrders::openRefunds($order);
        [$open, $notes] = ShopPayments::followRefunds($before, $states);
        foreach ($notes as $id => $note) {
            self::say($order, $note, isset($open[$id]) ? "unknown refund $id" : "refund $id");
        }
        if ($open !== $before) {
            ComptoirOrders::keepRefunds($order, $open);
        }
    }

    /** Where a person sees an order that was paid twice. null: what was sent, or is over, keeps its state. */
    private static function surplusState(Order $order): ?int
    {
        if ((int) $order->current_state !== (int) Configuration::get('PS_OS_PAYMENT')) {
            return null;
        }
        return ComptoirStates::paidTwice();
    }

    /** Adds a private note to the order once, and to the shop's log. */
    private static function say(Order $order, string $note, string $key): void
    {
        if (ComptoirOrders::isSaid($order, $key)) {
            return;
        }
        ComptoirOrders::mark($order, $key);
        $order->note = ltrim("{$order->note}\n$note");
        $order->update();
        self::log($order, $note, 2);
    }

    /** Nobody may pay for what the shop has cancelled. What is paid all the same is put before a person. */
    public function hookActionOrderStatusPostUpdate(array $params): void
    {
        $isCancelled = (int) $params['newOrderStatus']->id === (int) Configuration::get('PS_OS_CANCELED');
        $order = new Order((int) $params['id_order']);
        if (self::$isChanging || !$isCancelled || $order->module !== $this->name || $order->hasBeenPaid()) {
            return;
        }
        try {
            $unknown = $this->payments(4, 0)->close(ComptoirOrders::codesOf($order));
            $unknown = [...$unknown, ...ComptoirOrders::hiddenCodes($order)];
            if ($unknown !== []) {
                // not in the order: PrestaShop is changing it now
                self::log($order, ShopPayments::elsewhereNote($unknown), 3);
            }
        } catch (ComptoirError $error) {
            self::log($order, "the payment of a cancelled order could not be closed: {$error->getMessage()}", 3);
        }
    }

    /** A page of the back office, for a shop without a cron job: few orders, for few seconds. */
    public function hookDisplayBackOfficeHeader(array $params): string
    {
        $this->catchUp(self::PAGE_EVERY, self::PAGE_ORDERS, self::PAGE_SECONDS);
        return '';
    }

    /** What webhooks would have said, for those that were lost; at most every few minutes, whoever asks. */
    public function catchUp(int $every = self::LOOK_EVERY, int $orders = 40, float $seconds = 25): void
    {
        if (!self::isDue($every) || !self::takeTurn($every)) {
            return;
        }
        $fault = ComptoirPlaces::fault($this->context->shop) ?: self::goOn($seconds);
        $fault = $fault === '' ? $this->lookAround($orders, $seconds) : $fault;
        if ($fault !== null) {
            ComptoirLog::fault($fault);
        }
    }

    /** @return string|null what stops all of it; empty: nothing; null: it is not known whether the last fault is over */
    private function lookAround(int $orders, float $seconds): ?string
    {
        $payments = $this->payments(4, 0, $seconds);
        [$hasAnswered, $passing] = [false, ''];
        $fault = ShopRound::run(
            ComptoirOrders::kinds((int) $this->context->shop->id, self::minutes()),
            (array) json_decode((string) Configuration::get('COMPTOIR_PLACES'), true),
            $orders,
            function (int $id) use ($payments, &$hasAnswered): void {
                $hasAnswered = $this->lookInTurn($id, $payments) || $hasAnswered;
            },
            fn (array $places) => Configuration::updateValue('COMPTOIR_PLACES', json_encode($places)),
            function (int $id, Throwable $error) use (&$passing): void {
                if (ShopRound::isPassing($error)) {
                    $passing = $passing ?: "order $id, and maybe others, could not be looked at, and is looked at again: "
                        . $error->getMessage();
                    return;
                }
                ComptoirLog::once("order $id: {$error->getMessage()}", 3, $id);
            },
        );
        if ($fault === '' || $passing !== '') {
            ComptoirLog::passing($passing);
        }
        // where no order asked Comptoir, nothing says that the key works again
        return $fault === '' && !$hasAnswered && ComptoirLog::isFault(ShopRound::KEY) ? null : $fault;
    }

    /** An upgrade that was interrupted. @return string what is wrong then; empty: nothing */
    private static function goOn(float $seconds): string
    {
        if (ComptoirOrders::hasColumn('secret') && ComptoirUpgrade::isUnfinished()) {
            ComptoirUpgrade::run(self::change(...), $seconds);
        }
        return ComptoirOrders::fault();
    }

    /** A time in the future was written by a clock that was ahead. */
    private static function isDue(int $every): bool
    {
        $since = time() - (int) Configuration::get('COMPTOIR_LOOKED');
        return $since < 0 || $since >= $every;
    }

    /** @return bool it is this request's: of several that ask at once, one looks */
    private static function takeTurn(int $every): bool
    {
        $lock = pSQL('comptoir_' . _DB_PREFIX_ . 'look');
        if ((string) Db::getInstance()->getValue("SELECT GET_LOCK('$lock', 0)", false) === '0') {
            return false;
        }
        try {
            // read when this request began
            Configuration::loadConfiguration();
            return self::isDue($every) && Configuration::updateValue('COMPTOIR_LOOKED', time());
        } finally {
            Db::getInstance()->getValue("SELECT RELEASE_LOCK('$lock')", false);
        }
    }

    /**
     * A credit slip made in the back office sends the money back. The slip exists by now, so whatever fails is said in
     * the shop's log and repaired in Comptoir's back office; it never stops the shop's page.
     */
    public function hookActionOrderSlipAdd(array $params): void
    {
        $order = $params['order'];
        if ($order->module !== $this->name) {
            return;
        }
        $slip = ComptoirSlip::newestOf($order);
        if ($slip === null) {
            ComptoirLog::always((int) $order->id, 'a credit slip was not refunded: PrestaShop does not find it.', 3);
            return;
        }
        $currency = (new Currency((int) $order->id_currency))->iso_code;
        $form = Tools::getValue('cancel_product');
        $form = is_array($form) ? $form : [];
        $amount = ShopPayments::amountOf(ComptoirSlip::totalOf($slip, $form, $order), $currency);
        // PrestaShop writes a second entry in the same words into no log
        $what = "the credit slip {$slip['id_order_slip']} of $amount $currency";
        if (!empty($form['voucher'])) {
            self::log($order, "$what was not refunded, because the customer got a voucher.", 2);
            return;
        }
        try {
            $codes = ComptoirOrders::codesOf($order);
            if ($codes === []) {
                throw new ComptoirError(0, 'NOT_PAID', 'No payment through Comptoir is kept with this order here.');
            }
            $payments = $this->payments(15, 1, 40);
            $code = ComptoirOrders::paidBy($order) ?: $payments->paidOf($codes);
            $key = "ps-slip-{$slip['id_order_slip']}-$amount";
            $id = $payments->refund($code, $amount, 'Credit slip', $key);
        } catch (Throwable $error) {
            self::log($order, ComptoirSlip::faultOf($what, $error), 3);
            return;
        }
        // money leaves, whatever fails from here on: nobody may refund it again
        self::log($order, "refund $id of $amount $currency has started.", 1);
        try {
            $account = Configuration::get('COMPTOIR_API_KEY') . ' at ' . Configuration::get('COMPTOIR_BASE_URL');
            self::change((int) $order->id, fn (Order $order) => ComptoirOrders::keepRefunds(
                $order,
                ComptoirOrders::openRefunds($order) + [$id => ['account' => $account]],
            ));
        } catch (Throwable $error) {
            $said = "refund $id has started, but is not followed here: {$error->getMessage()} Look in Comptoir how it "
                . 'ends.';
            self::log($order, $said, 3);
        }
    }

    private static function log(Order $order, string $text, int $weight): void
    {
        ComptoirLog::ofOrder((int) $order->id, $text, $weight);
    }
}
