import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PaymentReport, paidReport } from '../src/channels/channel.ts'
import { reportOf } from '../src/channels/gatepay/status-map.ts'
import { sql } from '../src/db/db.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { askAboutOrder } from '../src/payments/payment-service.ts'
import { decideScreening } from '../src/screening/screening-decisions.ts'
import { openScreeningGate } from '../src/screening/screening-gate.ts'
import { openAttemptIn } from './harness/attempts.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* What a provider blocks by its own screening waits for a person, whatever the provider says next. */

let world: ModelWorld
/** What Gate answers about an order that nothing was credited to (docs.gate.com, checkout/orderQuery). */
const gateSays = (word: string, providerReference: string) => {
  const data = { currency: 'USDC', orderAmount: '54', pay_currency: '', pay_amount: '0' }
  return reportOf(word, data, { providerReference, closedStatuses: [] })
}
let word = 'PENDING'
before(async () => {
  world = await startModelWorld({
    fetchPayment: async ({ providerReference }) => gateSays(word, providerReference),
    async closePayment() {},
  })
})
after(() => world?.stop())

const screeningsOf = (payment: string) =>
  world.host.db.many<{ status: string; by: string | null }>(
    sql`select status, decided_by as by from screenings where subject_id = ${payment}`,
  )
const UNDECIDED = [{ status: 'blocked', by: null }]

for (const isEnded of [false, true])
  test(`Gate blocks the price ${isEnded ? 'after' : 'before'} the order ended, and its query says EXPIRED: a person decides`, async () => {
    const { apply, context, find, key, order, poll, reference } = await openAttemptIn(world)
    const { db } = world.host
    if (isEnded) {
      await db.run(sql`update orders set status = 'EXPIRED', updated_at = now() where id = ${order.id}`)
      await db.run(sql`update payments set status = 'closed', next_check_at = null where id = ${key.id}`)
    }
    word = 'PENDING'
    await apply(gateSays('PAY_BLOCK', reference))
    word = 'EXPIRED'
    await poll()
    await apply(gateSays('PAY_CLOSE', reference))
    // the payer says that it is paid
    await askAboutOrder(world.payments, context, order.code)
    assert.deepEqual(await screeningsOf(key.id), UNDECIDED)
    assert.equal((await find()).receivedUnits, 0n)
    if (!isEnded) return
    const body = { paymentChannel: 'binance', requote: true }
    await assert.rejects(
      acceptOrder(world.payments, { context, code: order.code, body }),
      /has arrived or is on its way/,
    )
  })

test('blocked money that its provider credits later cannot be decided about before its screening is', async () => {
  const { apply, reference, ignoreFirst, recordsOf, key } = await openAttemptIn(world)
  for (const said of ['PAY_BLOCK', 'EXPIRED']) await apply(gateSays(said, reference))
  await apply(paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
  assert.match((await recordsOf())[0] ?? '', /^held 54000000 USDC open/)
  assert.deepEqual(await screeningsOf(key.id), UNDECIDED)
  await assert.rejects(ignoreFirst(), /Decide the screening of the order first/)
})

test('a payment that its provider blocks again and again brings one mail', async () => {
  let mails = 0
  const screening = openScreeningGate({
    ...{ clock: world.payments.clock, screens: false, wake: () => {} },
    alarm: async () => {
      mails += 1
    },
  })
  const { key, reference } = await openAttemptIn(world)
  for (let n = 0; n < 6; n += 1) {
    world.clock.nowMs += 60_000
    for (const said of ['PAY_BLOCK', 'EXPIRED'])
      await applyReport({ ...world.payments, screening }, key, gateSays(said, reference))
  }
  assert.equal(mails, 1)
})

test('a provider that blocks all after a person returned the part that it named is decided about again, once', async () => {
  const { db } = world.host
  let mails = 0
  const screening = openScreeningGate({
    ...{ clock: world.payments.clock, screens: false, wake: () => {} },
    alarm: async () => {
      mails += 1
    },
  })
  const { context, ignoreFirst, key, order, reference } = await openAttemptIn(world)
  const apply = (report: PaymentReport) => {
    world.clock.nowMs += 60_000
    return applyReport({ ...world.payments, screening }, key, report)
  }
  const giveBack = async () => {
    world.clock.nowMs += 60_000
    const { id } = await db.one<{ id: string }>(sql`select id from screenings where subject_id = ${key.id}`)
    const deps = { ...world.mispayments, wakeSubject: async () => {} }
    await decideScreening(deps, context, id, { decision: 'return', reason: 'sent back' })
  }
  const frozen = { asset: 'USDC', units: 1_000_000n, reference: 'gatepay:frozen:1', isOneSum: true } as const
  await apply(paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'money arrives' }))
  await apply({ outcome: 'blocked', providerReference: reference, providerStatus: 'risk', unmatched: [frozen] })
  await giveBack()
  await ignoreFirst()
  await apply(gateSays('PAY_BLOCK', reference))
  assert.deepEqual([await screeningsOf(key.id), mails], [UNDECIDED, 2])
  await giveBack()
  await apply(gateSays('PAY_BLOCK', reference))
  assert.deepEqual([(await screeningsOf(key.id)).map(({ status }) => status), mails], [['returned'], 2])
  await db.run(sql`update orders set status = 'EXPIRED', updated_at = now() where id = ${order.id}`)
  await acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance', requote: true } })
})
