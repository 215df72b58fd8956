<?php

declare(strict_types=1);

use ComptoirForWooCommerce\Comptoir;
use ComptoirForWooCommerce\ComptoirError;
use ComptoirForWooCommerce\ShopPayments;
use ComptoirForWooCommerce\ShopRound;
use ComptoirForWooCommerce\WebhookVerificationError;

/*
 * Imitates the few classes of WordPress and WooCommerce that the gateway touches. Takes one JSON command a line from
 * stdin and answers one JSON line: what the shop knows afterwards.
 */
const ABSPATH = '/';
function add_action(string $name, callable $action): void
{
    $name === 'plugins_loaded' ? $action() : Shop::$actions[$name] = $action;
}
function get_option(string $name, mixed $default = false): mixed
{
    return ['siteurl' => Shop::$address, 'admin_email' => 'shop@shop.example', ...Shop::$stored][$name] ?? $default;
}
function current_user_can(string $what): bool
{
    return true;
}
function esc_html(string $text): string
{
    return htmlspecialchars($text);
}
function update_option(string $name, mixed $value, bool $autoload): void
{
    Shop::$stored[$name] = $value;
}
function delete_option(string $name): void
{
    unset(Shop::$stored[$name]);
}
function register_deactivation_hook(string $file, callable $action): void
{
}
function get_query_var(string $name): string
{
    return Shop::$page;
}
function absint(string $value): int
{
    return abs((int) $value);
}
function get_woocommerce_currency(): string
{
    return Shop::$currency;
}
function wp_mail(string $to, string $subject, string $text): void
{
    Shop::$mails[] = "$to: $subject";
    Shop::$letters[] = $text;
}
function clean_post_cache(int $id): void
{
    unset(Shop::$cache[$id]);
}
function add_filter(string $name, callable $filter, int $priority = 10, int $arguments = 1): void
{
    Shop::$actions[$name] = $filter;
}
function remove_filter(string $name, callable $filter, int $priority): void
{
    unset(Shop::$actions[$name]);
}
function wc_add_notice(string $text): void
{
    Shop::$notices[] = $text;
}
function status_header(int $status): void
{
    Shop::$status = $status;
}
final class Shop
{
    public static array $options = [];
    /** Numbers that belong to records of refunds. */
    public static array $refundRecords = [];
    /** The shop's own options, by name. */
    public static array $stored = [];
    public static ?WC_Gateway_Comptoir $gateway = null;
    /** Another plugin throws while WooCommerce changes an order, which then says false. */
    public static bool $completes = true;
    /**
     * What the database takes of a change. In a table of orders, status and transaction are one row: true or false. Where
     * orders are posts, `metas`: wp_update_post() is refused, which WooCommerce does not look at; `row`: another plugin
     * throws in save_post. WooCommerce says true all the same, and notes what was thrown.
     */
    public static bool|string $saves = true;
    /** Another plugin moves an order back to the state that it was in. */
    public static bool $movesBack = false;
    /** The database. */
    public static array $orders = [];
    /** What this request has read of it. */
    public static array $cache = [];
    /** The rows that WooCommerce caches of orders in tables of their own. */
    public static array $rows = [];
    /** What another request changes while this one talks to Comptoir. */
    public static array $meanwhile = [];
    /** The order on its page of payment; empty: the checkout. */
    public static string $page = '';
    public static string $currency = 'EUR';
    public static array $actions = [];
    public static array $mails = [];
    /** What the mails say. */
    public static array $letters = [];
    public static array $logged = [];
    /** The order that cannot be completed: WooCommerce catches what is an Exception, not every Throwable. */
    public static int $throws = 0;
    public static array $notices = [];
    public static string $address = 'https://shop.example';
    public static string $query = '';
    public static int $status = 0;
    /** What the database answers to GET_LOCK. */
    public static ?string $lock = '1';
}
final class WC_Admin_Settings
{
    public static function add_error(string $text): void
    {
        Shop::$notices[] = $text;
    }
    public static function add_message(string $text): void
    {
        Shop::$notices[] = "ok: $text";
    }
}
final class WP_Error
{
    public function __construct(public readonly string $code, public readonly string $message)
    {
    }
}
abstract class WC_Payment_Gateway
{
    public string $id;
    public string $method_title;
    public string $method_description;
    public bool $has_fields;
    public array $supports;
    public string $title;
    public string $description;
    public array $form_fields;
    public function is_available(): bool
    {
        return true;
    }
    public function init_settings(): void
    {
    }
    public function get_option(string $name): string
    {
        return Shop::$options[$name] ?? $this->form_fields[$name]['default'] ?? '';
    }
    public function update_option(string $name, string $value): void
    {
        Shop::$options[$name] = $value;
    }
    public function process_admin_options(): void
    {
    }
    public function get_return_url(WC_Order $order): string
    {
        return "https://shop.example/thanks/{$order->get_id()}";
    }
}
final class WC_Meta_Data
{
    public function __construct(public readonly int $id, public readonly string $key, public readonly string $value)
    {
    }
}
/** Each request works on a copy, as in WooCommerce; only what it writes is in the database. */
final class WC_Order
{
    public string $status = 'pending';
    public string $method = 'comptoir';
    public string $transaction = '';
    public ?string $paid = null;
    public string $currency = 'EUR';
    public array $meta = [];
    public array $notes = [];
    public array $refunds = [];
    public int $completed = 0;
    private array $changes = [];
    public string $key;
    public int $modified;
    public int $created;
    public function __construct(private readonly int $id, public string $total)
    {
        $this->key = 'wc_order_' . bin2hex(random_bytes(7));
        $this->created = $this->modified = time();
    }
    public function get_order_key(): string
    {
        return $this->key;
    }
    public function get_date_created(): DateTime
    {
        return new DateTime("@{$this->created}");
    }
    /** What is not in the database yet. */
    public function get_changes(): array
    {
        return $this->changes;
    }
    public function get_date_modified(): DateTime
    {
        return new DateTime("@{$this->modified}");
    }
    public function set_date_modified(int $time): void
    {
        $this->modified = $time;
    }
    public function save(): void
    {
        $this->save_meta_data();
        $this->write('modified', $this->modified);
        $this->write('transaction', $this->transaction);
        $this->write('paid', $this->paid);
    }
    private function write(string $name, mixed $value): void
    {
        $this->$name = $value;
        $isRow = in_array($name, ['status', 'modified'], true);
        if (Shop::$saves === true || $name === 'meta' || Shop::$saves === ($isRow ? 'row' : 'metas')) {
            Shop::$orders[$this->id]->$name = $value;
        }
    }
    public function get_date_paid(): ?string
    {
        return $this->paid;
    }
    /** WooCommerce sets the date once, whoever moves the order to a paid status, and keeps it when the status changes. */
    public function date(): void
    {
        in_array($this->status, ['processing', 'completed'], true) && $this->write('paid', $this->paid ?? 'today');
    }
    public function get_id(): int
    {
        return $this->id;
    }
    public function get_order_number(): string
    {
        return (string) $this->id;
    }
    public function get_total(): string
    {
        return $this->total;
    }
    public function get_payment_method(): string
    {
        return $this->method;
    }
    public function get_transaction_id(): string
    {
        return $this->transaction;
    }
    public function has_status(string|array $statuses): bool
    {
        return in_array($this->status, (array) $statuses, true);
    }
    public function get_currency(): string
    {
        return $this->currency;
    }
    public function get_cancel_order_url_raw(): string
    {
        // WordPress makes another nonce for each session, and every twelve hours
        return 'https://shop.example/cart?cancel_order=true&_wpnonce=' . bin2hex(random_bytes(5));
    }
    public function get_meta(string $name, bool $single = true): string|array
    {
        $values = array_filter((array) ($this->meta[$name] ?? []), fn ($value) => $value !== null);
        $row = fn ($index) => new WC_Meta_Data(self::metaId($name, $index), $name, $values[$index]);
        return $single ? current($values) ?: '' : array_map($row, array_keys($values));
    }
    /** As in the original, the number of a row stays while another one is deleted. */
    private static function metaId(string $name, int $index): int
    {
        return crc32($name) * 1000 + $index;
    }
    private function set_meta_by_id(int $id, ?string $value): void
    {
        foreach ($this->meta as $name => $values) {
            foreach (array_keys((array) $values) as $index) {
                $this->meta[$name] = (array) $this->meta[$name];
                self::metaId($name, $index) === $id && $this->meta[$name][$index] = $value;
            }
        }
    }
    public function update_meta_data(string $name, string $value, int $id): void
    {
        $this->set_meta_by_id($id, $value);
    }
    public function delete_meta_data_by_mid(int $id): void
    {
        $this->set_meta_by_id($id, null);
    }
    public function add_meta_data(string $name, string $value): void
    {
        $this->meta[$name] = [...(array) ($this->meta[$name] ?? []), $value];
    }
    public function delete_meta_data(string $name): void
    {
        unset($this->meta[$name]);
    }
    public function save_meta_data(): void
    {
        $left = fn ($values) => array_values(array_filter((array) $values, fn ($value) => $value !== null));
        $this->meta = array_filter(array_map($left, $this->meta));
        $this->write('meta', $this->meta);
    }
    public function read_meta_data(bool $force): void
    {
        $this->meta = Shop::$orders[$this->id]->meta;
    }
    /** @return bool false: WooCommerce caught what another plugin threw */
    public function update_status(string $status, string $note = ''): bool
    {
        if (!Shop::$completes) {
            return false;
        }
        $before = $this->status;
        $this->save_meta_data();
        $this->changes = in_array(Shop::$saves, [true, 'metas'], true) ? [] : ['status' => $status];
        $this->write('status', $status);
        $this->write('modified', time());
        Shop::$movesBack && Shop::$orders[$this->id]->status = $before;
        $this->date();
        $note === '' || $this->add_order_note($note);
        $this->noteFault();
        (Shop::$actions["woocommerce_order_status_$status"] ?? fn () => null)($this->id);
        return true;
    }
    /** The shop's own state asks for payment, and WooCommerce completes it only if a filter says so. */
    public function needs_payment(): bool
    {
        return $this->has_status(['pending', 'failed', 'checkout-draft', 'awaiting-approval']);
    }
    public function is_paid(): bool
    {
        return $this->has_status(['processing', 'completed', 'packed']);
    }
    public function get_status(): string
    {
        return $this->status;
    }
    public function payment_complete(string $code): bool
    {
        if (!Shop::$completes) {
            return false;
        }
        $this->id === Shop::$throws && Shop::$saves === true && throw new TypeError('another plugin is broken');
        $filter = Shop::$actions['woocommerce_valid_order_statuses_for_payment_complete'] ?? fn ($states) => $states;
        if (!$this->has_status($filter(['on-hold', 'pending', 'failed', 'cancelled', 'checkout-draft']))) {
            return true;
        }
        $this->save_meta_data();
        $this->changes = in_array(Shop::$saves, [true, 'metas'], true) ? [] : ['status' => 'processing'];
        $this->write('status', 'processing');
        $this->write('modified', time());
        // the process ends between the two
        $this->id === Shop::$throws && throw new TypeError('another plugin is broken');
        $this->write('transaction', $code);
        $this->write('paid', $this->paid ?? 'today');
        Shop::$movesBack && Shop::$orders[$this->id]->status = 'pending';
        Shop::$saves === false || Shop::$orders[$this->id]->completed++;
        $this->noteFault();
        return true;
    }
    /** What the order's own save() catches. */
    private function noteFault(): void
    {
        in_array(Shop::$saves, [true, 'metas'], true) || $this->add_order_note('Error saving order.');
    }
    public function set_date_paid(int $time): void
    {
        $this->paid = 'today';
    }
    public function set_transaction_id(string $code): void
    {
        $this->transaction = $code;
    }
    public function add_order_note(string $note): void
    {
        Shop::$orders[$this->id]->notes[] = $note;
    }
}
$wpdb = new class () {
    public string $prefix = 'wp_';
    public function prepare(string $query, string ...$values): string
    {
        return vsprintf($query, $values);
    }
    public function query(string $query): void
    {
    }
    public function get_var(string $query): ?string
    {
        return Shop::$lock;
    }
};
/** As WooCommerce ships it: no WC_Order, and wc_get_order() finds it by its number. */
final class WC_Order_Refund
{
}
/** Of the arguments, what the module gives; `meta_key` alone works wherever WooCommerce keeps its orders. */
function wc_get_orders(array $query): array
{
    $unknown = array_diff_key($query, array_flip(['type', 'limit', 'return', 'meta_key', 'date_modified']));
    if ($unknown !== [] || $query['limit'] !== -1 || $query['return'] !== 'ids') {
        throw new LogicException('not imitated: ' . json_encode($query));
    }
    $since = (int) ltrim($query['date_modified'] ?? '0', '>');
    $isMeant = fn ($order) => isset($order->meta[$query['meta_key']]) && $order->modified > $since && $order->status !== 'trash';
    return [...array_keys(array_filter(Shop::$orders, $isMeant)), ...Shop::$refundRecords];
}
final class OrdersTableDataStore
{
    public function clear_cached_data(array $ids): array
    {
        array_map(function (int $id): void {
            unset(Shop::$rows[$id]);
        }, $ids);
        return [];
    }
}
class_alias(OrdersTableDataStore::class, 'Automattic\WooCommerce\Internal\DataStores\Orders\OrdersTableDataStore');
function wc_get_container(): object
{
    return new class () {
        public function get(string $class): object
        {
            return new $class();
        }
    };
}
function wc_get_logger(): object
{
    return new class () {
        public function warning(string $text, array $context): void
        {
            Shop::$logged[] = $text;
        }
    };
}
function wc_get_order(int $id): WC_Order|WC_Order_Refund|false
{
    if (in_array($id, Shop::$refundRecords, true)) {
        return new WC_Order_Refund();
    }
    Shop::$cache[$id] ??= Shop::$rows[$id] ?? Shop::$orders[$id] ?? false;
    return Shop::$cache[$id] ? clone Shop::$cache[$id] : false;
}
function WC(): object
{
    return new class () {
        public function payment_gateways(): object
        {
            return new class () {
                public function payment_gateways(): array
                {
                    return ['comptoir' => Shop::$gateway];
                }
            };
        }
        public function api_request_url(string $name): string
        {
            foreach (Shop::$meanwhile as $id => $changes) {
                // what this request has read stays what it was
                isset(Shop::$cache[$id]) && Shop::$cache[$id] = Shop::$rows[$id] = clone Shop::$cache[$id];
                foreach ($changes as $name => $value) {
                    Shop::$orders[$id]->$name = $value;
                }
                Shop::$orders[$id]->date();
            }
            return getenv('WEBHOOK_URL') . Shop::$query;
        }
    };
}

