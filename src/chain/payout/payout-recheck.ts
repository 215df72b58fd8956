import { findRestored } from '../../db/restored-queries.ts'
import { DAY, MINUTE } from '../../kernel/clock.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { ChainDoubt } from '../transfer-logs.ts'
import { doubtWords } from './agreement.ts'
import type { PayoutDeps } from './payout-deps.ts'
import { authorizationKeyOf, findForeignReceipt } from './payout-follow.ts'
import {
  isPayoutDropped,
  isPayoutTransaction,
  listAccountedPayouts,
  listFinalPayouts,
  listIdlePayouts,
  updatePayoutReopened,
} from './payout-queries.ts'
import { readChainView } from './payout-view.ts'
import { checkUsed } from './transfer-check.ts'
import { type AuthorizationKey, authorizationStateCall } from './usdc-token.ts'

/** How long final payouts are rechecked, and how soon at the earliest: by then every node has their block. */
const AGAIN_MS = { longest: 2 * DAY, shortest: 5 * MINUTE }
/** How long a payout that was sent again is left alone. */
const IDLE_MS = MINUTE
const PAGE = 100

const LEFT = 'its transaction left the chain after it was final; it is sent again'

/** Those whose authorization the token does not know. @throws RpcError */
async function listUnused<Item>(
  rpc: Rpc,
  network: Network,
  items: readonly Item[],
  keyOf: (item: Item) => AuthorizationKey,
): Promise<Item[]> {
  const answers: Hex[] = []
  for (let start = 0; start < items.length; start += PAGE) {
    const calls = items.slice(start, start + PAGE).map((item) => ({
      method: 'eth_call',
      params: [authorizationStateCall(network, keyOf(item)), 'latest'],
    }))
    answers.push(...(await rpc.batch<Hex>(calls)))
  }
  return items.filter((_, index) => BigInt(answers[index] ?? '0x1') === 0n)
}

/**
 * A reorganisation deeper than finality reverts payouts: the wallet has the money again, and the payer does not. The
 * token knows every used authorization, so the payouts are sent again, and none is paid twice.
 * @returns their ids; those that another node found meanwhile are left to it
 * @throws RpcError
 */
export async function reopenUnpaid(deps: PayoutDeps, from: Hex): Promise<string[]> {
  const { db, rpc, clock, log, network } = deps
  const { chainId } = network
  const now = clock()
  const time = { after: new Date(now - AGAIN_MS.longest), before: new Date(now - AGAIN_MS.shortest) }
  const unpaid = await listUnused(rpc, network, await listFinalPayouts(db, { chainId, from }, time), authorizationKeyOf)
  const reopened: string[] = []
  for (const { id, txHash, units } of unpaid) {
    if ((await updatePayoutReopened(db, id, LEFT, new Date(now))) === 0) continue
    reopened.push(id)
    log.error({ payoutId: id, chainId, txHash, units: units.toString() }, `ALARM: a payout was undone: ${LEFT}`)
  }
  return reopened
}

/**
 * A settled refund or settlement does not poll its payout any more, so reopened payouts are driven from here until they
 * are final; others wait behind the account nonces that they keep. Payouts that were not reopened are left to their
 * owner, which may be stopped.
 */
export const listReopened = ({ db, clock, network: { chainId } }: PayoutDeps, from: Hex): Promise<string[]> =>
  listIdlePayouts(db, { chainId, from }, new Date(clock() - IDLE_MS))

export type PayoutKey = AuthorizationKey & { id: string }
/** Numbers of the same order or company: those that are in the database, and the next ones, which are not. */
export type OtherNumbers<Number = string> = { known: readonly Number[]; next: readonly Number[] }
type OtherDeps = Pick<PayoutDeps, 'db' | 'rpc' | 'agree' | 'network'>

/** @returns those of these that the token knows, on whose word the nodes agree @throws RpcError, ChainDoubt */
function listUsed({ agree, network }: OtherDeps, keys: readonly PayoutKey[]): Promise<PayoutKey[]> {
  const look = async (rpc: Rpc) => {
    const unused = new Set(await listUnused(rpc, network, keys, (key) => key))
    return keys.filter((key) => !unused.has(key))
  }
  const keyOf = (used: PayoutKey[]) => used.map(({ id }) => id).join()
  return agree({ own: look, other: look, keyOf, subject: `payouts from ${keys[0]?.id} on` })
}

/** What left under an authorization and nothing here accounts for; null: nothing. @throws RpcError, ChainDoubt */
async function findLeft(deps: OtherDeps, key: PayoutKey): Promise<string | null> {
  const { db, rpc, network } = deps
  const receipt = await findForeignReceipt(deps, key, await readChainView(rpc, network))
  const txHash = receipt?.transactionHash
  if (txHash === undefined) return 'the node does not find its transaction'
  if (await isPayoutTransaction(db, network.chainId, txHash)) return null
  const use = await checkUsed(deps, { txHash, authorization: key })
  if (use?.to === null) return null // it was cancelled
  return `transaction ${txHash} brought ${use ? `${formatDecimal(use.units, 6)} USDC to ${use.to}` : 'something'}`
}

async function otherWords(deps: OtherDeps, key: PayoutKey, isNext: boolean): Promise<string | null> {
  const left = await findLeft(deps, key)
  if (left === null) return null
  const before = `left before the database was restored: ${left}.`
  if (isNext) return `a later one ${before} Reject or cancel this one, and ask for exactly that one (docs/backup.md)`
  if (await isPayoutDropped(deps.db, deps.network.chainId, key))
    return (
      `another one, which was then rejected or cancelled here, ${before} Name that transaction for this one if it paid ` +
      'the same; otherwise reject or cancel this one, and ask for exactly that one (docs/backup.md)'
    )
  return `another one, which is not finished here, ${before} Finish or reject that one first (docs/backup.md)`
}

/**
 * A restored database numbers refunds and settlements from where the backup ends. What left may have a later number,
 * because one was dropped before the loss, or an earlier one, which was dropped here before it was sent: asking for it
 * again under this number would pay it twice.
 * @returns why this one waits; null: no other left unaccounted for, or this one left itself
 */
export async function findOtherPayout(
  deps: OtherDeps,
  own: PayoutKey,
  { known, next }: OtherNumbers<PayoutKey>,
): Promise<string | null> {
  if (!(await findRestored(deps.db))) return null
  try {
    const others = [...known, ...next].filter(({ id }) => id !== own.id)
    const accounted = await listAccountedPayouts(
      deps.db,
      others.map(({ id }) => id),
    )
    const used = await listUsed(deps, [own, ...others.filter(({ id }) => !accounted.has(id))])
    if (used.includes(own)) return null
    for (const key of used) {
      const words = await otherWords(deps, key, next.includes(key))
      if (words !== null) return words
    }
    return null
  } catch (error) {
    if (error instanceof ChainDoubt) return doubtWords(error)
    if (error instanceof RpcError) return error.message
    throw error
  }
}
