import { openWalletMetrics } from '../chain/payout/wallet-watch.ts'
import type { UsdcContracts } from '../chain/transfer-queries.ts'
import { openBooks } from '../ledger/books.ts'
import { openMoneyMetrics } from '../ledger/money-metrics.ts'
import type { Accounts } from './accounts.ts'
import type { ServiceBase } from './service-base.ts'
import { noteFullDisk } from './upkeep/room-watch.ts'

/** A full disk, metrics of missing money, and the books, which alarm and stop payouts while they differ. */
export function openWatch({ db, clock, log, metrics }: ServiceBase, { alarm }: Accounts, usdc: UsdcContracts) {
  noteFullDisk({ db, clock, log, metrics })
  openMoneyMetrics(metrics, db)
  openWalletMetrics({ metrics, db, clock })
  return openBooks({ db, clock, log, alarm, usdc })
}
