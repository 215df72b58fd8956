<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** The states that the module brings along. */
final class ComptoirStates
{
    /** A state of its own: that of a bank wire mails the customer the shop's account. */
    public static function waiting(): int
    {
        return self::make('COMPTOIR_OS_WAITING', 'Waiting for the crypto payment', '#34209E', isPaid: false);
    }

    /** @return int[] of an order that nobody paid. PrestaShop itself moves one of something out of stock on */
    public static function unpaid(): array
    {
        return array_values(array_filter([self::waiting(), (int) Configuration::get('PS_OS_OUTOFSTOCK_UNPAID')]));
    }

    private static function make(string $setting, string $name, string $color, bool $isPaid): int
    {
        $id = (int) Configuration::get($setting);
        if ($id === 0) {
            $state = new OrderState();
            $state->name = array_fill_keys(Language::getIDs(false), $name);
            $state->module_name = 'comptoirpay';
            $state->color = $color;
            $state->paid = $state->logable = $state->invoice = $isPaid;
            $state->send_email = false;
            $state->add();
            $id = (int) $state->id;
            Configuration::updateValue($setting, $id);
        }
        return $id;
    }

    public static function paidTwice(): int
    {
        return self::make('COMPTOIR_OS_PAID_TWICE', 'Paid twice, please check', '#E38405', isPaid: true);
    }
}
