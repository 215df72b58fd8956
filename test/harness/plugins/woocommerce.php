<?php

declare(strict_types=1);

/*
 * Imitates the few classes of WordPress and WooCommerce that the gateway touches. Takes one JSON command a line from
 * stdin and answers one JSON line: what the shop knows afterwards.
 */
const ABSPATH = '/';
function add_action(string $name, callable $action): void
{
    $name === 'plugins_loaded' && $action();
}
function get_option(string $name): string|false
{
    return $name === 'siteurl' ? Shop::$address : false;
}
function add_filter(string $name, callable $filter): void
{
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
    public static array $orders = [];
    public static array $notices = [];
    public static string $address = 'https://shop.example';
    public static int $status = 0;
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
    public function init_settings(): void
    {
    }
    public function get_option(string $name): string
    {
        return Shop::$options[$name] ?? $this->form_fields[$name]['default'] ?? '';
    }
    public function process_admin_options(): void
    {
    }
    public function get_return_url(WC_Order $order): string
    {
        return "https://shop.example/thanks/{$order->get_id()}";
    }
}
final class WC_Order
{
    public string $status = 'pending';
    public string $method = 'comptoir';
    public array $meta = [];
    public array $notes = [];
    public array $refunds = [];
    public int $completed = 0;
    public function __construct(private readonly int $id, public string $total)
    {
    }
    public function get_id(): int
    {
        return $this->id;
    }
    public function get_total(): string
    {
        return $this->total;
    }
    public function get_payment_method(): string
    {
        return $this->method;
    }
    public function has_status(array $statuses): bool
    {
        return in_array($this->status, $statuses, true);
    }
    public function get_currency(): string
    {
        return 'EUR';
    }
    public function get_cancel_order_url_raw(): string
    {
        return 'https://shop.example/cart';
    }
    public function get_meta(string $name): string
    {
        return $this->meta[$name] ?? '';
    }
    public function update_meta_data(string $name, string $value): void
    {
        $this->meta[$name] = $value;
    }
    public function update_status(string $status, string $note): void
    {
        $this->status = $status;
        $this->notes[] = $note;
    }
    public function get_status(): string
    {
        return $this->status;
    }
    public function save(): void
    {
    }
    public function is_paid(): bool
    {
        return in_array($this->status, ['processing', 'completed'], true);
    }
    public function payment_complete(string $code): void
    {
        $this->status = 'processing';
        $this->completed++;
    }
    public function get_refunds(): array
    {
        return $this->refunds;
    }
    public function add_order_note(string $note): void
    {
        $this->notes[] = $note;
    }
}
function wc_get_order(int $id): WC_Order|false
{
    return Shop::$orders[$id] ?? false;
}
function WC(): object
{
    return new class () {
        public function api_request_url(string $name): string
        {
            return getenv('WEBHOOK_URL');
        }
    };
}

require getenv('PLUGIN') . '/comptoir.php';

Shop::$options = json_decode(getenv('OPTIONS'), true);

while (($line = fgets(STDIN)) !== false) {
    $command = json_decode($line, true);
    Shop::$notices = [];
    Shop::$address = $command['shop'] ?? 'https://shop.example';
    $id = $command['order'] ?? 7;
    $order = Shop::$orders[$id] ??= new WC_Order($id, '50.00');
    foreach ($command['set'] ?? [] as $name => $value) {
        $order->$name = $value;
    }
    $gateway = new WC_Gateway_Comptoir();
    $answer = match ($command['do']) {
        'test' => (function () use ($gateway, $command) {
            $kept = Shop::$options;
            Shop::$options = [...$kept, ...($command['options'] ?? [])];
            $gateway->save_and_test();
            Shop::$options = $kept;
            return Shop::$notices;
        })(),
        'pay' => $gateway->process_payment($id),
        'webhook' => (function () use ($gateway, $command) {
            try {
                $api = new Comptoir(Shop::$options['base_url'], Shop::$options['api_key'], Shop::$options['api_secret']);
                $payments = new ShopPayments($api, Shop::$options['till'], Shop::$options['webhook_secret']);
                $payment = $payments->read($command['body'], $command['headers']);
                $payment === null || $gateway->apply($payment);
                return $payment?->state ?? 'nothing';
            } catch (WebhookVerificationError) {
                return 'refused';
            }
        })(),
        'refund' => $gateway->process_refund($id, $command['amount'], 'Cold'),
        'part' => ShopPayments::partOf(...$command['of']),
    };
    $facts = ['status' => $order->status, 'completed' => $order->completed, 'notes' => $order->notes];
    echo json_encode(['answer' => $answer, ...$facts]), "\n";
}
