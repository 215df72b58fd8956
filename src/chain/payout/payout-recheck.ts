import type { Db, Queryable } from '../../db/db.ts'
import { findRestored, isMadeSince } from '../../db/restored-queries.ts'
import { type Clock, DAY, MINUTE } from '../../kernel/clock.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import { inToken, type Network, tokenOf } from '../networks.ts'
import { ChainDoubt } from '../transfer-logs.ts'
import { doubtWords } from './agreement.ts'
import { findOwnToken, nonceOf, type PayoutDeps } from './payout-deps.ts'
import {
  findPayout,
  isPayoutDropped,
  isPayoutTransaction,
  listAccountedPayouts,
  listFinalPayouts,
  listIdlePayouts,
  type Payout,
  type Period,
  updateFinalToken,
  updatePayoutReopened,
} from './payout-queries.ts'
import { lastExpiryOf, readChainView } from './payout-view.ts'
import { readReceipts } from './receipt.ts'
import { isPast, poolWords } from './state/after-restore.ts'
import { authorizationKeyOf, findReceiptOfUse } from './state/authorization-use.ts'
import {
  findStoredUse,
  isAuthorizationCancelled,
  isNamedUnproven,
  listNamedLeft,
  type NamedLeft,
  updateNamedProven,
} from './state/left-queries.ts'
import { answersOf } from './state/states.ts'
import { checkUsed } from './transfer-check.ts'
import { type AuthorizationKey, authorizationStateCall, toAuthorizationState } from './usdc-token.ts'
import { insertPayingToken, listPayingChains, listPayingTokens, listPayingWallets } from './wallet-queries.ts'

/** How long final payouts are rechecked, and how soon at the earliest: by then every node has their block. */
const AGAIN_MS = { longest: 2 * DAY, shortest: 5 * MINUTE }
/** When what is rechecked now became final. */
export const recheckPeriod = (nowMs: number): Period => ({
  after: new Date(nowMs - AGAIN_MS.longest),
  before: new Date(nowMs - AGAIN_MS.shortest),
})
/**
 * How long a payout that was sent again is left alone: longer by a node that only watches it, so that the one that pays
 * it comes first.
 */
const IDLE_MS = { own: MINUTE, others: 5 * MINUTE }
const PAGE = 100

const LEFT = 'its transaction left the chain after it was final'

/**
 * Those whose authorization the token knows, if `isUsed`, or does not. None where the node finds no contract.
 * @throws RpcError
 */
async function listInState<Item>(
  rpc: Rpc,
  network: Network,
  { items, keyOf, isUsed }: { items: readonly Item[]; keyOf: (item: Item) => AuthorizationKey; isUsed: boolean },
): Promise<Item[]> {
  const answers: Hex[] = []
  for (let start = 0; start < items.length; start += PAGE) {
    const calls = items.slice(start, start + PAGE).map((item) => ({
      method: 'eth_call',
      params: [authorizationStateCall(network, keyOf(item)), 'latest'],
    }))
    answers.push(...(await rpc.batch<Hex>(calls)))
  }
  return items.filter((_, index) => toAuthorizationState(answers[index]) === isUsed)
}

/**
 * Those that their token does not know, on whose word the nodes agree: one that is behind knows none of the last ones.
 * @throws RpcError, ChainDoubt
 */
export function listAgreedUnused(
  { agree }: Pick<PayoutDeps, 'agree'>,
  network: Network,
  items: readonly Payout[],
): Promise<Payout[]> {
  const look = (rpc: Rpc) => listInState(rpc, network, { items, keyOf: authorizationKeyOf, isUsed: false })
  const keyOf = (unused: Payout[]) => unused.map(({ id }) => id).join()
  return agree({ look, keyOf, subject: `final payouts from ${items[0]?.id} on` })
}

/** What becomes of an undone payout: only the wallet and the token of the settings pay it again. */
function undoneWords({ network, refundSigner }: PayoutDeps, { fromAddress, tokenAddress }: Payout): string {
  if (tokenAddress !== tokenOf(network))
    return `${LEFT}. It was paid in ${tokenAddress}, which is not USDC in the settings here: only a node with that one sends it again`
  if (fromAddress !== refundSigner?.address.toLowerCase())
    return `${LEFT}. It is sent again once the key of its wallet ${fromAddress} is set up`
  return `${LEFT}; it is sent again`
}

/** The token in which a final payout left; null: nothing says it, or not now. What the row lacks is stored. */
async function findFinalToken(deps: PayoutDeps, payout: Payout): Promise<Hex | null> {
  try {
    const token = await findOwnToken(deps, payout)
    if (token === null || token === payout.tokenAddress) return token
    await insertPayingToken(deps.db, payout.chainId, token)
    await updateFinalToken(deps.db, payout.id, token)
    return token
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    return null
  }
}

