import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { logInSuperAdmin } from './harness/accounts.ts'
import { hasPhp, openPhpShop, type PhpShop, startInFront } from './harness/php-shop.ts'
import { waitFor } from './harness/receiver.ts'
import { refundReaches } from './harness/refunds.ts'
import type { OrderData, Shop } from './harness/shop.ts'

const PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

let php: PhpShop
let shop: Shop

before(async () => {
  if (!hasPhp) return
  php = await openPhpShop('prestashop', 'comptoirpay', ({ host, merchant }) => {
    const { 'x-api-key': key, 'x-api-secret': secret } = merchant.headers
    const access = { COMPTOIR_BASE_URL: host.baseUrl, COMPTOIR_API_KEY: key, COMPTOIR_API_SECRET: secret }
    return { SETTINGS: { ...access, COMPTOIR_TILL: 'TILL-1', COMPTOIR_WEBHOOK_SECRET: merchant.webhookSecret } }
  })
  shop = php.shop
})
after(() => php?.stop())

const withPhp = hasPhp ? test : () => {}

type Presta<Data> = {
  answer: Data
  orders: Record<string, { state: number; states: number[]; note: string }>
  logged: string[]
}
const STATES = { bankWire: 1, paid: 2, error: 3, cancelled: 4, refunded: 5, waiting: 20, paidTwice: 21 }

const askPresta = <Data>(command: Record<string, unknown>): Promise<Presta<Data>> => php.tell<Presta<Data>>(command)

withPhp('the module installs, offers itself, and its settings say what is wrong and keep their secrets', async () => {
  const installed = await askPresta<[boolean, string[]]>({ do: 'install' })
  const hooks = ['paymentOptions', 'displayPaymentReturn', 'actionOrderSlipAdd']
  const unattended = ['actionOrderStatusPostUpdate', 'displayBackOfficeHeader', 'displayBackOfficeTop']
  assert.deepEqual(installed.answer, [true, [...hooks, ...unattended]])
  const upgraded = await askPresta<string[]>({ do: 'upgrade', from: '0.1.0' })
  const every = [...new Set(upgraded.answer)]
  assert.deepEqual(every, installed.answer[1], 'a shop that had an earlier version gets every hook')
  assert.deepEqual((await askPresta<string[]>({ do: 'upgrade', from: '0.5.0' })).answer, [])
  const [option] = (await askPresta<{ module: string; action: string }[]>({ do: 'options' })).answer
  assert.deepEqual(
    [option?.module, option?.action],
    ['comptoirpay', 'https://shop.example/module/comptoirpay/validation'],
  )
  const yen = { currency: 'JPY' }
  assert.deepEqual(
    (await askPresta({ do: 'options', ...yen })).answer,
    [],
    'not in a currency that Comptoir does not take',
  )
  const placed = await askPresta<[string, string[]]>({ do: 'pay', ...yen })
  assert.deepEqual([placed.answer[0], placed.orders], ['index.php?controller=order', {}])
  const keys = { COMPTOIR_BASE_URL: shop.host.baseUrl, COMPTOIR_API_KEY: shop.merchant.headers['x-api-key'] }
  const save = (post: Record<string, string | undefined>) =>
    askPresta<[string, Record<string, string>]>({ do: 'save', post: { ...keys, COMPTOIR_TILL: 'TILL-1', ...post } })
  const good = await save({ COMPTOIR_API_SECRET: '', COMPTOIR_WEBHOOK_SECRET: '' })
  assert.match(good.answer[0], /<ok>Comptoir answers/)
  assert.equal(
    good.answer[1].COMPTOIR_WEBHOOK_SECRET,
    shop.merchant.webhookSecret,
    'an empty secret keeps the stored one',
  )
  assert.ok(!good.answer[0].includes(shop.merchant.webhookSecret), 'no secret is shown again')
  assert.match((await save({ COMPTOIR_TILL: '"><script>' })).answer[0], /value="&quot;&gt;&lt;script&gt;"/)
  assert.match((await save({ COMPTOIR_API_SECRET: 'sk_wrong' })).answer[0], /<bad>.*does not accept the API key/)
})

