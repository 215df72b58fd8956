import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { hasPhp, openPhpShop, type PhpShop } from './harness/php-shop.ts'

/* A payment belongs to the order that keeps its code, and the WooCommerce module looks after its own orders. */

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

async function pay(order: number, set: Record<string, unknown> = {}): Promise<string> {
  const { answer } = await tell<{ redirect: string }>({ do: 'pay', order, set })
  return new URL(answer.redirect).searchParams.get('code') ?? answer.redirect
}

const look = (order: number, set: Record<string, unknown> = {}) => tell({ do: 'look', order, set })
const webhook = async (order: number, event: string, code: string, more: Record<string, unknown> = {}) =>
  tell<string>({ do: 'webhook', order, ...(await php.hookOf(event, code)), ...more })
const statusOf = async (code: string): Promise<string> =>
  (await php.shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status
const aliasOf = async (code: string): Promise<string> =>
  (await php.shop.host.call<{ alias: string }>('GET', `status/${code}`, { as: php.shop.merchant })).data.alias

/** The shop's orders were deleted, or a backup restored: the number is given again, to another customer's order. */
const again = (key: string) => ({
  ...{ status: 'pending', meta: [], transaction: '', paid: null, notes: [], completed: 0 },
  key: `wc_order_${key}`,
})

withPhp(
  'an order whose number was given before is not paid by the earlier customer, and has its own page',
  async () => {
    const paid = await pay(201)
    await php.payUntilPaid(paid)
    await webhook(201, 'order.paid', paid)
    const next = await pay(201, again('a'))
    assert.notEqual(next, paid)
    assert.equal((await look(201)).status, 'pending')
    assert.notEqual(await aliasOf(next), await aliasOf(paid))
    const open = await pay(202)
    assert.notEqual(await pay(202, again('b')), open, 'the new customer does not pay on the page of the old one')
    assert.equal(await statusOf(open), 'INITIAL')
    const dearer = await pay(203)
    await php.payUntilPaid(dearer)
    assert.match(await pay(203, { ...again('c'), total: '900.00' }), /^[0-9A-Za-z]{8,}$/, 'the new customer can pay')
  },
)

withPhp('a payment that no order keeps pays nothing, and the administrator is told of its money, once', async () => {
  const code = await pay(204)
  await php.payUntilPaid(code)
  await look(204, { ...again('d'), method: 'bacs', status: 'on-hold' })
  await tell({ do: 'catchUp' })
  const stray = await webhook(204, 'order.paid', code)
  assert.deepEqual([stray.status, stray.notes], ['on-hold', []])
  assert.deepEqual(stray.mails, [`shop@shop.example: Please check the payment ${code}`])
  assert.deepEqual((await webhook(204, 'order.paid', code)).mails, [])
  const ended = await pay(205)
  await php.shop.host.call('POST', `cancel/${ended}`, { as: php.shop.merchant })
  const without = await webhook(205, 'order.cancelled', ended, { set: again('e') })
  assert.deepEqual([without.status, without.mails], ['pending', []], 'nothing came for it')
})

/** What another plugin does: every meta of an order is copied to a renewal or a clone. */
async function copyOf(from: number, to: number, more: Record<string, unknown> = {}): Promise<void> {
  const { answer: meta } = await tell<Record<string, string[]>>({ do: 'meta', order: from })
  await look(to, { meta, ...more })
}

withPhp('a renewal or a clone is not paid by the payment of the order that it was copied from', async () => {
  const paid = await pay(271)
  await php.payUntilPaid(paid)
  await webhook(271, 'order.paid', paid)
  await copyOf(271, 272, { transaction: paid })
  await tell({ do: 'catchUp' })
  const renewal = await look(272)
  assert.deepEqual([renewal.status, renewal.completed], ['pending', 0])
  const refund = await tell<{ message: string }>({ do: 'refund', order: 272, amount: 20 })
  assert.match(refund.answer.message, /^This order was not paid through Comptoir/)
  const own = await pay(272)
  assert.notEqual(own, paid)
  await php.payUntilPaid(own)
  assert.equal((await webhook(272, 'order.paid', own)).status, 'processing', 'and is paid by its own')
  assert.equal((await webhook(271, 'order.paid', paid)).status, 'processing')
  assert.equal((await tell<boolean>({ do: 'refund', order: 272, amount: 20 })).answer, true)
  assert.equal(await statusOf(paid), 'PAID')
})

withPhp('cancelling a clone closes no payment of the order that it was copied from', async () => {
  const open = await pay(273)
  await copyOf(273, 274)
  assert.equal((await tell<boolean>({ do: 'timeOut', order: 274 })).answer, true)
  assert.equal(await statusOf(open), 'INITIAL')
})

withPhp(
  'what earlier versions kept goes to the order that it was opened for, with its news and its refunds',
  async () => {
    const paid = await pay(275)
    await php.payUntilPaid(paid)
    await webhook(275, 'order.paid', paid)
    const old = { _comptoir_code: [paid], _comptoir_said: ['x'], _comptoir_refund: ['f'.repeat(24)] }
    await look(275, { meta: old })
    await look(276, { meta: old })
    await tell({ do: 'catchUp', lock: '0' })
    await tell({ do: 'catchUp' })
    const clone = await look(276)
    assert.deepEqual([clone.status, clone.completed], ['pending', 0])
    const { answer: kept } = await tell<Record<string, string[]>>({ do: 'meta', order: 275 })
    const texts = Object.values(kept).map((values) => values.map((value) => value.split(' ')[2]))
    assert.deepEqual(texts, [[paid], ['x', 'paid'], ['f'.repeat(24)]], 'which one paid it is kept now')
    const refund = await tell<boolean>({ do: 'refund', order: 275, amount: 20 })
    assert.equal(refund.answer, true)
    const { answer: left } = await tell<Record<string, string[]>>({ do: 'meta', order: 276 })
    assert.ok(left._comptoir_code?.[0]?.startsWith('0000000000000000 '), 'it is not asked about again')
    assert.notEqual(await pay(276), paid)
  },
)

withPhp('a click whose answer was lost gets the payment that it made', async () => {
  const code = await pay(206)
  assert.equal(await pay(206, { meta: [] }), code, 'the same order, which does not keep the code yet')
  const copy = { do: 'pay', order: 206, set: { meta: [] }, query: '?copy' }
  assert.equal((await tell<{ result: string }>(copy)).answer.result, 'failure', 'a copy of the shop is not led to it')
  const dearer = await pay(206, { meta: [], total: '60.00' })
  assert.deepEqual([dearer === code, await statusOf(code), await statusOf(dearer)], [false, 'CANCELLED', 'INITIAL'])
  assert.equal(await pay(206, { meta: [] }), dearer)
  await php.choose(dearer)
  await php.shop.host.db.run(sql`update orders set status = 'WAITING_CHAIN_CONFIRMATION' where code = ${dearer}`)
  assert.equal(await pay(206, { meta: [], total: '70.00' }), dearer, 'money on its way is waited for')
})

withPhp('an open payment is found by its code, also by an older alias, and after the shop has moved', async () => {
  const code = await pay(207)
  await php.shop.host.db.run(sql`update orders set alias = 'WC-207-3f9a21' where code = ${code}`)
  assert.equal(await pay(207), code)
  await php.payUntilPaid(code)
  assert.equal((await webhook(207, 'order.paid', code)).status, 'processing')
})

withPhp(
  'what was paid while the keys were wrong is found after the settings were saved, whoever pays by now',
  async () => {
    const [code, other] = [await pay(211), await pay(212)]
    await php.payUntilPaid(code)
    await php.payUntilPaid(other)
    await look(212, { method: 'bacs' })
    await tell({ do: 'catchUp', options: { api_secret: 'sk_revoked' } })
    assert.deepEqual((await tell<string[]>({ do: 'test' })).answer, ['ok: Comptoir answers, and the till is there.'])
    await tell({ do: 'catchUp' })
    assert.deepEqual([(await look(211)).status, (await look(212)).status], ['processing', 'processing'])
  },
)

withPhp('an order that cannot be changed, and the record of a refund, hold up no other order', async () => {
  const [stuck, other] = [await pay(221), await pay(222)]
  await php.payUntilPaid(stuck)
  await php.payUntilPaid(other)
  await tell({ do: 'catchUp', throws: 221, refundRecords: [220] })
  assert.deepEqual([(await look(221)).status, (await look(222)).status], ['pending', 'processing'])
  await tell({ do: 'catchUp' })
  assert.equal((await look(221)).status, 'processing')
})

withPhp('of many orders some are looked at at a time, and each has its turn', async () => {
  const rounds = await tell<number[][]>({ do: 'rounds', ids: [5, 3, 1, 4, 2], most: 2, times: 3 })
  assert.deepEqual(rounds.answer, [
    [1, 2],
    [3, 4],
    [5, 1],
  ])
  const silent = await tell<number[][]>({ do: 'rounds', ids: [1, 2, 3], most: 2, times: 3, silent: 1 })
  assert.deepEqual(silent.answer, [[1], [2, 3], [1, 2]], 'no answer ends the round, and the next one goes on')
})

withPhp(
  'what is open beside an order that is paid or cancelled is closed, also when it could not be at once',
  async () => {
    const paid = await pay(231)
    await look(231, { status: 'processing', method: 'stripe', transaction: 'pi_card' })
    await tell({ do: 'catchUp' })
    assert.equal(await statusOf(paid), 'CANCELLED')
    const cancelled = await pay(232)
    await tell({ do: 'cancel', order: 232, options: { base_url: 'http://127.0.0.1:1' } })
    assert.equal(await statusOf(cancelled), 'INITIAL')
    await tell({ do: 'catchUp' })
    assert.equal(await statusOf(cancelled), 'CANCELLED')
  },
)

withPhp('money for an order in the bin is told to a person, and takes it out of no bin', async () => {
  const code = await pay(241)
  await php.payUntilPaid(code)
  const late = await webhook(241, 'order.paid', code, { set: { status: 'trash' } })
  assert.deepEqual([late.status, late.completed, late.mails.length], ['trash', 0, 1])
})

for (const [order, state] of [
  [251, 'checkout-draft'],
  [252, 'awaiting-approval'],
] as const) {
  withPhp(`an order in a state of the shop’s own that asks for payment (${state}) is completed by it`, async () => {
    const code = await pay(order, { status: state })
    await php.payUntilPaid(code)
    const paid = await webhook(order, 'order.paid', code)
    assert.deepEqual([paid.status, paid.completed], ['processing', 1])
  })
}

withPhp('an order in a state of the shop’s own that counts as paid is not completed a second time', async () => {
  const code = await pay(253)
  await php.payUntilPaid(code)
  const second = await webhook(253, 'order.paid', code, { set: { status: 'packed', method: 'bacs' } })
  assert.deepEqual([second.status, second.completed, second.mails.length], ['packed', 0, 1])
})

withPhp(
  'money for an order that the shop has refunded, unpaid, is put before a person and changes no status',
  async () => {
    const code = await pay(254)
    await php.payUntilPaid(code)
    const late = await webhook(254, 'order.paid', code, { set: { status: 'refunded' } })
    assert.deepEqual([late.status, late.completed, late.mails.length], ['refunded', 0, 1])
  },
)

withPhp('a Comptoir that takes the connection and says nothing holds a checkout for ten seconds at most', async (t) => {
  const server = createServer(() => {})
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const from = Date.now()
  const options = { base_url: `http://127.0.0.1:${port}` }
  const { answer } = await tell<{ result: string }>({ do: 'pay', order: 261, options })
  assert.equal(answer.result, 'failure')
  assert.ok(Date.now() - from < 12_000, `${Date.now() - from} ms`)
})
