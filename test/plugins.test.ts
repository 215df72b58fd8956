import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { packPlugins } from '../scripts/plugins.ts'
import { sql } from '../src/db/db.ts'
import { hasPhp, openPhpShop, type PhpShop } from './harness/php-shop.ts'
import { waitFor } from './harness/receiver.ts'
import { refundReaches } from './harness/refunds.ts'
import type { OrderData, Shop } from './harness/shop.ts'

const PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

let php: PhpShop
let shop: Shop

before(async () => {
  if (!hasPhp) return
  php = await openPhpShop('woocommerce', 'comptoir', ({ host, merchant }) => {
    const { 'x-api-key': api_key, 'x-api-secret': api_secret } = merchant.headers
    const options = { base_url: host.baseUrl, api_key, api_secret, till: 'TILL-1' }
    return { OPTIONS: { ...options, webhook_secret: merchant.webhookSecret } }
  })
  shop = php.shop
})
after(() => php?.stop())

type Known<Data> = { answer: Data; status: string; completed: number; notes: string[]; mails: string[] }

const tell = <Data>(command: Record<string, unknown>): Promise<Known<Data>> => php.tell<Known<Data>>(command)

test('both zips hold the module, the client and the shared part', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-plugins-'))
  await packPlugins(folder)
  for (const name of ['comptoir-woocommerce', 'comptoir-prestashop']) assert.ok(existsSync(join(folder, `${name}.zip`)))
  const unpacked =
    hasPhp &&
    spawnSync('php', [
      '-r',
      `foreach (['woocommerce', 'prestashop'] as $name)
        (new PharData("${folder}/comptoir-$name.zip"))->extractTo('${folder}/all');
      $files = glob('${folder}/all/*/{*,controllers/front/*,upgrade/*}.php', GLOB_BRACE);
      // a shop's disk may know no case
      if (array_unique(array_map('strtolower', $files)) !== array_map('strtolower', $files)) exit(2);
      foreach ($files as $file) {
        passthru('php -l ' . escapeshellarg($file), $code); if ($code !== 0) exit(1);
      }`,
    ])
  rmSync(folder, { recursive: true, force: true })
  if (!unpacked) return
  assert.equal(unpacked.status, 0, unpacked.stdout.toString())
  assert.equal(unpacked.stdout.toString().match(/No syntax errors/g)?.length, 33)
})

/** Prints, too, what of PHP's own a packed file names without a backslash: it would be looked for in the namespace. */
const beside = (folder: string): string => `
  require '${join(import.meta.dirname, '../sdk/php/Comptoir.php')}';
  foreach (['woocommerce' => 'comptoir', 'prestashop' => 'comptoirpay'] as $name => $module) {
    (new PharData("${folder}/comptoir-$name.zip"))->extractTo('${folder}/all');
    require "${folder}/all/$module/ComptoirClient.php";
    require "${folder}/all/$module/ShopPayments.php";
    foreach (glob("${folder}/all/$module/{ComptoirClient,Shop*}.php", GLOB_BRACE) as $file) {
      foreach (PhpToken::tokenize(file_get_contents($file)) as $token) {
        $isBare = $token->id === T_STRING && (class_exists($token->text, false) || interface_exists($token->text, false));
        $isBare && (new ReflectionClass($token->text))->isInternal() && print("$token->text ");
      }
    }
  }
  foreach (['', 'ComptoirForWooCommerce\\\\', 'ComptoirForPrestaShop\\\\'] as $in) {
    try { (new ($in . "Comptoir")('http://127.0.0.1:9', 'k', 's', 1, 0))->getOrder('c'); }
    catch (RuntimeException $error) { echo get_class($error), ' '; }
  }
  foreach (['ComptoirForWooCommerce', 'ComptoirForPrestaShop'] as $in) {
    try { ("$in\\\\ShopPayments")::partOf('1', '2', '1'); }
    catch (InvalidArgumentException) { echo 'refused '; }
  }
  define('WP_UNINSTALL_PLUGIN', 'x');
  function is_multisite() { return false; }
  function delete_option($name) { echo $name; }
  require '${folder}/all/comptoir/uninstall.php';`

