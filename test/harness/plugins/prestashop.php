<?php

declare(strict_types=1);

/*
 * Imitates the few classes of PrestaShop that the module touches. Takes one JSON command a line from stdin and answers
 * one JSON line: what the shop knows afterwards.
 */

namespace PrestaShop\PrestaShop\Core\Payment {
    final class PaymentOption
    {
        public array $given = [];
        public function setModuleName(string $name): void
        {
            $this->given['module'] = $name;
        }
        public function setCallToActionText(string $text): void
        {
            $this->given['text'] = $text;
        }
        public function setAction(string $url): void
        {
            $this->given['action'] = $url;
        }
    }
}

namespace {
    const _PS_VERSION_ = '8.2.0';

    final class Shop
    {
        public static array $settings = ['PS_OS_BANKWIRE' => 1, 'PS_OS_PAYMENT' => 2, 'PS_OS_ERROR' => 3, 'PS_OS_CANCELED' => 4, 'PS_OS_REFUND' => 5, 'PS_OS_OUTOFSTOCK_UNPAID' => 9];
        public static array $orders = [];
        /** The database takes an order's row; if not, PrestaShop does not say so. */
        public static bool $saves = true;
        /** The order whose state PrestaShop cannot change. */
        public static int $throws = 0;
        public static array $rows = [];
        /** Rows of PrestaShop's settings that earlier versions wrote, by number. */
        public static array $configuration = [];
        public static function setOld(string $name, mixed $value, array $more): void
        {
            $id = count(self::$configuration) + 1;
            $dates = array_fill_keys(['date_add', 'date_upd'], date('Y-m-d H:i:s'));
            self::$configuration[$id] = ['id_configuration' => (string) $id, ...compact('name', 'value'), 'id_shop' => null, ...$dates, ...$more];
        }
        /** The rows go, or have another name. */
        public static function forget(array $ids, ?string $name): void
        {
            foreach ($ids as $id) {
                self::$configuration[$id] = ['id_configuration' => (string) $id, 'name' => $name ?? '', 'value' => ''];
            }
        }
        /** @var OrderState[] made by modules */
        public static array $states = [];
        public static bool $hasTable = false;
        /** Those of the module's table that a version added. */
        public static array $columns = ['secret', 'refunds'];
        /** The statement at which the database's connection ends. */
        public static string $fails = '';
        public static ?PaymentModule $module = null;
        /** The parcels of the cart, by address. */
        public static array $packages = [5 => [['one']]];
        public static array $post = [];
        public static array $logged = [];
        /** Every entry of the log, and the mails of the last command. */
        public static array $log = [];
        public static array $mailed = [];
        public static array $slips = [];
        public static ?string $redirect = null;
        /** What another request writes to the settings while this one waits. */
        public static array $written = [];
        /** The state in which another request puts an order while this one waits for the order. */
        public static array $meanwhile = [];
        /** What the database answers to GET_LOCK. */
        public static string $lock = '1';
        public static string $address = 'http://shop.example/';
        /** Whether the country, the group, the carrier and the currency allow the module. */
        public static bool $allows = true;
        public function __construct(public int $id)
        {
        }
        public static function getContextListShopID(): array
        {
            return [1];
        }
        public function getBaseURL(bool $isSecure): string
        {
            return self::$address;
        }
    }
    final class Module
    {
        public static function getPaymentModules(): array
        {
            return Shop::$allows ? [['name' => 'comptoirpay'], ['name' => 'other']] : [['name' => 'other']];
        }
    }
    final class Configuration
    {
        public static function get(string $name): mixed
        {
            return Shop::$settings[$name] ?? false;
        }
        public static function updateValue(string $name, mixed $value): bool
        {
            Shop::$settings[$name] = $value;
            return true;
        }
        public static function getGlobalValue(string $name): mixed
        {
            return self::get($name);
        }
        public static function updateGlobalValue(string $name, mixed $value): bool
        {
            return self::updateValue($name, $value);
        }
        public static function loadConfiguration(): void
        {
            Shop::$settings = [...Shop::$settings, ...Shop::$written];
        }
        public static function deleteByName(string $name): bool
        {
            unset(Shop::$settings[$name]);
            return true;
        }
    }
    const _DB_PREFIX_ = 'ps_';
    function pSQL(string $text): string
    {
        return addslashes($text);
    }
    final class PrestaShopException extends Exception
    {
    }
    final class Db
    {
        public static function getInstance(): self
        {
            return new self();
        }
        public const REPLACE = 3;
        public function getValue(string $query, bool $useCache = true): string
        {
            if (preg_match('/FROM `ps_order_history` WHERE id_order = (\d+) AND id_employee <> 0$/', $query, $found)) {
                return (string) count(array_filter(Shop::$orders[(int) $found[1]]['employees'] ?? []));
            }
            foreach (Shop::$meanwhile as $id => $state) {
                Shop::$orders[$id]['current_state'] = $state;
                Shop::$orders[$id]['states'][] = $state;
            }
            Shop::$meanwhile = [];
            return Shop::$lock;
        }
        public function execute(string $query): bool
        {
            if (Shop::$fails !== '' && str_contains($query, Shop::$fails)) {
                return false;
            }
            if (preg_match('/^DELETE FROM `ps_configuration` WHERE id_configuration IN \(([\d,]+)\)$/', $query, $found)) {
                Shop::forget(explode(',', $found[1]), null);
            } elseif (preg_match("/^UPDATE `ps_configuration` SET name = '(\w+)' WHERE id_configuration = (\d+)$/", $query, $found)) {
                Shop::forget([$found[2]], $found[1]);
            } elseif (str_starts_with($query, 'ALTER TABLE')) {
                preg_match("/ADD (\w+) (?:CHAR|TEXT)/", $query, $found);
                in_array($found[1], Shop::$columns, true) && throw new PrestaShopException("duplicate column $found[1]");
                Shop::$columns[] = $found[1];
                Shop::$rows = array_map(fn ($row) => [...$row, $found[1] => ''], Shop::$rows);
            } elseif (str_contains($query, 'SET said = REPLACE(')) {
                preg_match("/REPLACE\(said, '(\w+)'/", $query, $found);
                preg_match('/AND id_order = (\d+)$/', $query, $which);
                foreach (array_intersect_key(Shop::$rows, $which ? [$which[1] => 1] : Shop::$rows) as $id => $row) {
                    $code = $row['paid'] ?: current(array_reverse(explode(',', $row['codes'])));
                    $key = substr(hash('sha256', "The payment $code was refunded in full."), 0, 16);
                    Shop::$rows[$id]['said'] = str_replace($found[1], $key, $row['said']);
                }
            } elseif (str_starts_with($query, 'UPDATE')) {
                str_ends_with($query, "WHERE c.secret = ''") || throw new PrestaShopException($query);
                foreach (Shop::$rows as $id => $row) {
                    $order = Shop::$orders[$id] ?? null;
                    $secret = $order === null ? '-' : hash('sha256', "{$order['reference']}|{$order['secure_key']}");
                    Shop::$rows[$id]['secret'] = $row['secret'] ?: $secret;
                }
            }
            return Shop::$hasTable = true;
        }
        public function getRow(string $query, bool $useCache = true): array|false
        {
            preg_match('/FROM `ps_comptoir_order` WHERE id_order = (\d+)$/', $query, $found);
            $row = Shop::$hasTable ? Shop::$rows[(int) $found[1]] ?? false : throw new PrestaShopException('no such table');
            return $row ? ['id_order' => $found[1], ...$row] : false;
        }
        public function insert(string $table, array $data, bool $nulls, bool $cache, int $type): bool
        {
            $table === 'comptoir_order' && $type === self::REPLACE || throw new PrestaShopException($table);
            if (Shop::$fails === "insert {$data['id_order']}") {
                return false;
            }
            Shop::$rows[$data['id_order']] = array_map(stripslashes(...), array_diff_key($data, ['id_order' => 1]));
            return true;
        }
        private function orders(string $query): array
        {
            preg_match("/WHERE o.id_shop = 1 AND (o.date_upd > '(.+)'|c.refunds <> '')$/", $query, $found);
            $ids = array_keys(array_filter(
                array_intersect_key(Shop::$orders, Shop::$rows),
                fn ($order) => isset($found[2]) ? $order['date_upd'] > $found[2] : Shop::$rows[$order['id']]['refunds'] !== '',
            ));
            return array_map(fn ($id) => ['id_order' => (string) $id], $ids);
        }
        public function executeS(string $query, bool $asArray = true, bool $useCache = true): array
        {
            if (str_starts_with($query, 'SHOW COLUMNS')) {
                preg_match("/LIKE '(\w+)'$/", $query, $found);
                return array_intersect(Shop::$columns, [$found[1]]);
            }
            if (str_starts_with($query, 'SELECT o.id_order')) {
                preg_match("/o.module = 'comptoirpay'\s+AND o.current_state IN \(([\d, ]+)\)\s+AND o.date_upd <= '(.+)'$/", $query, $found);
                $isUnpaid = fn ($order) => $order['module'] === 'comptoirpay' && $order['date_upd'] <= $found[2]
                    && in_array((string) $order['current_state'], explode(', ', $found[1]), true);
                return array_map(fn ($order) => ['id_order' => (string) $order['id']], array_values(array_filter(Shop::$orders, $isUnpaid)));
            }
            if (str_contains($query, 'JOIN `ps_orders`')) {
                return $this->orders($query);
            }
            preg_match("/FROM `ps_configuration`\s+WHERE name REGEXP '(.+)' ORDER BY id_configuration$/", $query, $found);
            return array_values(array_filter(Shop::$configuration, fn ($row) => preg_match("/$found[1]/", $row['name']) === 1));
        }
    }
    final class Cache
    {
        public static function clean(string $pattern): void
        {
        }
    }
    final class Language
    {
        public static function getIDs(bool $active): array
        {
            return [1];
        }
    }
    final class OrderState
    {
        public int $id = 0;
        public array $name = [];
        public string $module_name = '';
        public string $color = '';
        public bool $paid = false;
        public bool $logable = false;
        public bool $invoice = false;
        public bool $send_email = true;
        public function add(): bool
        {
            $this->id = 20 + count(Shop::$states);
            Shop::$states[] = $this;
            return true;
        }
    }
    final class Tools
    {
        public static function isSubmit(string $name): bool
        {
            return isset(Shop::$post[$name]);
        }
        public static function getValue(string $name): mixed
        {
            return Shop::$post[$name] ?? false;
        }
        public static function redirect(string $url): void
        {
            Shop::$redirect = $url;
        }
    }
    final class PrestaShopLogger
    {
        /** Mails first, and then looks whether the entry is there. */
        public static function addLog(string $message, int $severity = 1, ?int $code = null, ?string $type = null, ?int $id = null, bool $allowDuplicate = false): bool
        {
            $severity >= 3 && Shop::$mailed[] = $message;
            $entry = [$message, $severity, $code, $type, $id];
            if (!$allowDuplicate && in_array($entry, Shop::$log, true)) {
                return false;
            }
            [Shop::$log[], Shop::$logged[]] = [$entry, $message];
            return true;
        }
    }
    final class Validate
    {
        public static function isLoadedObject(mixed $object): bool
        {
            return is_object($object) && $object->id > 0;
        }
    }
    final class Currency
    {
        public static string $used = 'EUR';
        public string $iso_code;
        public function __construct(public int $id)
        {
            $this->iso_code = self::$used;
        }
    }
    final class Customer
    {
        public int $id_cart = 9;
        public float $total_discounts = 0;
        public string $secure_key = 'secure';
        public ?string $note = null;
        public function __construct(public int $id)
        {
        }
    }
    /** Loads by id, as the original does; the row is shared by all that load it. */
    final class Order
    {
        public int $id = 0;
        public float $total_paid = 0;
        public int $id_currency = 1;
        public int $id_customer = 3;
        public int $current_state = 0;
        public string $secure_key = 'secure';
        public string $reference = '';
        public string $date_upd = '';
        public string $date_add = '';
        public string $module = '';
        public int $id_shop = 1;
        public array $states = [];
        /** Of each change of its state, the person; 0: none. */
        public array $employees = [];
        public function __construct(int $id)
        {
            foreach (Shop::$orders[$id] ?? [] as $name => $value) {
                $this->$name = $value;
            }
        }
        /** What a request has read of the history of orders. */
        private static array $history = [];
        public static function cleanHistoryCache(): void
        {
            self::$history = [];
        }
        public function hasBeenPaid(): int
        {
            $isPaid = in_array((int) Configuration::get('PS_OS_PAYMENT'), $this->states, true);
            return self::$history[$this->id] ??= $isPaid ? 1 : 0;
        }
        public function setCurrentState(int $state, int $employee = 0): void
        {
            self::cleanHistoryCache();
            if ($this->id === Shop::$throws) {
                throw new PrestaShopException('the invoice of this order cannot be made');
            }
            $this->current_state = $state;
            $this->states[] = $state;
            $this->employees[] = $employee;
            $this->update();
            $new = (object) ['id' => $state];
            Shop::$module->hookActionOrderStatusPostUpdate(['newOrderStatus' => $new, 'id_order' => $this->id]);
        }
        public function update(): void
        {
            $this->date_upd = date('Y-m-d H:i:s');
            Shop::$saves && Shop::$orders[$this->id] = get_object_vars($this);
        }
    }
    final class OrderSlip
    {
        public static function getOrdersSlip(int $customer, int $order): array
        {
            return array_reverse(Shop::$slips);
        }
    }
    final class Cart
    {
        public const BOTH = 3;
        public int $id = 9;
        public int $id_customer = 3;
        public int $id_currency = 1;
        public function getPackageList(): array
        {
            return Shop::$packages;
        }
        public function getOrderTotal(bool $taxes, int $type): float
        {
            return 50.0;
        }
    }
    final class Link
    {
        public function getModuleLink(string $module, string $controller, array $params, bool $tls): string
        {
            return $controller === 'webhook' ? getenv('WEBHOOK_URL') : "https://shop.example/module/$module/$controller";
        }
        public function getPageLink(string $page, bool $tls = true, ?int $lang = null, array $params = []): string
        {
            return "https://shop.example/$page" . ($params === [] ? '' : '?' . http_build_query($params));
        }
    }
    final class Context
    {
        public Link $link;
        public Cart $cart;
        public object $shop;
        public Currency $currency;
        public function __construct()
        {
            $this->currency = new Currency(1);
            $this->link = new Link();
            $this->cart = new Cart();
            $this->shop = new Shop(1);
        }
    }
    abstract class PaymentModule
    {
        public int $id = 77;
        public string $name;
        public string $tab;
        public string $version;
        public string $author;
        public bool $currencies;
        public string $currencies_mode;
        public array $ps_versions_compliancy;
        public string $displayName;
        public string $description;
        public bool $active = true;
        public Context $context;
        public int $currentOrder = 0;
        public array $hooks = [];
        public function __construct()
        {
            $this->context = new Context();
        }
        public function install(): bool
        {
            return true;
        }
        public function uninstall(): bool
        {
            return true;
        }
        public function registerHook(string $name): bool
        {
            $this->hooks[] = $name;
            return true;
        }
        public function displayConfirmation(string $text): string
        {
            return "<ok>$text</ok>";
        }
        public function displayError(string|array $faults): string
        {
            return '<bad>' . implode(' ', (array) $faults) . '</bad>';
        }
        public function validateOrder(int $cart, int $state, float $paid, string $method, ?string $message, array $extra, ?int $currency, bool $keep, string|false $key): bool
        {
            $this->currentOrder = max([0, ...array_keys(Shop::$orders)]) + 1;
            $row = ['id' => $this->currentOrder, 'total_paid' => $paid, 'current_state' => $state, 'states' => [$state]];
            $own = ['reference' => strtoupper(bin2hex(random_bytes(4))), 'secure_key' => $key, 'date_upd' => date('Y-m-d H:i:s')];
            $own['date_add'] = $own['date_upd'];
            Shop::$orders[$this->currentOrder] = [...$row, ...$own, 'module' => $this->name];
            return true;
        }
    }
    abstract class ModuleFrontController
    {
        public Context $context;
        public array $errors = [];
        public function __construct(public PaymentModule $module)
        {
            $this->context = $module->context;
        }
        public function redirectWithNotifications(string $url): void
        {
            Shop::$redirect = $url;
        }
    }