require getenv('PLUGIN') . '/comptoir.php';

Shop::$options = json_decode(getenv('OPTIONS'), true);

while (($line = fgets(STDIN)) !== false) {
    $command = json_decode($line, true);
    Shop::$notices = Shop::$mails = Shop::$letters = Shop::$logged = Shop::$cache = Shop::$rows = [];
    Shop::$lock = array_key_exists('lock', $command) ? $command['lock'] : '1';
    Shop::$address = $command['shop'] ?? 'https://shop.example';
    Shop::$query = $command['query'] ?? '';
    $id = $command['order'] ?? 7;
    $order = Shop::$orders[$id] ??= new WC_Order($id, '50.00');
    foreach ($command['set'] ?? [] as $name => $value) {
        $order->$name = $value;
    }
    $order->date();
    Shop::$meanwhile = isset($command['meanwhile']) ? [$id => $command['meanwhile']] : [];
    $gateway = Shop::$gateway = new WC_Gateway_Comptoir();
    Shop::$completes = $command['completes'] ?? true;
    Shop::$saves = $command['saves'] ?? true;
    Shop::$movesBack = $command['movesBack'] ?? false;
    Shop::$refundRecords = $command['refundRecords'] ?? [];
    Shop::$throws = $command['throws'] ?? 0;
    $kept = Shop::$options;
    Shop::$options = [...$kept, ...($command['options'] ?? [])];
    $answer = match ($command['do']) {
        'test' => (function () use ($gateway) {
            $gateway->save_and_test();
            return Shop::$notices;
        })(),
        'pay' => $gateway->process_payment($id),
        'webhook' => (function () use ($gateway, $command) {
            try {
                $api = new Comptoir(Shop::$options['base_url'], Shop::$options['api_key'], Shop::$options['api_secret']);
                $payments = new ShopPayments($api, Shop::$options['till'], Shop::$options['webhook_secret']);
                $gateway->take($command['body'], $command['headers']);
                [$code] = $payments->read($command['body'], $command['headers']) ?? [''];
                return $code === '' ? 'nothing' : (current($payments->look([$code])) ?: null)?->state;
            } catch (WebhookVerificationError) {
                return 'refused';
            } catch (ComptoirError $error) {
                return $error->errorCode;
            }
        })(),
        'offer' => (function () use ($gateway, $command) {
            [Shop::$currency, Shop::$page] = [$command['currency'], (string) ($command['page'] ?? '')];
            return $gateway->is_available();
        })(),
        'thanks' => (Shop::$actions['woocommerce_thankyou_comptoir'])($id),
        'refund' => (function () use ($gateway, $command, $order, $id) {
            // WooCommerce makes its record first, and deletes it if the gateway fails
            [$refunds, $meta] = [$order->refunds, $order->meta];
            $order->refunds[] = $command['amount'];
            $answer = $gateway->process_refund($id, $command['amount'], $command['reason'] ?? 'Cold');
            if ($command['lost'] ?? false) {
                // what the module wrote before it asked stays, unless the whole request came to nothing
                $meta += array_intersect_key($order->meta, ['_comptoir_refund_reasons' => 1]);
                [$order->refunds, $order->meta] = [$refunds, $meta];
                return 'lost';
            }
            if ($answer !== true) {
                $order->refunds = $refunds;
            }
            return $answer;
        })(),
        'cancel' => wc_get_order($id)->update_status($command['status'] ?? 'cancelled'),
        // after its minutes, WooCommerce asks and cancels an order that nobody paid
        'timeOut' => (function () use ($id) {
            $order = wc_get_order($id);
            $cancels = (Shop::$actions['woocommerce_cancel_unpaid_order'])(true, $order);
            $cancels && $order->update_status('cancelled');
            return $cancels;
        })(),
        'catchUp' => (Shop::$actions['comptoir_look'])(),
        'look' => null,
        'notice' => (function () {
            ob_start();
            (Shop::$actions['admin_notices'])();
            return ob_get_clean();
        })(),
        'store' => Shop::$stored = [...Shop::$stored, ...$command['stored']],
        'stored' => Shop::$stored,
        'meta' => $order->meta,
        // as in a later process
        'later' => (new ReflectionProperty($gateway, 'silentAt'))->setValue(null, 0),
        'rounds' => array_map(function () use ($command) {
            static $places = [];
            static $left = null;
            $left ??= $command['silent'] ?? 0;
            $seen = [];
            $look = function (int $id) use (&$seen, &$left): void {
                $seen[] = $id;
                $left-- > 0 && throw new ComptoirError(0, 'CONNECTION_FAILED', 'no answer');
            };
            $keep = function (array $now) use (&$places): void {
                $places = $now;
            };
            ShopRound::run(['all' => $command['ids']], $places, $command['most'], $look, $keep, fn () => null);
            return $seen;
        }, range(1, $command['times'])),
        'part' => ShopPayments::partOf(...$command['of']),
    };
    Shop::$options = $kept;
    $facts = ['status' => $order->status, 'completed' => $order->completed, 'notes' => $order->notes, 'mails' => Shop::$mails];
    $facts += ['letters' => Shop::$letters, 'notices' => Shop::$notices, 'transaction' => $order->transaction];
    echo json_encode(['answer' => $answer, ...$facts]), "\n";
}
