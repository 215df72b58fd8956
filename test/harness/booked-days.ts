import assert from 'node:assert/strict'
import { type Db, type Queryable, type Sql, sql, type Tx } from '../../src/db/db.ts'
import { monthsBefore } from '../../src/http/calendar.ts'
import { newId } from '../../src/kernel/ids.ts'
import { insertJournal, type Journal, type Leg, listBalancesBetween } from '../../src/ledger/ledger-queries.ts'
import { listMonths } from '../../src/ledger/overview/fee-queries.ts'
import type { Random } from './random.ts'

/* Bookings of random days, and their sums as anyone would add them up: from the bookings, one by one. */

export const DAY_MS = 86_400_000
const ZONES = ['UTC', 'Europe/Paris', 'Asia/Kathmandu', 'America/Los_Angeles', 'Pacific/Auckland'] as const

export const leg = (account: Leg['account'], units: number): Leg => ({ account, asset: 'USDC', units: BigInt(units) })

const legsOf = (kind: Journal['kind'], units: number): Leg[] => {
  if (kind === 'payment')
    return [leg('payer_clearing', units + 3), leg('company_payable', 2 - units), leg('fees', -2), leg('suspense', -3)]
  if (kind === 'refund') return [leg('company_payable', units - 1), leg('suspense', 1), leg('refunds', -units)]
  if (kind === 'refund_settled') return [leg('refunds', units), leg('wallet', -units)]
  return [leg('company_payable', units), leg('suspense', -units)]
}

/** An instant within these days: one in four within a moment of midnight in UTC. */
export const instantOf = (random: Random, { firstMs, days }: { firstMs: number; days: number }): Date => {
  const dayMs = firstMs + random(days) * DAY_MS
  return new Date(random(4) === 0 ? dayMs + random(3) - 1 : dayMs + random(DAY_MS))
}

/** Books something of that instant. */
export async function bookAt(tx: Tx, companyId: string, at: Date, random: Random): Promise<void> {
  const units = 10 + random(1_000_000)
  const cause = newId()
  const book = (kind: Journal['kind'], bookedAt: Date) =>
    insertJournal(tx, {
      ...{ companyId, id: newId(bookedAt.getTime()), kind, causeId: cause, orderId: null, at: bookedAt },
      legs: legsOf(kind, units),
    })
  if (random(6) === 0) return void (await book('loss_borne', at))
  if (random(5) > 0) return void (await book('payment', at))
  await book('refund', at)
  await book('refund_settled', new Date(at.getTime() + random(2 * DAY_MS)))
}

const plainBalances = (companyId: string, from: Date | null, to: Date | null): Sql => sql`
  select e.account, e.asset, coalesce(sum(e.units) filter (where j.at < p.start), 0) as opening_units,
    coalesce(sum(e.units) filter (where j.at >= p.start and e.units > 0), 0) as debit_units,
    coalesce(-sum(e.units) filter (where j.at >= p.start and e.units < 0), 0) as credit_units
  from ledger_entries e join ledger_journals j on j.company_id = e.company_id and j.id = e.journal_id
  cross join (select coalesce(${from}::timestamptz, '-infinity') as start) as p
  where e.company_id = ${companyId} and j.at < coalesce(${to}::timestamptz, 'infinity') group by 1, 2 order by 1, 2`

const plainMonths = (companyId: string, starts: readonly string[]): Sql => sql`
  select width_bucket(j.at, ${starts}::timestamptz[]) as place,
    (count(distinct j.id) filter (where j.kind = 'payment'))::int as payments,
    coalesce(-sum(e.units) filter (where j.kind = 'payment'), 0) as received,
    coalesce(-sum(e.units) filter (where e.account = 'fees'), 0) as fees,
    coalesce(sum(e.units) filter (where j.kind = 'refund_settled'), 0) as refunded,
    coalesce(sum(e.units) filter (where j.kind = 'loss_borne'), 0) as lost
  from ledger_journals j
  left join ledger_journals reserved on j.kind = 'refund_settled' and reserved.company_id = j.company_id
    and reserved.kind = 'refund' and reserved.cause_id = j.cause_id
  join ledger_entries e on e.company_id = j.company_id and e.journal_id = coalesce(reserved.id, j.id)
    and e.account in ('company_payable', 'fees')
  where j.company_id = ${companyId} and j.at >= ${starts[0]}::timestamptz
    and j.kind in ('payment', 'refund_settled', 'loss_borne') group by 1 order by 1 desc`

const asText = (rows: readonly object[]): string[] => rows.map((row) => Object.values(row).map(String).join(' '))

async function compareBalances(q: Queryable, companyId: string, from: Date | null, to: Date | null): Promise<void> {
  const read = await listBalancesBetween(q, companyId, { from, to })
  const plain = await q.many<Record<'account' | 'asset' | 'openingUnits' | 'debitUnits' | 'creditUnits', string>>(
    plainBalances(companyId, from, to),
  )
  assert.deepEqual(
    read.map((one) => [one.account, one.asset, one.openingUnits, one.debitUnits, one.creditUnits].map(String)),
    plain.map((one) => [one.account, one.asset, one.openingUnits, one.debitUnits, one.creditUnits]),
    `${from?.toISOString()} to ${to?.toISOString()}`,
  )
}

async function compareMonths(q: Queryable, companyId: string, nowMs: number, random: Random): Promise<void> {
  const zone = ZONES[random(ZONES.length)] ?? 'UTC'
  const months = monthsBefore(nowMs, 1 + random(4), zone)
  const plain = await q.many<{ place: number }>(
    plainMonths(
      companyId,
      months.map(({ start }) => start.toISOString()),
    ),
  )
  const named = plain.map(({ place, ...rest }) => ({ month: months[place - 1]?.month, ...rest }))
  assert.deepEqual(asText(await listMonths(q, companyId, months)), asText(named), zone)
}

/** In one snapshot, whatever others do meanwhile: what the service reads of a random period equals the plain sums. */
export const compareSums = (
  db: Db,
  companyId: string,
  random: Random,
  span: { firstMs: number; days: number },
): Promise<void> =>
  db.tx(async (tx) => {
    await tx.run(sql`set transaction isolation level repeatable read read only`)
    const one = () => (random(5) === 0 ? null : instantOf(random, span))
    const [from, to] = [one(), one()]
    await compareBalances(tx, companyId, from, to)
    await compareMonths(tx, companyId, span.firstMs + span.days * DAY_MS, random)
  })

/** A payment of 1000 units as a node of the earlier version writes it, which knows nothing of closed days. */
export const OLD_NODE = `with journal as (
    insert into ledger_journals (company_id, id, kind, cause_id, order_id, at) values ($1, $2, 'payment', $2, null, $3)
    on conflict (company_id, kind, cause_id) do nothing returning company_id, id)
  insert into ledger_entries (company_id, journal_id, account, asset, units)
  select company_id, id, account, 'USDC', units
  from journal, (values ('payer_clearing', 1000), ('company_payable', -990), ('fees', -10)) as l (account, units)`
