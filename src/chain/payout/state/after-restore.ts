import type { Db } from '../../../db/db.ts'
import { findRestored } from '../../../db/restored-queries.ts'
import { type Clock, DAY, SECOND } from '../../../kernel/clock.ts'
import { AppError } from '../../../kernel/errors.ts'
import { type Rpc, RpcError } from '../../endpoints/rpc.ts'
import type { Network } from '../../networks.ts'
import { ChainDoubt } from '../../transfer-logs.ts'
import { type Agree, agreeAlone, isSeenByAll } from '../agreement.ts'
import { nonceOf } from '../payout-deps.ts'
import { findPayout } from '../payout-queries.ts'
import { lastExpiryOf } from '../payout-view.ts'
import { checkAuthorizationUsed } from '../transfer-check.ts'
import { listPayingTokens, listPayingWallets } from '../wallet-queries.ts'
import { findUse, noteSpent } from './authorization-use.ts'
import { answersOf } from './states.ts'

type Deps = { db: Db; clock: Clock }
/** `agree` is absent where `rpc` is the only node; `payouts`: null where its keys are not set up. */
type Chain = { rpc: Rpc; agree?: Agree; network: Network; payouts?: { readonly address: string } | null }

/** A node that does not answer, or nodes that do not agree. @throws CHANNEL_UNAVAILABLE, or the error itself */
export async function askChain<Answer>({ name }: Network, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof RpcError) && !(error instanceof ChainDoubt)) throw error
    const why = error instanceof RpcError ? 'does not answer now' : 'has nodes that do not agree about it'
    throw new AppError('CHANNEL_UNAVAILABLE', {
      message: `${name} ${why}, so the transaction cannot be checked. Try again in a moment.`,
      cause: error,
    })
  }
}

/** Whether all nodes show a block of this time, in the chain's seconds, or a later one. @throws RpcError */
export const isPast = ({ rpc, agree = agreeAlone(rpc), network }: Chain, seconds: bigint): Promise<boolean> =>
  isSeenByAll({ agree, network }, `the time on ${network.name}`, async (_, { timestamp }) => timestamp >= seconds)

/**
 * What used the authorization of this id under a wallet and in a token that pay or paid on the chain. `unknown`: a
 * transaction that is not final, or that no node finds. @throws RpcError, ChainDoubt
 */
async function findUsed({ db, clock }: Deps, chain: Chain, id: string): Promise<'none' | 'final' | 'unknown'> {
  const { rpc, agree = agreeAlone(rpc) } = chain
  const payout = await findPayout(db, id)
  let found: 'none' | 'final' = 'none'
  const wallets = await listPayingWallets(db, chain.network.chainId, chain.payouts?.address)
  for (const network of await listPayingTokens(db, chain.network))
    for (const from of wallets) {
      const key = { from, nonce: nonceOf(id) }
      if (!(await checkAuthorizationUsed({ agree, network }, key))) continue
      const { use } = await findUse({ rpc, agree }, { key, network })
      if (!use?.isFinal) return 'unknown'
      if (payout?.fromAddress === from) await noteSpent({ db, clock }, payout, use)
      found = 'final'
    }
  return found
}

const WHY =
  'The database was restored, and a transaction that was signed for this after the backup may still wait in the pool of ' +
  'a node and pay it'

const timeOf = (ms: number): string => new Date(ms).toISOString()

/** @param last when it runs out, in the chain's seconds */
export const poolWords = (last: bigint): string =>
  `${WHY} until ${timeOf(Number(last) * SECOND)}, by the time of the blocks.`

const NOT_FINAL =
  'Its authorization was used before the database was restored, in a transaction that is not final yet. Wait for that.'

/**
 * Why a payout for which nothing is signed here may not be taken back or paid another way: it is not known whether
 * something was signed for it after the backup and still waits in a node's pool, where it can pay until it runs out.
 * What a final transaction used pays nothing more, and what left is asked for by the next one. A chain that is not set
 * up cannot be asked; a day after the last expiry it is not waited for any longer.
 * @returns null: it may @throws CHANNEL_UNAVAILABLE
 */
export async function findRestoreHold(
  deps: Deps,
  chain: Chain | undefined,
  { id, chainId }: { id: string; chainId: number },
): Promise<string | null> {
  const restored = await findRestored(deps.db)
  const payout = await findPayout(deps.db, id)
  const isKnown = payout !== undefined && !(answersOf(payout).isOpen && answersOf(payout).isUnsigned)
  if (!restored || isKnown || (payout && payout.spentUnits !== null)) return null
  const last = lastExpiryOf(restored.restoredAt)
  const lastMs = Number(last) * SECOND
  if (!chain)
    return deps.clock() >= lastMs + DAY
      ? null
      : `${WHY}. The chain ${chainId} is not set up here: set CHAIN_${chainId}_RPC_URL, or try again after ${timeOf(lastMs + DAY)}.`
  const used = await askChain(chain.network, findUsed(deps, chain, id))
  if (used === 'unknown') return NOT_FINAL
  if (used === 'final' || (await askChain(chain.network, isPast(chain, last)))) return null
  return `${poolWords(last)} Try again once ${chain.network.name} has a later block.`
}
