import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { bringBack } from '../src/assembly/upkeep/by-clock.ts'
import { raw, sql } from '../src/db/db.ts'
import { DAY, HOUR, MINUTE } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { updateOrderAnonymous } from '../src/orders/order-queries.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { actorOf, contextFor, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { eventually, startTestService } from './harness/service.ts'

/* What a node put off while its clock was hours ahead. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld({})
})
after(() => world?.stop())

const log = { warn: () => {} }

/** @returns the minutes until the row is due, once everything that lies too far ahead was brought back */
async function minutesAfter(
  table: 'payments' | 'kyc_records',
  id: string,
  { aheadMs, status, eddStatus, checks, abandonedAt }: Ahead,
): Promise<number> {
  const { db } = world.host
  const [now, rows] = [Date.now(), raw(table)]
  const edd = eddStatus === undefined ? sql`` : sql`edd_status = ${eddStatus},`
  const polled = checks === undefined ? sql`` : sql`checks = ${checks},`
  const abandoned = abandonedAt === undefined ? sql`` : sql`abandoned_at = ${abandonedAt},`
  await db.run(sql`
    update ${rows} set ${edd} ${polled} ${abandoned} status = ${status}, next_check_at = ${new Date(now + aheadMs)} where id = ${id}`)
  await bringBack({ db, clock: () => now, log })
  const { at } = await db.one<{ at: Date }>(sql`select next_check_at as at from ${rows} where id = ${id}`)
  return (at.getTime() - now) / MINUTE
}
type Ahead = { aheadMs: number; status: string; eddStatus?: string; checks?: number; abandonedAt?: Date }

async function openAttempt(): Promise<string> {
  const merchant = await world.host.createMerchant()
  const order = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance' } })
  return (await world.host.db.one<{ id: string }>(sql`select id from payments where order_id = ${order.id}`)).id
}

test('an order that is made anonymous by a node that is behind is newer than before, for who sorts by that', async () => {
  const order = await world.makeOrder(await world.host.createMerchant())
  const behind = new Date(order.updatedAt.getTime() - HOUR)
  const after = await world.host.db.tx((tx) => updateOrderAnonymous(tx, order, behind))
  assert.ok(after.updatedAt > order.updatedAt, after.updatedAt.toISOString())
})

test('an attempt that waits for money is due again within a minute; one that is over keeps a gap of up to a day', async () => {
  const id = await openAttempt()
  assert.equal(await minutesAfter('payments', id, { aheadMs: 2 * HOUR, status: 'confirming' }), 1)
  assert.equal(await minutesAfter('payments', id, { aheadMs: 2 * HOUR, status: 'awaiting' }), 1)
  assert.equal(await minutesAfter('payments', id, { aheadMs: 18 * MINUTE, status: 'awaiting' }), 18)
  const late = { checks: 9, abandonedAt: new Date() }
  for (const status of ['closing', 'closed', 'failed', 'paid']) {
    assert.equal(await minutesAfter('payments', id, { ...late, aheadMs: DAY, status }), 24 * 60)
    assert.equal(await minutesAfter('payments', id, { ...late, aheadMs: DAY + 2 * HOUR, status }), 1)
  }
})

test('an attempt that is over is due again where its gap is shorter than a day; an abandoned one may wait for its age', async () => {
  const id = await openAttempt()
  const just = { abandonedAt: new Date() }
  for (const status of ['closing', 'closed', 'failed', 'paid']) {
    assert.equal(await minutesAfter('payments', id, { ...just, aheadMs: 23 * HOUR, status, checks: 1 }), 1)
    assert.equal(await minutesAfter('payments', id, { ...just, aheadMs: 15 * MINUTE, status, checks: 0 }), 15)
    assert.equal(await minutesAfter('payments', id, { ...just, aheadMs: 6 * HOUR, status, checks: 3 }), 6 * 60)
    assert.equal(await minutesAfter('payments', id, { ...just, aheadMs: 8 * HOUR, status, checks: 3 }), 1)
  }
  const long = { status: 'closing', checks: 1, abandonedAt: new Date(Date.now() - 20 * DAY) }
  assert.equal(await minutesAfter('payments', id, { ...long, aheadMs: 4 * HOUR }), 4 * 60)
})

