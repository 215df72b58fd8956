import { DAY } from '../../kernel/clock.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { type Hex, RpcError } from '../endpoints/rpc.ts'
import { ChainDoubt, toHex } from '../transfer-logs.ts'
import { fillGap, isOfFormerRelayer } from './account-nonces.ts'
import { doubtWords } from './agreement.ts'
import { change, type PayoutDeps } from './payout-deps.ts'
import type { Payout } from './payout-queries.ts'
import { broadcast, hasRunOut, isUnusable, prepare, resend, SIGNABLE } from './payout-steps.ts'
import { type ChainView, isAuthorizationOver } from './payout-view.ts'
import { isReceiptFinal, type Receipt, readReceipts } from './receipt.ts'
import { isRaiseDue, isStuck } from './relayer/fees.ts'
import { listPayoutTransactions, type PayoutTransaction } from './relayer/transaction-queries.ts'
import { checkTransfer } from './transfer-check.ts'
import {
  type AuthorizationKey,
  findAuthorizationUse,
  isAuthorizationUsed,
  transferOfAuthorization,
} from './usdc-token.ts'

export const authorizationKeyOf = ({ fromAddress, authorizationNonce }: Payout) => ({
  from: fromAddress,
  nonce: authorizationNonce,
})

/** What its authorization moved in this transaction; undefined if it was not used there. */
const leftBy = ({ network }: PayoutDeps, payout: Payout, { logs }: Receipt) =>
  transferOfAuthorization(logs, network, authorizationKeyOf(payout))

/** Exactly this payout: before a restored backup, its authorization may have moved another amount. */
function paid(deps: PayoutDeps, payout: Payout, receipt: Receipt | null | undefined): receipt is Receipt {
  if (receipt?.status !== '0x1') return false
  const left = leftBy(deps, payout, receipt)
  return left?.to === payout.toAddress && left.units === payout.units
}

const RECENT_BLOCKS = 1000n

/** The authorization was used, whoever submitted it: finds its transaction, newest blocks first. */
export async function findForeignReceipt(
  { rpc, network }: Pick<PayoutDeps, 'rpc' | 'network'>,
  key: AuthorizationKey,
  view: ChainView,
): Promise<Receipt | null> {
  const start = view.number > RECENT_BLOCKS ? view.number - RECENT_BLOCKS : 0n
  for (const fromBlock of new Set<Hex>([toHex(start), '0x0'])) {
    try {
      const txHash = await findAuthorizationUse(rpc, network, key, fromBlock)
      if (txHash !== undefined) return (await readReceipts(rpc, [txHash]))[0] ?? null
    } catch (error) {
      if (!(error instanceof RpcError) || error.kind !== 'definite') throw error // the node refuses such a long range
    }
  }
  return null
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
  if (await isReceiptFinal(deps.rpc, deps.network, { receipt, view, units })) {
    const doubt = await findDoubt(deps, payout, txHash)
    if (doubt !== null) return change(deps, payout, { status: 'mined', txHash, providerStatus: doubt })
    return change(deps, payout, { status: 'final', txHash, providerStatus: `paid by transaction ${txHash}` })
  }
  const providerStatus = `transaction ${txHash} is in block ${BigInt(receipt.blockNumber)}, not final yet`
  return change(deps, payout, { status: 'mined', txHash, providerStatus })
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
  const { toAddress, units } = payout
  const done =
    left.to === null
      ? 'has cancelled its authorization'
      : `has used its authorization, and brought ${formatDecimal(left.units, 6)} USDC to ${left.to}`
  return (
    `Transaction ${receipt.transactionHash} ${done} instead of ${formatDecimal(units, 6)} USDC to ${toAddress}. It is ` +
    'not sent again (docs/backup.md).'
  )
}

/**
 * Whether the token shows that this payout happened or never will; checked before any failure counts. One that no
 * longer shows as used waits for the next poll, because its checks were skipped for this one.
 */
