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
        // an order must not be placed whose payment cannot open
        if (!ShopPayments::takes($currency->iso_code) || ComptoirPay::hasParcels($cart)) {
            Tools::redirect('index.php?controller=order');
            return;
        }
        $customer = new Customer((int) $cart->id_customer);
        $this->module->validateOrder(
            (int) $cart->id,
            ComptoirStates::waiting(),
            (float) $cart->getOrderTotal(true, Cart::BOTH),
            $this->module->displayName,
            null,
            [],
            (int) $currency->id,
            false,
            $customer->secure_key,
        );
        $order = new Order((int) $this->module->currentOrder);
        try {
            Tools::redirect($this->module->openPayment($order, $currency->iso_code));
        } catch (ComptoirError $error) {
            // the order is placed: it ends here, so that the customer may order again and pay otherwise
            $order->setCurrentState((int) Configuration::get('PS_OS_ERROR'));
            $this->errors[] = 'The payment cannot be started now: ' . $error->getMessage();
            $this->redirectWithNotifications($this->context->link->getPageLink('order', true));
        }
    }
}