test('the lease of a payout ends in a minute where it would end hours later; one of a minute stays', async () => {
  const { db } = world.host
  const now = Date.now()
  const leasedUntil = async (status: string, untilMs: number): Promise<number> => {
    const id = newId()
    await db.run(sql`
      insert into chain_payouts (id, chain_id, from_address, to_address, units, authorization_nonce, status, words,
        lease_until, created_at, updated_at)
      values (${id}, 1, ${`0x${'1'.repeat(40)}`}, ${`0x${'2'.repeat(40)}`}, 5, ${`0x${id.padStart(64, '0')}`}, ${status},
        'a test', ${new Date(untilMs)}, now(), now())`)
    await bringBack({ db, clock: () => now, log })
    const { until } = await db.one<{ until: Date }>(
      sql`select lease_until as until from chain_payouts where id = ${id}`,
    )
    return (until.getTime() - now) / MINUTE
  }
  assert.equal(await leasedUntil('reserved', now + 2 * HOUR), 1)
  assert.equal(await leasedUntil('reserved', now + 1.5 * MINUTE), 1.5)
  assert.equal(await leasedUntil('failed', now + 2 * HOUR), 120)
})

test('an open identity check is due again; a decided one is read when it was to be', async () => {
  const id = newId()
  await world.host.db.run(sql`
    insert into kyc_records (company_id, id, payer_key, provider, status, created_at, updated_at)
    values (${newId()}, ${id}, ${id}, 'sumsub', 'pending', now(), now())`)
  assert.equal(await minutesAfter('kyc_records', id, { aheadMs: 3 * HOUR, status: 'pending' }), 1)
  assert.equal(await minutesAfter('kyc_records', id, { aheadMs: HOUR, status: 'pending' }), 60)
  assert.equal(await minutesAfter('kyc_records', id, { aheadMs: 12 * DAY, status: 'approved' }), 12 * 24 * 60)
})

test('an enhanced check that is open is due again; one that no one has gone on with for long is read as a decided one', async () => {
  const id = newId()
  await world.host.db.run(sql`
    insert into kyc_records (company_id, id, payer_key, provider, status, created_at, updated_at)
    values (${newId()}, ${id}, ${id}, 'sumsub', 'pending', now(), now() - interval '29 days')`)
  const open = { aheadMs: 26 * HOUR, status: 'approved' }
  for (const eddStatus of ['requested', 'pending']) {
    assert.equal(await minutesAfter('kyc_records', id, { ...open, eddStatus }), 1)
    assert.equal(await minutesAfter('kyc_records', id, { ...open, aheadMs: HOUR, eddStatus }), 60)
  }
  assert.equal(await minutesAfter('kyc_records', id, { ...open, eddStatus: 'none' }), 26 * 60)
  await world.host.db.run(sql`update kyc_records set updated_at = now() - interval '31 days' where id = ${id}`)
  assert.equal(await minutesAfter('kyc_records', id, { ...open, eddStatus: 'pending' }), 26 * 60)
})

test('a worker whose clock is right brings back what another one put off; one whose clock is behind brings nothing', async () => {
  const { db, connectionString, vault } = world.host
  const [now, id] = [new Date(), newId()]
  const far = new Date(now.getTime() + 2 * HOUR)
  await db.run(sql`
    insert into jobs (id, kind, payload, run_at, attempts, created_at) values (${id}, 'of no one', '{}', ${far}, 1, ${now})`)
  const find = async () => (await db.one<{ runAt: Date }>(sql`select run_at from jobs where id = ${id}`)).runAt
  const clock = (): number => Date.now() - 5 * HOUR
  const behind = await startTestService({ connectionString, vault, clock, workers: true, guardsClock: true })
  await eventually(
    async () => behind.logLines.filter((line) => /ALARM: nothing is deleted/.test(line)),
    (lines) => lines.length > 0,
  )
  await behind.stop()
  assert.deepEqual(await find(), far)
  const right = await startTestService({ connectionString, vault, workers: true, guardsClock: true })
  await eventually(find, (runAt) => runAt < new Date(Date.now() + 2 * MINUTE))
  await right.stop()
})
