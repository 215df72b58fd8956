import { type Queryable, type Sql, sql, type Tx } from '../../db/db.ts'
import type { PollTopic } from '../../db/polling.ts'
import { SET_BY_RESTORE } from '../../db/restored-queries.ts'

export const SETTLEMENT_STATUSES = ['open', 'approved', 'paid', 'cancelled'] as const
export type SettlementStatus = (typeof SETTLEMENT_STATUSES)[number]

/** One transfer of a company’s balance to its address. */
export type Settlement = {
  companyId: string
  id: string
  status: SettlementStatus
  /** USDC. */
  units: bigint
  address: string
  network: number
  txHash: string | null
  /** A person sent it and named the transaction. */
  byHand: boolean
  providerStatus: string | null
  checks: number
  nextCheckAt: Date | null
  /** When the last check passed and it was handed to its chain, or to the person who sends it. */
  releasedAt: Date | null
  /** Since when a person is asked to send it: the service does not send it any more. */
  handedOverAt: Date | null
  createdBy: string
  approvedBy: string | null
  /** The first of the two approvers. */
  firstApprovedBy: string | null
  createdAt: Date
  updatedAt: Date
  paidAt: Date | null
  /** What left before a restore, where it is another amount than `units`. */
  leftUnits: bigint | null
  /** And where it went, if not to `address`. */
  leftTo: string | null
  /** What was owed beyond `units` when it was made; null: an earlier version wrote it. */
  heldBackUnits: bigint | null
  /** Of the company's address, when the settlement was made; null: an earlier version wrote it. */
  addressSetAt: Date | null
  /** The name of the person who wrote it, if this one is not finished. */
  addressSetBy: string | null
  /** Of the last payout that left before this one, if this one is not finished. */
  lastTo: string | null
  lastNetwork: number | null
  /** It has its address from a backup, and is not finished: it may have left since. */
  isOfBackup: boolean
}

type Units = 'units' | 'leftUnits' | 'heldBackUnits'
type Row = Omit<Settlement, Units> & { units: string; leftUnits: string | null; heldBackUnits: string | null }

/** One lane per chain, because the chain's signer pays. */
export const SETTLEMENT_POLLS: PollTopic = {
  kind: 'settlement',
  table: { table: sql`settlements`, lane: sql`t.network::text` },
}

/** It waits for a person: to be approved, or to be paid. */
export const IS_WAITING = sql`status in ('open', 'approved')`

/** Of an unfinished one, of which a company has at most one. */
const lastPayout = (column: Sql): Sql => sql`case when status in ('open', 'approved') then (
    select ${column} from settlements p
    where p.company_id = settlements.company_id and p.status = 'paid' and p.left_units is distinct from 0
    order by p.created_at desc, p.id desc limit 1) end`

/** Its address is the one of a backup: it is older than the restore, or was made before the company's word since. */
const IS_OF_BACKUP = sql`(coalesce(settlements.created_at < (select restored_at from installation), false)
    or settlements.address_set_by is not distinct from ${SET_BY_RESTORE})`

const COLUMNS = sql`company_id, id, status, units, address, network, tx_hash, by_hand, last_words as provider_status, checks, next_check_at,
  released_at, handed_over_at, created_by, approved_by, first_approved_by, created_at, updated_at, paid_at, left_units, left_to, address_set_at,
  owed_units - own_units - undecided_units - kept_units - units as held_back_units,
  case when status in ('open', 'approved') then (
    select first_name || ' ' || last_name from users where id = substr(address_set_by, 6)) end as address_set_by,
  ${lastPayout(sql`coalesce(p.left_to, p.address)`)} as last_to, ${lastPayout(sql`p.network`)} as last_network,
  status in ('open', 'approved') and ${IS_OF_BACKUP} as is_of_backup`

const toSettlement = (row: Row): Settlement => ({
  ...row,
  units: BigInt(row.units),
  leftUnits: row.leftUnits === null ? null : BigInt(row.leftUnits),
  heldBackUnits: row.heldBackUnits === null ? null : BigInt(row.heldBackUnits),
})

export type SettlementTarget = {
  settlementAddress: string | null
  settlementNetwork: number | null
  settlementSetAt: Date | null
  settlementSetBy: string | null
}

/** The company's address; locks it, so that two settlements cannot spend the same balance. */
export const lockSettlementTarget = (tx: Tx, companyId: string): Promise<SettlementTarget | undefined> =>
  tx.maybe(sql`
    select settlement_address, settlement_network, settlement_set_at, settlement_set_by
    from companies where id = ${companyId} for update`)

