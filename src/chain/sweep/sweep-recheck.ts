import type { Tx } from '../../db/db.ts'
import { RpcError } from '../endpoints/rpc.ts'
import { inToken, tokenOf } from '../networks.ts'
import {
  listFinalPayouts,
  listLostSweeps,
  type Payout,
  updateFinalToken,
  updatePayoutReopened,
} from '../payout/payout-queries.ts'
import { listAgreedUnused, listAgreedUsed, recheckPeriod } from '../payout/payout-recheck.ts'
import { authorizationKeyOf, findUse, isAsked } from '../payout/state/authorization-use.ts'
import { listPayingTokens } from '../payout/wallet-queries.ts'
import { ChainDoubt } from '../transfer-logs.ts'
import { listSweeps, lockSweep, type Sweep, updateSweepAgain } from './sweep-queries.ts'
import type { SendingChain, SweepDeps } from './sweep-send.ts'

export type SweepRecheckDeps = Pick<SweepDeps, 'db' | 'clock' | 'log'> & {
  chains: readonly Pick<SendingChain, 'network' | 'agree' | 'rpc'>[]
  /** Reverses what was booked when it was done. */
  bookUndone(tx: Tx, sweep: Sweep, at: Date): Promise<void>
}
type Chain = SweepRecheckDeps['chains'][number]

const UNDONE = 'A reorganisation undid it after it was final. It is sent again while its authorization is valid.'
const CAME_BACK = 'It was given up, and its authorization is used after all: it is followed again.'

/** What the nodes agree on in each token; one that they do not agree on keeps no other waiting. */
async function listInEachToken(
  { log }: SweepRecheckDeps,
  { network, agree }: Chain,
  { payouts, isUsed }: { payouts: readonly Payout[]; isUsed: boolean },
): Promise<Payout[]> {
  const found: Payout[] = []
  for (const [token, some] of Map.groupBy(payouts, ({ tokenAddress }) => tokenAddress)) {
    // in another token, none of its authorizations would look used
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

/**
 * An earlier version stored no token: the one that knows the authorization is it, of all that the chain had here. While
 * none does, nothing is known of the sweep.
 */
async function noteTokens({ db, log }: SweepRecheckDeps, { network, agree }: Chain, final: readonly Payout[]) {
  const keys = final
    .filter(({ tokenAddress }) => tokenAddress === null)
    .map((one) => ({ ...authorizationKeyOf(one), id: one.id }))
  if (keys.length === 0) return
  for (const one of await listPayingTokens(db, network)) {
    try {
      for (const { id } of await listAgreedUsed({ agree, network: one }, keys))
        await updateFinalToken(db, id, tokenOf(one))
    } catch (error) {
      if (!(error instanceof RpcError) && !(error instanceof ChainDoubt)) throw error
      log.warn({ err: error, chainId: network.chainId }, 'the tokens of earlier sweeps could not be read')
    }
  }
}

/**
 * Whether it moved the money after all. Its owner may have used its authorization otherwise, before or after it was
 * given up.
 */
async function isMade({ log }: SweepRecheckDeps, { network, agree, rpc }: Chain, payout: Payout): Promise<boolean> {
  const { toAddress: to, units, tokenAddress } = payout
  if (tokenAddress === null) return false
  try {
    const key = { key: authorizationKeyOf(payout), network: inToken(network, tokenAddress) }
    const { use } = await findUse({ rpc, agree }, { ...key, stored: payout.txHash ?? undefined })
    return use !== null && isAsked(use, { to, units })
  } catch (error) {
    if (!(error instanceof RpcError) && !(error instanceof ChainDoubt)) throw error
    log.warn({ err: error, chainId: network.chainId, sweepId: payout.id }, 'a sweep could not be rechecked')
    return false
  }
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

/** One that cannot be reopened keeps no other from being rechecked. */
async function tryReopen(deps: SweepRecheckDeps, payout: Payout, was: 'done' | 'failed'): Promise<boolean> {
  try {
    return await reopen(deps, payout, was)
  } catch (error) {
    deps.log.error({ err: error, sweepId: payout.id }, `a sweep that was ${was} could not be reopened`)
    return false
  }
}

/**
 * A reorganisation deeper than finality undoes sweeps: the money is at the deposit address again. Its token knows every
 * used authorization. The booking is reversed, and the sweep goes on with the same authorization, so that the money is
 * moved and booked once, whether its transaction returns or is sent again. Once the authorization has run out it fails,
 * and the next plan contains the deposit. One that failed, for whatever reason, and whose transfer a block shows after
 * that, is followed again.
 */
export async function recheckSweeps(deps: SweepRecheckDeps): Promise<void> {
  const { db, clock, log } = deps
  const period = recheckPeriod(clock())
  for (const chain of deps.chains) {
    const { chainId } = chain.network
    const final = await listFinalPayouts(db, chainId, { ...period, kind: 'sweep' })
    await noteTokens(deps, chain, final)
    for (const payout of await listInEachToken(deps, chain, { payouts: final, isUsed: false })) {
      if (!(await tryReopen(deps, payout, 'done'))) continue
      const { id: sweepId, fromAddress: address, txHash, units } = payout
      log.error({ sweepId, chainId, address, txHash, units: units.toString() }, `ALARM: a sweep was undone: ${UNDONE}`)
    }
    const lost = await listLostSweeps(db, chainId, period)
    for (const payout of await listInEachToken(deps, chain, { payouts: lost, isUsed: true }))
      if ((await isMade(deps, chain, payout)) && (await tryReopen(deps, payout, 'failed')))
        log.warn({ sweepId: payout.id, chainId }, CAME_BACK)
  }
}
