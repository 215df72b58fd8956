import type { FastifyBaseLogger } from 'fastify'
import { auditDeposits, auditWallets, type BalanceFault, type IsAnsweredFor } from '../chain/deposits/balance-audit.ts'
import type { Endpoints } from '../chain/endpoints/endpoints.ts'
import type { Network } from '../chain/networks.ts'
import type { Agree } from '../chain/payout/agreement.ts'
import type { PayoutRechecks } from '../chain/payout/payout.ts'
import { type WalletWatchDeps, type WatchedChain, watchWallets } from '../chain/payout/wallet-watch.ts'
import type { Db } from '../db/db.ts'
import { findUnreconciled } from '../db/restored-queries.ts'
import { type Clock, HOUR, MINUTE } from '../kernel/clock.ts'
import { startTicker, type Ticker } from '../kernel/ticker.ts'
import type { Books } from '../ledger/books.ts'
import { isTransactionFollowed } from '../ledger/claim-queries.ts'
import { closeDays } from '../ledger/days/close-days.ts'
import type { OpenBalance } from '../ledger/difference-queries.ts'
import type { SettlementDeps } from '../ledger/settlements/settlement-service.ts'
import type { PaymentDeps } from '../payments/payment-service.ts'
import { reconcilePayments } from '../payments/reconcile.ts'
import { recheckBookedSweeps } from './sweeps.ts'

type BalanceDeps = {
  db: Db
  log: FastifyBaseLogger
  chains: readonly { network: Network; endpoints: Endpoints }[]
  books: Books
  clock: Clock
}

/** By chain: when it is compared next, and how often in a row it could not be. */
type Comparisons = Map<number, { dueMs: number; failures: number }>

/** How soon a chain is tried again that could not be compared. */
const BALANCES_EVERY_MS = 5 * MINUTE

type Watched = WatchedChain & { endpoints: Endpoints; rechecks: PayoutRechecks; agree: Agree }

type ChainCheckDeps = Omit<WalletWatchDeps, 'chains'> & { chains: readonly Watched[]; settlements: SettlementDeps }
type CheckDeps = { log: FastifyBaseLogger; payments: PaymentDeps; settlements: SettlementDeps }

/**
 * Audits the balances of deposit addresses and payout wallets on every chain, each once an hour. A chain that cannot be
 * compared does not stop the others, and is tried again with the next call: after a longer stop, a node without an
 * archive has no state of the block up to which the chain was read.
 * @param comparisons kept between the calls
 */
export async function auditBalances(
  { db, log, clock, chains, books }: BalanceDeps,
  comparisons: Comparisons,
): Promise<undefined> {
  // outflows after the backup are unknown until `comptoir reconcile` has checked them
  if (await findUnreconciled(db)) return
  const isAnsweredFor: IsAnsweredFor = async (fault, { chainId, txHash }) =>
    (await books.isBalanceExplained(fault)) ||
    (await isTransactionFollowed(db, { network: chainId, txHash, units: fault.expected }))
  const nowMs = clock()
  const isDue = ({ dueMs }: { dueMs: number }): boolean => dueMs <= nowMs || dueMs > nowMs + HOUR
  // a time beyond the next hour is of a clock that was ahead
  const due = chains.filter(({ network }) => isDue(comparisons.get(network.chainId) ?? { dueMs: nowMs }))
  const open = await books.listOpenBalances()
  const faults: BalanceFault[] = []
  const compared: OpenBalance[] = []
  const audited: number[] = []
  for (const { network, endpoints } of due) {
    const { chainId } = network
    const chain = { db, network, endpoints }
    try {
      const known = open.filter((one) => one.chainId === chainId)
      const subjects = known.map(({ subject }) => subject)
      for (const audit of [await auditDeposits(chain, subjects), await auditWallets(chain, isAnsweredFor)]) {
        faults.push(...audit.faults)
        compared.push(...known.filter(({ subject }) => audit.compared.includes(subject)))
      }
      audited.push(chainId)
    } catch (error) {
      const failures = (comparisons.get(chainId)?.failures ?? 0) + 1
      comparisons.set(chainId, { dueMs: nowMs, failures })
      log[failures === 1 ? 'warn' : 'error'](
        { err: error, chainId },
        'the balances on this chain could not be compared',
      )
    }
  }
  if (audited.length === 0) return
  await books.noteBalances(faults, compared)
  for (const chainId of audited) comparisons.set(chainId, { dueMs: nowMs + HOUR, failures: 0 })
}

/** Sends payouts again that a deep reorganisation undid, and follows them. */
async function recheckPayouts({ log, chains }: ChainCheckDeps, step: keyof PayoutRechecks): Promise<undefined> {
  for (const { network, rechecks } of chains) {
    try {
      await rechecks[step]()
    } catch (error) {
      log.warn({ err: error, chainId: network.chainId }, 'the payouts on this chain could not be rechecked')
    }
  }
}

/** Every hour: the sums of days that have ended, the books of every company, and the providers' view of payments. */
export function startMoneyChecks(deps: CheckDeps): Ticker[] {
  const { log, payments, settlements } = deps
  const { books } = settlements
  return [
    startTicker('ledger.days', HOUR, log, () => closeDays({ db: settlements.db, clock: settlements.clock, log })),
    startTicker('ledger.verify', HOUR, log, async () => void (await books.verifyAll())),
    startTicker('payments.reconcile', HOUR, log, () => reconcilePayments(payments, books, log)),
  ]
}

/** What is compared with the chains, once their tokens were looked at: balances, payouts, sweeps, paying wallets. */
export function startChainChecks(deps: ChainCheckDeps): Ticker[] {
  const { log, settlements } = deps
  const { books, clock } = settlements
  const comparisons: Comparisons = new Map()
  return [
    startTicker('ledger.balances', BALANCES_EVERY_MS, log, () => auditBalances({ ...deps, books, clock }, comparisons)),
    startTicker('payouts.recheck', HOUR, log, () => recheckPayouts(deps, 'recheck')),
    startTicker('sweeps.recheck', HOUR, log, async () => void (await recheckBookedSweeps({ ...deps, clock }))),
    startTicker('payouts.reopened', MINUTE, log, () => recheckPayouts(deps, 'followReopened')),
    startTicker('wallets.watch', MINUTE, log, () => watchWallets(deps)),
  ]
}
