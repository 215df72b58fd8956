import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport, type UnmatchedMoney } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { openAttemptIn } from './harness/attempts.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* Money beside a payment: frozen by its provider's own screening, or in a coin that its provider renames. */

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

test('frozen money whose amount cannot be read holds the order, frozen dust does not', async () => {
  const frozen = (units: bigint): UnmatchedMoney => ({ asset: 'USDT', units, reference: `p:frozen:${units}` })
  for (const [units, status] of [
    [10n ** 15n, 'AWAITING'],
    [0n, 'KYT_FAILED'],
    [10n ** 16n, 'KYT_FAILED'],
  ] as const) {
    const { reference, apply } = await openAttempt()
    const held = { outcome: 'blocked', providerReference: reference, providerStatus: 'risk' } as const
    assert.equal((await apply({ ...held, unmatched: [frozen(units)] }))?.status, status, `${units}`)
  }
})

test('money that is frozen while it is on its way holds the order', async () => {
  const { reference, apply } = await openAttempt()
  await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
  const unmatched: UnmatchedMoney[] = [{ asset: 'USDC', units: DUE, reference: 'p:frozen:all' }]
  const held = await apply({ outcome: 'blocked', providerReference: reference, unmatched, providerStatus: 'risk' })
  assert.equal(held?.status, 'KYT_FAILED')
})

test('the price on its way at a provider is money of its order, also at an attempt that is over, until it is reported gone', async () => {
  const { db } = world.host
  for (const ended of ['closing', 'closed', 'failed']) {
    const { order, context, key, reference, apply } = await openAttempt()
    await db.run(sql`update payments set status = ${ended} where id = ${key.id}`)
    await db.run(sql`update orders set status = 'EXPIRED' where id = ${order.id}`)
    const requote = () =>
      acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance', requote: true } })
    await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
    await assert.rejects(requote(), /has arrived or is on its way/, ended)
    await apply({ outcome: 'unknown', providerReference: reference, providerStatus: 'no answer' })
    await assert.rejects(requote(), /has arrived or is on its way/, ended)
    await apply(paidReport(reference, { final: 0n, providerStatus: 'returned' }))
    assert.equal((await requote()).status, 'AWAITING', ended)
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
  for (const [units, status] of [
    [9_999n, 'KYT_FAILED'],
    [10_000n, 'AWAITING'],
  ] as const) {
    const attempt = await openAttempt()
    const { key, reference, apply } = attempt
    await apply({ outcome: 'expired', providerReference: reference, providerStatus: 'EXPIRED' })
    const lastSays = await openSecond(attempt)
    await db.run(sql`
      update payments set channel = 'crypto', status = 'closed', received_units = ${String(units)}, next_check_at = now()
      where id = ${key.id}`)
    await lastSays('expired', [])
    const held = await lastSays('blocked', [{ asset: 'USDC', units: DUE, reference: 'p:frozen:all' }])
    assert.equal(held?.status, status, `${units}`)
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

test('what has arrived under one reference grows in one coin, and waits for a person in the one that was named last', async () => {
  const { reference, recordsOf, apply } = await openAttempt()
  const tell = async (...sums: (readonly [string, bigint])[]): Promise<void> => {
    for (const [asset, units] of sums)
      await apply({
        ...{ outcome: 'waiting', providerReference: reference, providerStatus: 'PENDING' },
        unmatched: [{ asset, units, reference: 'p', isOneSum: true }],
      })
  }
  await tell(['BTC', 5n], ['USDC', 3n], ['USDC', 4n], ['BTC', 5n])
  assert.deepEqual(await recordsOf(), [
    'wrong_token 5 BTC open p',
    'wrong_token 3 USDC resolved p.1',
    'wrong_token 1 USDC resolved p.2',
  ])
  await tell(['BTC', 9n], ['BTC', 12n])
  assert.deepEqual((await recordsOf()).slice(3), ['wrong_token 4 BTC open p.3', 'wrong_token 3 BTC open p.4'])
  await tell(['USDC', 4n], ['BTC', 12n], ['USDC', 6n])
  assert.deepEqual(await recordsOf(), [
    'wrong_token 12 BTC resolved p',
    'wrong_token 6 USDC open p.1',
    'wrong_token 1 USDC resolved p.2',
    'wrong_token 4 BTC resolved p.3',
    'wrong_token 3 BTC resolved p.4',
  ])
})

test('a sum that gets its earlier coin back waits for a person without the part that was decided about', async () => {
  const { reference, recordsOf, ignoreFirst, apply } = await openAttempt()
  const tell = (asset: string, units: bigint) =>
    apply({
      ...{ outcome: 'waiting', providerReference: reference, providerStatus: 'PENDING' },
      unmatched: [{ asset, units, reference: 'p', isOneSum: true }],
    })
  await tell('BTC', 5n)
  await ignoreFirst()
  for (const [asset, units] of [
    ['BTC', 9n],
    ['USDC', 3n],
    ['BTC', 9n],
  ] as const)
    await tell(asset, units)
  assert.deepEqual(await recordsOf(), [
    'wrong_token 5 BTC ignored p',
    'wrong_token 4 BTC open p.1',
    'wrong_token 3 USDC resolved p.2',
  ])
})
