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
        $isNet = abs($amount - $net) < 0.005;
        if ($type === self::CHOSEN_AMOUNT && !$isNet) {
            $products = $amount;
        }
        // PrestaShop takes the order's discounts off one of the two sums only: the net one, if the prices have tax
        if ($type === self::WITHOUT_DISCOUNTS && !$isNet) {
            $products -= (float) $order->total_discounts;
        }
        return $products + (float) $slip['total_shipping_tax_incl'];
    }
}
