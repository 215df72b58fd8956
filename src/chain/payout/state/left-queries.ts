import { type Queryable, sql } from '../../../db/db.ts'
import type { Hex } from '../../endpoints/rpc.ts'
import type { AuthorizationKey } from '../usdc-token.ts'
import { rowsWhere } from './states.ts'

/* What is stored about how an authorization was used. */

/**
 * Whether it was cancelled, finally, as all nodes said: nothing left under it in this token. An earlier version may not
 * have stored in which; that is certain where the chain's wallets never paid in another one.
 */
export async function isAuthorizationCancelled(
  q: Queryable,
  chainId: number,
  { from, nonce, token }: AuthorizationKey & { token: Hex },
): Promise<boolean> {
  const row = await q.maybe(sql`
    select 1 from chain_payouts where authorization_nonce = ${nonce} and kind = 'payout' and chain_id = ${chainId}
      and from_address = ${from} and used_at is not null and spent_units = 0
      and (token_address = ${token} or token_address is null and not exists (
        select 1 from paying_tokens t where t.chain_id = ${chainId} and t.token_address <> ${token}))`)
  return row !== undefined
}

/** An authorization: its number alone may be used by several wallets, and in several tokens. */
export type LeftKey = AuthorizationKey & { token: Hex }

/** An earlier version stored the number alone. */
const isLeft = ({ from, nonce, token }: LeftKey) => sql`
  left_nonce = ${nonce} and (left_from is null or left_from = ${from} and left_token = ${token})`

/** The transaction stored for what used this authorization: its payout has it, or it was named for another one. */
export async function findStoredUse(
  q: Queryable,
  chainId: number,
  { id, ...key }: LeftKey & { id: string },
): Promise<string | undefined> {
  const row = await q.maybe<{ txHash: string }>(sql`
    select tx_hash from chain_payouts where chain_id = ${chainId} and tx_hash is not null
      and (${isLeft(key)} or id = ${id} and left_nonce is null)
    order by left_nonce is null limit 1`)
  return row?.txHash
}

/** The wallets and numbers of which a final transaction is named in this token: the chain is not asked about those. */
export const listNamedLeft = (
  q: Queryable,
  { chainId, token, nonces }: { chainId: number; token: Hex; nonces: readonly Hex[] },
): Promise<AuthorizationKey[]> =>
  q.many(sql`
    select left_from as "from", left_nonce as nonce from chain_payouts
    where chain_id = ${chainId} and left_token = ${token} and left_nonce = any(${[...nonces]}::text[])
      and ${rowsWhere('hasNamed')}`)

/** A transaction that was named for what left under this authorization. */
export type NamedLeft = LeftKey & { chainId: number; txHash: string }

const unproven = ({ chainId, txHash, ...key }: NamedLeft) => sql`
  chain_id = ${chainId} and ${isLeft(key)} and tx_hash = ${txHash} and status = 'failed'
    and (used_at is null or left_from is null)`

/** Whether an earlier version took it: perhaps before it was final, and without its wallet and token. */
export const isNamedUnproven = async (q: Queryable, named: NamedLeft): Promise<boolean> =>
  (await q.maybe(sql`select 1 from chain_payouts where ${unproven(named)} limit 1`)) !== undefined

/** It is final, and of this wallet and token: the chain is not asked about it again. */
export const updateNamedProven = (q: Queryable, named: NamedLeft, now: Date): Promise<number> =>
  q.run(sql`
    update chain_payouts set used_at = coalesce(used_at, ${now}), left_from = ${named.from}, left_token = ${named.token}
    where ${unproven(named)}`)
