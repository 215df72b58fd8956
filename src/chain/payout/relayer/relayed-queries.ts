import { type Queryable, sql, type Tx } from '../../../db/db.ts'
import type { Hex } from '../../endpoints/rpc.ts'
import { rowsWhere } from '../state/states.ts'
import type { Authorization } from '../usdc-token.ts'

export type RelayedPayment = Authorization & {
  id: string
  /** What it pays, as the caller names it: one authorization at a time. */
  reference: string
  chainId: number
  signature: Hex
  token: Hex
}

const IS_OPEN = rowsWhere('isOpen')

/** A payer's own authorization, to be submitted by our relayer. */
export const insertRelayed = (q: Queryable, payment: RelayedPayment, now: Date): Promise<number> =>
  q.run(sql`
    insert into chain_payouts (id, kind, chain_id, from_address, to_address, units, authorization_nonce, token_address, status, signature,
      valid_after, valid_before, reference, words, created_at, updated_at)
    values (${payment.id}, 'payment', ${payment.chainId}, ${payment.from.toLowerCase()}, ${payment.to.toLowerCase()},
      ${payment.units}, ${payment.nonce.toLowerCase()}, ${payment.token}, 'reserved', ${payment.signature},
      ${payment.validAfter ?? 0n}, ${payment.validBefore}, ${payment.reference}, 'signed by the payer', ${now}, ${now})
    on conflict do nothing`)

/** Two authorizations for the same are stored one after the other, on whatever node. */
export const lockReference = (tx: Tx, reference: string): Promise<number> =>
  tx.run(sql`select pg_advisory_xact_lock(hashtextextended(${`relayed ${reference}`}, 0))`)

/**
 * When the last other authorization for the same runs out, in the chain's seconds; null: all of them have ended, or ran
 * out before `since`. One that is in a block counts only for its own amount: the order does not ask for that again once
 * it has counted it, and what it asks for beyond is another amount.
 */
export async function findUnderWay(
  q: Queryable,
  {
    id,
    reference,
    chainId,
    to,
    units,
  }: Pick<RelayedPayment, 'reference' | 'chainId' | 'to' | 'units'> & { id: string | null },
  since: bigint,
): Promise<bigint | null> {
  const { last } = await q.one<{ last: bigint | null }>(sql`
    select max(valid_before) as last from (
      select id, status, units, valid_before from chain_payouts where reference = ${reference}
      union all
      select id, status, units, valid_before from chain_payouts
      where reference is null and kind = 'payment' and ${IS_OPEN}
        and chain_id = ${chainId} and to_address = ${to.toLowerCase()} and units = ${units}
    ) one
    where id is distinct from ${id}::text and valid_before > ${since} and status <> 'failed'
      and (status not in ('mined', 'final') or units = ${units})`)
  return last
}

/** Unfinished ones that no worker holds. */
export async function listRelayed(q: Queryable, chainId: number, now: Date, limit: number): Promise<string[]> {
  const rows = await q.many<{ id: string }>(sql`
    select id from chain_payouts
    where chain_id = ${chainId} and kind = 'payment' and ${IS_OPEN}
      and (lease_until is null or lease_until <= ${now})
    order by updated_at limit ${limit}`)
  return rows.map(({ id }) => id)
}

/** What it pays; null: an earlier version stored it. */
export async function findReference(q: Queryable, id: string): Promise<string | null> {
  const { reference } = await q.one<{ reference: string | null }>(sql`
    select reference from chain_payouts where id = ${id}`)
  return reference
}

/**
 * Ends what was signed for this and never submitted, also while a worker looks at it: whatever that would sign fails by
 * the lease's number. The signature is forgotten.
 */
export const updateRelayedEnded = (tx: Tx, reference: string, providerStatus: string, now: Date): Promise<number> =>
  tx.run(sql`
    update chain_payouts p set status = 'failed', words = ${providerStatus}, signature = null, valid_before = null,
      relayer_address = null, relayer_nonce = null, updated_at = ${now}, lease_epoch = lease_epoch + 1
    where reference = ${reference} and kind = 'payment' and status = 'reserved' and used_at is null
      and present_tx_hash is null and not exists (select from chain_payout_transactions where payout_id = p.id)`)

/** When the last one for this that may be on its way runs out, in the chain's seconds; null: none is. */
export async function findSubmitted(q: Queryable, reference: string): Promise<bigint | null> {
  const { last } = await q.one<{ last: bigint | null }>(sql`
    select max(valid_before) as last from chain_payouts
    where reference = ${reference} and kind = 'payment' and ${IS_OPEN}`)
  return last
}
