import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport, type UnmatchedMoney } from '../src/channels/channel.ts'
import { reportOf } from '../src/channels/gatepay/status-map.ts'
import { sql } from '../src/db/db.ts'
import { DAY, MINUTE } from '../src/kernel/clock.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { decideScreening } from '../src/screening/screening-decisions.ts'
import { openAttemptIn } from './harness/attempts.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* Money beside a payment that its provider's own screening froze, or that came late. */

let world: ModelWorld
let closes = 0
before(async () => {
  world = await startModelWorld({
    async closePayment() {
      closes += 1
    },
  })
})
after(() => world?.stop())

const openAttempt = () => openAttemptIn(world)

/** Accepts the order once more. @returns what the provider says about that second attempt */
async function openSecond({ order, context }: Awaited<ReturnType<typeof openAttempt>>) {
  await acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance' } })
  const last = await world.host.db.one<{ companyId: string; id: string; reference: string }>(sql`
    select company_id, id, provider_reference as reference from payments where order_id = ${order.id} and number = 2`)
  return (outcome: 'expired' | 'blocked', unmatched: UnmatchedMoney[]) =>
    applyReport(world.payments, last, {
      ...{ outcome, providerReference: last.reference, providerStatus: outcome },
      unmatched,
    })
}

test('frozen money whose amount cannot be read holds the order, frozen dust does not, unless more is frozen beside it', async () => {
  const frozen = (units: bigint): UnmatchedMoney => ({ asset: 'USDT', units, reference: `p:frozen:${units}` })
  for (const [amounts, status] of [
    [[10n ** 15n], 'AWAITING'],
    [[0n], 'KYT_FAILED'],
    [[10n ** 16n], 'KYT_FAILED'],
    [[10n ** 15n, 10n ** 16n], 'KYT_FAILED'],
  ] as const) {
    const { reference, apply } = await openAttempt()
    const held = { outcome: 'blocked', providerReference: reference, providerStatus: 'risk' } as const
    assert.equal((await apply({ ...held, unmatched: amounts.map(frozen) }))?.status, status, `${amounts}`)
  }
})

test('money that is frozen while it is on its way holds the order', async () => {
  const { reference, apply } = await openAttempt()
  await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
  const unmatched: UnmatchedMoney[] = [{ asset: 'USDC', units: DUE, reference: 'p:frozen:all' }]
  const held = await apply({ outcome: 'blocked', providerReference: reference, unmatched, providerStatus: 'risk' })
  assert.equal(held?.status, 'KYT_FAILED')
})

