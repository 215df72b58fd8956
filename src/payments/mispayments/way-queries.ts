import { allArrivedUnits, arrivedUnits, frozenUnits, pendingUnits } from '../../companies/order-money-queries.ts'
import { type Queryable, sql, type Tx } from '../../db/db.ts'
import {
  afterReport,
  explainedUnits,
  goneAfterReturn,
  isMoreThanTold,
  onItsWay,
  toldOf,
  untold,
  type Way,
} from './on-its-way.ts'

type PaymentKey = { companyId: string; id: string }

export async function findWay(q: Queryable, { companyId, id }: PaymentKey): Promise<Way> {
  const row = await q.one<{ notedUnits: string; isExact: boolean; frozenUnits: string; goneUnits: string | null }>(sql`
    select p.pending_units as noted_units, p.frozen_gone_units as gone_units, ${frozenUnits(sql`p`)} as frozen_units,
      coalesce(p.pending_units = p.told_units and (p.pending_units > 0 or p.pending_at is not null), false) as is_exact
    from payments p where p.company_id = ${companyId} and p.id = ${id}`)
  return {
    notedUnits: BigInt(row.notedUnits),
    isExact: row.isExact,
    frozenUnits: BigInt(row.frozenUnits),
    goneUnits: row.goneUnits === null ? null : BigInt(row.goneUnits),
  }
}

/** What of these units, that a report tells to be on their way, is neither frozen nor returned. */
export const findOnItsWay = async (q: Queryable, key: PaymentKey, told: bigint): Promise<bigint> =>
  told === 0n ? 0n : onItsWay(await findWay(q, key), told)

/**
 * Notes what is told to be on its way in the words of this version, before more of it is recorded as frozen. Where an
 * older node noted 0, all that was told may have been frozen.
 */
export const updateTold = (tx: Tx, { companyId, id }: PaymentKey, told: bigint): Promise<number> =>
  tx.run(sql`
    update payments set pending_units = ${told}, told_units = ${told}
    where company_id = ${companyId} and id = ${id} and pending_units <> 0`)

/** What is on its way to a payment, and what came that its provider may have told before. */
export type WayMoney = { pendingUnits: bigint; arrivedUnits: bigint }

/** Null: not since this version. */
type Noted = WayMoney & { peakUnits: bigint | null; openUnits: bigint | null; knownUnits: bigint | null }

async function findNoted(q: Queryable, { companyId, id }: PaymentKey, told: readonly string[]): Promise<Noted> {
  const row = await q.one<{ pending: string; arrived: string } & Record<'peak' | 'open' | 'known', string | null>>(sql`
    select ${pendingUnits(sql`p`)} as pending, ${arrivedUnits(sql`p`, told)} as arrived, p.pending_peak_units as peak,
      p.unexplained_units as open, p.known_way_units as known
    from payments p where p.company_id = ${companyId} and p.id = ${id}`)
  return {
    ...{ pendingUnits: BigInt(row.pending), arrivedUnits: BigInt(row.arrived) },
    peakUnits: row.peak === null ? null : BigInt(row.peak),
    openUnits: row.open === null ? null : BigInt(row.open),
    knownUnits: row.known === null ? null : BigInt(row.known),
  }
}

/**
 * Before a report. Where nothing is on its way, nothing of that can arrive.
 * @param told references of money that the amounts of the report contain
 */
export const findWayMoney = async (
  q: Queryable,
  payment: PaymentKey & { pendingUnits: bigint },
  told: readonly string[],
): Promise<WayMoney> =>
  payment.pendingUnits === 0n ? { pendingUnits: 0n, arrivedUnits: 0n } : findNoted(q, payment, told)

/**
 * Notes what is unexplained once all that a report says is stored.
 * @returns how much that is, 0 for dust, which is the rounding of a coin, and whether a person must know of it
 */
