import type { Db } from '../../../db/db.ts'
import { findRestored, isMadeSince } from '../../../db/restored-queries.ts'
import { type Clock, DAY, SECOND } from '../../../kernel/clock.ts'
import { AppError } from '../../../kernel/errors.ts'
import { findAnsweredAt } from '../../chain-queries.ts'
import { type Hex, isReached, type Rpc, RpcError } from '../../endpoints/rpc.ts'
import { type Network, tokenOf } from '../../networks.ts'
import { ChainDoubt } from '../../transfer-logs.ts'
import { type Agree, agreeAlone, isSeenByAll } from '../agreement.ts'
import { nonceOf } from '../payout-deps.ts'
import { findPayout, insertPayout, type NewPayout, type Payout, updatePayoutFound } from '../payout-queries.ts'
import { lastExpiryOf } from '../payout-view.ts'
import { type AuthorizationUse, checkAuthorizationUsed } from '../transfer-check.ts'
import { listPayingTokens, listPayingWallets } from '../wallet-queries.ts'
import { findUse, isAsked, noteSpent, type UsedKey } from './authorization-use.ts'
import { findStoredUse } from './left-queries.ts'
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

/** Without a destination where none was known yet. */
type Asked = { id: string; to: string | null; units: bigint }
/** `notFound`: the token knows it, and the node does not find in which transaction. */
type Used =
  | { how: 'none' | 'unfinal' | 'notFound' }
  | { how: 'asked'; txHash: string; used: UsedKey }
  | { how: 'otherwise'; use: AuthorizationUse | null; used: UsedKey }

/**
 * How a wallet that pays or paid on the chain, and in a token that it pays or paid in, used the authorization of this
 * id. `asked`, `otherwise`: finally, for exactly what was asked or for something else. @throws RpcError, ChainDoubt
 */
async function findUsed({ db, clock }: Deps, chain: Chain, asked: Asked): Promise<Used> {
  const { rpc, agree = agreeAlone(rpc) } = chain
  const payout = await findPayout(db, asked.id)
  const nonce = nonceOf(asked.id)
  let found: Used = { how: 'none' }
  const wallets = await listPayingWallets(db, chain.network.chainId, chain.payouts?.address)
  for (const network of await listPayingTokens(db, chain.network))
    for (const from of wallets) {
      const key = { from, nonce }
      if (!(await checkAuthorizationUsed({ agree, network }, key))) continue
      const stored = await findStoredUse(db, network.chainId, { id: asked.id, ...key, token: tokenOf(network) })
      const { txHash, use } = await findUse({ rpc, agree }, { key, network, stored })
      if (txHash !== undefined && !use?.isFinal) return { how: 'unfinal' }
      if (payout) await noteSpent({ db, clock, rpc }, payout, { key, network }, use)
      const used = { key, network }
      if (txHash !== undefined && use && isAsked(use, asked)) return { how: 'asked', txHash, used }
      if (txHash === undefined) found = { how: 'notFound' }
      else if (found.how === 'none') found = { how: 'otherwise', use, used }
    }
  return found
}

type AskedPayout = Asked & { to: string }

const rowOf = ({ id, to, units }: AskedPayout, { key, network }: UsedKey): NewPayout & { tokenAddress: Hex } => ({
  ...{ id, units, chainId: network.chainId, tokenAddress: tokenOf(network), toAddress: to.toLowerCase() as Hex },
  ...{ fromAddress: key.from, authorizationNonce: key.nonce, status: 'reserved', providerStatus: 'not sent yet' },
})

/** Its own authorization has paid exactly what is asked, in this transaction: the payout is followed there. */
export const noteFound = (
  { db, clock }: Deps,
  asked: AskedPayout,
  { txHash, used }: { txHash: string; used: UsedKey },
): Promise<number> =>
  db.tx(async (tx) => {
    const [row, now] = [rowOf(asked, used), new Date(clock())]
    await insertPayout(tx, row, now)
    return updatePayoutFound(tx, { ...row, txHash }, now)
  })

/** Nothing here says that it left, or may leave. */
function isUnknown(payout: Payout): boolean {
  const { isOpen, isUnsigned, mayHaveLeft } = answersOf(payout)
  return isOpen && isUnsigned && !mayHaveLeft
}

/**
 * Stores what left before a restore under a payout's own authorization, whatever holds what is not sent yet: a check is
 * needed to sign, not to recognise, and what nobody recognises is missing in a wallet and stops the payouts of all.
 * Signs nothing. What moved something else is stored where it left the wallet whose key is set up here; else a person
 * names it. What is not final, or about which the nodes do not agree, is left to the checks, which find it, too.
 * @param since when its order or company was made; asked only after a restore
 */
