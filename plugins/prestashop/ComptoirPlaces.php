<?php

declare(strict_types=1);

if (!defined('_PS_VERSION_')) {
    exit;
}

/** Where each shop was when its settings were saved. */
final class ComptoirPlaces
{
    /** @return string what is wrong, in a copy of the shop or after a move; empty: the settings were saved here */
    public static function fault(Shop $shop): string
    {
        $saved = self::saved();
        if (!isset($saved[$shop->id])) {
            // a shop of several that is new, or the first version that asks
            $saved[$shop->id] = self::of($shop);
            Configuration::updateGlobalValue('COMPTOIR_SHOPS', json_encode($saved));
        }
        return ShopPlace::fault($saved[$shop->id], (string) $shop->getBaseURL(false));
    }

    /** The settings are saved for every shop of the back office's context. */
    public static function save(Shop $current, bool $hasMoved): void
    {
        if ($hasMoved) {
            Configuration::deleteByName('COMPTOIR_COPIED');
        } elseif (self::fault($current) !== '') {
            Configuration::updateGlobalValue('COMPTOIR_COPIED', date('Y-m-d H:i:s'));
        }
        $saved = self::saved();
        foreach (Shop::getContextListShopID() as $id) {
            $saved[$id] = self::of(new Shop((int) $id));
        }
        Configuration::updateGlobalValue('COMPTOIR_SHOPS', json_encode($saved));
    }

    private static function of(Shop $shop): string
    {
        return ShopPlace::of((string) $shop->getBaseURL(false));
    }

    /** @return array<int, string> by the shop's number */
    private static function saved(): array
    {
        return (array) json_decode((string) Configuration::getGlobalValue('COMPTOIR_SHOPS'), true);
    }
}
