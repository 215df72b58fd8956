import { HOUR, isRecent, MINUTE } from '../../../kernel/clock.ts'
import { larger } from '../../../kernel/money.ts'
import { askNodes, type Hex, type Rpc, RpcError } from '../../endpoints/rpc.ts'
import { ChainDoubt } from '../../transfer-logs.ts'
import type { PayoutDeps } from '../payout-deps.ts'
import type { Payout } from '../payout-queries.ts'
import { listFailed } from '../receipt.ts'
import { listSigningTimes } from './transaction-queries.ts'
import { middleOf } from './wei.ts'

/*
 * How a payout is tried again whose transaction failed in its block: a failed one costs gas and moves nothing.
 */

/** A transfer by authorization takes about 90 000; what is not used is not paid. */
export const PAYOUT_GAS = 120_000n
const GAS_MARGIN_PERCENT = 125n

/** No honest estimate is more than so many times what a transfer takes, or what the node in the middle estimates. */
const MOST_TIMES = 6n

/**
 * How much gas its transaction may use. After a refusal all proven nodes are asked, and the largest estimate counts:
 * one that estimates too little would have every transaction fail. One that is absurd does not count, because no purse
 * pays for it. Returns the refusal if the token would revert.
 *
 * In the pending block, where some nodes look by default, the transaction that is to be replaced has used the
 * authorization.
 */
export async function estimateGas(
  { rpc, network, relayerSigner, log }: PayoutDeps,
  { id, refusals }: Payout,
  data: Hex,
): Promise<bigint | RpcError> {
  const question = { from: relayerSigner.address, to: network.usdcAddress, data }
  const ask = async (node: Rpc): Promise<bigint | RpcError> => {
    try {
      return BigInt(await node.call<Hex>('eth_estimateGas', question, 'latest'))
    } catch (error) {
      if (error instanceof RpcError && error.kind === 'definite') return error
      throw error
    }
  }
  const first = refusals === 0 ? await ask(rpc) : null
  const isEnough = first instanceof RpcError || (first !== null && first <= PAYOUT_GAS * MOST_TIMES)
  const answers = isEnough ? [first] : await askNodes(rpc, ask)
  const estimates = answers.filter((answer) => typeof answer === 'bigint')
  if (estimates.length === 0) return answers[0] as RpcError
  const most = larger(PAYOUT_GAS, middleOf(estimates)) * MOST_TIMES
  const odd = estimates.filter((gas) => gas > most)
  if (odd.length > 0)
    log.warn({ chainId: network.chainId, payoutId: id, gas: odd.map(String) }, 'an absurd estimate of gas is ignored')
  const gas = estimates.filter((one) => one <= most).reduce(larger)
  return larger((gas * GAS_MARGIN_PERCENT) / 100n, PAYOUT_GAS)
}

const FIRST_PAUSE_MS = MINUTE
const LONGEST_PAUSE_MS = 6 * HOUR

/** Any more change no pause: the longest one comes before. */
const MOST_COUNTED = 12

/** Those that failed on which the nodes agree: one of them may have forgotten an old one for good. @throws RpcError */
async function listAgreedFailed(deps: PayoutDeps, txHashes: readonly string[]): Promise<string[]> {
  const ask = (some: readonly string[]) =>
    listFailed(deps, some).catch((error: unknown) => {
      if (error instanceof ChainDoubt) return null
      throw error
    })
  const all = await ask(txHashes)
  if (all !== null) return all
  const failed: string[] = []
  for (const txHash of txHashes.slice(-MOST_COUNTED)) failed.push(...((await ask([txHash])) ?? []))
  return failed
}

/**
 * Why it is not signed again yet: the second time at once, then after a pause that doubles. Null: now.
 * @throws RpcError
 */
export async function findPause(deps: PayoutDeps, payout: Payout): Promise<string | null> {
  const { db, clock } = deps
  const { id, status, relayerNonce, refusals } = payout
  // one that keeps its account nonce has not failed
  if (refusals === 0 || status !== 'reserved' || relayerNonce !== null) return null
  const signed = await listSigningTimes(db, id)
  const hashes = await listAgreedFailed(
    deps,
    signed.map(({ txHash }) => txHash),
  )
  const failed = signed.filter(({ txHash }) => hashes.includes(txHash.toLowerCase()))
  const last = failed.at(-1)
  if (last === undefined || failed.length < 2) return null
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failed.length - 2))
  if (!isRecent(last.createdAt.getTime(), pauseMs, clock())) return null
  return (
    `It failed in a block ${failed.length} times, the last time in transaction ${last.txHash}. It is tried again ` +
    `${Math.round(pauseMs / MINUTE)} min after that one was signed.`
  )
}