withPhp(
  'an order is placed, paid by a real webhook once, a credit slip refunds its part once, and the rest after it',
  async () => {
    const { answer, orders } = await askPresta<[string, string[]]>({ do: 'pay' })
    assert.deepEqual([answer[1], orders[1]?.state], [[], STATES.waiting])
    const code = new URL(answer[0]).searchParams.get('code') ?? ''
    const { data } = await shop.accept(code, { network: shop.chain.chainId, userAddress: PAYER })
    await shop.chain.pay({ to: data.toAddress, units: 54_000_000n })
    await shop.makeFinal()
    await shop.reaches(code, 'PAID')
    const hook = await php.hookOf('order.paid', code)
    const forged = await askPresta<number>({ do: 'webhook', ...hook, body: hook.body.replace('PAID', 'PAIX') })
    assert.deepEqual([forged.answer, forged.orders[1]?.state], [400, STATES.waiting])
    const made = await askPresta<number>({ do: 'webhook', ...(await php.asTest(hook)) })
    assert.deepEqual([made.answer, made.orders[1]?.state], [200, STATES.waiting], 'a test event pays nothing')
    await askPresta({ do: 'webhook', ...hook })
    const twice = await askPresta<number>({ do: 'webhook', ...hook })
    assert.deepEqual([twice.answer, twice.orders[1]?.states], [200, [STATES.waiting, STATES.paid]], 'paid once')
    const slip = (amount: number) => askPresta<string[]>({ do: 'slip', order: 1, slip: slipOf(amount) })
    assert.match((await slip(20)).answer[0] ?? '', /refund \w+ of 20\.00 EUR has started/)
    assert.match((await slip(900)).answer[0] ?? '', /was not refunded: The amount of the refund is not a part/)
    assert.match((await slip(0)).answer[0] ?? '', /was not refunded/)
    const { data: list } = await shop.host.call<{ refunds: { amount: string }[] }>(
      'GET',
      `/api/next/refunds?code=${code}`,
      {
        as: shop.merchant,
      },
    )
    assert.deepEqual(
      list.refunds.map(({ amount }) => amount),
      ['21.600000'],
    )
    const late = await askPresta<number>({ do: 'webhook', ...(await php.hookOf('order.refunding', code)) })
    assert.deepEqual([late.answer, late.orders[1]?.state], [200, STATES.paid], 'a refund under way changes no state')
  },
)

withPhp('an order that ends unpaid is cancelled there; one whose payment cannot open ends with a word', async () => {
  const { answer } = await askPresta<[string, string[]]>({ do: 'pay' })
  const code = new URL(answer[0]).searchParams.get('code') ?? ''
  await shop.host.call('POST', `/api/next/confirm_conversion/cancel/${code}`, { as: shop.merchant })
  const ended = await askPresta<number>({ do: 'webhook', ...(await php.hookOf('order.cancelled', code)) })
  assert.equal(ended.orders[2]?.state, STATES.cancelled)
  const shipped = 6
  const moved = await askPresta<number>({
    do: 'webhook',
    state: shipped,
    ...(await php.hookOf('order.cancelled', code)),
  })
  assert.equal(moved.orders[2]?.state, shipped, 'what the shop moved on stays')
  const dead = await askPresta<[string, string[]]>({
    do: 'pay',
    settings: { COMPTOIR_BASE_URL: 'http://127.0.0.1:1' },
  })
  assert.match(dead.answer[1][0] ?? '', /^The payment cannot be started now/)
  assert.deepEqual([dead.answer[0], dead.orders[3]?.state], ['https://shop.example/order', STATES.error])
})

/** The customer orders in PrestaShop. @returns the shop's number of the order, and the code of its payment */
async function orderInPresta(more: Record<string, unknown> = {}): Promise<{ id: number; code: string }> {
  const { answer, orders } = await askPresta<[string, string[]]>({ do: 'pay', ...more })
  const code = new URL(answer[0]).searchParams.get('code') ?? ''
  return { id: Math.max(...Object.keys(orders).map(Number)), code }
}

/** A credit slip as PrestaShop stores it: products with tax, without, and the shipping with tax. */
const slipOf = (gross: number, net = gross, shipping = 0, more: Record<string, number> = {}) => ({
  total_products_tax_incl: gross,
  total_products_tax_excl: net,
  total_shipping_tax_incl: shipping,
  amount: gross,
  order_slip_type: 0,
  ...more,
})

