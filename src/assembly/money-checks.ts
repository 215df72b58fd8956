import { auditDeposits, auditWallets, type BalanceFault } from '../chain/deposits/balance-audit.ts'
import { type WalletWatchDeps, watchWallets } from '../chain/payout/wallet-watch.ts'
import { findUnreconciled } from '../db/restored-queries.ts'
import { HOUR, MINUTE } from '../kernel/clock.ts'
import { startTicker, type Ticker } from '../kernel/ticker.ts'
import type { SettlementDeps } from '../ledger/settlements/settlement-service.ts'
import type { PaymentDeps } from '../payments/payment-service.ts'
import { reconcilePayments } from '../payments/reconcile.ts'

type CheckDeps = WalletWatchDeps & {
  payments: PaymentDeps
  settlements: SettlementDeps
}

/** What deposit addresses and payout wallets hold, on every chain; a chain that does not answer changes nothing. */
async function auditBalances({ db, chains, settlements }: CheckDeps): Promise<undefined> {
  // what left the wallets after the backup is unknown until `comptoir reconcile` has looked
  if (await findUnreconciled(db)) return
  const faults: BalanceFault[] = []
  for (const { rpc, network } of chains) {
    const chain = { db, rpc, network }
    faults.push(...(await auditDeposits(chain)), ...(await auditWallets(chain)))
  }
  await settlements.books.noteBalances(faults)
}

/** Every hour: the books of every company, what addresses and wallets hold, what providers say of paid payments. */
export function startMoneyChecks(deps: CheckDeps): Ticker[] {
  const { log, payments, settlements } = deps
  const { books } = settlements
  return [
    startTicker('ledger.verify', HOUR, log, async () => void (await books.verifyAll())),
    startTicker('ledger.balances', HOUR, log, () => auditBalances(deps)),
    startTicker('wallets.watch', MINUTE, log, () => watchWallets(deps)),
    startTicker('payments.reconcile', HOUR, log, () => reconcilePayments(payments, books, log)),
  ]
}
