import type { Db } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { formatDecimal } from '../../kernel/money.ts'
import type { Hex, Rpc } from '../endpoints/rpc.ts'
import { type Network, tokenOf } from '../networks.ts'
import { type Agree, agreeAlone } from './agreement.ts'
import { type PayoutRequest, type Payouts, viewPayout, type WatchPayout, withdrawPayout } from './payout.ts'
import { nonceOf } from './payout-deps.ts'
import { findPayout, isPayoutDropped, type Payout, type Withdrawal } from './payout-queries.ts'
import { findPayoutOfTransaction, listPayoutTransactions } from './relayer/transaction-queries.ts'
import { askChain, findRestoreHold, noteFound } from './state/after-restore.ts'
import { findUse, isAsked, noteSpent, type UsedKey } from './state/authorization-use.ts'
import { findStoredUse } from './state/left-queries.ts'
import { answersOf } from './state/states.ts'
import { checkAuthorizationUsed, checkTransfer, checkUsed, readAuthorizations } from './transfer-check.ts'
import type { AuthorizedTransfer } from './usdc-token.ts'
import { listPayingTokens, listPayingWallets } from './wallet-queries.ts'

/** `agree` is absent where `rpc` is the only node. */
export type ManualTransferDeps = {
  db: Db
  clock: Clock
  rpc: Rpc
  agree?: Agree
  network: Network
  /** Null, or absent: the keys are not set up here. */
  payouts?: Pick<Payouts, 'address'> | null
  watchPayout: WatchPayout
}

const BY_HAND = { by: 'canBeNamed', providerStatus: 'paid by hand' } as const
const leftIn = (txHash: string, { key, network }: UsedKey): Withdrawal => ({
  ...{ by: 'canBeNamed', providerStatus: `left in transaction ${txHash}`, txHash },
  left: { ...key, token: tokenOf(network) },
})

/** Blocks our own payout. @throws OBJECT_CONFLICT if it is in progress, or may be since before a restore */
async function keepFromSending(deps: ManualTransferDeps, request: PayoutRequest, why: Withdrawal): Promise<void> {
  const { db, clock, network } = deps
  const { chainId } = network
  // its own authorization pays once
  const hold =
    why.left?.nonce === nonceOf(request.id) ? null : await findRestoreHold(deps, deps, { ...request, chainId })
  if (hold !== null) throw new AppError('OBJECT_CONFLICT', { message: hold })
  if (await withdrawPayout(db, { ...request, chainId }, why, new Date(clock()))) return
  const payout = await findPayout(db, request.id)
  const state = payout?.txHash ? `in transaction ${payout.txHash}` : `(${payout?.providerStatus})`
  throw new AppError('OBJECT_CONFLICT', { message: `The service is already paying this ${state}. Wait for it.` })
}

/** `left`: what its own authorization moved before the database was restored, which may be something else. */
type ManualTransfer = {
  outcome: 'settled' | 'pending'
  txHash: string
  providerStatus: string
  left?: AuthorizedTransfer
}

const ask = <Answer>({ network }: ManualTransferDeps, answer: Promise<Answer>): Promise<Answer> =>
  askChain(network, answer)

/** Accepts, by not throwing, that something else left than was asked. */
export type AcceptLeft = (left: AuthorizedTransfer) => Promise<void>

const OF_ANOTHER =
  'is the payout of another refund or settlement, which finds it by itself. Reject or cancel this one, and ask again: ' +
  'the next one has the next number.'

/**
 * The authorization of our own wallet that this transaction used: its own, or one whose refund or settlement was
 * dropped here before anything was signed, and which therefore settles nothing else. Null: none moved anything.
 * @throws VALIDATION_FAILED at `txHash` if it is another one's
 */
async function findUsed(deps: ManualTransferDeps, { id, to }: PayoutRequest, txHash: string): Promise<UsedKey | null> {
  const { db, payouts, agree = agreeAlone(deps.rpc) } = deps
  const { chainId } = deps.network
  const ours: UsedKey[] = []
  // anyone may use our nonces, as nonces of a wallet of their own
  const wallets = await listPayingWallets(db, chainId, payouts?.address)
  for (const network of await listPayingTokens(db, deps.network))
    for (const key of await ask(deps, readAuthorizations({ agree, network }, txHash)))
      if (wallets.includes(key.from)) ours.push({ key, network })
  const own = ours.find(({ key }) => key.nonce === nonceOf(id))
  if (own) return own
  for (const used of ours) {
    const use = await ask(deps, checkUsed({ agree, network: used.network }, { txHash, authorization: used.key }))
    if (!use || use.to === null) continue
    if (use.to === to.toLowerCase() && (await isPayoutDropped(db, chainId, used.key.nonce))) return used
    throw invalid('txHash', OF_ANOTHER)
  }
  return null
}