withPhp(
  'a credit slip gives back its tax and shipping, less what it leaves out, and nothing beside a voucher',
  async () => {
    const { id, code } = await orderInPresta()
    const { data } = await shop.accept(code, { network: shop.chain.chainId, userAddress: PAYER })
    const { data: order } = await shop.host.call<OrderData>('GET', `status/${code}`, { as: shop.merchant })
    await shop.chain.pay({ to: data.toAddress, units: 54_000_000n })
    await shop.makeFinal()
    await shop.reaches(code, 'PAID')
    await askPresta({ do: 'webhook', ...(await php.hookOf('order.paid', code)) })
    const refund = async (slip: object, more: Record<string, unknown> = {}) => {
      const { answer } = await askPresta<string[]>({ do: 'slip', order: id, slip, ...more })
      if (/has started/.test(answer[0] ?? '')) await refundReaches(shop, order._id, 'settled')
      return answer[0]?.replace(/refund \w+ of/, 'refund of')
    }
    const started = (amount: string) => `Comptoir: refund of ${amount} EUR has started.`
    const voucher = await refund(slipOf(6, 5), { form: { voucher: '1' } })
    assert.match(voucher ?? '', /credit slip 4 of 6\.00 EUR was not refunded, because the customer got a voucher/)
    const net = slipOf(6, 5, 1.2, { amount: 5, order_slip_type: 2 })
    assert.equal(await refund(net), started('7.20'), 'a group without tax, with shipping')
    // typed; also where it happens to be the net price
    for (const amount of [4, 10]) {
      const typed = slipOf(12, 10, 0, { amount, order_slip_type: 2 })
      assert.equal(await refund(typed, { form: { voucher_refund_type: '2' } }), started(`${amount}.00`))
    }
    const less = slipOf(12, 7, 1, { amount: 12, order_slip_type: 2 })
    assert.equal(await refund(less, { form: { voucher_refund_type: '1' }, discounts: 3 }), started('10.00'))
  },
)

const takeIn = async (id: number, event: string, code: string) =>
  (await askPresta<number>({ do: 'webhook', ...(await php.hookOf(event, code)) })).orders[id]
const openAgain = async (id: number): Promise<string> =>
  new URL((await askPresta<string>({ do: 'open', order: id })).answer).searchParams.get('code') ?? ''

withPhp('a second payment is put before a person, lost webhooks are made up', async () => {
  const { id, code: first } = await orderInPresta()
  const payFirst = await php.choose(first)
  await php.expire(first)
  assert.equal((await takeIn(id, 'order.expired', first))?.state, STATES.cancelled)
  await askPresta({ do: 'state', order: id, state: STATES.waiting })
  const second = await openAgain(id)
  assert.notEqual(second, first)
  await php.payUntilPaid(second)
  const thanks = await askPresta({ do: 'thanks', order: id })
  assert.equal(thanks.orders[id]?.state, STATES.paid, 'the customer is back before the webhook')
  await payFirst()
  await php.acceptLate(first, second)
  const twice = await takeIn(id, 'order.paid', first)
  assert.equal(twice?.state, STATES.paidTwice)
  assert.match(twice?.note ?? '', new RegExp(`Paid a second time: ${first} .* first payment was ${second}`))
  assert.deepEqual(await takeIn(id, 'order.paid', first), twice, 'said once')
  const other = await orderInPresta()
  await php.payUntilPaid(other.code)
  // a person saw the money of the order at the bank
  const banked = await askPresta<number>({ do: 'state', order: other.id, state: STATES.paid })
  assert.equal(banked.orders[other.id]?.state, STATES.paid)
  assert.equal((await takeIn(other.id, 'order.paid', other.code))?.state, STATES.paidTwice)
  await shop.host.db.run(sql`update orders set status = 'FULL_REFUNDED' where code = ${other.code}`)
  const back = await takeIn(other.id, 'order.paid', other.code)
  assert.equal(back?.state, STATES.paidTwice, 'nothing of what the bank brought was refunded')
  assert.match(back?.note ?? '', new RegExp(`The payment ${other.code} was refunded in full`))
  const busy = { do: 'webhook', lock: '0', ...(await php.hookOf('order.paid', first)) }
  assert.equal((await askPresta<number>(busy)).answer, 503, 'another request is changing the order')
  const part = await orderInPresta()
  await php.payUntilPaid(part.code)
  await shop.host.db.run(sql`update orders set status = 'REFUNDED' where code = ${part.code}`)
  const heard = await takeIn(part.id, 'order.paid', part.code)
  assert.equal(heard?.state, STATES.paid, 'a part was refunded before the shop heard of the payment')
  assert.match(heard?.note ?? '', /^A refund of the payment \w+ has begun/)
  const held = await orderInPresta()
  await shop.accept(held.code, { network: shop.chain.chainId })
  await php.hookOf('order.awaiting', held.code)
  await shop.host.db.run(sql`update orders set status = 'KYT_FAILED' where code = ${held.code}`)
  const waiting = await takeIn(held.id, 'order.awaiting', held.code)
  assert.equal(waiting?.state, STATES.waiting)
  assert.match(waiting?.note ?? '', /is held and does not count yet/)
  assert.equal(await openAgain(held.id), held.code)
})

