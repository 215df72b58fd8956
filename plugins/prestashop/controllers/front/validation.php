<?php

declare(strict_types=1);

/** The customer chose Comptoir: the order is placed, and the payment page opens. */
class ComptoirPayValidationModuleFrontController extends ModuleFrontController
{
    public function postProcess(): void
    {
        $cart = $this->context->cart;
        $currency = new Currency((int) $cart->id_currency);
        // the checkout sends a form; a link or a picture on another page must place no order
        $isSent = ($_SERVER['REQUEST_METHOD'] ?? '') === 'POST' && $cart->id && $cart->id_customer;
        // PrestaShop lists the modules that the country, the customer's group, the carrier and the currency allow
        $isAllowed = in_array($this->module->name, array_column(Module::getPaymentModules(), 'name'), true);
        if (!$isSent || !$isAllowed || !$this->module->active || !$this->module->canTake($currency->iso_code, $cart)) {
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
