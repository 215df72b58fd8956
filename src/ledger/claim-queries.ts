import { type Queryable, sql, type Tx } from '../db/db.ts'

export type TransactionClaim = {
  companyId: string
  network: number
  txHash: string
  /** Id of the refund or settlement. */
  causeId: string
  /** Where it pays to; one transaction may pay several, each to an address of its own. */
  toAddress: string
}

/** Lets either one transaction be named for it or its own payout be signed, until the database transaction ends. */
export const lockClaims = (tx: Tx, causeId: string): Promise<number> =>
  tx.run(sql`select pg_advisory_xact_lock(hashtextextended(${`claims ${causeId}`}, 0))`)

/**
 * Reserves what a named transaction brings to an address for one refund or settlement, and locks the claim until the
 * database transaction ends.
 * @returns `made`: by this call; `kept`: this refund or settlement had it before; `taken`: another one has it, and this
 * database transaction must not commit
 */
export async function claimTransaction(
  tx: Tx,
  { network, txHash, causeId, toAddress }: TransactionClaim,
): Promise<'made' | 'kept' | 'taken'> {
  await lockClaims(tx, causeId)
  // in PostgreSQL a row that was just inserted has no xmax, an existing one does
  const row = await tx.one<{ causeId: string; made: boolean }>(sql`
    insert into claimed_transfers as c (network, tx_hash, to_address, cause_id)
    values (${network}, ${txHash}, ${toAddress.toLowerCase()}, ${causeId})
    on conflict (network, tx_hash, to_address) do update set cause_id = c.cause_id
    returning cause_id, xmax = 0 as made`)
  if (row.causeId !== causeId || (await isClaimedOlder(tx, { network, txHash, causeId }))) return 'taken'
  return row.made ? 'made' : 'kept'
}

/** Whether a node of an earlier version claimed all of it; if none did, keeps those nodes from claiming it. */
async function isClaimedOlder(
  tx: Tx,
  { network, txHash, causeId }: Omit<TransactionClaim, 'companyId' | 'toAddress'>,
): Promise<boolean> {
  await tx.run(sql`
    insert into claimed_transactions (network, tx_hash, cause_id) values (${network}, ${txHash}, ${causeId})
    on conflict do nothing`)
  const older = await tx.maybe(sql`
    select 1 from claimed_transactions c
    where c.network = ${network} and c.tx_hash = ${txHash} and not exists (select 1 from claimed_transfers t
      where t.network = c.network and t.tx_hash = c.tx_hash and t.cause_id = c.cause_id)`)
  return older !== undefined
}

/**
 * Releases a wrong transaction, so that it can prove something else; never one that its refund or settlement follows.
 * Locks no claim of another one: each of a batch locks its own while it is named.
 */
export async function releaseTransaction(tx: Tx, claim: Omit<TransactionClaim, 'toAddress'>): Promise<void> {
  const { companyId, network, txHash, causeId } = claim
  const mine = sql`network = ${network} and tx_hash = ${txHash} and cause_id = ${causeId}`
  // lock first: the next statement then sees what earlier lock holders wrote
  await tx.run(sql`select 1 from claimed_transfers where ${mine} for update`)
  const { followed } = await tx.one<{ followed: boolean }>(sql`
    select exists (select 1 from refunds where company_id = ${companyId} and id = ${causeId} and tx_hash = ${txHash})
      or exists (select 1 from settlements where company_id = ${companyId} and id = ${causeId} and tx_hash = ${txHash})
      as followed`)
  if (followed) return
  // a trigger gives it to another one that has a part of it, which must not be releasing that part
  await tx.run(sql`select pg_advisory_xact_lock(hashtextextended(${`release ${network} ${txHash}`}, 0))`)
  await tx.run(sql`delete from claimed_transfers where ${mine}`)
  await tx.run(sql`delete from claimed_transactions where ${mine}`)
}

/**
 * Releases every transaction that was named for a refund or settlement, except the one that it follows, so that each
 * can be named for another.
 */
