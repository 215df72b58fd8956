<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** PrestaShop's credit slips. */
final class ComptoirSlip
{
    /** PrestaShop's VoucherRefundType: what a credit slip does with the order's discounts. */
    private const WITHOUT_DISCOUNTS = 1;
    private const CHOSEN_AMOUNT = 2;

    /** @return array|null the row of the order's newest credit slip */
    public static function newestOf(Order $order): ?array
    {
        $rows = OrderSlip::getOrdersSlip((int) $order->id_customer, (int) $order->id);
        $slips = array_column($rows, null, 'id_order_slip');
        return $slips === [] ? null : $slips[max(array_keys($slips))];
    }

    /** What the log says of a refund that did not start for sure. No answer may mean that it did. */
    public static function faultOf(string $what, Throwable $error): string
    {
        return ShopPayments::mayHaveStarted($error)
            ? "it is not known whether $what was refunded: {$error->getMessage()} Look in Comptoir before you refund "
                . 'again.'
            : "$what was not refunded: {$error->getMessage()}";
    }

    /**
     * What a credit slip gives back, with tax and shipping. The lines that the hook is given are without tax where the
     * customer's group sees prices without tax, and without shipping always.
     * @param array $slip its row
     * @param array $form what the back office was asked for
     */
    public static function totalOf(array $slip, array $form, Order $order): float
    {
        [$amount, $net] = [(float) $slip['amount'], (float) $slip['total_products_tax_excl']];
        $products = (float) $slip['total_products_tax_incl'];
        $type = (int) ($form['voucher_refund_type'] ?? $slip['order_slip_type']);
        $isAsked = isset($form['voucher_refund_type']);
        $isNet = abs($amount - $net) < 0.005;
        // a slip with shipping has the type of a chosen amount, too: then only the form knows
        if ($type === self::CHOSEN_AMOUNT && ($isAsked || !$isNet)) {
            $products = $amount;
        }
        // PrestaShop takes the order's discounts off one of the two sums only: the net one, if the prices have tax
        if ($type === self::WITHOUT_DISCOUNTS && !$isNet) {
            $products -= (float) $order->total_discounts;
        }
        return $products + (float) $slip['total_shipping_tax_incl'];
    }
}