withPhp('while money of one payment is held, the end of another one does not cancel the order', async () => {
  const { id, code: first } = await orderInPresta()
  const payFirst = await php.choose(first)
  const cancel = (code: string) =>
    shop.host.call('POST', `/api/next/confirm_conversion/cancel/${code}`, { as: shop.merchant })
  await cancel(first)
  const second = await openAgain(id)
  assert.notEqual(second, first)
  await payFirst()
  await waitFor('the late money', async () => {
    const path = `/api/next/mispayments?code=${first}&status=open`
    const { data } = await shop.host.call<{ total: number }>('GET', path, { as: shop.merchant })
    return data.total > 0
  })
  await cancel(second)
  const waiting = await takeIn(id, 'order.cancelled', second)
  assert.equal(waiting?.state, STATES.waiting)
  assert.match((await takeIn(id, 'order.cancelled', first))?.note ?? '', /with 54\.000000 USDC is held/)
})

withPhp('an order waits in a state of its own, whose mail asks for no bank transfer', async () => {
  const { answer } = await askPresta<[string, boolean, boolean][]>({ do: 'states' })
  assert.deepEqual(answer[0], ['Waiting for the crypto payment', false, false])
})

withPhp(
  'a cart in two parcels is not offered and not placed: a payment pays one order, and they would be two',
  async () => {
    const packages = { 5: [['one'], ['two']] }
    assert.deepEqual((await askPresta<unknown[]>({ do: 'options', packages })).answer, [])
    const before = Object.keys((await askPresta({ do: 'states' })).orders)
    const placed = await askPresta<[string, string[]]>({ do: 'pay', packages })
    assert.deepEqual([placed.answer[0], Object.keys(placed.orders)], ['index.php?controller=order', before])
  },
)

withPhp('what the shop cancels cannot be paid any more; money that was on its way is put before a person', async () => {
  const closed = await orderInPresta()
  await askPresta({ do: 'state', order: closed.id, state: STATES.cancelled })
  const { data } = await shop.host.call<{ status: string }>('GET', `status/${closed.code}`)
  assert.equal(data.status, 'CANCELLED')
  const { id, code } = await orderInPresta()
  await php.payUntilPaid(code)
  await askPresta({ do: 'state', order: id, state: STATES.cancelled })
  const late = await takeIn(id, 'order.paid', code)
  assert.equal(late?.state, STATES.error)
  assert.match(late?.note ?? '', /^Paid 50\.00 EUR by \w+ after the order had been cancelled here\. Send/)
  assert.deepEqual(await takeIn(id, 'order.paid', code), late, 'a person decides, not the next webhook')
})

