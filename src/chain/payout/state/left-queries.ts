import { type Queryable, sql } from '../../../db/db.ts'
import type { Hex } from '../../endpoints/rpc.ts'
import type { AuthorizationKey } from '../usdc-token.ts'

/* What is stored about how an authorization was used. */

/** Whether it was cancelled, finally, as all nodes said: nothing left under it in this token. */
export async function isAuthorizationCancelled(
  q: Queryable,
  chainId: number,
  { from, nonce, token }: AuthorizationKey & { token: Hex },
): Promise<boolean> {
  const row = await q.maybe(sql`
    select 1 from chain_payouts where authorization_nonce = ${nonce} and kind = 'payout' and chain_id = ${chainId}
      and from_address = ${from} and coalesce(token_address, ${token}) = ${token} and used_at is not null
      and spent_units = 0`)
  return row !== undefined
}

/** A transaction that was named for what left under this authorization. */
export type NamedLeft = { chainId: number; leftNonce: Hex; txHash: string }

const unproven = ({ chainId, leftNonce, txHash }: NamedLeft) => sql`
  chain_id = ${chainId} and left_nonce = ${leftNonce} and tx_hash = ${txHash} and status = 'failed' and used_at is null`

/** Whether an earlier version took it, and may have done so before it was final. */
export const isNamedUnproven = async (q: Queryable, named: NamedLeft): Promise<boolean> =>
  (await q.maybe(sql`select 1 from chain_payouts where ${unproven(named)} limit 1`)) !== undefined

/** It is final: the chain is not asked about it again. */
export const updateNamedProven = (q: Queryable, named: NamedLeft, now: Date): Promise<number> =>
  q.run(sql`update chain_payouts set used_at = ${now} where ${unproven(named)}`)
