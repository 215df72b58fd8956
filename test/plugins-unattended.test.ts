import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { packPlugins } from '../scripts/plugins.ts'
import { logInSuperAdmin } from './harness/accounts.ts'
import { hasPhp, openPhpShop, type PhpShop } from './harness/php-shop.ts'

/* What the WooCommerce module does while nobody looks: lost webhooks, cancelled orders, other plugins' errors. */

let php: PhpShop

before(async () => {
  if (!hasPhp) return
  php = await openPhpShop('woocommerce', 'comptoir', ({ host, merchant }) => {
    const { 'x-api-key': api_key, 'x-api-secret': api_secret } = merchant.headers
    const options = { base_url: host.baseUrl, api_key, api_secret, till: 'TILL-1' }
    return { OPTIONS: { ...options, webhook_secret: merchant.webhookSecret } }
  })
})
after(() => php?.stop())

type Known<Data> = { answer: Data; status: string; completed: number; notes: string[]; mails: string[] }

const tell = <Data>(command: Record<string, unknown>): Promise<Known<Data>> => php.tell<Known<Data>>(command)
const withPhp = hasPhp ? test : () => {}

async function pay(order: number): Promise<string> {
  const { answer } = await tell<{ redirect: string }>({ do: 'pay', order })
  return new URL(answer.redirect).searchParams.get('code') ?? ''
}

