import { DAY, MINUTE } from '../../kernel/clock.ts'
import type { Hex } from '../endpoints/rpc.ts'
import type { PayoutDeps } from './payout-deps.ts'
import { listFinalPayouts, listIdlePayouts, type Payout, updatePayoutReopened } from './payout-queries.ts'
import { authorizationStateCall } from './usdc-token.ts'

/** How long final payouts are rechecked, and how soon at the earliest: by then every node has their block. */
const AGAIN_MS = { longest: 2 * DAY, shortest: 5 * MINUTE }
/** How long a payout that was sent again is left alone. */
const IDLE_MS = MINUTE
const PAGE = 100

const LEFT = 'its transaction left the chain after it was final; it is sent again'

/** The payouts whose authorization the token does not know. @throws RpcError */
async function listUnpaid({ rpc, network }: PayoutDeps, payouts: readonly Payout[]): Promise<Payout[]> {
  const answers: Hex[] = []
  for (let start = 0; start < payouts.length; start += PAGE) {
    const calls = payouts.slice(start, start + PAGE).map(({ fromAddress: from, authorizationNonce: nonce }) => ({
      method: 'eth_call',
      params: [authorizationStateCall(network, { from, nonce }), 'latest'],
    }))
    answers.push(...(await rpc.batch<Hex>(calls)))
  }
  return payouts.filter((_, index) => BigInt(answers[index] ?? '0x1') === 0n)
}

/**
 * A reorganisation deeper than finality reverts payouts: the wallet has the money again, and the payer does not. The
 * token knows every used authorization, so the payouts are sent again, and none is paid twice.
 * @returns their ids; those that another node found meanwhile are left to it
 * @throws RpcError
 */
export async function reopenUnpaid(deps: PayoutDeps, from: Hex): Promise<string[]> {
  const { db, clock, log, network } = deps
  const { chainId } = network
  const now = clock()
  const time = { after: new Date(now - AGAIN_MS.longest), before: new Date(now - AGAIN_MS.shortest) }
  const unpaid = await listUnpaid(deps, await listFinalPayouts(db, { chainId, from }, time))
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
