import { type Queryable, sql, type Tx } from '../../db/db.ts'
import type { Hex } from '../endpoints/rpc.ts'
import { type PayoutStatus, rowsWhere } from './state/states.ts'

/** One payment out of our own wallet; addresses in lower case. */
export type Payout = {
  id: string
  /** `payment`: a payer's own money; the others are ours. `withdrawn`: before it began, so that none ever does. */
  kind: 'payout' | 'sweep' | 'payment' | 'withdrawn'
  chainId: number
  fromAddress: Hex
  toAddress: Hex
  units: bigint
  authorizationNonce: Hex
  /** The contract in which it was signed or is to be. Null: an earlier version stored it, and nothing says which. */
  tokenAddress: Hex | null
  status: PayoutStatus
  signature: Hex | null
  /** In the chain's seconds. */
  validAfter: bigint
  validBefore: bigint | null
  relayerAddress: Hex | null
  relayerNonce: bigint | null
  txHash: string | null
  /** The transaction that was signed last. Null: an earlier version signed all of them, or none is signed. */
  presentTxHash: string | null
  providerStatus: string
  /** How often the token refused for a temporary reason, before it was signed or in a block. */
  refusals: number
  /**
   * Since when the token says that its authorization was used, but not by a transaction that pays it; once it ended,
   * also since when the transaction that was named for it is final.
   */
  usedAt: Date | null
  /**
   * What its authorization moved instead, finally, as all nodes say; 0: it was cancelled. Null: nothing, or it is not
   * certain yet.
   */
  spentUnits: bigint | null
  /** When a reorganisation undid it after it was final. */
  reopenedAt: Date | null
  /** When a step last wrote; claiming it does not. */
  updatedAt: Date
  leaseEpoch: bigint
}

type Row = Omit<Payout, 'units' | 'spentUnits'> & { units: string; spentUnits: string | null }

const COLUMNS = sql`id, kind, chain_id, from_address, to_address, units, authorization_nonce, token_address, status, signature, valid_after,
  valid_before, relayer_address, relayer_nonce, tx_hash, present_tx_hash, words as provider_status, refusals, used_at, spent_units, reopened_at, updated_at, lease_epoch`

const IS_OPEN = rowsWhere('isOpen')

const NO_WALLET = '0x0000000000000000000000000000000000000000'

const toPayout = (row: Row): Payout => ({
  ...row,
  units: BigInt(row.units),
  spentUnits: row.spentUnits === null ? null : BigInt(row.spentUnits),
})

export type NewPayout = Pick<
  Payout,
  | 'id'
  | 'chainId'
  | 'fromAddress'
  | 'toAddress'
  | 'units'
  | 'authorizationNonce'
  | 'tokenAddress'
  | 'status'
  | 'providerStatus'
>

/** @returns 1 when it is new, 0 when the id is known */
export const insertPayout = (q: Queryable, payout: NewPayout, now: Date): Promise<number> =>
  q.run(sql`
    insert into chain_payouts (id, chain_id, from_address, to_address, units, authorization_nonce, token_address, status, words,
      created_at, updated_at)
    values (${payout.id}, ${payout.chainId}, ${payout.fromAddress}, ${payout.toAddress}, ${payout.units},
      ${payout.authorizationNonce}, ${payout.tokenAddress}, ${payout.status}, ${payout.providerStatus}, ${now}, ${now})
    on conflict do nothing`)

export async function findPayout(q: Queryable, id: string): Promise<Payout | undefined> {
  const row = await q.maybe<Row>(sql`select ${COLUMNS} from chain_payouts where id = ${id}`)
  return row && toPayout(row)
}

/**
 * Those of these ids whose payout on this chain is final or signed here: none of them can have left there unknown. What
 * left before a restore is known by its authorization (`listNamedLeft`).
 */
export async function listAccountedPayouts(
  q: Queryable,
  chainId: number,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await q.many<{ id: string }>(sql`
    select id from chain_payouts where id = any(${[...ids]}::text[]) and chain_id = ${chainId}
      and ${rowsWhere('isAccounted')}`)
  return new Set(rows.map(({ id }) => id))
}

/** Whether a payout ended by this transaction. */
export async function isPayoutTransaction(q: Queryable, chainId: number, txHash: string): Promise<boolean> {
  const row = await q.maybe(sql`
    select 1 from chain_payouts where chain_id = ${chainId} and tx_hash = ${txHash} and status in ('final', 'failed')`)
  return row !== undefined
}