async function followUsed(deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout | null> {
  if (!(await isAuthorizationUsed(deps.rpc, deps.network, authorizationKeyOf(payout))))
    return payout.usedAt === null ? null : change(deps, payout, { used: false })
  const receipt = await findForeignReceipt(deps, authorizationKeyOf(payout), view)
  if (paid(deps, payout, receipt)) return follow(deps, payout, view, receipt)
  if (await isSpentElsewhere(deps, payout, view, receipt))
    return change(deps, payout, { status: 'failed', providerStatus: 'the payer cancelled it or used it otherwise' })
  return change(deps, payout, { used: true, providerStatus: usedWords(deps, payout, receipt) })
}

/** None of our transactions is mined. */
async function waitFor(deps: PayoutDeps, payout: Payout, view: ChainView, newest: PayoutTransaction): Promise<Payout> {
  const { rpc, relayerSigner } = deps
  const relayer = payout.relayerAddress ?? relayerSigner.address
  const count = BigInt(await rpc.call<Hex>('eth_getTransactionCount', relayer, 'latest'))
  if (count > newest.relayerNonce)
    return change(deps, payout, {
      status: 'reserved',
      relayer: null,
      providerStatus: 'the account nonce was used by another transaction',
    })
  // it is not signed again before all nodes say so, and whoever asks for it has checked it again
  if (isAuthorizationOver(payout, view)) return prepare(deps, payout, view)
  if (count < newest.relayerNonce) await fillGap(deps, payout, view, count)
  const isNext = count === newest.relayerNonce || isOfFormerRelayer(deps, payout)
  if (isNext && (await isRaiseDue(deps, view, newest))) return resend(deps, payout, view)
  const known = await rpc.call<object | null>('eth_getTransactionByHash', newest.txHash)
  if (known === null) return broadcast(deps, payout, view, isNext && isStuck(deps, view, newest))
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

function waitingWords({ isFormerToken }: PayoutDeps, payout: Payout): string {
  const { kind, fromAddress, tokenAddress, validBefore, reopenedAt } = payout
  if (kind !== 'payout') return 'waits until it is submitted'
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

/** For so long, a node with the token of an undone payout may be away. */
const LOST_DAYS = 3

/** Nothing has happened to an undone payout for days, and no other token pays it: nobody is left who would send it. */
const isForsaken = ({ isFormerToken, clock }: PayoutDeps, { reopenedAt, updatedAt }: Payout): boolean =>
  isFormerToken === true && reopenedAt !== null && clock() - updatedAt.getTime() >= LOST_DAYS * DAY

const forsakenWords = ({ tokenAddress }: Payout): string =>
  `It was undone, and paid in ${tokenAddress}. For ${LOST_DAYS} days no node with that USDC contract in its settings has ` +
  'sent it again, so it is given up.'

const RAN_OUT = 'the authorization ran out unused'
const FAILED = { status: 'failed' } as const

/** Follows a payout that we cannot send: another key started it, or someone else submits it. */
export async function watch(deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout> {
  const submitted = await readSubmitted(deps, payout)
  const mined = await followMined(deps, payout, view, submitted)
  if (mined) return mined
  if (isForsaken(deps, payout) && (await isUnusable(deps, payout, view)))
    return change(deps, payout, { ...FAILED, providerStatus: forsakenWords(payout) })
  if (await hasRunOut(deps, payout, view))
    return change(deps, payout, { ...(payout.kind === 'payout' ? SIGNABLE : FAILED), providerStatus: RAN_OUT })
  const before = submitted.transactions.length > 0 ? 'sent' : 'reserved'
  const status = payout.status === 'mined' ? before : payout.status
  const providerStatus = waitingWords(deps, payout)
  // other transactions need later nonces
  const hasGap = status === 'reserved' && payout.relayerNonce !== null
  // a write would tell the node that can send it that it is not idle
  if (status === payout.status && providerStatus === payout.providerStatus && !hasGap) return payout
  return change(deps, payout, { status, providerStatus, ...(hasGap && { relayer: null }) })
}

/** Follows a payout whose transactions were submitted. */
export async function followSent(deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout> {
  const submitted = await readSubmitted(deps, payout)
  const mined = await followMined(deps, payout, view, submitted)
  if (mined) return mined
  const { transactions, receipts } = submitted
  const newest = transactions.at(-1)
  // someone else submitted it, and that transaction left the chain
  if (!newest) return change(deps, payout, { status: 'reserved', providerStatus: 'the transaction left the chain' })
  const refused = receipts.some(
    (receipt, index) => receipt && transactions[index]?.relayerNonce === payout.relayerNonce,
  )
  if (refused)
    return change(deps, payout, {
      status: 'reserved',
      relayer: null,
      providerStatus: 'the token refused it when it was mined',
      refusals: payout.refusals + 1,
    })
  return waitFor(deps, payout, view, newest)
}

/** Follows a payout that has no pending transaction: one of ours may have been mined since it was given up. */
export const followReserved = async (deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout | null> =>
  followMined(deps, payout, view, await readSubmitted(deps, payout))