/** Those of one token that it does not know, and that left in no other one. One token keeps no other waiting. */
async function listUndone(deps: PayoutDeps, token: Hex, payouts: readonly Payout[]): Promise<Payout[]> {
  const { network, log } = deps
  const undone: Payout[] = []
  try {
    for (const payout of await listAgreedUnused(deps, inToken(network, token), payouts))
      if ((await findFinalToken(deps, payout)) === token) undone.push(payout)
  } catch (error) {
    if (!(error instanceof RpcError) && !(error instanceof ChainDoubt)) throw error
    log.warn({ err: error, chainId: network.chainId, token }, 'the payouts in this token could not be rechecked')
  }
  return undone
}

/**
 * A reorganisation deeper than finality reverts payouts: the wallet has the money again, and the payer does not. Their
 * token knows every used authorization, so the payouts are sent again, and none is paid twice. Those of an earlier
 * wallet or token are only followed: their transactions may be mined again.
 * @returns their ids; those that another node found meanwhile are left to it
 */
export async function reopenUnpaid(deps: PayoutDeps): Promise<string[]> {
  const { db, clock, log, network } = deps
  const { chainId } = network
  const now = clock()
  const byToken = new Map<Hex, Payout[]>()
  for (const payout of await listFinalPayouts(db, chainId, { ...recheckPeriod(now), kind: 'payout' })) {
    const token = payout.tokenAddress ?? (await findFinalToken(deps, payout))
    if (token !== null) byToken.set(token, [...(byToken.get(token) ?? []), { ...payout, tokenAddress: token }])
  }
  const reopened: string[] = []
  for (const [token, payouts] of byToken)
    for (const payout of await listUndone(deps, token, payouts)) {
      const { id, txHash, units } = payout
      const words = undoneWords(deps, payout)
      if ((await updatePayoutReopened(db, { id, status: 'final' }, words, new Date(now))) === 0) continue
      reopened.push(id)
      log.error({ payoutId: id, chainId, txHash, units: units.toString() }, `ALARM: a payout was undone: ${words}`)
    }
  return reopened
}

/**
 * A settled refund or settlement does not poll its payout any more, so reopened payouts are driven from here until they
 * are final; others wait behind the account nonces that they keep. Payouts that were not reopened are left to their
 * owner, which may be stopped.
 */
export const listReopened = ({ db, clock, network, refundSigner }: PayoutDeps): Promise<string[]> =>
  listIdlePayouts(db, network.chainId, {
    wallet: refundSigner?.address.toLowerCase() ?? null,
    token: tokenOf(network),
    since: new Date(clock() - IDLE_MS.own),
    othersSince: new Date(clock() - IDLE_MS.others),
  })

/**
 * Numbers of the same order or company: those that are in the database, and the next ones, which are not. `since`: when
 * that order or company was made.
 */
export type OtherNumbers = { since: Date; known: readonly string[]; next: readonly string[] }
/** `payouts`: null where its keys are not set up. */
type OtherChain = Pick<PayoutDeps, 'rpc' | 'agree' | 'network'> & { payouts: { readonly address: string } | null }
export type OtherDeps = {
  db: Db
  clock: Clock
  chains: readonly OtherChain[]
  /** Whether a person named this transaction as refunds and settlements that are this amount together. */
  isFollowed(q: Queryable, transfer: { network: number; txHash: string; units: string }): Promise<boolean>
}
type NumberKey = AuthorizationKey & { id: string }
/** A number under one of the wallets of a chain. */
type Asked = { id: string; network: number; others: OtherNumbers }

/** @returns those of these that the token knows, on whose word the nodes agree @throws RpcError, ChainDoubt */
export async function listAgreedUsed(
  { agree, network }: Pick<OtherChain, 'agree' | 'network'>,
  keys: readonly NumberKey[],
): Promise<NumberKey[]> {
  if (keys.length === 0) return []
  const look = (rpc: Rpc) => listInState(rpc, network, { items: keys, keyOf: (key) => key, isUsed: true })
  const keyOf = (used: NumberKey[]) => used.map(({ id, from }) => `${id} ${from}`).join()
  return agree({ look, keyOf, subject: `payouts from ${keys[0]?.id} on` })
}

/** Stores that a named transaction is final, and whose, once that is certain: nothing waits for it. */
async function noteProven({ db, clock }: OtherDeps, chain: OtherChain, named: NamedLeft) {
  if (!(await isNamedUnproven(db, named))) return
  try {
    const use = await checkUsed(chain, { txHash: named.txHash, authorization: named })
    if (use?.isFinal) await updateNamedProven(db, named, new Date(clock()))
  } catch (error) {
    if (!(error instanceof RpcError) && !(error instanceof ChainDoubt)) throw error
  }
}