export async function releaseClaims(tx: Tx, claims: Pick<TransactionClaim, 'companyId' | 'network' | 'causeId'>) {
  for (const txHash of await listClaimed(tx, claims)) await releaseTransaction(tx, { ...claims, txHash })
}

/** Whether a person named what this transaction brings to the address for another refund or settlement. */
export async function isClaimedByOther(
  q: Queryable,
  { network, txHash, causeId, toAddress }: Omit<TransactionClaim, 'companyId'>,
): Promise<boolean> {
  const row = await q.maybe(sql`
    select 1 from claimed_transfers where network = ${network} and tx_hash = ${txHash}
      and to_address = ${toAddress.toLowerCase()} and cause_id <> ${causeId}
    union all
    select 1 from claimed_transactions c where c.network = ${network} and c.tx_hash = ${txHash} and c.cause_id <> ${causeId}
      and not exists (select 1 from claimed_transfers t
        where t.network = c.network and t.tx_hash = c.tx_hash and t.cause_id = c.cause_id) limit 1`)
  return row !== undefined
}

/** Whether another settlement to this address has this transaction, although nothing is claimed for it any more. */
export async function isSettlementTransaction(
  q: Queryable,
  { network, txHash, causeId, toAddress }: Omit<TransactionClaim, 'companyId'>,
): Promise<boolean> {
  const row = await q.maybe(sql`
    select 1 from settlements where network = ${network} and tx_hash = ${txHash}
      and lower(address) = ${toAddress.toLowerCase()} and id <> ${causeId}`)
  return row !== undefined
}

/** The transactions that a person has named, or is naming, as the one that paid this refund or settlement. */
async function listClaimed(
  q: Queryable,
  { network, causeId }: { network: number; causeId: string },
): Promise<string[]> {
  const rows = await q.many<{ txHash: string }>(sql`
    select tx_hash from claimed_transfers where network = ${network} and cause_id = ${causeId}
    union select tx_hash from claimed_transactions where network = ${network} and cause_id = ${causeId}
    order by tx_hash`)
  return rows.map(({ txHash }) => txHash)
}

/**
 * Those of them that are not its payout's own. What the service signed for it, or found it in, changes nothing of it:
 * its token takes one of them. A payout that ended is paid by none, unless a person names it.
 */
export async function listClaimedForeign(
  q: Queryable,
  { network, causeId }: { network: number; causeId: string },
): Promise<string[]> {
  const rows = await q.many<{ txHash: string }>(sql`
    with own as (
      select p.tx_hash, p.id from chain_payouts p
      where p.id = ${causeId} and p.chain_id = ${network} and p.status <> 'failed'
    )
    select tx_hash from (
      select tx_hash from claimed_transfers where network = ${network} and cause_id = ${causeId}
      union select tx_hash from claimed_transactions where network = ${network} and cause_id = ${causeId}
    ) claimed
    where not exists (select 1 from own where own.tx_hash = claimed.tx_hash)
      and not exists (select 1 from own join chain_payout_transactions t on t.payout_id = own.id
        where t.tx_hash = claimed.tx_hash)
    order by tx_hash`)
  return rows.map(({ txHash }) => txHash)
}

/**
 * Whether a person named this transaction as refunds and settlements that are this amount together, and the checks
 * passed.
 */
export async function isTransactionFollowed(
  q: Queryable,
  { network, txHash, units }: { network: number; txHash: string; units: string },
): Promise<boolean> {
  const { followed } = await q.one<{ followed: boolean }>(sql`
    with causes as (
      select cause_id from claimed_transfers where network = ${network} and tx_hash = ${txHash}
      union select cause_id from claimed_transactions where network = ${network} and tx_hash = ${txHash}
    ), paid as (
      select r.units from causes c join refunds r on r.id = c.cause_id and r.tx_hash = ${txHash} where r.by_hand
      union all
      select coalesce(s.left_units, s.units) from causes c
      join settlements s on s.id = c.cause_id and s.tx_hash = ${txHash} where s.by_hand
    )
    select coalesce(sum(units), 0) = ${units}::numeric as followed from paid`)
  return followed
}
