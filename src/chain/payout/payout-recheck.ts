import { findRestored } from '../../db/restored-queries.ts'
import { DAY, MINUTE } from '../../kernel/clock.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { ChainDoubt } from '../transfer-logs.ts'
import { doubtWords } from './agreement.ts'
import type { PayoutDeps } from './payout-deps.ts'
import { authorizationKeyOf, findForeignReceipt } from './payout-follow.ts'
import { listFinalPayouts, listIdlePayouts, listKnownPayouts, updatePayoutReopened } from './payout-queries.ts'
import { readChainView } from './payout-view.ts'
import { type AuthorizationKey, authorizationStateCall, transferOfAuthorization } from './usdc-token.ts'

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
type LaterDeps = Pick<PayoutDeps, 'db' | 'rpc' | 'agree' | 'network'>

/** @returns the first of these that the token knows, on whose word the nodes agree @throws RpcError, ChainDoubt */
function findUsed({ agree, network }: LaterDeps, keys: readonly PayoutKey[]): Promise<PayoutKey | undefined> {
  const look = async (rpc: Rpc) => {
    const unused = new Set(await listUnused(rpc, network, keys, (key) => key))
    return keys.find((key) => !unused.has(key))
  }
  return agree({ own: look, other: look, keyOf: (found) => found?.id ?? '', subject: `payouts from ${keys[0]?.id} on` })
}

async function laterWords(deps: LaterDeps, key: PayoutKey): Promise<string> {
  const receipt = await findForeignReceipt(deps, key, await readChainView(deps.rpc, deps.network))
  const left = receipt && transferOfAuthorization(receipt.logs, deps.network, key)
  const done = left
    ? `transaction ${receipt.transactionHash} brought ${formatDecimal(left.units, 6)} USDC to ${left.to}`
    : 'the node does not find its transaction'
  return (
    `a later one left before the database was restored: ${done}. Reject or cancel this one, and ask for exactly that ` +
    'one (docs/backup.md)'
  )
}

/**
 * A restored database numbers refunds and settlements from where the backup ends. Where one was dropped before the
 * loss, what left has a later number, and asking for it again under this one would pay it twice.
 * @param later the numbers after this one
 * @returns why this one waits; null: none left later, or this one left itself
 */
export async function findLaterPayout(
  deps: LaterDeps,
  own: PayoutKey,
  later: readonly PayoutKey[],
): Promise<string | null> {
  if (!(await findRestored(deps.db))) return null
  try {
    const known = await listKnownPayouts(
      deps.db,
      later.map(({ id }) => id),
    )
    const used = await findUsed(deps, [own, ...later.filter(({ id }) => !known.has(id))])
    return used === undefined || used === own ? null : await laterWords(deps, used)
  } catch (error) {
    if (error instanceof ChainDoubt) return doubtWords(error)
    if (error instanceof RpcError) return error.message
    throw error
  }
}