/**
 * Whether the refund or settlement of this nonce cannot be settled by what left on a chain: it was dropped before
 * anything was signed for it here, or it was paid on another chain.
 */
export async function isPayoutDropped(q: Queryable, chainId: number, nonce: Hex): Promise<boolean> {
  const row = await q.maybe(sql`
    select 1 from chain_payouts where authorization_nonce = ${nonce} and kind in ('payout', 'withdrawn')
      and (${rowsWhere('isDropped')} or status in ('final', 'failed') and tx_hash is not null and chain_id <> ${chainId})`)
  return row !== undefined
}

export type Period = { after: Date; before: Date }

/** Payouts of all wallets, or sweeps, that became final in this period. */
export async function listFinalPayouts(
  q: Queryable,
  chainId: number,
  { after, before, kind }: Period & { kind: 'payout' | 'sweep' },
): Promise<Payout[]> {
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from chain_payouts where chain_id = ${chainId} and kind = ${kind} and ${rowsWhere('isRechecked')}
      and updated_at between ${after} and ${before} order by id`)
  return rows.map(toPayout)
}

/**
 * Sweeps that were given up in this period: what was signed for them may be in a block after all, after a
 * reorganisation.
 */
export async function listLostSweeps(q: Queryable, chainId: number, { after, before }: Period): Promise<Payout[]> {
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from chain_payouts where chain_id = ${chainId} and kind = 'sweep' and status = 'failed'
      and updated_at between ${after} and ${before} order by id`)
  return rows.map(toPayout)
}

/** Notes in which token a final payout left; when it became final stays. */
export const updateFinalToken = (q: Queryable, id: string, token: Hex): Promise<number> =>
  q.run(sql`update chain_payouts set token_address = ${token} where id = ${id} and status = 'final'`)

/**
 * Its transaction left the chain after it was final: starts it over, because another payout may have its account nonce
 * by now. A sweep that was given up since then is followed again. @returns 0 when it has another status
 */
export const updatePayoutReopened = (
  q: Queryable,
  { id, status }: { id: string; status: 'final' | 'failed' },
  providerStatus: string,
  now: Date,
): Promise<number> =>
  q.run(sql`
    update chain_payouts set status = 'reserved', words = ${providerStatus}, relayer_address = null, relayer_nonce = null,
      reopened_at = ${now}, updated_at = ${now}
    where id = ${id} and status = ${status}`)

/** The wallet and the token in which a node pays; what another has to pay is idle for longer before it looks. */
export type OwnPayouts = { wallet: string | null; token: Hex; since: Date; othersSince: Date }

/** Payouts of all wallets that a reorganisation undid, and that are unfinished and idle since then. */
export async function listIdlePayouts(q: Queryable, chainId: number, own: OwnPayouts): Promise<string[]> {
  const { wallet, token, since, othersSince } = own
  const rows = await q.many<{ id: string }>(sql`
    select id from chain_payouts where chain_id = ${chainId} and kind = 'payout'
      and reopened_at is not null and ${IS_OPEN}
      and updated_at < case when from_address = ${wallet} and coalesce(token_address, ${token}) = ${token}
        then ${since}::timestamptz else ${othersSince}::timestamptz end
    order by updated_at`)
  return rows.map(({ id }) => id)
}

/** Claims an unfinished payout; undefined while another worker has it. */
export async function claimPayout(q: Queryable, id: string, now: Date, until: Date): Promise<Payout | undefined> {
  const row = await q.maybe<Row>(sql`
    update chain_payouts set lease_until = ${until}, lease_epoch = lease_epoch + 1
    where id = ${id} and ${IS_OPEN} and (lease_until is null or lease_until <= ${now})
    returning ${COLUMNS}`)
  return row && toPayout(row)
}

export const releasePayout = (q: Queryable, { id, leaseEpoch }: Payout): Promise<number> =>
  q.run(sql`update chain_payouts set lease_until = null where id = ${id} and lease_epoch = ${leaseEpoch}`)

/** Leases of unfinished payouts that end later than `latest` end at `until`. @returns how many */
export const shortenPayoutLeases = (
  q: Queryable,
  { latest, until, limit }: { latest: Date; until: Date; limit: number },
): Promise<number> =>
  q.run(sql`
    update chain_payouts set lease_until = ${until} where id in (
      select id from chain_payouts where ${IS_OPEN} and lease_until > ${latest} limit ${limit} for update skip locked)`)

/** Without a destination where none was known yet. */
export type WithdrawnPayout = Pick<Payout, 'id' | 'chainId' | 'units' | 'authorizationNonce'> & { to: string | null }