test('an order waits on for the price on its way while dust beside it is frozen, however often', async () => {
  const { key, reference, apply } = await openAttempt()
  await world.host.db.run(sql`update companies set tolerance_bps = 0 where id = ${key.companyId}`)
  for (const name of [1, 2, 3]) {
    const seen = await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
    assert.equal(seen?.status, 'WAITING_CHAIN_CONFIRMATION')
    const unmatched: UnmatchedMoney[] = [{ asset: 'USDC', units: 9_999n, reference: `p:frozen:${name}` }]
    await apply({ outcome: 'blocked', providerReference: reference, unmatched, providerStatus: 'risk' })
  }
  const paid = await apply(paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
  assert.equal(paid?.status, 'PAID')
})

test('the price on its way at a provider is money of its order, also at an attempt that is over, until it is reported gone and a block is decided', async () => {
  const { db } = world.host
  for (const ended of ['closing', 'closed', 'failed']) {
    const { order, context, key, reference, apply, find } = await openAttempt()
    await db.run(sql`update payments set status = ${ended} where id = ${key.id}`)
    await db.run(sql`update orders set status = 'EXPIRED' where id = ${order.id}`)
    const requote = () =>
      acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance', requote: true } })
    await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
    await assert.rejects(requote(), /has arrived or is on its way/, ended)
    for (const outcome of ['unknown', 'blocked', 'blocked'] as const) {
      await apply({ outcome, providerReference: reference, providerStatus: 'no answer' })
      await assert.rejects(requote(), /has arrived or is on its way/, `${ended} ${outcome}`)
    }
    assert.notEqual((await find()).nextCheckAt, null, 'its provider may still let it go on')
    await apply(paidReport(reference, { final: 0n, providerStatus: 'returned' }))
    await assert.rejects(requote(), /has arrived or is on its way/, 'only a person ends a block')
    await db.run(sql`update screenings set status = 'returned', decided_by = 'user:1' where subject_id = ${key.id}`)
    assert.equal((await requote()).status, 'AWAITING', ended)
  }
})

test('an amount that its provider froze at an attempt that is over is money of its order until a person decides', async () => {
  const { db } = world.host
  const { order, context, key, reference, apply } = await openAttempt()
  await db.run(sql`update payments set status = 'closed' where id = ${key.id}`)
  await db.run(sql`update orders set status = 'EXPIRED' where id = ${order.id}`)
  const requote = () =>
    acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance', requote: true } })
  await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
  const unmatched: UnmatchedMoney[] = [{ asset: 'USDC', units: DUE, reference: 'p:frozen:all' }]
  await apply({ outcome: 'blocked', providerReference: reference, unmatched, providerStatus: 'risk' })
  await assert.rejects(requote(), /has arrived or is on its way/)
  await db.run(sql`update screenings set status = 'returned', decided_by = 'user:1' where subject_id = ${key.id}`)
  await assert.rejects(requote(), /has arrived or is on its way/)
  await db.run(sql`update mispayments set status = 'ignored' where payment_id = ${key.id}`)
  assert.equal((await requote()).status, 'AWAITING')
})

test('money on its way stays money of its order when its provider freezes another part of it, however often that is told', async () => {
  const { db } = world.host
  const { order, context, key, reference, apply, find, ignoreFirst } = await openAttempt()
  await db.run(sql`update payments set status = 'closed' where id = ${key.id}`)
  await db.run(sql`update orders set status = 'EXPIRED' where id = ${order.id}`)
  await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
  const freeze = (units: bigint, name = '7', asset = 'USDC') =>
    apply({
      ...{ outcome: 'blocked', providerReference: reference, providerStatus: 'risk' },
      unmatched: [{ asset, units, reference: `gatepay:frozen:${name}`, isOneSum: true }],
    })
  for (const _ of [1, 2]) await freeze(20_000n)
  assert.equal((await find()).pendingUnits, DUE - 20_000n)
  await freeze(50_000n)
  assert.equal((await find()).pendingUnits, DUE - 50_000n)
  for (const _ of [1, 2]) await freeze(10n ** 18n, '8', 'USDT')
  assert.equal((await find()).pendingUnits, DUE - 1_050_000n)
  await db.run(sql`update screenings set status = 'returned' where subject_id = ${key.id}`)
  for (const _ of [1, 2, 3]) await ignoreFirst()
  await assert.rejects(
    acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance', requote: true } }),
    /has arrived or is on its way/,
  )
  await freeze(1n, '9', 'BTC')
  assert.equal((await find()).pendingUnits, DUE - 1_050_000n, 'nothing says that it was part of it')
  await ignoreFirst()
  await assert.rejects(
    acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance', requote: true } }),
    /has arrived or is on its way/,
  )
})

test('once a person returned a block without an amount, nothing is on its way, whatever was frozen before or named since', async () => {
  const { db } = world.host
  const { order, context, key, reference, apply, ignoreFirst } = await openAttempt()
  await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
  await db.run(sql`update orders set status = 'EXPIRED', updated_at = now() where id = ${order.id}`)
  const requote = () =>
    acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance', requote: true } })
  const block = (...units: bigint[]) => {
    const unmatched = units.map((one) => ({
      asset: 'USDC',
      units: one,
      reference: 'gatepay:frozen:1',
      isOneSum: true as const,
    }))
    const blocked = { outcome: 'blocked', providerReference: reference, providerStatus: 'risk' } as const
    return apply({ ...blocked, ...(units.length > 0 && { unmatched }) })
  }
  const arrives = () => apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
  const giveBack = async () => {
    const { id } = await db.one<{ id: string }>(sql`select id from screenings where subject_id = ${key.id}`)
    await decideScreening(world.screenings, context, id, { decision: 'return', reason: 'sent back' })
  }
  await block(1_000_000n)
  await arrives()
  await giveBack()
  world.clock.nowMs += DAY
  await ignoreFirst()
  await block()
  await assert.rejects(requote(), /has arrived or is on its way/, 'the decision was about a part')
  await block(2_000_000n)
  await giveBack()
  await assert.rejects(requote(), /has arrived or is on its way/, 'what is named is decided about by itself')
  await ignoreFirst()
  await block()
  assert.equal((await requote()).status, 'AWAITING')
})

test('what a provider keeps beside an order that ended, and may still count, keeps it from a fresh rate until a person decides', async () => {
  for (const [units, asset, name, isKept] of [
    [DUE, 'USDC', 'gatepay:5:late', true],
    [DUE, 'USDC', 'gatepay:unresolved:5', true],
    [0n, 'USDC', 'gatepay:unresolved:5', true],
    [DUE, 'USDC', 'whitepay:5', true],
    [10n ** 18n, 'USDT', 'whitepay:5', true],
    [5n, 'SHIB', 'gatepay:5:late', true],
    [10_000n, 'USDC', 'gatepay:frozen:5', true],
    [9_999n, 'USDC', 'gatepay:frozen:5', false],
    [9_999n, 'USDC', 'gatepay:5:late', false],
    [10n ** 18n, 'USDT', 'gatepay:unresolved:5', false],
    [10n ** 18n, 'ETH', 'native:1:1', false],
  ] as const) {
    const { order, context, reference, apply, ignoreFirst } = await openAttempt()
    await world.host.db.run(sql`update orders set status = 'EXPIRED' where id = ${order.id}`)
    const requote = () =>
      acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance', requote: true } })
    const ended = { outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' } as const
    await apply({ ...ended, unmatched: [{ asset, units, reference: name }] })
    if (isKept) {
      await assert.rejects(requote(), /has arrived or is on its way/, `${units} ${asset} ${name}`)
      await ignoreFirst()
    }
    assert.equal((await requote()).status, 'AWAITING', `${units} ${asset} ${name}`)
  }
})

test('money of a closed attempt that is frozen holds its order, on its way or not, with an amount or without', async () => {
  const all: UnmatchedMoney[] = [{ asset: 'USDC', units: DUE, reference: 'p:frozen:all' }]
  for (const isSeen of [true, false])
    for (const frozen of [all, undefined]) {
      const { reference, apply } = await openAttempt()
      await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
      if (isSeen) await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
      const held = await apply({
        ...{ outcome: 'blocked', providerReference: reference, providerStatus: 'risk' },
        ...(frozen && { unmatched: frozen }),
      })
      assert.equal(held?.status, 'KYT_FAILED', `${isSeen} ${frozen?.length}`)
    }
})

test('money that is frozen at a closed attempt does not end an order that another attempt pays', async () => {
  for (const units of [DUE, 10_000n]) {
    const attempt = await openAttempt()
    const { reference, apply, recordsOf } = attempt
    await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
    const lastSays = await openSecond(attempt)
    await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
    await lastSays('expired', [])
    const held = await lastSays('blocked', [{ asset: 'USDC', units, reference: 'p:frozen:other' }])
    const paid = await apply(paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
    assert.deepEqual([held?.status, paid?.status], ['AWAITING', 'PAID'])
    assert.deepEqual(await recordsOf(), [`wrong_token ${units} USDC open p:frozen:other`])
  }
})

test('dust on a chain, at an attempt that is over, does not stop money that is frozen from holding the order', async () => {
  const { db } = world.host
  for (const [units, beside, status] of [
    [9_999n, 0n, 'KYT_FAILED'],
    [10_000n, 0n, 'AWAITING'],
    // money that came to the frozen attempt itself is part of what may pay the order
    [10_000n, 1n, 'KYT_FAILED'],
  ] as const) {
    const attempt = await openAttempt()
    const { key, order, reference, apply } = attempt
    await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
    const lastSays = await openSecond(attempt)
    await db.run(sql`
      update payments set channel = 'crypto', status = 'closed', received_units = ${String(units)}, next_check_at = now()
      where id = ${key.id}`)
    await lastSays('expired', [])
    await db.run(sql`
      update payments set received_units = ${String(beside)} where order_id = ${order.id} and id <> ${key.id}`)
    const held = await lastSays('blocked', [{ asset: 'USDC', units: DUE, reference: 'p:frozen:all' }])
    assert.equal(held?.status, status, `${units}, ${beside}`)
  }
})

test('money that its provider blocked after the order ended never pays the order by itself', async () => {
  const { db } = world.host
  for (const status of ['closing', 'closed']) {
    const { order, key, reference, apply } = await openAttempt()
    await db.run(sql`update orders set status = 'EXPIRED' where id = ${order.id}`)
    await db.run(sql`update payments set status = ${status} where id = ${key.id}`)
    await apply({ outcome: 'blocked', providerReference: reference, providerStatus: 'PAY_BLOCK' })
    const after = await apply(paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
    const kinds = await db.many<{ kind: string }>(sql`select kind from mispayments where order_id = ${order.id}`)
    assert.deepEqual([after?.status, kinds], ['EXPIRED', [{ kind: 'held' }]], status)
  }
})

test('money that is frozen at an abandoned attempt does not keep it from being closed at its provider', async () => {
  const { key, reference, apply, recordsOf, poll } = await openAttempt()
  await world.host.db.run(sql`update payments set status = 'closing' where id = ${key.id}`)
  closes = 0
  const unmatched = [{ asset: 'USDC', units: DUE / 2n, reference: 'p:frozen:1' }]
  await apply({ outcome: 'blocked', providerReference: reference, unmatched, providerStatus: 'risk' })
  assert.deepEqual(await recordsOf(), [`wrong_token ${DUE / 2n} USDC open p:frozen:1`])
  await poll()
  assert.equal(closes, 1)
})

test('frozen dust of a payment that is over is asked about with growing gaps, and not after thirty days', async () => {
  const { key, reference, apply, find } = await openAttempt()
  await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
  const unmatched = [{ asset: 'USDC', units: 5n, reference: 'p:frozen:dust' }]
  for (const [checks, age, gapMs] of [
    [0, 0, 5 * MINUTE],
    [20, DAY, DAY],
    [20, 31 * DAY, null],
  ] as const) {
    world.clock.nowMs += age
    const now = new Date(world.clock.nowMs)
    await world.host.db.run(sql`update payments set checks = ${checks}, next_check_at = ${now} where id = ${key.id}`)
    await apply({ outcome: 'blocked', providerReference: reference, unmatched, providerStatus: 'risk' })
    const { nextCheckAt } = await find()
    assert.equal(nextCheckAt && nextCheckAt.getTime() - world.clock.nowMs, gapMs)
  }
})

test('the price that comes late after a little in another coin was decided about waits for a person, and keeps the order from a fresh rate', async () => {
  const { apply, reference, recordsOf, ignoreFirst, order, context } = await openAttempt()
  const gateSays = (actualCurrency: string, done_amount: string) => {
    const data = { currency: 'USDC', orderAmount: '54', pay_currency: '', pay_amount: '0', actualCurrency }
    const more = { ...data, transaction_info: { done_amount } }
    return apply(reportOf('EXPIRED', more, { providerReference: reference, closedStatuses: [] }))
  }
  await gateSays('USDT', '5')
  await world.host.db.run(sql`update orders set status = 'EXPIRED', updated_at = now() where id = ${order.id}`)
  await ignoreFirst()
  world.clock.nowMs += DAY
  await gateSays('USDC', '59')
  const late = `gatepay:${reference}:late`
  assert.deepEqual((await recordsOf()).slice(1), [`wrong_token 54000000 USDC open ${late}.1`])
  const body = { paymentChannel: 'binance', requote: true }
  await assert.rejects(acceptOrder(world.payments, { context, code: order.code, body }), /has arrived or is on its way/)
})