/**
 * `today`: the company's address; `isUnconfirmed`: nobody of the company has confirmed it since a restore; `isOther`:
 * the settlement has its address from the backup, and the company's is another one.
 */
export const findRestoredTarget = (
  q: Queryable,
  { companyId, id }: Pick<Settlement, 'companyId' | 'id'>,
): Promise<{ today: string | null; isUnconfirmed: boolean; isOther: boolean }> =>
  q.one(sql`
    select c.settlement_address as today, c.settlement_set_by is not distinct from ${SET_BY_RESTORE} as is_unconfirmed,
      ${IS_OF_BACKUP}
        and lower(c.settlement_address) is distinct from lower(settlements.address) as is_other
    from settlements join companies c on c.id = company_id
    where company_id = ${companyId} and settlements.id = ${id}`)

export const existsCompany = async (q: Queryable, companyId: string): Promise<boolean> =>
  (await q.maybe(sql`select 1 from companies where id = ${companyId}`)) !== undefined

export async function findCompanyCreatedAt(q: Queryable, companyId: string): Promise<Date> {
  const { createdAt } = await q.one<{ createdAt: Date }>(sql`select created_at from companies where id = ${companyId}`)
  return createdAt
}

/** How a settlement's amount was computed: what the books owed, minus what was not paid out. USDC units. */
export type SettlementBasis = { owed: bigint; own: bigint; undecided: bigint; kept: bigint }

/** The bookings that a balance contains: all before an id, and of the later ones those listed. */
export type Coverage = { before: string; last: readonly string[] }

/** Who wrote the company's address, and when. */
export type AddressSet = { at: Date | null; by: string | null }

export type NewSettlement = Pick<
  Settlement,
  'companyId' | 'id' | 'units' | 'address' | 'network' | 'createdBy' | 'createdAt'
> & { basis: SettlementBasis; covers: Coverage; set: AddressSet }

export async function insertSettlement(tx: Tx, settlement: NewSettlement): Promise<void> {
  const { basis, covers, set } = settlement
  await tx.run(sql`
    insert into settlements (company_id, id, status, units, address, network, created_by, created_at, updated_at,
      covers_before, covers_last, owed_units, own_units, undecided_units, kept_units, address_set_at, address_set_by)
    values (${settlement.companyId}, ${settlement.id}, 'open', ${settlement.units}, ${settlement.address},
      ${settlement.network}, ${settlement.createdBy}, ${settlement.createdAt}, ${settlement.createdAt},
      ${covers.before}, ${covers.last}::text[], ${basis.owed}, ${basis.own}, ${basis.undecided}, ${basis.kept},
      ${set.at}, ${set.by})`)
}

/** Number of settlements ever made, whatever became of them. */
export async function countSettlements(q: Queryable, companyId: string): Promise<number> {
  const { count } = await q.one<{ count: bigint }>(
    sql`select count(*) as count from settlements where company_id = ${companyId}`,
  )
  return Number(count)
}

/** The company’s unfinished settlement; there is at most one. */
export async function findUnfinishedSettlement(q: Queryable, companyId: string): Promise<Settlement | undefined> {
  const row = await q.maybe<Row>(sql`
    select ${COLUMNS} from settlements where company_id = ${companyId} and ${IS_WAITING}`)
  return row && toSettlement(row)
}

export async function findSettlement(q: Queryable, id: string): Promise<Settlement | undefined> {
  const row = await q.maybe<Row>(sql`select ${COLUMNS} from settlements where id = ${id}`)
  return row && toSettlement(row)
}

export async function lockSettlement(tx: Tx, companyId: string, id: string): Promise<Settlement | undefined> {
  const row = await tx.maybe<Row>(sql`
    select ${COLUMNS} from settlements where company_id = ${companyId} and id = ${id} for update`)
  return row && toSettlement(row)
}