withPhp('a payment whose webhook was lost pays its order, though the customer never comes back', async () => {
  const { id, code } = await orderInPresta()
  const other = await orderInPresta()
  await php.payUntilPaid(code)
  await php.payUntilPaid(other.code)
  const busy = await askPresta({ do: 'catchUp', lock: '0' })
  assert.equal(busy.orders[id]?.state, STATES.waiting)
  // the merchant saves the settings while the shop is behind
  const { host, merchant } = shop
  const post = { COMPTOIR_BASE_URL: host.baseUrl, COMPTOIR_API_KEY: merchant.headers['x-api-key'] }
  await askPresta({ do: 'save', keeps: true, post: { ...post, COMPTOIR_TILL: 'TILL-1' } })
  await inTurn({ throws: id })
  const { orders } = await askPresta({ do: 'states' })
  assert.deepEqual([orders[id]?.state, orders[other.id]?.state], [STATES.waiting, STATES.paid], 'one holds up no other')
  const { orders: now } = await inTurn()
  assert.equal(now[id]?.state, STATES.paid)
})

/** Pages of the back office until every order had its turn. */
async function inTurn(more: Record<string, unknown> = {}): Promise<Presta<unknown>> {
  for (let pages = 0; pages < 8; pages += 1) await askPresta({ do: 'catchUp', ...more })
  return askPresta({ do: 'states' })
}

withPhp('late money for an order whose goods went back on sale is put before a person', async () => {
  const { id, code } = await orderInPresta()
  const payLate = await php.choose(code)
  await php.expire(code)
  const unsaved = { do: 'webhook', ...(await php.hookOf('order.expired', code)), saves: false }
  assert.equal((await askPresta(unsaved)).orders[id]?.state, STATES.waiting)
  assert.equal((await takeIn(id, 'order.expired', code))?.state, STATES.cancelled, 'what was not saved is tried again')
  await payLate()
  await shop.reaches(code, 'PAID')
  const late = await takeIn(id, 'order.paid', code)
  assert.equal(late?.state, STATES.error)
  assert.match(late?.note ?? '', /after the order had been cancelled here\. Send the goods if you still have them/)
})

withPhp('a clock that was once ahead stops no look, and of requests that ask at once one looks', async () => {
  const { id, code } = await orderInPresta()
  await php.payUntilPaid(code)
  const now = Math.floor(Date.now() / 1000)
  const stateAfter = async (more: Record<string, unknown>) => {
    for (let pages = 0; pages < 8; pages += 1) await askPresta({ do: 'catchUp', ...more })
    return (await askPresta({ do: 'states' })).orders[id]?.state
  }
  assert.equal(await stateAfter({ looked: now - 60 }), STATES.waiting)
  assert.equal(await stateAfter({ written: { COMPTOIR_LOOKED: now } }), STATES.waiting, 'another one took the turn')
  assert.equal(await stateAfter({ lock: '0' }), STATES.waiting, 'another one takes it now')
  assert.equal(await stateAfter({ looked: now + 86_400 }), STATES.paid)
})

withPhp('an order that another request moves while this one waits is read again', async () => {
  const { id, code } = await orderInPresta()
  await php.payUntilPaid(code)
  const { orders } = await askPresta({ do: 'thanks', order: id, meanwhile: { [id]: STATES.paid } })
  assert.equal(orders[id]?.state, STATES.paidTwice, 'the bank paid it meanwhile')
})

withPhp('a credit slip is never called "not refunded" once its refund has started, or may have', async (t) => {
  const { id, code } = await orderInPresta()
  await php.payUntilPaid(code)
  await takeIn(id, 'order.paid', code)
  const slip = { do: 'slip', order: id, slip: slipOf(20) }
  const [started, lost] = (await askPresta<string[]>({ ...slip, lock: '0' })).answer
  const refund = /^Comptoir: refund (\w+) of 20\.00 EUR has started\.$/.exec(started ?? '')?.[1]
  assert.match(
    lost ?? '',
    new RegExp(`^Comptoir: refund ${refund} has started, but is not followed here: The order is`),
  )
  const front = await startInFront(shop.host.baseUrl, [502, 409, 502, 429])
  t.after(front.stop)
  for (const url of ['http://127.0.0.1:1', front.url, front.url]) {
    const unknown = await askPresta<string[]>({ ...slip, known: { COMPTOIR_BASE_URL: url } })
    await askPresta({ do: 'states', known: { COMPTOIR_BASE_URL: shop.host.baseUrl } })
    assert.match(
      unknown.answer[0] ?? '',
      /^Comptoir: it is not known whether the credit slip \d+ of 20\.00 EUR was refunded: /,
    )
    assert.equal(unknown.answer.length, 1)
  }
})

