import { DAY, MINUTE } from '../../kernel/clock.ts'
import { formatDecimal } from '../../kernel/money.ts'
import type { Hex } from '../endpoints/rpc.ts'
import { ChainDoubt } from '../transfer-logs.ts'
import { fillGap, isOfFormerRelayer } from './account-nonces.ts'
import { doubtWords } from './agreement.ts'
import { change, needsCheck, type PayoutDeps } from './payout-deps.ts'
import type { Payout, PayoutChange } from './payout-queries.ts'
import {
  broadcast,
  hasRunOut,
  isUnusable,
  prepare,
  resend,
  SIGNABLE,
  SWEEP_RAN_OUT,
  UNCHECKED,
} from './payout-steps.ts'
import { type ChainView, isAuthorizationOver, isSigned } from './payout-view.ts'
import { isReceiptFinal, listFailed, type Receipt, readReceipts } from './receipt.ts'
import { isRaiseDue, isStuck } from './relayer/fees.ts'
import { isKept, isSignedNow, presentOf, wasSubmitted } from './relayer/present.ts'
import { listPayoutTransactions, type PayoutTransaction } from './relayer/transaction-queries.ts'
import { authorizationKeyOf, findReceiptOfUse, findSpent } from './state/authorization-use.ts'
import { answersOf } from './state/states.ts'
import { checkTransfer } from './transfer-check.ts'
import { isAuthorizationUsed, transferOfAuthorization } from './usdc-token.ts'

/** What its authorization moved in this transaction; undefined if it was not used there. */
const leftBy = ({ network }: PayoutDeps, payout: Payout, { logs }: Receipt) =>
  transferOfAuthorization(logs, network, authorizationKeyOf(payout))

/** Exactly this payout: before a restored backup, its authorization may have moved another amount. */
function paid(deps: PayoutDeps, payout: Payout, receipt: Receipt | null | undefined): receipt is Receipt {
  if (receipt?.status !== '0x1') return false
  const left = leftBy(deps, payout, receipt)
  return left?.to === payout.toAddress && left.units === payout.units
}

/** Why one node's claim that a receipt is final is not trusted; null if the others agree. */
async function findDoubt(deps: PayoutDeps, payout: Payout, txHash: string): Promise<string | null> {
  const { toAddress: to, units } = payout
  try {
    const asked = { txHash, to, units, authorization: authorizationKeyOf(payout) }
    const { verdict, providerStatus } = await checkTransfer(deps, asked)
    return verdict === 'final' ? null : providerStatus
  } catch (error) {
    if (error instanceof ChainDoubt) return doubtWords(error)
    throw error
  }
}

/** Mined: final, or waiting for confirmations. */
async function follow(deps: PayoutDeps, payout: Payout, view: ChainView, receipt: Receipt): Promise<Payout> {
  const txHash = receipt.transactionHash
  const { units } = payout
  const seen = { txHash, used: false }
  if (await isReceiptFinal(deps.rpc, deps.network, { receipt, view, units })) {
    const doubt = await findDoubt(deps, payout, txHash)
    if (doubt !== null) return change(deps, payout, { ...seen, status: 'mined', providerStatus: doubt })
    return change(deps, payout, { ...seen, status: 'final', providerStatus: `paid by transaction ${txHash}` })
  }
  const providerStatus = `transaction ${txHash} is in block ${BigInt(receipt.blockNumber)}, not final yet`
  return change(deps, payout, { ...seen, status: 'mined', providerStatus })
}

/**
 * The payer cancelled the authorization or spent its nonce on something else, and that is final; or it expired. For our
 * own money a person investigates.
 */
async function isSpentElsewhere(
  { rpc, network }: PayoutDeps,
  payout: Payout,
  view: ChainView,
  receipt: Receipt | null,
): Promise<boolean> {
  if (payout.kind !== 'payment') return false
  const isSeen = receipt !== null && (await isReceiptFinal(rpc, network, { receipt, view, units: payout.units }))
  return isSeen || isAuthorizationOver(payout, view)
}

/** The database was restored: before that, the same id was paid with another amount, or to another address. */
function usedWords(deps: PayoutDeps, payout: Payout, receipt: Receipt | null): string {
  const left = receipt && leftBy(deps, payout, receipt)
  if (!left)
    return 'The token says that this was paid or cancelled, but the node does not find the transaction. Look it up.'
  const { kind, toAddress, units } = payout
  const done =
    left.to === null
      ? 'has cancelled its authorization'
      : `has used its authorization, and brought ${formatDecimal(left.units, 6)} USDC to ${left.to}`
  return (
    `Transaction ${receipt.transactionHash} ${done} instead of ${formatDecimal(units, 6)} USDC to ${toAddress}. ` +
    (kind === 'sweep' ? 'It waits until that is final.' : 'It is not sent again (docs/backup.md).')
  )
}