/** Whether no other wallet used the same number, nor any in another token. */
async function isAlone({ db }: OtherDeps, chain: OtherChain, key: NumberKey): Promise<boolean> {
  const wallets = await listPayingWallets(db, chain.network.chainId, chain.payouts?.address)
  const keys = wallets.map((from) => ({ ...key, from }))
  let uses = 0
  for (const network of await listPayingTokens(db, chain.network))
    uses += (await listAgreedUsed({ ...chain, network }, keys)).length
  return uses === 1
}

/** The transaction that used it. Many nodes forget old ones: then the stored one stands for it. */
async function findUsing(deps: OtherDeps, chain: OtherChain, key: NumberKey) {
  const { rpc, network } = chain
  const stored = await findStoredUse(deps.db, network.chainId, { ...key, token: tokenOf(network) })
  const receipt = await findReceiptOfUse(chain, key, { view: await readChainView(rpc, network), stored })
  if (receipt) return { txHash: receipt.transactionHash, isSeen: true }
  const isGone = stored !== undefined && !(await readReceipts(rpc, [stored]))[0]
  return { txHash: isGone && (await isAlone(deps, chain, key)) ? stored : undefined, isSeen: false }
}

/** What left under an authorization and nothing here accounts for; null: nothing. @throws RpcError, ChainDoubt */
async function findLeft(deps: OtherDeps, chain: OtherChain, key: NumberKey): Promise<string | null> {
  const { db, isFollowed } = deps
  const { network } = chain
  const { chainId } = network
  const { from, nonce } = key
  const left = { from, nonce, token: tokenOf(network) }
  if (await isAuthorizationCancelled(db, chainId, left)) return null
  const { txHash, isSeen } = await findUsing(deps, chain, key)
  if (txHash !== undefined && (await isPayoutTransaction(db, chainId, txHash))) {
    if (isSeen) await noteProven(deps, chain, { ...left, chainId, txHash })
    return null
  }
  if (txHash === undefined || !isSeen) return 'the node does not find its transaction'
  const use = await checkUsed(chain, { txHash, authorization: key })
  if (use?.to === null) return null // it was cancelled
  if (use && (await isFollowed(db, { network: chainId, txHash, units: String(use.units) }))) return null
  return `transaction ${txHash} brought ${use ? `${formatDecimal(use.units, 6)} USDC to ${use.to}` : 'something'}`
}

async function otherWords(deps: OtherDeps, chain: OtherChain, key: NumberKey, asked: Asked): Promise<string | null> {
  const left = await findLeft(deps, chain, key)
  if (left === null) return null
  const { chainId, name } = chain.network
  const isHere = chainId === asked.network
  const before = `left${isHere ? '' : ` on ${name}`} before the database was restored or another server took over: ${left}.`
  const there = `Reject or cancel this one, ask for one on ${name}, and name that transaction there (docs/backup.md)`
  if (key.id === asked.id) return `this one ${before} ${isHere ? `It left the wallet ${key.from}. ${NAME_IT}` : there}`
  if (asked.others.next.includes(key.id))
    return `a later one ${before} Reject or cancel this one, and ask for exactly that one (docs/backup.md)`
  if (await isPayoutDropped(deps.db, chainId, key.nonce)) {
    const here =
      'Name that transaction for this one if it paid the same; otherwise reject or cancel this one, and ask for exactly ' +
      'that one (docs/backup.md)'
    return `another one, which was then rejected or cancelled here, ${before} ${isHere ? here : there}`
  }
  return `another one, which is not finished here, ${before} Finish or reject that one first (docs/backup.md)`
}

const NAME_IT =
  'Name that transaction; a refund that asks for something else is rejected first, and exactly that one asked for ' +
  '(docs/backup.md)'

/**
 * The wallet that this one is paid from, and its token, unless that of the settings; undefined: this node does not
 * follow it there. Without keys it follows only what was signed.
 */
async function findOwnWallet({ db }: OtherDeps, { payouts, network, rpc }: OtherChain, id: string) {
  const payout = await findPayout(db, id)
  if (payout?.kind !== 'payout' || payout.chainId !== network.chainId) return { from: payouts?.address.toLowerCase() }
  if (!payouts && answersOf(payout).isUnsigned) return undefined
  return { from: payout.fromAddress, token: await findOwnToken({ db, rpc, network }, payout) }
}

/** `isOwn`: it left itself, which its payout finds. */
type Seen = { isOwn: boolean; words: string | null }

const NOTHING: Seen = { isOwn: false, words: null }