/** Keeps a payout from being started. @returns 1 when it is new, 0 when the id is known */
export const insertWithdrawn = (
  q: Queryable,
  { id, chainId, to, units, authorizationNonce }: WithdrawnPayout,
  providerStatus: string,
  now: Date,
): Promise<number> =>
  q.run(sql`
    insert into chain_payouts (id, kind, chain_id, from_address, to_address, units, authorization_nonce, status, words,
      created_at, updated_at)
    values (${id}, 'withdrawn', ${chainId}, ${NO_WALLET}, ${(to ?? NO_WALLET).toLowerCase()}, ${units}, ${authorizationNonce}, 'failed',
      ${providerStatus}, ${now}, ${now})
    on conflict do nothing`)

/** Why it ends: a person takes it back (rejects a refund, also where something else left), or names what paid it. */
export type Withdrawal = {
  by: 'canBeTakenBack' | 'canBeRejected' | 'canBeNamed'
  providerStatus: string
  txHash?: string
  left?: { from: Hex; nonce: Hex; token: Hex }
}

/**
 * Ends a payout for which nothing is signed, also while a worker looks at it: whatever that would write, or announce
 * before it signs, fails by the lease's number. `txHash`: a final transaction of our own wallet paid it, which left
 * before a restore, under the authorization `left`. Without one, what was stored before says nothing any more.
 * @returns whether it will never be paid
 */
export async function updatePayoutWithdrawn(
  q: Queryable,
  id: string,
  { by, providerStatus, txHash, left }: Withdrawal,
  now: Date,
): Promise<boolean> {
  const done = await q.run(sql`
    update chain_payouts set status = 'failed', words = ${providerStatus}, tx_hash = ${txHash ?? null},
      left_nonce = ${left?.nonce ?? null}, left_from = ${left?.from ?? null}, left_token = ${left?.token ?? null}, used_at = case when ${txHash !== undefined} then coalesce(used_at, ${now})
        else used_at end, updated_at = ${now}, lease_epoch = lease_epoch + 1
    where id = ${id} and ${rowsWhere(by)}`)
  return done > 0
}

/** How a payout left before a restore: in this transaction, from this wallet and in this token. */
export type FoundPayout = Pick<NewPayout, 'id' | 'chainId' | 'toAddress' | 'units'> & {
  fromAddress: Hex
  tokenAddress: Hex
  txHash: string
}

/**
 * Its own authorization has paid exactly this: from now on it is followed there, also while a worker looks at it. What
 * is signed in another token or for another wallet can still pay it, and one that ended stays so.
 */
export const updatePayoutFound = (q: Queryable, found: FoundPayout, now: Date): Promise<number> =>
  q.run(sql`
    update chain_payouts set status = 'mined', tx_hash = ${found.txHash}, used_at = null, spent_units = null,
      from_address = ${found.fromAddress}, token_address = ${found.tokenAddress},
      words = ${`left in transaction ${found.txHash}`}, updated_at = ${now}, lease_epoch = lease_epoch + 1
    where id = ${found.id} and kind = 'payout' and chain_id = ${found.chainId} and ${IS_OPEN}
      and to_address = ${found.toAddress} and units = ${found.units}
      and (status <> 'mined' or tx_hash is distinct from ${found.txHash})
      and (${rowsWhere('isUnsigned')} or from_address = ${found.fromAddress}
        and coalesce(token_address, ${found.tokenAddress}) = ${found.tokenAddress})`)

/** What a wallet's authorization moved in a token instead of paying; 0: it was cancelled. */
export type SpentPayout = Pick<FoundPayout, 'fromAddress' | 'tokenAddress'> & { spentUnits: bigint }

/**
 * Its authorization has moved something else, or was cancelled, finally: what is signed for it pays nothing any more,
 * and its account nonce is given up, also while a worker looks at it. What was signed meanwhile for another wallet or
 * in another token stays, and one that ended while that was not certain yet stays ended.
 */
export const updatePayoutSpent = (
  q: Queryable,
  id: string,
  { fromAddress, tokenAddress, spentUnits }: SpentPayout,
  now: Date,
): Promise<number> =>
  q.run(sql`
    update chain_payouts set status = case when status = 'failed' then status else 'reserved' end, signature = null,
      valid_before = null, relayer_address = null, relayer_nonce = null, used_at = coalesce(used_at, ${now}), spent_units = ${spentUnits.toString()}::numeric,
      token_address = ${tokenAddress},
      updated_at = ${now}, lease_epoch = lease_epoch + 1
    where id = ${id} and kind = 'payout' and from_address = ${fromAddress}
      and (${IS_OPEN} or used_at is not null and spent_units is null and ${rowsWhere('isDropped')})
      and coalesce(token_address, ${tokenAddress}) = ${tokenAddress}`)