    require getenv('PLUGIN') . '/comptoirpay.php';
    require getenv('PLUGIN') . '/controllers/front/validation.php';
    require getenv('PLUGIN') . '/controllers/front/webhook.php';
    require getenv('PLUGIN') . '/controllers/front/news.php';

    Shop::$settings += json_decode(getenv('SETTINGS'), true);
    $module = Shop::$module = new ComptoirPay();

    while (($line = fgets(STDIN)) !== false) {
        $command = json_decode($line, true);
        Shop::$logged = Shop::$mailed = [];
        Shop::$redirect = null;
        Shop::$lock = $command['lock'] ?? '1';
        Shop::$fails = $command['fails'] ?? '';
        Shop::$written = $command['written'] ?? [];
        Shop::$meanwhile = $command['meanwhile'] ?? [];
        Order::cleanHistoryCache();
        Shop::$throws = $command['throws'] ?? 0;
        Shop::$saves = $command['saves'] ?? true;
        Shop::$address = $command['shop'] ?? 'http://shop.example/';
        Shop::$allows = $command['allows'] ?? true;
        $_SERVER['REQUEST_METHOD'] = $command['method'] ?? 'POST';
        Shop::$packages = $command['packages'] ?? [5 => [['one']]];
        foreach ($command['known'] ?? [] as $name => $value) {
            $isOld = preg_match('/^COMPTOIR_((ORDER|PAID|SAID)_\d+|REFUNDS)$/', $name) === 1;
            $isOld ? Shop::setOld($name, $value, $command['old'] ?? []) : Shop::$settings[$name] = $value;
        }
        Currency::$used = $module->context->currency->iso_code = $command['currency'] ?? 'EUR';
        $answer = match ($command['do']) {
            'install' => [$module->install(), $module->hooks],
            'upgrade' => (function () use ($module, $command) {
                // the files whose version is above the shop's and not above the module's, as PrestaShop chooses them
                $module->hooks = [];
                foreach (glob(getenv('PLUGIN') . '/upgrade/upgrade-*.php') as $file) {
                    preg_match('/upgrade-(.+)\.php$/', $file, $found);
                    $isAbove = version_compare($found[1], $command['from'], '>');
                    if ($isAbove && version_compare($found[1], $module->version, '<=')) {
                        require_once $file;
                        // PrestaShop goes on with the next version only after the one before
                        if (!('upgrade_module_' . str_replace('.', '_', $found[1]))($module)) {
                            break;
                        }
                    }
                }
                return $module->hooks;
            })(),
            'options' => array_map(fn ($option) => $option->given, $module->hookPaymentOptions([])),
            'save' => (function () use ($module, $command) {
                $kept = Shop::$settings;
                Shop::$post = ['submitComptoirPay' => '1', ...$command['post']];
                $html = $module->getContent();
                Shop::$post = [];
                $stored = Shop::$settings;
                Shop::$settings = ($command['keeps'] ?? false) ? $stored : $kept;
                return [$html, $stored];
            })(),
            'pay' => (function () use ($module, $command) {
                $kept = Shop::$settings;
                Shop::$settings = [...$kept, ...($command['settings'] ?? [])];
                $controller = new ComptoirPayValidationModuleFrontController($module);
                $controller->postProcess();
                Shop::$settings = ['COMPTOIR_BASE_URL' => $kept['COMPTOIR_BASE_URL'], ...array_diff_key(Shop::$settings, ['COMPTOIR_BASE_URL' => 1])];
                return [Shop::$redirect, $controller->errors];
            })(),
            'webhook' => (function () use ($module, $command) {
                isset($command['state']) && Shop::$orders[2]['current_state'] = $command['state'];
                return (new ComptoirPayWebhookModuleFrontController($module))->take($command['body'], $command['headers']);
            })(),
            // a person in the back office
            'state' => (new Order($command['order']))->setCurrentState($command['state'], 7),
            'open' => $module->openPayment(new Order($command['order']), 'EUR'),
            // as if the five minutes were over
            'catchUp' => (function () use ($module, $command) {
                Shop::$settings['COMPTOIR_LOOKED'] = $command['looked'] ?? 0;
                $module->hookDisplayBackOfficeHeader([]);
            })(),
            // the table of an earlier version, and an order that the shop has deleted
            'asOld' => (function () use ($command) {
                Shop::$rows = array_map(fn ($row) => array_diff_key($row, array_flip($command['drop'])), Shop::$rows);
                Shop::$columns = array_diff(Shop::$columns, $command['drop']);
                unset(Shop::$orders[$command['deleted']]);
            })(),
            // as PrestaShop's own cleaner does: its tables are emptied, and the numbers begin again at 1
            'empty' => (function () use ($command) {
                Shop::$orders = Shop::$slips = [];
                Shop::$rows = ($command['module'] ?? false) ? [] : Shop::$rows;
            })(),
            'said' => Shop::$rows[$command['order']]['said'] = implode(',', array_map(
                fn ($text) => substr(hash('sha256', $text), 0, 16),
                $command['texts'],
            )),
            // orders that keep the payment of another one, for as long as Comptoir does not answer
            'copies' => (function () use ($command) {
                $first = max(array_keys(Shop::$orders)) + 1;
                foreach (range($first, $first + $command['count'] - 1) as $id) {
                    Shop::$orders[$id] = [...Shop::$orders[$command['order']], 'id' => $id];
                    Shop::$rows[$id] = Shop::$rows[$command['order']];
                }
            })(),
            'forget' => [Shop::$orders, Shop::$rows] = array_map(fn ($rows) => array_filter($rows, fn ($id) => $id <= $command['after'], ARRAY_FILTER_USE_KEY), [Shop::$orders, Shop::$rows]),
            'unpaid' => Shop::$rows[$command['order']] = [...Shop::$rows[$command['order']], 'codes' => '', 'paid' => ''],
            'top' => $module->hookDisplayBackOfficeTop([]),
            'known' => null,
            'set' => Shop::$orders[$command['order']] = [...Shop::$orders[$command['order']], ...$command['set']],
            'age' => Shop::$orders[$command['order']]['date_add'] = date('Y-m-d H:i:s', time() - 60),
            'states' => array_map(fn ($state) => [$state->name[1], $state->send_email, $state->paid], Shop::$states),
            'row' => [Shop::$rows[$command['order']] ?? null, array_values(array_filter(array_column(Shop::$configuration, 'name'), fn ($name) => str_ends_with($name, "_{$command['order']}")))],
            'thanks' => $module->hookDisplayPaymentReturn(['order' => new Order($command['order'])]),
            'slip' => (function () use ($module, $command) {
                $order = new Order($command['order']);
                $order->total_discounts = $command['discounts'] ?? 0;
                Shop::$slips[] = ['id_order_slip' => count(Shop::$slips) + 1, ...$command['slip']];
                Shop::$post = ['cancel_product' => $command['form'] ?? []];
                $module->hookActionOrderSlipAdd(['order' => $order, 'productList' => [['amount' => $command['slip']['amount']]]]);
                Shop::$post = [];
                return Shop::$logged;
            })(),
        };
        $orders = array_map(fn ($order) => ['state' => $order['current_state'], 'states' => $order['states'], 'note' => $order['note'] ?? ''], Shop::$orders);
        echo json_encode(['answer' => $answer, 'orders' => (object) $orders, 'logged' => Shop::$logged, 'mailed' => Shop::$mailed]), "\n";
    }
}