export async function listSettlements(
  q: Queryable,
  filter: {
    companyIds: readonly string[] | null
    status: SettlementStatus | 'waiting' | null
    limit: number
    offset: number
  },
): Promise<Settlement[]> {
  const { status } = filter
  const ofStatus = status === 'waiting' ? IS_WAITING : sql`(${status}::text is null or status = ${status})`
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from settlements
    where (${filter.companyIds === null} or company_id = any(${filter.companyIds ?? []}))
      and ${ofStatus}
    order by created_at desc, id desc limit ${filter.limit} offset ${filter.offset}`)
  return rows.map(toSettlement)
}

export type SettlementChange = {
  status: SettlementStatus
  approvedBy?: string
  txHash?: string | null
  byHand?: boolean
  providerStatus?: string
  handedOverAt?: Date
  nextCheckAt: Date | null
}

export async function updateSettlement(
  tx: Tx,
  settlement: Settlement,
  change: SettlementChange,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update settlements set status = ${change.status}, approved_by = coalesce(${change.approvedBy ?? null}, approved_by),
      tx_hash = coalesce(${change.txHash ?? null}, tx_hash), by_hand = coalesce(${change.byHand ?? null}, by_hand),
      last_words = coalesce(${change.providerStatus ?? null}, last_words), next_check_at = ${change.nextCheckAt}, updated_at = ${now},
      handed_over_at = coalesce(handed_over_at, ${change.handedOverAt ?? null}),
      paid_at = case when ${change.status} = 'paid' then ${now}::timestamptz else paid_at end
    where company_id = ${settlement.companyId} and id = ${settlement.id}`)
}

/** Something else left, before the database was restored: it takes nothing of today's limit. */
export const updateSettlementLeft = (
  tx: Tx,
  { companyId, id }: Settlement,
  left: { units: bigint | null; to: string | null },
): Promise<number> =>
  tx.run(sql`
    update settlements set left_units = ${left.units}, left_to = ${left.to}, released_at = null
    where company_id = ${companyId} and id = ${id}`)

/** Forgets the transaction that a person named. */
export const updateSettlementUnnamed = (tx: Tx, { companyId, id }: Settlement): Promise<number> =>
  tx.run(sql`update settlements set tx_hash = null, by_hand = false where company_id = ${companyId} and id = ${id}`)

/** Has one whose payout was refused polled again. */
export const wakeSettlementUnpolled = (tx: Tx, { companyId, id }: Settlement, nextCheckAt: Date): Promise<number> =>
  tx.run(sql`
    update settlements set next_check_at = ${nextCheckAt}
    where company_id = ${companyId} and id = ${id} and status = 'approved' and next_check_at is null`)

/** @param now null: nothing was signed that can pay it, so it does not count in the day's sum */
export const updateSettlementReleased = (
  q: Queryable,
  { companyId, id }: Settlement,
  now: Date | null,
): Promise<number> =>
  q.run(sql`
    update settlements set released_at = ${now}
    where company_id = ${companyId} and id = ${id} and status = 'approved'`)

/** Records the first of two approvals; null: one is enough. */
export const updateSettlementFirstApproved = (
  tx: Tx,
  { companyId, id }: Settlement,
  by: string | null,
): Promise<number> =>
  tx.run(sql`update settlements set first_approved_by = ${by} where company_id = ${companyId} and id = ${id}`)

/**
 * USDC units of other settlements of the company that one person approved alone and that left since then, or have yet
 * to leave, for each such person, named as `user:<id>`.
 */
export async function listApprovedAlone(
  q: Queryable,
  { companyId, id }: Settlement,
  since: Date,
): Promise<{ by: string; units: bigint }[]> {
  // one that had left before a restore has no time of release
  const rows = await q.many<{ by: string; units: string }>(sql`
    select approved_by as by, sum(units) as units from settlements
    where company_id = ${companyId} and id <> ${id} and approved_by is not null and first_approved_by is null
      and (status = 'approved' or status = 'paid' and coalesce(released_at, updated_at) > ${since})
    group by approved_by`)
  return rows.map(({ by, units }) => ({ by, units: BigInt(units) }))
}

/**
 * USDC units of other settlements released since then, all companies together; locks, so that two concurrent releases
 * add up.
 */
export async function lockReleased(tx: Tx, { id }: Settlement, since: Date): Promise<bigint> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('settlements.day-limit'))`)
  return sumReleased(tx, since, id)
}

/** USDC units released since then, all companies together, without one settlement. */
export async function sumReleased(q: Queryable, since: Date, except: string | null = null): Promise<bigint> {
  const { units } = await q.one<{ units: string }>(sql`
    select coalesce(sum(units), 0) as units from settlements
    where released_at > ${since} and status <> 'cancelled' and id is distinct from ${except}`)
  return BigInt(units)
}
