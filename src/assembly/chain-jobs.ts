import type { FastifyBaseLogger } from 'fastify'
import { auditNextPage } from '../chain/deposits/deposit-audit.ts'
import { listenForHeads } from '../chain/endpoints/heads.ts'
import { usdcOf } from '../chain/networks.ts'
import type { OpenChain } from '../chain/open-chains.ts'
import { startScanner } from '../chain/scanner.ts'
import type { Db } from '../db/db.ts'
import { type Clock, MINUTE } from '../kernel/clock.ts'
import { startTicker } from '../kernel/ticker.ts'
import { followChain } from '../payments/chain-watch.ts'
import { pollDepositAddresses } from '../payments/payment-jobs.ts'
import type { PaymentDeps } from '../payments/payment-service.ts'
import { followUnmatched } from '../payments/unmatched/unmatched-watch.ts'

export type Stoppable = { stop(): Promise<void> }

export type ChainJobDeps = {
  db: Db
  clock: Clock
  log: FastifyBaseLogger
  payments: PaymentDeps
  /** Chains whose transfers pay orders. */
  chains: readonly OpenChain[]
  chainPollMs: number
}

/**
 * The scanner of a chain, and the jobs that pass its news on: at once, or after a second at the latest.
 */
export function startChain(
  { db, clock, log, payments, chains, chainPollMs: pollMs }: ChainJobDeps,
  { network, endpoints, relay, headUrls }: ChainJobDeps['chains'][number],
): Stoppable[] {
  const { chainId } = network
  const usdc = usdcOf(chains.map((one) => one.network))
  const followers = [
    startTicker(`payments.follow.${chainId}`, 1000, log, () => followChain(payments, chainId)),
    // of its own, because anyone can send worthless tokens: they never delay a payment
    startTicker(`payments.unmatched.${chainId}`, 1000, log, () => followUnmatched({ ...payments, log, usdc }, chainId)),
  ]
  const onChange = (): void => {
    for (const follower of followers) follower.wake()
  }
  const scanner = startScanner({ db, network, endpoints, log, clock, onChange, pollMs, dustUnits: payments.dustUnits })
  const heads = headUrls.map((url, index) =>
    listenForHeads({ url, log, name: { chainId, heads: index + 1 }, onHead: () => scanner.wake() }),
  )
  const audit = startTicker(`chain.audit.${chainId}`, MINUTE, log, () =>
    auditNextPage({ db, network, endpoints, log }, clock(), (found) => pollDepositAddresses(payments, found)),
  )
  const jobs = [...heads, scanner, ...followers, audit]
  return relay ? [...jobs, startTicker(`chain.relay.${chainId}`, 2000, log, () => relay.follow())] : jobs
}
