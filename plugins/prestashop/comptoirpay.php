<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

require_once __DIR__ . '/Comptoir.php';
require_once __DIR__ . '/ShopPayments.php';

/** Crypto payments settled in USDC, by your own Comptoir. For PrestaShop 8; PHP 8.1 or newer. */
class ComptoirPay extends PaymentModule
{
    private const SETTINGS = [
        'COMPTOIR_BASE_URL' => 'Address of Comptoir',
        'COMPTOIR_API_KEY' => 'API key',
        'COMPTOIR_API_SECRET' => 'API secret',
        'COMPTOIR_WEBHOOK_SECRET' => 'Signing secret of webhooks',
        'COMPTOIR_TILL' => 'Till',
    ];

    public function __construct()
    {
        $this->name = 'comptoirpay';
        $this->tab = 'payments_gateways';
        $this->version = '0.1.0';
        $this->author = 'Comptoir';
        $this->currencies = true;
        $this->currencies_mode = 'checkbox';
        $this->ps_versions_compliancy = ['min' => '8.0', 'max' => _PS_VERSION_];
        parent::__construct();
        $this->displayName = 'Comptoir';
        $this->description = 'Customers pay with crypto; you are settled in USDC.';
    }

    public function install(): bool
    {
        return parent::install() && $this->registerHook('paymentOptions') && $this->registerHook('actionOrderSlipAdd');
    }

    /** The settings go; which payment belongs to which order stays, for refunds after a new installation. */
    public function uninstall(): bool
    {
        foreach (array_keys(self::SETTINGS) as $name) {
            Configuration::deleteByName($name);
        }
        return parent::uninstall();
    }

    public function payments(): ShopPayments
    {
        $api = new Comptoir(
            (string) Configuration::get('COMPTOIR_BASE_URL'),
            (string) Configuration::get('COMPTOIR_API_KEY'),
            (string) Configuration::get('COMPTOIR_API_SECRET'),
        );
        return new ShopPayments($api, (string) Configuration::get('COMPTOIR_TILL'), (string) Configuration::get('COMPTOIR_WEBHOOK_SECRET'));
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
            $faults = $this->payments()->test();
            $message = $faults === []
                ? $this->displayConfirmation('Comptoir answers, and the till is there.')
                : $this->displayError($faults);
        }
        $fields = '';
        foreach (self::SETTINGS as $name => $label) {
            $isSecret = str_contains($name, 'SECRET');
            $value = $isSecret ? '' : htmlspecialchars((string) Configuration::get($name), ENT_QUOTES);
            $type = $isSecret ? 'password' : 'text';
            $fields .= "<p><label>$label<br><input type=\"$type\" name=\"$name\" value=\"$value\" size=\"50\"></label></p>";
        }
        return "$message<form method=\"post\">$fields<button name=\"submitComptoirPay\" value=\"1\">Save and test</button></form>";
    }

    public function hookPaymentOptions(array $params): array
    {
        if (!$this->active) {
            return [];
        }
        $option = new PrestaShop\PrestaShop\Core\Payment\PaymentOption();
        $option->setModuleName($this->name);
        $option->setCallToActionText('Pay with crypto (USDC and others)');
        $option->setAction($this->context->link->getModuleLink($this->name, 'validation', [], true));
        return [$option];
    }

    /** Decimal text with the currency's digits. */
    public static function amountOf(float $total, string $currency): string
    {
        return number_format($total, $currency === 'XPF' ? 0 : 2, '.', '');
    }

    /** Opens the payment of a placed order. @return string the payment page */
    public function openPayment(Order $order, string $currency): string
    {
        $link = $this->context->link;
        $payment = $this->payments()->open('PS-' . $order->id, self::amountOf((float) $order->total_paid, $currency), $currency, [
            'shop' => (string) $this->context->shop->getBaseURL(),
            'webhook' => $link->getModuleLink($this->name, 'webhook', [], true),
            'return' => $link->getPageLink('order-confirmation', true, null, ['id_order' => $order->id, 'key' => $order->secure_key]),
            'cancel' => $link->getPageLink('history', true),
        ]);
        Configuration::updateValue("COMPTOIR_ORDER_{$order->id}", $payment['code']);
        return $payment['url'];
    }

    /** What a verified webhook changes. */
    public function apply(ShopPayment $payment): void
    {
        $id = str_starts_with($payment->reference, 'PS-') ? (int) substr($payment->reference, 3) : 0;
        $order = new Order($id);
        // an order of another shop, or a second payment: a person decides in Comptoir
        if (!Validate::isLoadedObject($order) || Configuration::get("COMPTOIR_ORDER_$id") !== $payment->code) {
            return;
        }
        $currency = (new Currency((int) $order->id_currency))->iso_code;
        $fits = $payment->amount === self::amountOf((float) $order->total_paid, $currency) && $payment->currency === $currency;
        $state = match ($payment->state) {
            'paid' => $fits ? 'PS_OS_PAYMENT' : 'PS_OS_ERROR',
            'ended' => 'PS_OS_CANCELED',
            'refunded' => 'PS_OS_REFUND',
            default => null,
        };
        // what ended late changes no order that was paid or that the shop moved on, and nothing is done twice
        // PrestaShop itself moves an order of something out of stock on
        $waits = array_map(fn ($name) => (int) Configuration::get($name), ['PS_OS_BANKWIRE', 'PS_OS_OUTOFSTOCK_UNPAID']);
        if ($payment->state === 'ended' && !in_array((int) $order->current_state, $waits, true)) {
            return;
        }
        $isPaid = (bool) $order->hasBeenPaid();
        if ($state === null || ($isPaid && $payment->state !== 'refunded') || (int) $order->current_state === (int) Configuration::get($state)) {
            return;
        }
        $order->setCurrentState((int) Configuration::get($state));
    }

    /**
     * A credit slip made in the back office sends the money back. The slip exists by now, so whatever fails is said in
     * the shop's log and repaired in Comptoir's back office; it never stops the shop's page.
     */
    public function hookActionOrderSlipAdd(array $params): void
    {
        $order = $params['order'];
        $code = (string) Configuration::get("COMPTOIR_ORDER_{$order->id}");
        if ($order->module !== $this->name || $code === '') {
            return;
        }
        $currency = (new Currency((int) $order->id_currency))->iso_code;
        $total = array_sum(array_map(fn ($line) => (float) ($line['amount'] ?? 0), $params['productList'] ?? []));
        $slips = count(OrderSlip::getOrdersSlip((int) $order->id_customer, (int) $order->id));
        $amount = self::amountOf($total, $currency);
        try {
            $id = $this->payments()->refund($code, $amount, 'Credit slip', "ps-{$order->id}-$slips-$amount");
            PrestaShopLogger::addLog("Comptoir: refund $id of $amount $currency has started.", 1, null, 'Order', (int) $order->id);
        } catch (ComptoirError | InvalidArgumentException $error) {
            $said = "Comptoir: the credit slip of $amount $currency was not refunded: {$error->getMessage()}";
            PrestaShopLogger::addLog($said, 3, null, 'Order', (int) $order->id);
        }
    }
}
