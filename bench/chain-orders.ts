import { setTimeout as pause } from 'node:timers/promises'
import { type Db, sql } from '../src/db/db.ts'
import { parseXpub } from '../src/kernel/xpub.ts'
import type { TestChain } from '../test/harness/chain.ts'
import { startTestService } from '../test/harness/service.ts'
import { chainEnv, type Instructions, type OrderData, TEST_XPUB } from '../test/harness/shop.ts'

/** One order created through the API: every further one is a copy with its own names. */
type Model = { companyId: string; id: string; paymentId: string }

export type Sale = {
  /** Brings the number of open orders to `count`. */
  open(count: number): Promise<void>
  /** Starts the workers. */
  start(): Promise<void>
  /** Measures the whole service, one block a second. @returns CPU ms of each second */
  run(seconds: number, each: (second: number) => Promise<void>): Promise<number[]>
  stop(): Promise<void>
}

/** When a payment is polled, in seconds after it was opened (src/kernel/poll-gaps.ts). */
const POLLED_AT = [300, 900, 1800]
/** Orders were created evenly over this many seconds. */
const AGE_SECONDS = 900
const WARM_UP = 5

const addressSql = sql`'0x' || left(encode(sha256(('order ' || i)::bytea), 'hex'), 40)`

/** Open orders, their payments with a next poll that fits their age, and their deposit addresses. */
async function copy(db: Db, { companyId, id, paymentId }: Model, from: number, to: number): Promise<void> {
  const series = sql`generate_series(${from}::integer, ${to - 1}::integer) i`
  const keyId = parseXpub(TEST_XPUB).id
  await db.tx(async (tx) => {
    await tx.run(sql`
      insert into orders select made.* from orders model cross join ${series}
      cross join lateral jsonb_populate_record(model, jsonb_build_object(
        'id', left(${id}, 12) || lpad(to_hex(i), 12, '0'), 'code', 'bench' || lpad(i::text, 19, '0'),
        'short_code', 'B' || lpad(i::text, 7, '0'), 'payment_id', left(${id}, 12) || 'b' || lpad(to_hex(i), 11, '0'),
        'expires_at', now() + interval '1 hour')) as made
      where model.company_id = ${companyId} and model.id = ${id}`)
    await tx.run(sql`
      insert into payments select made.* from payments model cross join ${series}
      cross join lateral (select i % ${AGE_SECONDS}::integer as age, ${addressSql} as address) as facts
      cross join lateral (select count(*) filter (where polled_at <= age) as checks,
        min(polled_at) filter (where polled_at > age) as next
        from unnest(${POLLED_AT}::integer[]) as polled_at) as polls
      cross join lateral jsonb_populate_record(model, jsonb_build_object(
        'id', left(${id}, 12) || 'b' || lpad(to_hex(i), 11, '0'), 'order_id', left(${id}, 12) || lpad(to_hex(i), 12, '0'),
        'merchant_reference', left(${id}, 12) || lpad(to_hex(i), 12, '0') || '01',
        'deposit_address', facts.address, 'provider_reference', facts.address, 'checks', polls.checks,
        'instructions', jsonb_set(model.instructions, '{toAddress}', to_jsonb(facts.address)),
        'opened_at', now() - make_interval(secs => facts.age), 'lease_until', null,
        'next_check_at', now() + make_interval(secs => polls.next - facts.age))) as made
      where model.company_id = ${companyId} and model.id = ${paymentId}`)
    await tx.run(sql`
      insert into deposit_addresses (address, company_id, reference, key_id, key_index, watched_until)
      select ${addressSql}, ${companyId}, left(${id}, 12) || lpad(to_hex(i), 12, '0') || '01', ${keyId}, 1000 + i,
        now() + interval '30 days'
      from ${series}`)
  })
  for (const table of [sql`orders`, sql`payments`, sql`deposit_addresses`]) await db.run(sql`analyze ${table}`)
}

/** Ages the orders as if they had been created evenly until now, whatever was measured since. */
const age = (db: Db): Promise<number> =>
  db.run(sql`
    update payments set opened_at = now() - make_interval(secs => aged.age), checks = aged.checks,
      next_check_at = now() + make_interval(secs => aged.next - aged.age)
    from (select nth.id, nth.age, count(*) filter (where polled_at <= nth.age) as checks,
        min(polled_at) filter (where polled_at > nth.age) as next
      from (select id, (row_number() over (order by id))::integer % ${AGE_SECONDS}::integer as age from payments) as nth
      cross join unnest(${POLLED_AT}::integer[]) as polled_at group by 1, 2) as aged
    where payments.id = aged.id`)

/** The service on the database, with one order that waits for its money. */
export async function openSale(connectionString: string, chain: TestChain): Promise<Sale> {
  const host = await startTestService({ connectionString, env: chainEnv(chain) })
  const merchant = await host.createMerchant()
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  const { data } = await host.call<{ order: OrderData }>('POST', 'request', { as: merchant, body })
  const choice = { as: merchant, body: { paymentChannel: 'crypto' } }
  const accepted = await host.call<Instructions>('POST', `accept/${data.order.code}`, choice)
  if (accepted.status !== 200) throw new Error(accepted.text)
  const { companyId } = merchant
  const model = await host.db.one<Model>(sql`
    select company_id, id, payment_id from orders where company_id = ${companyId}`)
  let known = 1
  return {
    async open(count) {
      if (count > known) await copy(host.db, model, known, count)
      known = Math.max(known, count)
    },
    async start() {
      await age(host.db)
      await host.service.startWorkers()
    },
    async run(seconds, each) {
      const cpuMs: number[] = []
      for (let second = -WARM_UP; second < seconds; second += 1) {
        await each(second + WARM_UP)
        const before = process.cpuUsage()
        await pause(1000)
        const { user, system } = process.cpuUsage(before)
        if (second >= 0) cpuMs.push((user + system) / 1000)
      }
      return cpuMs
    },
    stop: () => host.stop(),
  }
}