/**
 * Where its own authorization moved something, no other transaction counts, also none of a dropped number: what its own
 * moved would be forgotten, and paid again.
 * @throws VALIDATION_FAILED at `txHash`
 */
async function checkNothingLeft(
  deps: ManualTransferDeps,
  { accepts, ...request }: PayoutRequest & { accepts?: AcceptLeft | undefined },
  payout: Payout | undefined,
): Promise<void> {
  if (payout && !answersOf(payout).isUnsigned) return
  const { db, rpc, payouts, agree = agreeAlone(rpc) } = deps
  const nonce = nonceOf(request.id)
  const find = async (from: Hex, network: Network) => {
    const key = { from, nonce }
    if (!(await checkAuthorizationUsed({ agree, network }, key))) return null
    const stored = await findStoredUse(db, network.chainId, { id: request.id, ...key, token: tokenOf(network) })
    const { txHash, use } = await findUse(deps, { key, network, stored })
    if (use?.to === null) {
      if (payout) await noteSpent(deps, payout, { key, network }, use)
      return null
    }
    if (txHash === undefined) return 'one that the node does not find'
    return `transaction ${txHash}. ${accepts || !use || isAsked(use, request) ? 'Name that one.' : ASK_FOR_IT}`
  }
  const wallets = await listPayingWallets(db, deps.network.chainId, payouts?.address)
  for (const network of await listPayingTokens(db, deps.network))
    for (const from of wallets) {
      const other = await ask(deps, find(from, network))
      if (other !== null) throw invalid('txHash', `is not what paid this: that left in ${other}`)
    }
}

const ASK_FOR_IT = 'It is not what this asks for: reject this one, and ask for exactly that one (docs/backup.md).'

/** No refusal: it may pay this, so that what it was named for is not dropped. */
const notFinal = (txHash: string): AppError =>
  new AppError('OBJECT_CONFLICT', {
    message: `The transaction ${txHash} is not final yet. Name it again once it is.`,
  })

/**
 * Its own authorization has paid exactly what is asked: the payout itself is followed in that transaction, so that it
 * goes on like any other one if a reorganisation undoes it.
 * @returns null: it did not, or the payout has ended, or something else that is signed for it can still pay it
 */
async function handOver(
  deps: ManualTransferDeps,
  { id, to, units }: PayoutRequest,
  { txHash, used }: { txHash: string; used: UsedKey },
): Promise<ManualTransfer | null> {
  const { key: authorization, network } = used
  const { agree = agreeAlone(deps.rpc) } = deps
  const use = await ask(deps, checkUsed({ agree, network }, { txHash, authorization }))
  if (!use || !isAsked(use, { to, units })) return null
  await noteFound(deps, { id, to, units }, { txHash, used })
  const payout = await findPayout(deps.db, id)
  if (payout?.txHash !== txHash || !answersOf(payout).mayHaveLeft) return null
  const seen = (await deps.watchPayout(id)) ?? viewPayout(payout)
  return {
    ...{ outcome: seen.outcome === 'settled' ? 'settled' : 'pending', txHash },
    providerStatus: seen.providerStatus,
  }
}

/** The chain proves what left under our authorization; no person enters an amount. */
async function followUse(
  deps: ManualTransferDeps,
  request: PayoutRequest,
  { txHash, used, accepts, payout }: { txHash: string; used: UsedKey; accepts: AcceptLeft; payout: Payout | undefined },
): Promise<ManualTransfer> {
  const { key: authorization, network } = used
  const { agree = agreeAlone(deps.rpc) } = deps
  const use = await ask(deps, checkUsed({ agree, network }, { txHash, authorization }))
  if (!use?.isFinal) throw notFinal(txHash)
  const left = { to: use.to, units: use.units }
  await accepts(left)
  if (payout) await ask(deps, noteSpent(deps, payout, used, use))
  const why = leftIn(txHash, used)
  await keepFromSending(deps, request, why)
  const what = left.to === null ? 'nothing: it was cancelled' : `${formatDecimal(left.units, 6)} USDC to ${left.to}`
  return { outcome: 'settled', txHash, providerStatus: `${why.providerStatus}: ${what}`, left }
}

/**
 * The person names our own transaction, which counts only once it is final: until then another may replace it. Where
 * something is signed here it is only looked at, and refused meanwhile, whoever submitted it: the service still sends
 * it. What left before a restore is followed where it is, and so is what a reorganisation undid, which goes on by
 * itself.
 * @returns null: it has left the chain, and is its payout's no longer @throws VALIDATION_FAILED at `txHash`
 */
