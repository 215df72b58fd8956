<?php

declare(strict_types=1);

/** The customer chose Comptoir: the order is placed, and the payment page opens. */
class ComptoirPayValidationModuleFrontController extends ModuleFrontController
{
    public function postProcess(): void
    {
        $cart = $this->context->cart;
        if (!$this->module->active || !$cart->id || !$cart->id_customer) {
            Tools::redirect('index.php?controller=order');
            return;
        }
        $currency = new Currency((int) $cart->id_currency);
        $customer = new Customer((int) $cart->id_customer);
        $this->module->validateOrder(
            (int) $cart->id,
            (int) Configuration::get('PS_OS_BANKWIRE'),
            (float) $cart->getOrderTotal(true, Cart::BOTH),
            $this->module->displayName,
            null,
            [],
            (int) $currency->id,
            false,
            $customer->secure_key,
        );
        Tools::redirect($this->module->openPayment(new Order((int) $this->module->currentOrder), $currency->iso_code));
    }
}
