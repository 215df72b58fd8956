import { arrivedUnits, frozenUnits, pendingUnits } from '../../companies/order-money-queries.ts'
import { type Queryable, sql, type Tx } from '../../db/db.ts'
import { goneAfterReturn, onItsWay, toldOf, type Way } from './on-its-way.ts'

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

/** What is known of payment `p`. */
const KNOWN = sql`(${arrivedUnits(sql`p`)} + ${pendingUnits(sql`p`)})`

/** What is known now is what a person was told of, or returned: only more than that is other money. */
export const resetKnown = (tx: Tx, { companyId, id }: PaymentKey): Promise<number> =>
  tx.run(sql`update payments p set known_units = ${KNOWN} where p.company_id = ${companyId} and p.id = ${id}`)

/** @returns whether more is known than at any time since */
export const noteKnown = async (tx: Tx, { companyId, id }: PaymentKey): Promise<boolean> =>
  (await tx.run(sql`
    update payments p set known_units = ${KNOWN}
    where p.company_id = ${companyId} and p.id = ${id} and ${KNOWN} > coalesce(p.known_units, 0)`)) > 0

/**
 * Whether anything was on its way since that was neither received nor recorded: its provider may block that. Dust is
 * none: less than a provider records is the rounding of a coin.
 */
export async function hasOther(q: Queryable, { companyId, id }: PaymentKey, dustUnits: bigint): Promise<boolean> {
  const { other } = await q.one<{ other: boolean }>(sql`
    select greatest(p.known_units, ${KNOWN}) - ${arrivedUnits(sql`p`)} >= greatest(${dustUnits}::numeric, 1) as other
    from payments p where p.company_id = ${companyId} and p.id = ${id}`)
  return other
}

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
  await resetKnown(tx, key)
}
