<?php

declare(strict_types=1);

defined('WP_UNINSTALL_PLUGIN') || exit;

/*
 * The keys of the shop go with the plugin. What is kept with the orders stays, and with it where the shop was that wrote
 * it (comptoir_place, comptoir_copied): a copy of the shop must not take those payments for its own after a new install.
 */
foreach (is_multisite() ? get_sites(['fields' => 'ids', 'number' => 0]) : [null] as $site) {
    $site === null || switch_to_blog($site);
    delete_option('woocommerce_comptoir_settings');
    $site === null || restore_current_blog();
}