withPhp('what a person makes of a cancelled or a refunded order stays, also after an upgrade', async () => {
  const { id, code } = await orderInPresta()
  await php.expire(code)
  assert.equal((await takeIn(id, 'order.expired', code))?.state, STATES.cancelled)
  await askPresta({ do: 'state', order: id, state: STATES.bankWire })
  const paid = await orderInPresta()
  await php.payUntilPaid(paid.code)
  await takeIn(paid.id, 'order.paid', paid.code)
  await shop.host.db.run(sql`update orders set status = 'FULL_REFUNDED' where code = ${paid.code}`)
  assert.equal((await takeIn(paid.id, 'order.paid', paid.code))?.state, STATES.refunded)
  await askPresta({ do: 'state', order: paid.id, state: STATES.paid })
  const { orders } = await inTurn()
  assert.deepEqual([orders[id]?.state, orders[paid.id]?.state], [STATES.bankWire, STATES.paid])
  // what 0.4.0 kept: its sentences alone
  await askPresta({ do: 'said', order: id, texts: [`The payment ${code} ended unpaid.`] })
  await askPresta({ do: 'said', order: paid.id, texts: ['x', 'Refunded through Comptoir.', 'y'] })
  for (const _ of ['once', 'again']) await askPresta({ do: 'upgrade', from: '0.4.0' })
  const later = (await inTurn()).orders
  assert.deepEqual([later[id], later[paid.id]], [orders[id], orders[paid.id]])
})

withPhp('a credit slip whose refund Comptoir rejects afterwards is noted in the order, once', async () => {
  const { id, code } = await orderInPresta()
  await php.payUntilPaid(code)
  await takeIn(id, 'order.paid', code)
  const { answer } = await askPresta<string[]>({ do: 'slip', order: id, slip: slipOf(20) })
  const refund = /refund (\w+) of/.exec(answer[0] ?? '')?.[1]
  const rejected = await (await logInSuperAdmin(shop.host)).post(`refunds/${refund}/reject`, { reason: 'a mistake' })
  assert.equal(rejected.status, 200, rejected.text)
  const told = await inTurn()
  assert.match(told.orders[id]?.note ?? '', new RegExp(`Refund ${refund} was rejected in Comptoir`))
  assert.deepEqual((await inTurn()).orders[id], told.orders[id])
})

withPhp(
  'what earlier versions kept moves to the table with the order it belongs to, and leaves the settings',
  async () => {
    const first = await orderInPresta()
    const second = await orderInPresta()
    for (const { id } of [first, second]) await askPresta({ do: 'unpaid', order: id })
    const known = {
      [`COMPTOIR_ORDER_${first.id}`]: 'one,two',
      [`COMPTOIR_PAID_${first.id}`]: 'two',
      [`COMPTOIR_SAID_${first.id}`]: 'abc',
      [`COMPTOIR_ORDER_${second.id}`]: 'x',
      COMPTOIR_ORDER_7001: 'of an order that was deleted',
    }
    await askPresta({ do: 'upgrade', from: '0.2.0', known })
    type Row = [{ codes: string; paid: string; said: string } | null, string[]]
    const rowOf = async (order: number): Promise<Row> => (await askPresta<Row>({ do: 'row', order })).answer
    const [row, left] = await rowOf(first.id)
    assert.deepEqual([row?.codes, row?.paid, row?.said, left], ['one,two', 'two', 'abc', []])
    assert.deepEqual([(await rowOf(second.id))[0]?.codes, (await rowOf(7001))[0]], ['x', null])
  },
)

withPhp(
  'an upgrade from 0.3.0 keeps the payments of the orders that are there, and forgets the events’ place',
  async () => {
    const { id, code } = await orderInPresta()
    const gone = await orderInPresta()
    await php.payUntilPaid(code)
    await askPresta({ do: 'asOld', drop: ['secret', 'refunds'], deleted: gone.id })
    const refunds = JSON.stringify({ ['f'.repeat(24)]: id, ['e'.repeat(24)]: gone.id })
    const known = { COMPTOIR_CURSOR: 'abc', COMPTOIR_LATER: code, COMPTOIR_REFUNDS: refunds }
    await askPresta({ do: 'upgrade', from: '0.3.0', known })
    const row = await askPresta<[{ refunds: string }, string[]]>({ do: 'row', order: id })
    assert.deepEqual(Object.keys(JSON.parse(row.answer[0].refunds)), ['f'.repeat(24)])
    assert.equal((await inTurn()).orders[id]?.state, STATES.paid)
    const { answer } = await askPresta<[string, Record<string, string>]>({ do: 'save', post: {} })
    assert.deepEqual(
      Object.keys(known).filter((name) => name in answer[1]),
      [],
    )
  },
)