/** An absent field stays as it is, null clears it. */
export type PayoutChange = {
  status?: PayoutStatus
  providerStatus?: string
  /** Null: it ran out unused, so nothing is signed any more. */
  authorization?: { signature: Hex; validBefore: bigint } | null
  /** Null: it left the chain, and was none of ours. */
  txHash?: string | null
  /** The transaction that was just signed. */
  presentTxHash?: string
  /** In which it is to be signed. */
  tokenAddress?: Hex
  /** Null: another transaction used this nonce, so the payout needs a new one. */
  relayer?: null
  refusals?: number
  /** Whether the token says that its authorization was used, but not by a transaction that pays it. */
  used?: boolean
  /** What it moved instead. */
  spentUnits?: bigint
}

/** @returns the updated payout; undefined if another worker has taken over */
export async function updatePayout(
  q: Queryable,
  payout: Payout,
  change: PayoutChange,
  now: Date,
): Promise<Payout | undefined> {
  const { status, providerStatus, authorization, txHash, refusals, tokenAddress } = change
  const drop = change.relayer === null
  const row = await q.maybe<Row>(sql`
    update chain_payouts set status = coalesce(${status ?? null}, status), words = coalesce(${providerStatus ?? null}, words),
      signature = case when ${authorization === null} then null else coalesce(${authorization?.signature ?? null}, signature) end,
      valid_before = case when ${authorization === null} then null
        else coalesce(${authorization?.validBefore.toString() ?? null}::bigint, valid_before) end,
      tx_hash = case when ${txHash === null} then null else coalesce(${txHash ?? null}, tx_hash) end,
      present_tx_hash = coalesce(${change.presentTxHash ?? null}, present_tx_hash),
      token_address = coalesce(${tokenAddress ?? null}, token_address),
      used_at = case when ${change.used === true} then coalesce(used_at, ${now}) when ${change.used === false} then null
        else used_at end,
      spent_units = case when ${change.used === false} then null
        else coalesce(${change.spentUnits?.toString() ?? null}::numeric, spent_units) end, refusals = coalesce(${refusals ?? null}::integer, refusals),
      relayer_address = case when ${drop} then null else relayer_address end,
      relayer_nonce = case when ${drop} then null else relayer_nonce end, updated_at = ${now}
    where id = ${payout.id} and lease_epoch = ${payout.leaseEpoch} returning ${COLUMNS}`)
  return row && toPayout(row)
}

/**
 * Gives a payout its relayer's next account nonce, under the lock of the relayer's row.
 * @param chainNonce how many transactions of the relayer the chain has: counting starts there, and restarts there if
 * none of ours is pending (the chain was reset, or the key was used elsewhere)
 */
export async function updatePayoutRelayer(
  tx: Tx,
  payout: Payout,
  relayer: { address: Hex; chainNonce: bigint },
  now: Date,
): Promise<Payout | undefined> {
  const { chainId } = payout
  await tx.run(sql`
    insert into chain_relayers (chain_id, address, next_nonce) values (${chainId}, ${relayer.address}, ${relayer.chainNonce})
    on conflict do nothing`)
  const { nextNonce } = await tx.one<{ nextNonce: bigint }>(sql`
    select next_nonce from chain_relayers where chain_id = ${chainId} and address = ${relayer.address} for update`)
  const { busy } = await tx.one<{ busy: boolean }>(sql`
    select exists (select 1 from chain_payouts where chain_id = ${chainId} and relayer_address = ${relayer.address}
      and ${IS_OPEN}) as busy`)
  const nonce = busy && nextNonce > relayer.chainNonce ? nextNonce : relayer.chainNonce
  await tx.run(sql`
    update chain_relayers set next_nonce = ${nonce + 1n}
    where chain_id = ${chainId} and address = ${relayer.address}`)
  const row = await tx.maybe<Row>(sql`
    update chain_payouts set relayer_address = ${relayer.address}, relayer_nonce = ${nonce}, updated_at = ${now}
    where id = ${payout.id} and lease_epoch = ${payout.leaseEpoch} returning ${COLUMNS}`)
  return row && toPayout(row)
}