export async function recognise(
  deps: Deps,
  chain: Chain,
  asked: AskedPayout,
  since: () => Promise<Date>,
): Promise<void> {
  const { db, clock } = deps
  const restored = await findRestored(db)
  if (!restored || restored.reconciledAt === null) return
  const payout = await findPayout(db, asked.id)
  if (payout && !isUnknown(payout)) return
  if (isMadeSince(restored, await since())) return
  try {
    const found = await findUsed(deps, chain, asked)
    if (found.how === 'asked') await noteFound(deps, asked, found)
    if (found.how !== 'otherwise' || payout) return
    const row = rowOf(asked, found.used)
    const isOwn =
      row.fromAddress === chain.payouts?.address.toLowerCase() && row.tokenAddress === tokenOf(chain.network)
    if (!isOwn) return
    await insertPayout(db, row, new Date(clock()))
    const stored = await findPayout(db, asked.id)
    if (stored) await noteSpent({ db, clock, rpc: chain.rpc }, stored, found.used, found.use)
  } catch (error) {
    if (!(error instanceof RpcError) && !(error instanceof ChainDoubt)) throw error
  }
}

const WHY =
  'The database was restored, or another server took over, and a transaction that was signed for this before may still ' +
  'wait in the pool of a node and pay it'

const timeOf = (ms: number): string => new Date(ms).toISOString()

/** @param last when it runs out, in the chain's seconds @param names the chains that have no later block yet */
const untilWords = (last: bigint, names: readonly string[]): string =>
  `until ${timeOf(Number(last) * SECOND)}, by the time of the blocks. Try again once ${names.join(' and ')} ` +
  `${names.length > 1 ? 'have' : 'has'} a later block.`

/** Why what has not left itself waits for the pools of these chains: what is in them may be of another number. */
export const poolWords = (last: bigint, names: readonly string[]): string =>
  'the database was restored, or another server took over, and a transaction that was signed before, for this or under ' +
  `another number, may still wait in the pool of a node ${untilWords(last, names)}`

const NOT_FINAL =
  'Its authorization was used before the database was restored or another server took over, in a transaction that is ' +
  'not final yet. Wait for that.'

/** The next one then waits for what left, so nothing is forgotten. */
const notFoundWords = (last: bigint): string =>
  'Its authorization was used before the database was restored or another server took over, in a transaction that the ' +
  'node does not find. Look the authorization up in an explorer, and name its transaction: what left is then accounted for. ' +
  `Unnamed, it can be rejected or cancelled from ${timeOf(Number(last) * SECOND)} on, by the time of the blocks.`

const paidWords = (txHash: string): string =>
  `Transaction ${txHash} left before the database was restored or another server took over, and has paid exactly this, ` +
  'so it is settled with it: at its next check, or once that transaction is named for it.'

/** `since`: when its order or company was made; undefined: not known. */
export type AskedHold = Asked & { chainId: number; since?: Date }

/**
 * Why a payout for which nothing is signed here may not be taken back or paid another way: it is not known whether
 * something was signed for it after the backup and still waits in a node's pool, where it can pay until it runs out.
 * What paid it exactly settles it. What a final transaction used otherwise pays nothing more, and what left is asked
 * for by the next one. A chain that is not set up cannot be asked; a day after the last expiry it is not waited for any
 * longer, nor is one that was read since the restore and has been silent for a day by then.
 * @returns null: it may @throws CHANNEL_UNAVAILABLE
 */
export async function findRestoreHold(
  deps: Deps,
  chain: Chain | undefined,
  { chainId, since, ...asked }: AskedHold,
): Promise<string | null> {
  const restored = await findRestored(deps.db)
  if (!restored || (since && isMadeSince(restored, since))) return null
  const payout = await findPayout(deps.db, asked.id)
  if (payout && !answersOf(payout).mayWaitInPool) return null
  const last = lastExpiryOf(restored.restoredAt)
  const lastMs = Number(last) * SECOND
  const isOver = deps.clock() >= lastMs + DAY
  if (!chain && isOver) return null
  if (!chain)
    return `${WHY}. The chain ${chainId} is not set up here: set CHAIN_${chainId}_RPC_URL, or try again after ${timeOf(lastMs + DAY)}.`
  try {
    return await askChain(chain.network, findHoldOn(deps, chain, { asked, last }))
  } catch (error) {
    const isUnasked = error instanceof AppError && error.code === 'CHANNEL_UNAVAILABLE'
    if (isUnasked && isOver && (await isSilent(deps, chain, restored.restoredAt))) return null
    throw error
  }
}

/**
 * Whether the nodes of a chain have not answered for a day, nor do now. Whatever one says is no silence. A chain that
 * was not read since the restore may only be set up wrong, and where reading was stopped, nothing tells when they fell
 * silent.
 */
async function isSilent({ db, clock }: Deps, { rpc, network }: Chain, restoredAt: Date): Promise<boolean> {
  const answeredAt = await findAnsweredAt(db, network.chainId)
  if (answeredAt === null || answeredAt <= restoredAt || clock() - answeredAt.getTime() < DAY) return false
  return !(await isReached(rpc))
}

async function findHoldOn(
  deps: Deps,
  chain: Chain,
  { asked, last }: { asked: Asked; last: bigint },
): Promise<string | null> {
  const used = await findUsed(deps, chain, asked)
  if (used.how === 'asked') return paidWords(used.txHash)
  if (used.how === 'unfinal') return NOT_FINAL
  if (used.how === 'otherwise' || (await isPast(chain, last))) return null
  if (used.how === 'notFound') return notFoundWords(last)
  return `${WHY} ${untilWords(last, [chain.network.name])}`
}
