import type { Queryable } from '../../../db/db.ts'
import type { Rpc } from '../../endpoints/rpc.ts'
import { type Network, tokenOf } from '../../networks.ts'
import { ChainDoubt } from '../../transfer-logs.ts'
import { type Agree, agreeAlone } from '../agreement.ts'
import { findOwnToken } from '../payout-deps.ts'
import { type Payout, updatePayoutSpent } from '../payout-queries.ts'
import { type ChainView, readChainView } from '../payout-view.ts'
import { type Receipt, readReceipts } from '../receipt.ts'
import { type AuthorizationUse, checkUsed } from '../transfer-check.ts'
import { type AuthorizationKey, type AuthorizedTransfer, transferOfAuthorization } from '../usdc-token.ts'
import { findUseTransaction } from './use-search.ts'

/** An authorization, and the chain in its token: of the settings, or of earlier ones. */
export type UsedKey = { key: AuthorizationKey; network: Network }

export const authorizationKeyOf = ({ fromAddress, authorizationNonce }: Payout): AuthorizationKey => ({
  from: fromAddress,
  nonce: authorizationNonce,
})

/** The receipt of what used an authorization, whoever submitted it. @throws RpcError */
export async function findForeignReceipt(
  chain: { rpc: Rpc; network: Network },
  key: AuthorizationKey,
  view: ChainView,
): Promise<Receipt | null> {
  const txHash = await findUseTransaction(chain, key, view)
  return txHash === undefined ? null : ((await readReceipts(chain.rpc, [txHash]))[0] ?? null)
}

/** The same where a transaction is stored that may have used it: many nodes keep receipts longer than old logs. */
export async function findReceiptOfUse(
  deps: { rpc: Rpc; network: Network },
  key: AuthorizationKey,
  { view, stored }: { view: ChainView; stored: string | null | undefined },
): Promise<Receipt | null> {
  const receipt = stored ? (await readReceipts(deps.rpc, [stored]))[0] : undefined
  const isUse = receipt?.status === '0x1' && transferOfAuthorization(receipt.logs, deps.network, key) !== undefined
  return isUse ? receipt : findForeignReceipt(deps, key, view)
}

/** The transaction that used an authorization, and what it moved. @throws RpcError, ChainDoubt */
export async function findUse(
  { rpc, agree = agreeAlone(rpc) }: { rpc: Rpc; agree?: Agree },
  { key, network, stored }: UsedKey & { stored?: string | undefined },
): Promise<{ txHash: string | undefined; use: AuthorizationUse | null }> {
  const view = await readChainView(rpc, network)
  const receipt = await findReceiptOfUse({ rpc, network }, key, { view, stored })
  const txHash = receipt?.transactionHash
  const use = txHash === undefined ? null : await checkUsed({ agree, network }, { txHash, authorization: key })
  return { txHash, use }
}

/** `to` null: no destination was known. */
export const isAsked = ({ to, units }: AuthorizedTransfer, asked: { to: string | null; units: bigint }): boolean =>
  to !== null && to === asked.to?.toLowerCase() && units === asked.units

/**
 * What this transaction moved under a payout's authorization instead of paying it, or 0 if it cancelled it: finally, on
 * which all nodes agree. Null: it paid it, or that is not certain yet. @throws RpcError
 */
export async function findSpent(
  deps: { agree: Agree; network: Network },
  payout: Payout,
  txHash: string,
): Promise<bigint | null> {
  const { toAddress: to, units } = payout
  try {
    const use = await checkUsed(deps, { txHash, authorization: authorizationKeyOf(payout) })
    return use?.isFinal && !isAsked(use, { to, units }) ? spentUnits(use) : null
  } catch (error) {
    if (error instanceof ChainDoubt) return null
    throw error
  }
}

const spentUnits = ({ to, units }: AuthorizedTransfer): bigint => (to === null ? 0n : units)

/**
 * Ends what was signed for a payout whose authorization a final transaction used otherwise. The same nonce of another
 * wallet, or in another token, is another authorization: what is signed can still pay then. @throws RpcError
 */
export async function noteSpent(
  { db, clock, rpc }: { db: Queryable; clock: () => number; rpc: Rpc },
  payout: Payout,
  { key, network }: UsedKey,
  use: AuthorizationUse | null,
): Promise<void> {
  const { id, kind, toAddress: to, units } = payout
  if (kind !== 'payout' || !use?.isFinal || isAsked(use, { to, units })) return
  if (key.from !== payout.fromAddress || key.nonce !== payout.authorizationNonce) return
  const tokenAddress = tokenOf(network)
  if ((await findOwnToken({ db, rpc, network }, payout)) !== tokenAddress) return
  const spent = { fromAddress: key.from, tokenAddress, spentUnits: spentUnits(use) }
  await updatePayoutSpent(db, id, spent, new Date(clock()))
}