test('both modules load beside each other and another copy of the client; a deleted one takes its secrets along', async () => {
  if (!hasPhp) return
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-plugins-'))
  await packPlugins(folder)
  const { stdout, stderr } = spawnSync('php', ['-r', beside(folder)], { encoding: 'utf8' })
  rmSync(folder, { recursive: true, force: true })
  const own = 'ComptoirError ComptoirForWooCommerce\\ComptoirError ComptoirForPrestaShop\\ComptoirError'
  assert.deepEqual([stdout, stderr], [`${own} refused refused woocommerce_comptoir_settings`, ''])
})

const withPhp = hasPhp ? test : () => {}

withPhp('saving the settings says whether they work, and what is wrong', async () => {
  assert.deepEqual((await tell<string[]>({ do: 'test' })).answer, ['ok: Comptoir answers, and the till is there.'])
  const wrong = await tell<string[]>({ do: 'test', options: { till: 'NOPE', webhook_secret: 'x' } })
  assert.match(wrong.answer[0] ?? '', /no active till "NOPE"\. Choose one of: TILL-1/)
  assert.match(wrong.answer[1] ?? '', /begins with whsec_/)
  const stranger = await tell<string[]>({ do: 'test', options: { api_secret: 'sk_wrong' } })
  assert.match(stranger.answer[0] ?? '', /does not accept the API key/)
  const elsewhere = await tell<string[]>({ do: 'test', options: { base_url: shop.receiver.url } })
  assert.deepEqual(elsewhere.answer, ['Something else than Comptoir answers. Check the address.'])
})

withPhp(
  'the payment method is offered in the currencies that Comptoir takes, of the shop or of the order',
  async () => {
    const isOffered = async (more: Record<string, unknown>) => (await tell<boolean>({ do: 'offer', ...more })).answer
    assert.equal(await isOffered({ currency: 'CHF' }), true)
    assert.equal(await isOffered({ currency: 'JPY' }), false)
    assert.equal(await isOffered({ currency: 'EUR', page: 15, order: 15, set: { currency: 'JPY' } }), false)
  },
)

withPhp('an order is paid by a real webhook once, a forged one changes nothing, and a part goes back', async () => {
  const started = await tell<{ result: string; redirect: string }>({ do: 'pay' })
  const hint = 'WooCommerce goes on with an order only while it is pending or failed'
  assert.deepEqual([started.answer.result, started.status], ['success', 'pending'], hint)
  const code = new URL(started.answer.redirect).searchParams.get('code') ?? ''
  const again = await tell<{ redirect: string }>({ do: 'pay' })
  assert.equal(again.answer.redirect, started.answer.redirect, 'a customer who comes back pays the same order')
  const { data } = await shop.accept(code, { network: shop.chain.chainId })
  await shop.chain.pay({ to: data.toAddress, units: 54_000_000n })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  const hook = await php.hookOf('order.paid', code)
  const forged = await tell({ do: 'webhook', body: hook.body.replace('PAID', 'PAIX'), headers: hook.headers })
  assert.deepEqual([forged.answer, forged.status], ['refused', 'pending'])
  const made = await tell({ do: 'webhook', ...(await php.asTest(hook)) })
  assert.equal(made.status, 'pending', 'a test event pays nothing')
  const paid = await tell({ do: 'webhook', body: hook.body, headers: hook.headers })
  assert.deepEqual([paid.answer, paid.status], ['paid', 'processing'])
  const twice = await tell({ do: 'webhook', body: hook.body, headers: hook.headers })
  assert.equal(twice.completed, 1, 'the same webhook twice completes the order once')
  const stale = await tell<{ redirect: string }>({ do: 'pay' })
  assert.equal(stale.answer.redirect, 'https://shop.example/thanks/7', 'what is paid is not paid again')
  await tell({ do: 'refund', amount: 20, lost: true })
  assert.equal((await tell<boolean>({ do: 'refund', amount: 20 })).answer, true)
  assert.deepEqual(await refundsOf(code), ['21.600000'], 'a click whose answer was lost refunds once')
  const part = await tell<{ redirect: string }>({ do: 'pay' })
  assert.equal(part.answer.redirect, 'https://shop.example/thanks/7', 'nor when a part of it goes back')
  await shop.host.db.run(sql`update orders set status = 'FULL_REFUNDED' where code = ${code}`)
  const taken = await pay({ order: 7 })
  assert.deepEqual(
    [taken === code, await statusOf(taken)],
    [false, 'INITIAL'],
    'what was refunded in full pays nothing',
  )
})

