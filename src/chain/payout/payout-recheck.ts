import { DAY, MINUTE } from '../../kernel/clock.ts'
import type { Hex } from '../endpoints/rpc.ts'
import { listFinalPayouts, listIdlePayouts, type Payout, updatePayoutReopened } from './payout-queries.ts'
import type { PayoutDeps } from './payout-steps.ts'
import { authorizationStateCall } from './usdc-token.ts'

/** How long what is final is looked at again, and not before every node has its block. */
const AGAIN_MS = { longest: 2 * DAY, shortest: 5 * MINUTE }
/** How long one that was sent again is left alone. */
const IDLE_MS = 10 * MINUTE
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
 * token knows each authorization that was used, so they are sent again, and none twice. A refund or settlement that is
 * settled does not ask for its payout any more, so these are worked on here until they are final. All others wait for
 * whoever asked for them, who may be stopped meanwhile.
 * @returns their ids
 * @throws RpcError
 */
export async function reopenUnpaid(deps: PayoutDeps, from: Hex): Promise<string[]> {
  const { db, clock, log, network } = deps
  const { chainId } = network
  const now = clock()
  const wallet = { chainId, from }
  const time = { after: new Date(now - AGAIN_MS.longest), before: new Date(now - AGAIN_MS.shortest) }
  const unpaid = await listUnpaid(deps, await listFinalPayouts(db, wallet, time))
  for (const { id, txHash, units } of unpaid) {
    await updatePayoutReopened(db, id, LEFT, new Date(now))
    log.error({ payoutId: id, chainId, txHash, units: units.toString() }, `ALARM: a payout was undone: ${LEFT}`)
  }
  return [...unpaid.map(({ id }) => id), ...(await listIdlePayouts(db, wallet, new Date(now - IDLE_MS)))]
}