withPhp('an order is placed only by the checkout’s form, and where the shop allows the module', async () => {
  const before = Object.keys((await askPresta({ do: 'states' })).orders)
  for (const more of [{ method: 'GET' }, { allows: false }, { shop: 'https://staging.example/' }]) {
    const { answer, orders } = await askPresta<[string, string[]]>({ do: 'pay', ...more })
    assert.deepEqual([answer[0], Object.keys(orders)], ['index.php?controller=order', before])
  }
})

withPhp('a copy of the shop touches no payment of it, also once its settings are saved; a move takes all', async () => {
  const { id, code } = await orderInPresta()
  await askPresta({ do: 'age', order: id })
  const copy = { shop: 'https://staging.example/' }
  const statusOf = async () => (await shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status
  assert.deepEqual((await askPresta<unknown[]>({ do: 'options', ...copy })).answer, [])
  assert.match((await askPresta<string>({ do: 'top', ...copy })).answer, /Comptoir is switched off here/)
  assert.equal((await askPresta<string>({ do: 'top', shop: 'https://www.shop.example/' })).answer, '')
  assert.match(
    (await askPresta({ do: 'catchUp', ...copy })).logged[0] ?? '',
    /saved for shop\.example, and this shop is/,
  )
  await askPresta({ do: 'state', order: id, state: STATES.cancelled, ...copy })
  const keys = { COMPTOIR_BASE_URL: shop.host.baseUrl, COMPTOIR_API_KEY: shop.merchant.headers['x-api-key'] }
  const post = { ...keys, COMPTOIR_TILL: 'TILL-1' }
  const saved = await askPresta<[string, Record<string, string>]>({ do: 'save', keeps: true, post, ...copy })
  assert.match(saved.answer[0], /<ok>Comptoir answers/)
  await askPresta({ do: 'state', order: id, state: STATES.cancelled, ...copy })
  assert.equal(await statusOf(), 'INITIAL')
  const early = await orderInPresta(copy)
  await php.payUntilPaid(early.code)
  await askPresta({ do: 'age', order: early.id })
  const hidden = await askPresta({ do: 'webhook', ...(await php.hookOf('order.paid', early.code)), ...copy })
  assert.match(
    hidden.logged.join(),
    new RegExp(`payment ${early.code} of the order ${early.id}, .* If the shop has moved`),
  )
  await askPresta({ do: 'save', keeps: true, post: { ...post, COMPTOIR_MOVED: '1' } })
  await askPresta({ do: 'state', order: id, state: STATES.cancelled })
  assert.equal(await statusOf(), 'CANCELLED')
})

for (const module of [false, true]) {
  const table = module ? 'with' : 'without'
  withPhp(`in a shop that was emptied, ${table} the module’s table, the new order 1 is not the old one`, async () => {
    await askPresta({ do: 'empty', module: true })
    const old = await orderInPresta()
    await php.payUntilPaid(old.code)
    assert.equal((await takeIn(1, 'order.paid', old.code))?.state, STATES.paid)
    await askPresta({ do: 'empty', module })
    const next = await orderInPresta()
    assert.deepEqual([next.id, next.code === old.code], [1, false])
    const slip = await askPresta<string[]>({ do: 'slip', order: 1, slip: slipOf(20) })
    assert.doesNotMatch(slip.answer[0] ?? '', /has started/, 'the earlier customer is not refunded')
    const stray = await askPresta({ do: 'webhook', ...(await php.hookOf('order.paid', old.code)) })
    assert.deepEqual([stray.orders[1]?.state, stray.logged.length], [STATES.waiting, 1])
    assert.match(
      stray.logged[0] ?? '',
      new RegExp(`received money for the payment ${old.code} .* no order of this shop`),
    )
  })
}
