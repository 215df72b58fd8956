import type { Tx } from '../../db/db.ts'
import { RpcError } from '../endpoints/rpc.ts'
import { inToken } from '../networks.ts'
import { listFinalPayouts, listLostSweeps, type Payout, updatePayoutReopened } from '../payout/payout-queries.ts'
import { listAgreedUnused, listAgreedUsed, recheckPeriod } from '../payout/payout-recheck.ts'
import { authorizationKeyOf } from '../payout/state/authorization-use.ts'
import { ChainDoubt } from '../transfer-logs.ts'
import { listSweeps, lockSweep, type Sweep, updateSweepAgain } from './sweep-queries.ts'
import type { SendingChain, SweepDeps } from './sweep-send.ts'

export type SweepRecheckDeps = Pick<SweepDeps, 'db' | 'clock' | 'log'> & {
  chains: readonly Pick<SendingChain, 'network' | 'agree'>[]
  /** Reverses what was booked when it was done. */
  bookUndone(tx: Tx, sweep: Sweep, at: Date): Promise<void>
}
type Chain = SweepRecheckDeps['chains'][number]

const UNDONE = 'A reorganisation undid it after it was final. It is sent again while its authorization is valid.'
const CAME_BACK = 'A reorganisation had undone it, and its authorization is used again: it is followed again.'

/** What the nodes agree on in each token; one that they do not agree on keeps no other waiting. */
async function listInEachToken(
  { log }: SweepRecheckDeps,
  { network, agree }: Chain,
  { payouts, isUsed }: { payouts: readonly Payout[]; isUsed: boolean },
): Promise<Payout[]> {
  const found: Payout[] = []
  for (const [token, some] of Map.groupBy(payouts, ({ tokenAddress }) => tokenAddress)) {
    // an earlier version stored it: in another token, none of its authorizations would look used
    if (token === null) continue
    const chain = { agree, network: inToken(network, token) }
    try {
      const keys = isUsed
        ? await listAgreedUsed(
            chain,
            some.map((one) => ({ ...authorizationKeyOf(one), id: one.id })),
          )
        : await listAgreedUnused(chain, chain.network, some)
      const ids = new Set(keys.map(({ id }) => id))
      found.push(...some.filter(({ id }) => ids.has(id)))
    } catch (error) {
      if (!(error instanceof RpcError) && !(error instanceof ChainDoubt)) throw error
      log.warn({ err: error, chainId: network.chainId, token }, 'the sweeps in this token could not be rechecked')
    }
  }
  return found
}

/** @returns whether it is under way again; another node may have seen to it meanwhile */
async function reopen({ db, clock, bookUndone }: SweepRecheckDeps, { id }: Payout, was: 'done' | 'failed') {
  const [known] = await listSweeps(db, [id])
  if (!known) return false
  return db.tx(async (tx) => {
    const sweep = await lockSweep(tx, known.companyId, id)
    if (sweep?.status !== was) return false
    const now = new Date(clock())
    const isDone = was === 'done'
    const words = isDone ? UNDONE : CAME_BACK
    if ((await updatePayoutReopened(tx, { id, status: isDone ? 'final' : 'failed' }, words, now)) === 0) return false
    if (isDone) await bookUndone(tx, sweep, now)
    await updateSweepAgain(tx, sweep, { undone: sweep.undone + (isDone ? 1 : 0), providerStatus: words }, now)
    return true
  })
}

/**
 * A reorganisation deeper than finality undoes sweeps: the money is at the deposit address again. Its token knows every
 * used authorization. The booking is reversed, and the sweep goes on with the same authorization, so that the money is
 * moved and booked once, whether its transaction returns or is sent again. Once the authorization has run out it fails,
 * and the next plan contains the deposit; should the token know the authorization after that, it is followed again.
 */
export async function recheckSweeps(deps: SweepRecheckDeps): Promise<void> {
  const { db, clock, log } = deps
  const period = recheckPeriod(clock())
  for (const chain of deps.chains) {
    const { chainId } = chain.network
    const final = await listFinalPayouts(db, chainId, { ...period, kind: 'sweep' })
    for (const payout of await listInEachToken(deps, chain, { payouts: final, isUsed: false })) {
      if (!(await reopen(deps, payout, 'done'))) continue
      const { id: sweepId, fromAddress: address, txHash, units } = payout
      log.error({ sweepId, chainId, address, txHash, units: units.toString() }, `ALARM: a sweep was undone: ${UNDONE}`)
    }
    const lost = await listLostSweeps(db, chainId, period)
    for (const payout of await listInEachToken(deps, chain, { payouts: lost, isUsed: true }))
      if (await reopen(deps, payout, 'failed')) log.warn({ sweepId: payout.id, chainId }, CAME_BACK)
  }
}