/** The customer pays in the shop. @returns the code of the order that the payment page shows */
async function pay(command: { order: number; set?: Record<string, unknown> }): Promise<string> {
  const { answer } = await tell<{ redirect: string }>({ do: 'pay', ...command })
  return new URL(answer.redirect).searchParams.get('code') ?? ''
}

const refundsOf = async (code: string): Promise<string[]> => {
  const path = `/api/next/refunds?code=${code}`
  const { data } = await shop.host.call<{ refunds: { amount: string }[] }>('GET', path, { as: shop.merchant })
  return data.refunds.map(({ amount }) => amount)
}

const statusOf = async (code: string): Promise<string> =>
  (await shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status

const cancel = (code: string) => shop.host.call('POST', `cancel/${code}`, { as: shop.merchant })

withPhp('parts that add up to the price refund all of it, whatever rounding did to each', async () => {
  const code = await pay({ order: 13, set: { total: '3.00' } })
  const { data } = await shop.accept(code, { network: shop.chain.chainId, userAddress: PAYER })
  const { data: order } = await shop.host.call<OrderData>('GET', `status/${code}`, { as: shop.merchant })
  // more by what no part of a cent is worth, as rounding leaves it
  await shop.chain.pay({ to: data.toAddress, units: 3_240_002n })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  assert.equal((await tell<boolean>({ do: 'refund', order: 13, amount: 1, reason: 'x'.repeat(300) })).answer, true)
  await refundReaches(shop, order._id, 'settled')
  // the second click finds nothing left, and asks for the same refund
  await tell({ do: 'refund', order: 13, amount: 2, lost: true })
  assert.equal((await tell<boolean>({ do: 'refund', order: 13, amount: 2 })).answer, true)
  assert.deepEqual((await refundsOf(code)).sort(), ['1.080000', '2.160002'])
})

withPhp('a refund whose record was deleted in the shop can be made again, and money leaves again', async () => {
  const code = await pay({ order: 14 })
  const { data } = await shop.accept(code, { network: shop.chain.chainId, userAddress: PAYER })
  const { data: order } = await shop.host.call<OrderData>('GET', `status/${code}`, { as: shop.merchant })
  await shop.chain.pay({ to: data.toAddress, units: 54_000_000n })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  assert.equal((await tell<boolean>({ do: 'refund', order: 14, amount: 20 })).answer, true)
  await refundReaches(shop, order._id, 'settled')
  const again = await tell<boolean>({ do: 'refund', order: 14, amount: 20, set: { refunds: [] } })
  assert.equal(again.answer, true)
  assert.deepEqual(await refundsOf(code), ['21.600000', '21.600000'])
})

withPhp('a customer who comes back after each cancellation gets an order that can be paid', async () => {
  const codes: string[] = []
  for (let times = 0; times < 3; times += 1) {
    const code = await pay({ order: 9 })
    assert.equal(await statusOf(code), 'INITIAL')
    codes.push(code)
    await cancel(code)
  }
  assert.equal(new Set(codes).size, 3)
})

withPhp('a payment that ends fails the order that waits for it, but not one that is paid another way', async () => {
  const end = async (order: number, set: Record<string, unknown>): Promise<string> => {
    // an older module's reference, without the shop
    const webhookUrl = `${shop.receiver.url}/woocommerce`
    const { code } = await shop.create({ alias: `WC-${order}`, webhookUrl })
    await cancel(code)
    const hook = await php.hookOf('order.cancelled', code)
    return (await tell({ do: 'webhook', order, ...hook, set: { meta: { _comptoir_code: code }, ...set } })).status
  }
  assert.equal(await end(10, { status: 'on-hold' }), 'failed')
  assert.equal(await end(11, { status: 'on-hold', method: 'bacs' }), 'on-hold')
  assert.equal(await end(12, { status: 'cancelled' }), 'cancelled')
})

/** WooCommerce takes the newest real webhook of this event. */
const take = async (order: number, event: string, code: string, set: Record<string, unknown> = {}) =>
  tell<string>({ do: 'webhook', order, ...(await php.hookOf(event, code)), set })

withPhp('money that arrives late, after the customer clicked Pay again, completes the shop’s order', async () => {
  const first = await pay({ order: 21 })
  const payFirst = await php.choose(first)
  await php.expire(first)
  assert.equal((await take(21, 'order.expired', first)).status, 'failed')
  const second = await pay({ order: 21 })
  assert.notEqual(second, first)
  const late = await take(21, 'order.expired', first)
  assert.equal(late.status, 'pending', 'an older payment that ends does not end the order that waits for the newer one')
  await payFirst()
  await shop.reaches(first, 'PAID')
  const paid = await take(21, 'order.paid', first)
  assert.deepEqual([paid.status, paid.completed], ['processing', 1])
  assert.equal(await statusOf(second), 'CANCELLED', 'what was opened beside it cannot be paid any more')
  assert.equal((await take(21, 'order.cancelled', second)).status, 'processing')
  assert.equal((await tell<boolean>({ do: 'refund', order: 21, amount: 20 })).answer, true, 'and it can be refunded')
})

withPhp('an order that is paid a second time is put before a person once, and its refund ends nothing', async () => {
  const first = await pay({ order: 22 })
  const payFirst = await php.choose(first)
  await php.expire(first)
  await take(22, 'order.expired', first)
  const second = await pay({ order: 22 })
  await php.payUntilPaid(second)
  assert.equal((await take(22, 'order.paid', second)).status, 'processing')
  await payFirst()
  await php.acceptLate(first, second)
  const twice = await take(22, 'order.paid', first)
  assert.deepEqual([twice.status, twice.completed], ['on-hold', 1])
  assert.match(twice.notes.at(-1) ?? '', new RegExp(`^Paid a second time: ${first} .* first payment was ${second}`))
  assert.deepEqual(twice.mails, ['shop@shop.example: Order 22: please check its payment'])
  await tell({ do: 'thanks', order: 22, set: { status: 'processing' } })
  const again = await take(22, 'order.paid', first)
  assert.deepEqual([again.status, again.notes.length, again.mails], ['processing', twice.notes.length, []])
  assert.equal((await take(22, 'order.paid', second)).completed, 1)
  await shop.host.db.run(sql`update orders set status = 'FULL_REFUNDED' where code = ${first}`)
  const refunded = await take(22, 'order.paid', first)
  assert.deepEqual(
    [refunded.status, refunded.notes.at(-1)],
    ['processing', `The payment ${first} was refunded in full.`],
  )
})

withPhp('a paid order whose webhook was lost is completed when the customer comes back, and stays so', async () => {
  const code = await pay({ order: 25 })
  await php.payUntilPaid(code)
  const thanks = await tell({ do: 'thanks', order: 25 })
  assert.deepEqual([thanks.status, thanks.completed], ['processing', 1])
  assert.equal((await take(25, 'order.paid', code)).completed, 1)
  const other = await pay({ order: 26 })
  await php.payUntilPaid(other)
  const again = await tell<{ redirect: string }>({ do: 'pay', order: 26 })
  assert.deepEqual([again.status, again.answer.redirect], ['processing', 'https://shop.example/thanks/26'])
  const meanwhile = { status: 'processing', transaction: 'other' }
  const race = await tell({ do: 'pay', order: 27, set: { status: 'failed' }, meanwhile })
  assert.equal(race.status, 'processing', 'what another request completed meanwhile waits for no payment')
  const dearer = await pay({ order: 28 })
  await php.payUntilPaid(dearer)
  const changed = await tell<{ redirect: string }>({ do: 'pay', order: 28, set: { total: '60.00' } })
  assert.deepEqual([changed.status, changed.answer.redirect], ['on-hold', 'https://shop.example/thanks/28'])
  assert.match(changed.notes.at(-1) ?? '', /^Paid 50\.00 EUR by \w+, which is not the total/)
})

withPhp(
  'money that the screening holds, or that came too late or too little, is said, and not asked for twice',
  async () => {
    const code = await pay({ order: 29 })
    await shop.accept(code, { network: shop.chain.chainId })
    await php.hookOf('order.awaiting', code)
    await shop.host.db.run(sql`update orders set status = 'KYT_FAILED' where code = ${code}`)
    const held = await take(29, 'order.awaiting', code)
    assert.deepEqual([held.answer, held.status], ['held', 'on-hold'])
    assert.match(held.notes.at(-1) ?? '', /is held and does not count yet/)
    assert.equal(await pay({ order: 29 }), code)
    const late = await pay({ order: 30 })
    const payLate = await php.choose(late)
    await cancel(late)
    assert.equal((await take(30, 'order.cancelled', late)).status, 'failed')
    await payLate()
    await waitFor('the late money', async () => (await undecided(late)).length > 0)
    const kept = await take(30, 'order.cancelled', late)
    assert.deepEqual([kept.answer, kept.status], ['held', 'on-hold'])
    assert.match(kept.notes.at(-1) ?? '', /with 54\.000000 USDC is held/)
    const ofLate = sql`order_id in (select id from orders where code = ${late})`
    await shop.host.db.run(sql`update mispayments set kind = 'wrong_token', asset = 'USDT', units = units * 1e12,
      source_reference = 'gatepay:' || source_reference where ${ofLate}`)
    const other = await take(30, 'order.cancelled', late)
    // as it was: the books are checked before the next refund
    await shop.host.db.run(sql`update mispayments set kind = 'late', asset = 'USDC', units = units / 1e12,
      source_reference = substr(source_reference, length('gatepay:') + 1) where ${ofLate}`)
    assert.deepEqual([other.answer, other.status], ['held', 'on-hold'], 'USDC and USDT are one value')
    assert.match(other.notes.at(-1) ?? '', /with 54\.000000 USDT is held/)
    const short = await pay({ order: 31 })
    await (await php.choose(short))(20_000_000n)
    await waitFor('the part', async () => (await undecided(short)).length > 0)
    await php.expire(short)
    const ended = await take(31, 'order.expired', short)
    assert.equal(ended.status, 'failed')
    assert.match(ended.notes.at(-1) ?? '', /ended, but 20\.000000 USDC arrived for it/)
  },
)

withPhp('a payment of which a part came, or is on its way, is shown again though the cart has changed', async () => {
  const [part, early, empty] = [await pay({ order: 61 }), await pay({ order: 62 }), await pay({ order: 63 })]
  await (await php.choose(part))(20_000_000n)
  await php.partOf(part)
  const { data } = await shop.accept(early, { network: shop.chain.chainId })
  await shop.chain.pay({ to: data.toAddress, units: 20_000_000n })
  await php.confirms(early)
  const set = { total: '60.00' }
  assert.deepEqual([await pay({ order: 61, set }), await statusOf(part)], [part, 'AWAITING'])
  assert.deepEqual([await pay({ order: 62, set }), await statusOf(early)], [early, 'AWAITING'])
  assert.equal(
    await pay({ order: 61, set: { ...set, meta: [] } }),
    part,
    'also where the order does not keep its code yet',
  )
  const other = await pay({ order: 63, set })
  assert.deepEqual([other === empty, await statusOf(empty)], [false, 'CANCELLED'])
})

const undecided = async (code: string) => {
  const path = `/api/next/mispayments?code=${code}&status=open`
  const { data } = await shop.host.call<{ mispayments: { kind: string }[] }>('GET', path, { as: shop.merchant })
  return data.mispayments
}

const CARD = { status: 'processing', method: 'stripe', transaction: 'pi_card' }

withPhp('an order paid by card keeps its state whatever becomes of a second payment through Comptoir', async () => {
  const code = await pay({ order: 41 })
  await php.payUntilPaid(code)
  const first = await take(41, 'order.paid', code, CARD)
  assert.deepEqual([first.status, first.completed, first.mails.length], ['on-hold', 0, 1], 'a person must see it')
  const twice = await take(41, 'order.paid', code)
  assert.deepEqual([twice.status, twice.completed, twice.mails], ['on-hold', 0, []], 'the same webhook again')
  const asked = await take(41, 'order.paid', code, { status: 'pending' })
  assert.deepEqual([asked.status, asked.completed], ['pending', 0], 'a second payment never pays')
  await shop.host.db.run(sql`update orders set status = 'FULL_REFUNDED' where code = ${code}`)
  const back = await take(41, 'order.paid', code, { status: 'on-hold' })
  assert.deepEqual([back.status, back.notes.at(-1)], ['on-hold', `The payment ${code} was refunded in full.`])
})

withPhp('an order paid by card and cancelled by a person is not completed by a second payment', async () => {
  const code = await pay({ order: 42 })
  await php.payUntilPaid(code)
  await tell({ do: 'part', of: ['1', '1', '1'], order: 42, set: CARD })
  const second = await take(42, 'order.paid', code, { status: 'cancelled' })
  assert.deepEqual([second.status, second.completed, second.mails.length], ['cancelled', 0, 1])
})

withPhp('while money of one payment is held, the end of another one does not fail the order', async () => {
  const first = await pay({ order: 43 })
  const payFirst = await php.choose(first)
  await cancel(first)
  await take(43, 'order.cancelled', first)
  const second = await pay({ order: 43 })
  assert.notEqual(second, first)
  await payFirst()
  await waitFor('the late money', async () => (await undecided(first)).length > 0)
  const held = await take(43, 'order.cancelled', first)
  assert.deepEqual([held.answer, held.status], ['held', 'on-hold'])
  const waiting = await take(43, 'order.cancelled', second)
  assert.deepEqual([waiting.answer, waiting.status], ['ended', 'on-hold'], 'it waits on for a person')
  await shop.host.db.run(sql`update mispayments set status = 'ignored' where order_id in
    (select id from orders where code = ${first})`)
  assert.equal((await take(43, 'order.cancelled', second)).status, 'failed', 'once nothing is held, it ends')
})

withPhp('a payment of which a part was refunded before the shop heard of it has paid the order', async () => {
  const code = await pay({ order: 44 })
  const { data } = await shop.accept(code, { network: shop.chain.chainId, userAddress: PAYER })
  await shop.chain.pay({ to: data.toAddress, units: 54_000_000n })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  const revert = `/api/next/confirm_conversion/revert/${code}`
  await shop.host.call('POST', revert, { as: shop.merchant, body: { amount: '10.80' } })
  const heard = await take(44, 'order.paid', code)
  assert.deepEqual([heard.answer, heard.status, heard.completed], ['refunding', 'processing', 1])
  assert.match(heard.notes.at(-1) ?? '', /^A refund of the payment \w+ has begun in Comptoir/)
  const again = await tell<{ result: string }>({ do: 'pay', order: 44, set: { status: 'pending' } })
  assert.deepEqual(again.answer, { result: 'failure' }, 'the price is not asked for again')
})

withPhp('an order that another request is changing is not changed, and Comptoir delivers again', async () => {
  const code = await pay({ order: 45 })
  await php.payUntilPaid(code)
  const hook = { do: 'webhook', order: 45, ...(await php.hookOf('order.paid', code)) }
  const busy = await tell<string>({ ...hook, lock: '0' })
  assert.deepEqual([busy.answer, busy.status], ['SHOP_BUSY', 'pending'])
  assert.equal((await tell({ ...hook, lock: null })).status, 'processing', 'a database without such locks')
  const refund = { do: 'refund', order: 45, amount: 20 }
  assert.notEqual((await tell({ ...refund, lock: '0' })).answer, true)
  assert.equal((await tell({ ...refund })).answer, true, 'the next click finds the refund that has started')
  assert.deepEqual(await refundsOf(code), ['21.600000'])
})

withPhp('a part of the price is the same part of the USDC, exact and rounded down', async () => {
  const part = async (...of: string[]): Promise<string> => (await tell<string>({ do: 'part', of })).answer
  assert.equal(await part('54.000000', '50.00', '50.00'), '54.000000')
  assert.equal(await part('10.000000', '1.00', '3.00'), '3.333333')
  assert.equal(await part('108000.000000', '33333.33', '100000.00'), '35999.996400')
  assert.equal(await part('9050.000000', '999999', '1000000'), '9049.990950')
  assert.equal(await part('125000.000000', '5000000', '15000000'), '41666.666666')
  const largest = await part('999999999.999999', '999999999.98', '999999999.99')
  assert.equal(largest, '999999999.989998', 'no intermediate value exceeds 64 bits')
})