/** Why this one waits because of one chain, in any token that its wallets paid in. @throws RpcError, ChainDoubt */
async function lookOn(deps: OtherDeps, chain: OtherChain, asked: Asked): Promise<Seen> {
  const own = chain.network.chainId === asked.network ? await findOwnWallet(deps, chain, asked.id) : undefined
  const ownToken = own?.token ?? tokenOf(chain.network)
  const isOwn = (network: Network) => tokenOf(network) === ownToken
  const networks = await listPayingTokens(deps.db, chain.network)
  for (const network of networks.toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a)))) {
    const from = isOwn(network) ? own?.from : undefined
    const seen = await lookIn(deps, { ...chain, network }, asked, from)
    if (seen.isOwn || seen.words !== null) return seen
  }
  return NOTHING
}

/** The same in one token. @param ownWallet the wallet that this one is paid from in it */
async function lookIn(deps: OtherDeps, chain: OtherChain, asked: Asked, ownWallet: string | undefined): Promise<Seen> {
  const { db } = deps
  const { id, others } = asked
  const { chainId } = chain.network
  const accounted = await listAccountedPayouts(db, chainId, others.known)
  const numbers = [id, ...others.known, ...others.next].filter((one, index) => index === 0 || !accounted.has(one))
  const nonces = [...new Set(numbers)].map((one) => ({ id: one, nonce: nonceOf(one) }))
  const wallets = await listPayingWallets(db, chainId, chain.payouts?.address)
  const token = tokenOf(chain.network)
  const named = await listNamedLeft(db, { chainId, token, nonces: nonces.map(({ nonce }) => nonce) })
  const isNamed = (key: NumberKey) => named.some(({ from, nonce }) => from === key.from && nonce === key.nonce)
  const keys = wallets.flatMap((from) => nonces.map((one) => ({ ...one, from })))
  const used = await listAgreedUsed(
    chain,
    keys.filter((key) => key.id === id || !isNamed(key)),
  )
  if (used.some((key) => key.id === id && key.from === ownWallet)) return { isOwn: true, words: null }
  for (const key of used) {
    const words = await otherWords(deps, chain, key, asked)
    if (words !== null) return { isOwn: false, words }
  }
  return NOTHING
}

/** Why it cannot be known now what left on this chain. */
function troubleWords({ network: { name } }: OtherChain, error: unknown): string {
  if (error instanceof ChainDoubt) return `${name}: ${doubtWords(error)}`
  if (error instanceof RpcError) return `${name}: ${error.message}`
  throw error
}

/**
 * A restored database numbers refunds and settlements from where the backup ends. What left may have a later number,
 * because one was dropped before the loss, or an earlier one, which was dropped here before it was sent: asking for it
 * again under this number would pay it twice. It may have left on another chain or from an earlier wallet, where the
 * token knows it under another key. What still waits in a pool no token knows, so nothing is paid before that has run
 * out. Nothing had left of an order or a company that was made after the restore.
 * @returns why this one waits; null: no other left unaccounted for, or this one left itself
 */
export async function findOtherPayout(
  deps: OtherDeps,
  { network, id }: { network: number; id: string },
  listOthers: () => Promise<OtherNumbers>,
): Promise<string | null> {
  const { db, chains } = deps
  const restored = await findRestored(db)
  if (!restored) return null
  const asked = { id, network, others: await listOthers() }
  if (isMadeSince(restored, asked.others.since)) return null
  const last = lastExpiryOf(restored.restoredAt)
  const isHere = (chainId: number) => chains.some((chain) => chain.network.chainId === chainId)
  const ownFirst = chains.toSorted(
    (a, b) => Number(b.network.chainId === network) - Number(a.network.chainId === network),
  )
  const waiting: string[] = []
  for (const chain of ownFirst) {
    try {
      const { isOwn, words } = await lookOn(deps, chain, asked)
      if (isOwn || words !== null) return words
      if ((await mayPoolHold(deps, chain, asked)) && !(await isPast(chain, last))) waiting.push(chain.network.name)
    } catch (error) {
      return troubleWords(chain, error)
    }
  }
  const missing = (await listPayingChains(db)).find((chainId) => !isHere(chainId))
  if (missing !== undefined) return missingWords(missing)
  return waiting.length > 0 ? poolWords(last, waiting) : null
}

/**
 * Whether something that was signed on this chain before the restore may wait in a pool: from an earlier wallet or
 * under another number. This one's authorization does not stop that, and nothing stops what a person sends by hand.
 */
const mayPoolHold = async ({ db }: OtherDeps, { network, payouts }: OtherChain, asked: Asked): Promise<boolean> =>
  network.chainId === asked.network || (await listPayingWallets(db, network.chainId, payouts?.address)).length > 0

const missingWords = (chainId: number): string =>
  `the database was restored, or another server took over, and a wallet pays or paid on the chain ${chainId}, which is ` +
  `not set up: what left there cannot be looked up. Set CHAIN_${chainId}_RPC_URL and CHAIN_${chainId}_XPUB; the paying keys are not needed ` +
  '(docs/backup.md)'
