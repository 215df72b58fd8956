import { DAY, MINUTE } from '../../kernel/clock.ts'
import type { Hex } from '../endpoints/rpc.ts'
import type { PayoutDeps } from './payout-deps.ts'
import { listFinalPayouts, listIdlePayouts, type Payout, updatePayoutReopened } from './payout-queries.ts'
import { authorizationStateCall } from './usdc-token.ts'

/** How long what is final is looked at again, and not before every node has its block. */
const AGAIN_MS = { longest: 2 * DAY, shortest: 5 * MINUTE }
/** How long one that was sent again is left alone. */
const IDLE_MS = MINUTE
const PAGE = 100

const LEFT = 'its transaction left the chain after it was final; it is sent again'

/** Those whose authorization the token does not know. @throws RpcError */
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
 * A reorganisation deeper than finality takes payouts back: the wallet has the money again, and the payer has not. The
 * token knows each authorization that was used, so they are sent again, and none twice.
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
 * A refund or settlement that is settled does not ask for its payout any more, so those that were reopened are worked
 * on until they are final; others wait behind the account nonces that they keep. All that were not reopened wait for
 * whoever asked for them, who may be stopped meanwhile.
 */
export const listReopened = ({ db, clock, network: { chainId } }: PayoutDeps, from: Hex): Promise<string[]> =>
  listIdlePayouts(db, { chainId, from }, new Date(clock() - IDLE_MS))
