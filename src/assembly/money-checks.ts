import type { FastifyBaseLogger } from 'fastify'
import { auditDeposits, auditWallets, type BalanceFault, type IsAnsweredFor } from '../chain/deposits/balance-audit.ts'
import type { Endpoints } from '../chain/endpoints/endpoints.ts'
import type { Network } from '../chain/networks.ts'
import type { PayoutRechecks } from '../chain/payout/payout.ts'
import { type WalletWatchDeps, type WatchedChain, watchWallets } from '../chain/payout/wallet-watch.ts'
import type { Db } from '../db/db.ts'
import { findUnreconciled } from '../db/restored-queries.ts'
import { HOUR, MINUTE } from '../kernel/clock.ts'
import { startTicker, type Ticker } from '../kernel/ticker.ts'
import type { Books } from '../ledger/books.ts'
import { isTransactionFollowed } from '../ledger/claim-queries.ts'
import type { SettlementDeps } from '../ledger/settlements/settlement-service.ts'
import type { PaymentDeps } from '../payments/payment-service.ts'
import { reconcilePayments } from '../payments/reconcile.ts'

type BalanceDeps = {
  db: Db
  log: FastifyBaseLogger
  chains: readonly { network: Network; endpoints: Endpoints }[]
  books: Books
}

type Watched = WatchedChain & { endpoints: Endpoints; rechecks: PayoutRechecks }

type ChainCheckDeps = Omit<WalletWatchDeps, 'chains'> & { chains: readonly Watched[]; settlements: SettlementDeps }
type CheckDeps = { log: FastifyBaseLogger; payments: PaymentDeps; settlements: SettlementDeps }

/**
 * Audits the balances of deposit addresses and payout wallets on every chain. A chain that does not answer does not
 * stop the others.
 */
export async function auditBalances({ db, log, chains, books }: BalanceDeps): Promise<undefined> {
  // outflows after the backup are unknown until `comptoir reconcile` has checked them
  if (await findUnreconciled(db)) return
  const isAnsweredFor: IsAnsweredFor = async (fault, { chainId, txHash }) =>
    (await books.isBalanceExplained(fault)) ||
    (await isTransactionFollowed(db, { network: chainId, txHash, units: fault.expected }))
  const faults: BalanceFault[] = []
  const audited: number[] = []
  for (const { network, endpoints } of chains) {
    const { chainId } = network
    const chain = { db, network, endpoints }
    try {
      faults.push(...(await auditDeposits(chain)), ...(await auditWallets(chain, isAnsweredFor)))
      audited.push(chainId)
    } catch (error) {
      log.error({ err: error, chainId }, 'the balances on this chain could not be compared')
    }
  }
  await books.noteBalances(faults, audited)
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

/** Every hour: the books of every company, and the providers' view of paid payments. */
export function startMoneyChecks(deps: CheckDeps): Ticker[] {
  const { log, payments, settlements } = deps
  const { books } = settlements
  return [
    startTicker('ledger.verify', HOUR, log, async () => void (await books.verifyAll())),
    startTicker('payments.reconcile', HOUR, log, () => reconcilePayments(payments, books, log)),
  ]
}

/** What is compared with the chains, once their tokens were looked at: balances, final payouts, paying wallets. */
export function startChainChecks(deps: ChainCheckDeps): Ticker[] {
  const { log, settlements } = deps
  return [
    startTicker('ledger.balances', HOUR, log, () => auditBalances({ ...deps, books: settlements.books })),
    startTicker('payouts.recheck', HOUR, log, () => recheckPayouts(deps, 'recheck')),
    startTicker('payouts.reopened', MINUTE, log, () => recheckPayouts(deps, 'followReopened')),
    startTicker('wallets.watch', MINUTE, log, () => watchWallets(deps)),
  ]
}