const look = (order: number) => tell({ do: 'part', of: ['1', '1', '1'], order })
const statusOf = async (code: string): Promise<string> =>
  (await php.shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status
const webhook = async (order: number, event: string, code: string, more: Record<string, unknown> = {}) =>
  tell<string>({ do: 'webhook', order, ...(await php.hookOf(event, code)), ...more })

withPhp('a payment whose webhook was lost completes its order, though the customer never comes back', async () => {
  await tell({ do: 'catchUp' })
  const [first, second] = [await pay(51), await pay(52)]
  await php.payUntilPaid(first)
  await php.payUntilPaid(second)
  await tell({ do: 'catchUp' })
  for (const order of [51, 52]) {
    const { status, completed } = await look(order)
    assert.deepEqual([status, completed], ['processing', 1])
  }
  await tell({ do: 'catchUp' })
  assert.equal((await webhook(51, 'order.paid', first)).completed, 1, 'and completes it once')
})

withPhp('before WooCommerce cancels an order that nobody paid, it asks once more', async () => {
  const [paid, unpaid] = [await pay(53), await pay(54)]
  await php.payUntilPaid(paid)
  const kept = await tell<boolean>({ do: 'timeOut', order: 53 })
  assert.deepEqual([kept.answer, kept.status], [false, 'processing'])
  const ended = await tell<boolean>({ do: 'timeOut', order: 54 })
  assert.deepEqual([ended.answer, ended.status], [true, 'cancelled'])
  assert.equal(await statusOf(unpaid), 'CANCELLED', 'nobody can pay for it any more')
})

withPhp('WooCommerce cancels an order only when Comptoir says that no money can come for it', async () => {
  const silent = { options: { base_url: 'http://127.0.0.1:1' } }
  const paid = await pay(61)
  await php.payUntilPaid(paid)
  const kept = await tell<boolean>({ do: 'timeOut', order: 61, ...silent })
  assert.deepEqual([kept.answer, kept.status], [false, 'pending'])
  const unpaid = await pay(62)
  await php.choose(unpaid)
  assert.equal((await tell<boolean>({ do: 'timeOut', order: 62 })).answer, false, 'nor asks it again at once')
  await tell({ do: 'later' })
  assert.equal((await tell<boolean>({ do: 'timeOut', order: 61 })).status, 'processing', 'the next run asks again')
  const closed = await tell<boolean>({ do: 'timeOut', order: 62 })
  assert.deepEqual([closed.answer, closed.status, await statusOf(unpaid)], [true, 'cancelled', 'CANCELLED'])
  const onItsWay = await pay(63)
  const { data } = await php.shop.accept(onItsWay, { network: php.shop.chain.chainId })
  await php.shop.chain.pay({ to: data.toAddress, units: 54_000_000n })
  await php.shop.reaches(onItsWay, 'WAITING_CHAIN_CONFIRMATION')
  const waits = await tell<boolean>({ do: 'timeOut', order: 63 })
  assert.deepEqual([waits.answer, waits.status], [false, 'pending'], 'money is on its way')
})

withPhp('WooCommerce does not cancel an order for which a part came', async () => {
  const code = await pay(65)
  await (await php.choose(code))(20_000_000n)
  await php.partOf(code)
  const out = await tell<boolean>({ do: 'timeOut', order: 65 })
  assert.deepEqual([out.answer, out.status, await statusOf(code)], [false, 'pending', 'AWAITING'])
  assert.match(out.notes.join(), new RegExp(`but 20\\.000000 USDC came for its payment ${code}, which is still open`))
  assert.equal((await tell<boolean>({ do: 'timeOut', order: 65 })).notes.length, 1, 'said once')
})

withPhp('an order whose payment Comptoir does not know is left to a person', async () => {
  await pay(64)
  const unknown = { _comptoir_code: ['of-another-account'] }
  const out = await tell<boolean>({ do: 'timeOut', order: 64, set: { meta: unknown } })
  assert.deepEqual([out.answer, out.status, out.notes.length], [false, 'pending', 1])
  assert.match(out.notes[0] ?? '', /^Comptoir does not know the payment of-another-account, so this order/)
  assert.equal((await tell<boolean>({ do: 'timeOut', order: 64 })).notes.length, 1, 'said once')
})

withPhp('what is paid for an order that the shop cancelled is put before a person, once', async () => {
  const code = await pay(55)
  const payNow = await php.choose(code)
  await payNow()
  // the money is on its way: the payment can no longer be cancelled
  await php.shop.reaches(code, 'PAID')
  await tell({ do: 'cancel', order: 55 })
  const late = await webhook(55, 'order.paid', code)
  assert.deepEqual([late.status, late.completed], ['on-hold', 0])
  assert.match(late.notes.at(-1) ?? '', /^Paid 50\.00 EUR by \w+ after the order had been cancelled here\. Send/)
  assert.deepEqual(late.mails, ['shop@shop.example: Order 55: please check its payment'])
  const again = await webhook(55, 'order.paid', code)
  assert.deepEqual([again.status, again.completed, again.mails], ['on-hold', 0, []])
  assert.equal((await tell<boolean>({ do: 'refund', order: 55, amount: 20 })).answer, true, 'and it can be refunded')
})

withPhp('an order that WooCommerce could not complete is tried again, and holds up no other one', async () => {
  await tell({ do: 'catchUp' })
  const [stuck, other] = [await pay(56), await pay(57)]
  await php.payUntilPaid(stuck)
  const refused = await webhook(56, 'order.paid', stuck, { completes: false })
  assert.deepEqual([refused.answer, refused.status], ['SHOP_BUSY', 'pending'], 'the webhook is answered 503')
  await tell({ do: 'catchUp', completes: false })
  await php.payUntilPaid(other)
  await tell({ do: 'catchUp' })
  assert.deepEqual([(await look(56)).status, (await look(57)).status], ['processing', 'processing'])
})

withPhp(
  'a refund that Comptoir rejects afterwards is put before a person, whose books say that it was made',
  async () => {
    const code = await pay(58)
    await php.payUntilPaid(code)
    await webhook(58, 'order.paid', code)
    assert.equal((await tell<boolean>({ do: 'refund', order: 58, amount: 50 })).answer, true)
    const { host, merchant } = php.shop
    const path = `/api/next/refunds?code=${code}`
    const { data } = await host.call<{ refunds: { _id: string }[] }>('GET', path, { as: merchant })
    await tell({ do: 'catchUp', order: 58, set: { status: 'refunded' } })
    const id = data.refunds[0]?._id
    assert.equal(
      (await (await logInSuperAdmin(host)).post(`refunds/${id}/reject`, { reason: 'a mistake' })).status,
      200,
    )
    const told = await tell({ do: 'catchUp', order: 58 })
    assert.deepEqual([told.status, told.mails], ['refunded', ['shop@shop.example: Order 58: please check its payment']])
    assert.match(
      told.notes.at(-1) ?? '',
      new RegExp(`^Refund ${id} was rejected in Comptoir, and no money has gone back`),
    )
    assert.deepEqual((await tell({ do: 'catchUp', order: 58 })).mails, [], 'once')
  },
)

withPhp('an error that a gateway in front makes is one of the client, whatever its form', async (t) => {
  const bodies = ['{"error":{"code":503,"message":["x"]}}', '{"error":"down"}', '[]', '"x"']
  const server = createServer((_request, response) => {
    response.writeHead(500, { 'content-type': 'application/json' }).end(bodies.shift() ?? '{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = join(import.meta.dirname, '../sdk/php/Comptoir.php')
  const script = `require '${client}';
    foreach (range(1, 4) as $i) {
      try { (new Comptoir('http://127.0.0.1:${port}', 'k', 's'))->getOrder('X'); }
      catch (ComptoirError $error) { echo $error->errorCode, ' '; }
    }`
  const said = await new Promise<string>((resolve) =>
    execFile('php', ['-r', script], (_error, out, err) => resolve(out + err)),
  )
  assert.equal(said, 'UNEXPECTED_ANSWER '.repeat(4))
})

/** What the module declares to a WooCommerce that has these classes. `$said`: in this order. */
const declare = (folder: string): string => `
  define('ABSPATH', '/'); $said = [];
  eval('namespace Automattic\\WooCommerce\\Utilities; class FeaturesUtil {
    static function declare_compatibility($name, $file, $is) { $GLOBALS["said"][] = $name . ($is ? " yes" : " no"); } }');
  eval('namespace Automattic\\WooCommerce\\Blocks\\Payments\\Integrations; abstract class AbstractPaymentMethodType {
    protected $name; protected $settings; function get_name() { return $this->name; } }');
  function add_action($name, $do) { $GLOBALS['do'][$name] = $do; }
  function add_filter() {} function register_deactivation_hook() {} function get_option($name, $default) { return $default; }
  function wp_register_script($handle, $address) { $GLOBALS['said'][] = "$handle $address"; }
  function plugins_url($file) { return $file; }
  require '${folder}/comptoir.php';
  $do['before_woocommerce_init']();
  $do['woocommerce_blocks_payment_method_type_registration'](new class { function register($method) {
    $GLOBALS['said'][] = $method->get_name(); $method->initialize(); $method->get_payment_method_script_handles(); } });
  echo json_encode($said);`

withPhp('the method is declared for the checkout of blocks and for orders in tables of their own', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-blocks-'))
  t.after(() => rmSync(folder, { recursive: true }))
  await packPlugins(folder)
  const phar = `(new PharData('${folder}/comptoir-woocommerce.zip'))->extractTo('${folder}');`
  assert.equal(spawnSync('php', ['-r', phar]).status, 0)
  const { stdout, stderr } = spawnSync('php', ['-r', declare(join(folder, 'comptoir'))], { encoding: 'utf8' })
  const wanted = ['custom_order_tables yes', 'cart_checkout_blocks yes', 'comptoir', 'comptoir-blocks blocks.js']
  assert.equal(stdout, JSON.stringify(wanted), stderr)
})

test('the script of the checkout block offers the method by its title, and says what it is', () => {
  const methods: { name: string; label: unknown[]; content: [() => string]; supports: { features: string[] } }[] = []
  const data = { title: 'Crypto &amp; more', description: 'Pay from a wallet.', supports: ['products', 'refunds'] }
  const window = {
    wp: {
      element: { createElement: (...parts: unknown[]) => parts },
      htmlEntities: { decodeEntities: (text: string) => text.replace('&amp;', '&') },
    },
    wc: {
      wcSettings: { getSetting: (name: string) => (name === 'comptoir_data' ? data : {}) },
      wcBlocksRegistry: { registerPaymentMethod: (method: (typeof methods)[number]) => methods.push(method) },
    },
  }
  runInNewContext(readFileSync(join(import.meta.dirname, '../plugins/woocommerce/blocks.js'), 'utf8'), { window })
  const [method] = methods
  assert.deepEqual([method?.name, method?.label], ['comptoir', ['span', null, 'Crypto & more']])
  assert.deepEqual([method?.content[0](), method?.supports.features], ['Pay from a wallet.', ['products', 'refunds']])
})