async function followOwn(
  { db, watchPayout }: ManualTransferDeps,
  { id, validBefore, reopenedAt }: Payout,
  txHash: string,
): Promise<ManualTransfer | null> {
  const isSubmittedHere = (await listPayoutTransactions(db, id)).some((one) => one.txHash === txHash)
  const isSignedHere = isSubmittedHere || validBefore !== null
  const seen = await watchPayout(id, { looksOnly: isSignedHere })
  const { providerStatus = '' } = seen ?? {}
  if (seen?.outcome === 'settled' && seen.txHash !== null)
    return { outcome: 'settled', txHash: seen.txHash, providerStatus }
  if (seen === null || (isSignedHere && reopenedAt === null))
    throw invalid(
      'txHash',
      `is the service’s own payout of this, which is not final yet (${providerStatus}). Wait for it.`,
    )
  return isSubmittedHere || seen.txHash === txHash ? { outcome: 'pending', txHash, providerStatus } : null
}

/**
 * What was named is followed instead of being sent; an earlier version also took what someone else had submitted of a
 * payout that is signed here. Its own transactions pay it as well: it goes on until one did, or it has run out.
 * @returns null: nothing signed for it, or found, can pay it
 */
async function followNamed(
  { db, watchPayout }: ManualTransferDeps,
  payout: Payout,
  txHash: string,
): Promise<ManualTransfer | null> {
  const canPay = (one: Payout) => !answersOf(one).isUnsigned && answersOf(one).outcome !== 'refused'
  if (!canPay(payout)) return null
  const seen = await watchPayout(payout.id)
  if (seen?.outcome === 'settled' && seen.txHash !== null) return { ...seen, outcome: 'settled', txHash: seen.txHash }
  const after = await findPayout(db, payout.id)
  return seen && after && canPay(after) ? { ...seen, outcome: 'pending', txHash } : null
}

/**
 * Accepts a transaction that a person entered, if it sends exactly these USDC units to the address. Afterwards we never
 * pay it ourselves. Our own transaction counts once it is final.
 * @param notBefore an older transfer is refused
 * @param accepts absent: nothing but the amount and the address asked
 * @param isFollowed it was accepted before, and is looked at again
 * @param txHash 0x and 64 hexadecimal digits in lower case
 * @throws VALIDATION_FAILED at `txHash`, OBJECT_CONFLICT, CHANNEL_UNAVAILABLE
 */
export async function checkManualTransfer(
  deps: ManualTransferDeps,
  { isFollowed, ...wanted }: PayoutRequest & { notBefore?: Date; accepts?: AcceptLeft; isFollowed?: boolean },
  txHash: string,
): Promise<ManualTransfer> {
  const { notBefore, accepts, ...request } = wanted
  const { to, units } = request
  const payout = await findPayout(deps.db, request.id)
  if (isFollowed && payout)
    return (await followNamed(deps, payout, txHash)) ?? checkManualTransfer(deps, wanted, txHash)
  const owner = await findPayoutOfTransaction(deps.db, deps.network.chainId, txHash)
  if (owner === request.id && payout && !answersOf(payout).isUnsigned)
    return (await followOwn(deps, payout, txHash)) ?? checkManualTransfer(deps, wanted, txHash)
  if (owner !== undefined && owner !== request.id) throw invalid('txHash', 'is a payout that this service made')
  const used = await findUsed(deps, request, txHash)
  const authorization = used?.key
  if (used && authorization?.nonce === nonceOf(request.id)) {
    const handed = await handOver(deps, request, { txHash, used })
    if (handed) return handed
  } else {
    // what was handed over and left the chain is its payout's no longer
    if (payout?.txHash === txHash) await deps.watchPayout(request.id)
    await checkNothingLeft(deps, { ...request, accepts }, payout)
  }
  if (used && accepts) return followUse(deps, request, { txHash, used, accepts, payout })
  const { agree = agreeAlone(deps.rpc) } = deps
  const network = used?.network ?? deps.network
  const asked = { txHash, to, units, notBefore, ...(authorization && { authorization }) }
  const { verdict, providerStatus } = await ask(deps, checkTransfer({ agree, network }, asked))
  if (verdict === 'wrong') {
    if (used && payout) {
      const use = await ask(deps, checkUsed({ agree, network }, { txHash, authorization: used.key }))
      await ask(deps, noteSpent(deps, payout, used, use))
    }
    throw invalid('txHash', authorization ? `${providerStatus}. ${ASK_FOR_IT}` : providerStatus)
  }
  if (verdict === 'unread')
    throw new AppError('OBJECT_CONFLICT', {
      message: `The ${providerStatus}, and shows what it pays only there. Name it again once it is.`,
    })
  if (authorization && verdict !== 'final') throw notFinal(txHash)
  await keepFromSending(deps, request, used ? leftIn(txHash, used) : BY_HAND)
  return { outcome: verdict === 'final' ? 'settled' : 'pending', txHash, providerStatus }
}