export async function noteUnexplained(
  tx: Tx,
  key: PaymentKey,
  before: WayMoney,
  { told, dustUnits }: { told: readonly string[]; dustUnits: bigint },
): Promise<{ otherUnits: bigint; isUntold: boolean; isMore: boolean; pendingUnits: bigint }> {
  const { pendingUnits: after, arrivedUnits: arrived, ...noted } = await findNoted(tx, key, told)
  const peakUnits = noted.peakUnits ?? before.pendingUnits
  const openUnits = noted.openUnits ?? before.pendingUnits
  const knownUnits = noted.knownUnits ?? (peakUnits > openUnits ? peakUnits - openUnits : 0n)
  const state = { peakUnits, openUnits, knownUnits }
  const came = before.pendingUnits > 0n && arrived > before.arrivedUnits ? arrived - before.arrivedUnits : 0n
  const change = { before: before.pendingUnits, after, arrived: came }
  const next = afterReport(state, change, dustUnits)
  const explained = explainedUnits(change, dustUnits)
  const names = ['peakUnits', 'openUnits', 'knownUnits'] as const
  if (explained > 0n || names.some((name) => next[name] !== noted[name]))
    await tx.run(sql`
      update payments set pending_peak_units = ${next.peakUnits}, unexplained_units = ${next.openUnits},
        known_way_units = ${next.knownUnits}, known_arrived_units = known_arrived_units + ${explained}
      where company_id = ${key.companyId} and id = ${key.id}`)
  const otherUnits = next.openUnits >= dustUnits ? next.openUnits : 0n
  return { otherUnits, ...untold(state, next, dustUnits), pendingUnits: after }
}

/**
 * How much is on its way, or came on its way since a person returned it and has not arrived: whatever arrived since,
 * and is explained by nothing else, may be that.
 * @returns 0: no mail has to tell of it
 */
export async function findOther(q: Queryable, { companyId, id }: PaymentKey, dustUnits: bigint): Promise<bigint> {
  const row = await q.one<{ units: string; toldUnits: string | null }>(sql`
    select greatest(${pendingUnits(sql`p`)}, coalesce(p.unexplained_units, 0)
        - greatest(${allArrivedUnits(sql`p`)} - coalesce(p.known_arrived_units, ${allArrivedUnits(sql`p`)}), 0)) as units,
      p.told_other_units as told_units
    from payments p where p.company_id = ${companyId} and p.id = ${id}`)
  const units = BigInt(row.units)
  return isMoreThanTold(units, row.toldUnits === null ? 0n : BigInt(row.toldUnits), dustUnits) ? units : 0n
}

/** A mail tells of so much other money. */
export const noteOtherTold = (tx: Tx, { companyId, id }: PaymentKey, units: bigint): Promise<number> =>
  tx.run(sql`
    update payments set told_other_units = ${units} where company_id = ${companyId} and id = ${id}`)

/** A person is told of all that is on its way, or returned it: only what comes after that is other money. */
export const resetUnexplained = (tx: Tx, { companyId, id }: PaymentKey): Promise<number> =>
  tx.run(sql`
    update payments p set pending_peak_units = ${pendingUnits(sql`p`)}, unexplained_units = 0,
      known_way_units = ${pendingUnits(sql`p`)}, known_arrived_units = ${allArrivedUnits(sql`p`)}, told_other_units = null
    where p.company_id = ${companyId} and p.id = ${id}`)

/** A person is told of what came since the last mail. What has been on its way at most, he knows of. */
export const noteTold = (tx: Tx, { companyId, id }: PaymentKey): Promise<number> =>
  tx.run(sql`
    update payments p set unexplained_units = 0,
      pending_peak_units = greatest(${pendingUnits(sql`p`)}, coalesce(p.pending_peak_units, 0)),
      known_way_units = greatest(${pendingUnits(sql`p`)}, coalesce(p.pending_peak_units, 0))
    where p.company_id = ${companyId} and p.id = ${id}`)

/**
 * A person returned what its provider blocks: all that is on its way, or the amounts that it named. A block of all is
 * about what was told then: money that comes later is other money. So it is where the provider never told an amount:
 * it is noted as having told 0, and whatever it tells next contains nothing that was frozen before.
 */
export async function returnBlock(
  tx: Tx,
  key: PaymentKey,
  { isWhole, now }: { isWhole: boolean; now: Date },
): Promise<void> {
  const { companyId, id } = key
  await tx.one(sql`select id from payments where company_id = ${companyId} and id = ${id} for update`)
  await tx.run(sql`
    update payments set told_units = 0, pending_at = ${now}
    where company_id = ${companyId} and id = ${id} and pending_units = 0 and pending_at is null`)
  if (isWhole) {
    const way = await findWay(tx, key)
    await updateTold(tx, key, toldOf(way))
    await tx.run(sql`
      update payments set frozen_gone_units = ${goneAfterReturn(way)?.toString() ?? null}::numeric
      where company_id = ${companyId} and id = ${id}`)
  }
  await resetUnexplained(tx, key)
}