/** The next plan contains what is left at the address. */
const SWEEP_SPENT = {
  status: 'failed',
  relayer: null,
  providerStatus: 'Its owner has cancelled its authorization, or used it otherwise. Plan the sweep again.',
} as const

/**
 * Whether the token shows that this payout happened or never will; checked before any failure counts. One that no
 * longer shows as used waits for the next poll, because its checks were skipped for this one.
 */
async function followUsed(deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout | null> {
  if (!(await isAuthorizationUsed(deps.rpc, deps.network, authorizationKeyOf(payout))))
    return payout.usedAt === null ? null : change(deps, payout, { used: false })
  const receipt = await findReceiptOfUse(deps, authorizationKeyOf(payout), { view, stored: payout.txHash })
  const txHash = receipt?.transactionHash
  if (paid(deps, payout, receipt)) return follow(deps, payout, view, receipt)
  if (await isSpentElsewhere(deps, payout, view, receipt))
    return change(deps, payout, { status: 'failed', providerStatus: 'the payer cancelled it or used it otherwise' })
  const used = { used: true, providerStatus: usedWords(deps, payout, receipt) } as const
  const isOwn = payout.kind !== 'payment'
  const spentUnits = isOwn && txHash !== undefined ? await findSpent(deps, payout, txHash) : null
  const end = payout.kind === 'sweep' ? SWEEP_SPENT : SIGNABLE
  if (spentUnits !== null) return change(deps, payout, { ...used, ...end, spentUnits })
  // what is signed pays nothing then, and other transactions need later nonces
  const isSure = txHash !== undefined || payout.usedAt !== null
  return change(deps, payout, { ...used, ...(isSure && { status: 'reserved', relayer: null }) })
}

const NONCE_GONE = {
  status: 'reserved',
  relayer: null,
  providerStatus: 'the account nonce was used by another transaction',
} as const

/** How many transactions the chain has of the relayer whose account nonce the payout keeps. @throws RpcError */
async function countOf({ rpc, relayerSigner }: PayoutDeps, { relayerAddress }: Payout): Promise<bigint> {
  return BigInt(await rpc.call<Hex>('eth_getTransactionCount', relayerAddress ?? relayerSigner.address, 'latest'))
}

/**
 * Has its newest transaction mined: fills the gap before it, raises its fees, or submits it again.
 * @returns null: it waits
 */
async function push(
  deps: PayoutDeps,
  payout: Payout,
  view: ChainView,
  newest: PayoutTransaction,
): Promise<Payout | null> {
  const count = await countOf(deps, payout)
  if (count > newest.relayerNonce) return change(deps, payout, NONCE_GONE)
  const isOver = isAuthorizationOver(payout, view)
  // it is not signed again before all nodes say so, and whoever asks for it has checked it again
  if (isOver && !deps.watchOnly) return prepare(deps, payout, view)
  if (count < newest.relayerNonce) await fillGap(deps, payout, view, count)
  // by its blocks it has run out, for less than the minute that all nodes are given: whoever only follows waits
  const isLast = deps.watchOnly && !isSigned(payout, view)
  const isNext = !isOver && !isLast && (count === newest.relayerNonce || isOfFormerRelayer(deps, payout))
  if (isNext && (await isRaiseDue(deps, view, newest))) return resend(deps, payout, view)
  const known = await deps.rpc.call<object | null>('eth_getTransactionByHash', newest.txHash)
  return known === null ? broadcast(deps, payout, view, isNext && isStuck(deps, view, newest)) : null
}

/** None of our transactions is mined. */
async function waitFor(deps: PayoutDeps, payout: Payout, view: ChainView, newest: PayoutTransaction): Promise<Payout> {
  const pushed = await push(deps, payout, view, newest)
  if (pushed) return pushed
  return payout.status === 'sent'
    ? payout
    : change(deps, payout, { status: 'sent', providerStatus: 'it left the chain and waits again' })
}

type Submitted = { transactions: PayoutTransaction[]; receipts: (Receipt | null)[] }

async function readSubmitted({ db, rpc }: PayoutDeps, { id }: Payout): Promise<Submitted> {
  const transactions = await listPayoutTransactions(db, id)
  const hashes = transactions.map(({ txHash }) => txHash)
  return { transactions, receipts: await readReceipts(rpc, hashes) }
}

/** One of our transactions is mined, or the token shows the payout otherwise; null if neither. */
async function followMined(
  deps: PayoutDeps,
  payout: Payout,
  view: ChainView,
  { receipts }: Submitted,
): Promise<Payout | null> {
  const own = receipts.find((receipt) => paid(deps, payout, receipt))
  return own ? follow(deps, payout, view, own) : followUsed(deps, payout, view)
}

/** What someone else has to submit is in no block. */
export const NOT_SUBMITTED = 'waits until it is submitted'

function waitingWords({ isFormerToken, ownWallet }: PayoutDeps, payout: Payout): string {
  const { kind, fromAddress, tokenAddress, validBefore, reopenedAt } = payout
  if (kind !== 'payout') return NOT_SUBMITTED
  if (tokenAddress === null)
    return (
      'An earlier version signed it, and nothing stored says in which USDC contract. It is followed until its ' +
      'authorization runs out.'
    )
  if (isFormerToken && reopenedAt !== null)
    return (
      `It was undone, and paid in ${tokenAddress}, which is not USDC in the settings here: only a node with that one ` +
      `sends it again. If none does for ${LOST_DAYS} days, it is given up.`
    )
  if (isFormerToken && validBefore !== null)
    return (
      `It was signed in ${tokenAddress}, which is not USDC in the settings any more. It is followed until its ` +
      'authorization runs out; unused, it is paid in the present one.'
    )
  if (fromAddress === ownWallet) return validBefore === null ? 'Nothing is signed for it now.' : ONLY_FOLLOWED
  if (validBefore === null)
    return (
      `It is to be paid from the wallet ${fromAddress}, whose key is not set up here, and nothing is signed for it. Give ` +
      'the key back, or reject or cancel it and start another one.'
    )
  return (
    `It was started from the wallet ${fromAddress}, whose key is not set up here. It is followed until its ` +
    'authorization runs out. After that give the key back, or take it back and send it by hand.'
  )
}

/** Its key is set up here. */
const ONLY_FOLLOWED =
  'It is signed, and only followed now: a check holds it, a person was asked to send it, or named another transaction ' +
  'for it. What is signed can pay it until that runs out.'

/** For so long, a node with the token of an undone payout may be away. */
const LOST_DAYS = 3

/** Nothing has happened to an undone payout for days, and no other token pays it: nobody is left who would send it. */
const isForsaken = ({ isFormerToken, clock }: PayoutDeps, { reopenedAt, updatedAt }: Payout): boolean =>
  isFormerToken === true && reopenedAt !== null && clock() - updatedAt.getTime() >= LOST_DAYS * DAY

const forsakenWords = ({ tokenAddress }: Payout): string =>
  `It was undone, and paid in ${tokenAddress}. For ${LOST_DAYS} days no node with that USDC contract in its settings has ` +
  'sent it again, so it is given up.'

const FAILED = { status: 'failed' } as const
const UNUSED = 'the authorization ran out unused'
const RAN_OUT: Record<Payout['kind'], PayoutChange> = {
  payout: { ...SIGNABLE, providerStatus: UNUSED },
  sweep: { ...FAILED, providerStatus: SWEEP_RAN_OUT },
  payment: { ...FAILED, providerStatus: UNUSED },
  withdrawn: { ...FAILED, providerStatus: UNUSED },
}

/** The nodes may agree within it whether one of them took what is signed. */
const DOUBT_MS = 5 * MINUTE
const IN_DOUBT =
  'The nodes do not agree whether one of them has its transaction, so that is not submitted now. If they still do not ' +
  'in a few minutes, its account nonce is given up.'

/**
 * While the nodes do not agree whether one took what is signed, it is neither submitted, which could be for the
 * first time and without a check, nor given up; after some minutes of that it counts as not taken.
 */
async function findTaken(
  deps: PayoutDeps,
  payout: Payout,
  transactions: readonly PayoutTransaction[],
): Promise<'taken' | 'none' | 'doubt'> {
  const isTaken = await wasSubmitted(deps, payout, transactions)
  if (isTaken !== null) return isTaken ? 'taken' : 'none'
  const isLong = payout.providerStatus === IN_DOUBT && deps.clock() - payout.updatedAt.getTime() >= DOUBT_MS
  return isLong ? 'none' : 'doubt'
}

/** Written once: the doubt is as old as the row's last change. */
const waitInDoubt = async (deps: PayoutDeps, payout: Payout): Promise<Payout> =>
  payout.providerStatus === IN_DOUBT ? payout : change(deps, payout, { providerStatus: IN_DOUBT })

/**
 * Other transactions wait behind the account nonce of a payout for which nothing can be signed here. What a node took
 * already is submitted again where it was lost, and with higher fees where it waits in vain. What none took is not
 * submitted for the first time, and what a person names a foreign transaction for not again: both give their nonce up,
 * and it is filled. @returns null: nothing to do
 */
async function tendNonce(
  deps: PayoutDeps,
  payout: Payout,
  view: ChainView,
  { transactions }: Submitted,
): Promise<Payout | null> {
  if (payout.relayerNonce === null || payout.status === 'reserved' || isOfFormerRelayer(deps, payout)) return null
  const present = presentOf(payout, transactions)
  const { db, findNamedHold } = deps
  const named = findNamedHold ? await db.tx((tx) => findNamedHold(tx, payout)) : null
  const taken = present && named === null ? await findTaken(deps, payout, transactions) : 'none'
  if (taken === 'doubt') return waitInDoubt(deps, payout)
  if (!present || taken === 'none')
    return change(deps, payout, { status: 'reserved', relayer: null, providerStatus: waitingWords(deps, payout) })
  return push(deps, payout, view, present)
}

/** The transaction of someone else, or of before a restore, left the chain; one that was final stays named. */
const gone = ({ reopenedAt }: Payout): { txHash?: null } => (reopenedAt === null ? { txHash: null } : {})

/** Follows a payout that we cannot send: another key started it, or someone else submits it. */
export async function watch(deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout> {
  const submitted = await readSubmitted(deps, payout)
  const mined = await followMined(deps, payout, view, submitted)
  if (mined) return mined
  if (deps.looksOnly) return payout
  if (isForsaken(deps, payout) && (await isUnusable(deps, payout, view)))
    return change(deps, payout, { ...FAILED, providerStatus: forsakenWords(payout) })
  if (await hasRunOut(deps, payout, view)) return change(deps, payout, RAN_OUT[payout.kind])
  const tended = await tendNonce(deps, payout, view, submitted)
  if (tended) return tended
  // nothing is signed for one that an earlier version left as sent
  const isUndone = payout.status === 'mined' || (payout.status === 'sent' && answersOf(payout).isUnsigned)
  const before = isSignedNow(payout, submitted.transactions) ? 'sent' : 'reserved'
  const status = isUndone ? before : payout.status
  const providerStatus = waitingWords(deps, payout)
  // other transactions need later nonces
  const isBack = status === 'reserved' && isUndone
  const hasGap = status === 'reserved' && payout.relayerNonce !== null
  // a write would tell the node that can send it that it is not idle
  if (status === payout.status && providerStatus === payout.providerStatus && !hasGap) return payout
  return change(deps, payout, { status, providerStatus, ...(hasGap && { relayer: null }), ...(isBack && gone(payout)) })
}

/**
 * One of its transactions is in a block and did not pay it. It is signed again with another account nonce, once the
 * nodes agree; the count of what the token refused starts again. Null: none of them failed.
 */
async function findFailure(
  deps: PayoutDeps,
  payout: Payout,
  mined: readonly PayoutTransaction[],
): Promise<Payout | null> {
  try {
    const failed = await listFailed(
      deps,
      mined.map(({ txHash }) => txHash),
    )
    if (failed.length === 0) return null
    const providerStatus = 'the token refused it when it was mined'
    return change(deps, payout, { status: 'reserved', relayer: null, providerStatus, refusals: 1 })
  } catch (error) {
    if (error instanceof ChainDoubt) return change(deps, payout, { providerStatus: doubtWords(error) })
    throw error
  }
}

/** Follows a payout whose transactions were submitted. */
export async function followSent(deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout> {
  const submitted = await readSubmitted(deps, payout)
  const mined = await followMined(deps, payout, view, submitted)
  if (mined) return mined
  const { transactions, receipts } = submitted
  const newest = presentOf(payout, transactions)
  // someone else submitted it, and that transaction left the chain
  if (!newest) {
    const providerStatus = 'the transaction left the chain'
    const back = isSignedNow(payout, transactions) ? {} : gone(payout)
    return change(deps, payout, { status: 'reserved', providerStatus, ...back })
  }
  const mine = transactions.filter((one, index) => receipts[index] && isKept(payout, one))
  const failed = mine.length > 0 ? await findFailure(deps, payout, mine) : null
  if (failed !== null) return failed
  return waitFor(deps, payout, view, newest)
}

/**
 * Follows a payout whose bytes are stored, and which may have been submitted. What no node has taken waits for a check
 * like what is not signed; what is signed stays usable, so that another account nonce submits it.
 */
export async function followSigned(deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout> {
  if (!needsCheck(deps, payout)) return broadcast(deps, payout, view)
  const submitted = await readSubmitted(deps, payout)
  const taken = await findTaken(deps, payout, submitted.transactions)
  if (taken === 'taken') return broadcast(deps, payout, view)
  const mined = await followMined(deps, payout, view, submitted)
  if (mined) return mined
  if (taken === 'doubt') return waitInDoubt(deps, payout)
  const { providerStatus } = UNCHECKED
  return change(deps, payout, { status: 'reserved', relayer: null, providerStatus })
}

/** Follows a payout that has no pending transaction: one of ours may have been mined since it was given up. */
export const followReserved = async (deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout | null> =>
  followMined(deps, payout, view, await readSubmitted(deps, payout))
