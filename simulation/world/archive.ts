import { must } from '../stories/acts.ts'
import type { Shop } from './shops.ts'
import { count, type World } from './world.ts'

/** Tables that must stay: the chain of the audit log, and payouts, which are compared with the chain. */
const KEPT = ['audit_log', 'audit_head']
/** Longer than webhook retries and polling gaps. */
const REST_MS = 90_000

const TABLES = `select c.relname as name from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attname = 'company_id' and not a.attisdropped
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  order by c.relname`

const TOTALS = `select
  (select count(*) from orders where company_id = any($1))::text as orders,
  (select count(*) from (
    select 1 from deliveries where company_id = any($1) group by company_id, order_id, event, refund_id
    having count(*) > 1) d)::text as twice,
  (select coalesce(sum(units), 0) from refunds
    where company_id = any($1) and channel = 'crypto' and status = 'settled')::text as refunded,
  (select coalesce(sum(units), 0) from settlements where company_id = any($1) and status = 'paid')::text as settled`

/** Totals of orders, refunds and settlements that are at rest. */
export type Totals = { orders: number; refunded: bigint; settled: bigint }

/**
 * Checks companies whose orders have all come to rest, adds them to the totals and deletes them from the database, so
 * that a long run stays as small as a short one.
 */
export class Archive {
  readonly #world: World
  readonly totals: Totals = { orders: 0, refunded: 0n, settled: 0n }
  #tables: string[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** @param isOver at the end, everything is at rest */
  async sweep(shops: readonly Shop[], isOver = false): Promise<void> {
    const { scheduler, oracle, verifyBooks } = this.#world
    const resting = shops.filter((one) => !one.isArchived && (isOver || one.restsSinceMs + REST_MS < scheduler.nowMs))
    if (resting.length === 0) return
    const difference = await verifyBooks()
    must(difference === null || !isOver, difference ?? '')
    if (difference !== null) return
    const ids = resting.map(({ merchant }) => merchant.companyId)
    const [row] = await oracle.many<Record<keyof Totals | 'twice', string>>(TOTALS, [ids])
    const made = resting.reduce((sum, { orders }) => sum + orders, 0)
    must(Number(row?.orders) === made, `${made} orders were made, and ${row?.orders} are there`)
    must(row?.twice === '0', `${row?.twice} events have several deliveries`)
    if (!isOver && !(await this.#remove(ids))) return
    this.totals.orders += made
    this.totals.refunded += BigInt(row?.refunded ?? 0)
    this.totals.settled += BigInt(row?.settled ?? 0)
    for (const shop of resting) shop.isArchived = true
    if (!isOver) count(this.#world, 'taken out at rest', made)
  }

  /** @returns false when something is still in progress there */
  async #remove(ids: readonly string[]): Promise<boolean> {
    const { oracle, chain } = this.#world
    if (this.#tables.length === 0) this.#tables = (await oracle.many<{ name: string }>(TABLES)).map(({ name }) => name)
    const words = 'select address from deposit_addresses where company_id = any($1)'
    const addresses = (await oracle.many<{ address: string }>(words, [ids])).map(({ address }) => address)
    const tables = this.#tables.filter((name) => !KEPT.includes(name))
    const isDone = await oracle.together([
      ['set local session_replication_role = replica', []],
      ['set local lock_timeout = 50', []],
      ['delete from chain_transfers where to_address = any($1)', [addresses]],
      ...tables.map((name): [string, unknown[]] => [`delete from ${name} where company_id = any($1)`, [ids]]),
      ['delete from companies where id = any($1)', [ids]],
    ])
    if (isDone) for (const address of addresses) chain.forget(address)
    return isDone
  }
}
