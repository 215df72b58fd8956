import { openWalletMetrics } from '../chain/payout/wallet-watch.ts'
import type { UsdcContracts } from '../chain/transfer-queries.ts'
import { openBooks } from '../ledger/books.ts'
import { openMoneyMetrics } from '../ledger/money-metrics.ts'
import { openOperatorAlarm } from '../mail/operator-alarm.ts'
import type { Accounts } from './accounts.ts'
import type { ServiceBase } from './service-base.ts'

/** Alarms about missing money, and the books that stop payouts while they differ. */
export function openWatch({ config, db, clock, log, metrics }: ServiceBase, { mailer }: Accounts, usdc: UsdcContracts) {
  const alarm = openOperatorAlarm({ mailer, config })
  openMoneyMetrics(metrics, db)
  openWalletMetrics({ metrics, db, clock })
  return { alarm, books: openBooks({ db, clock, log, alarm, usdc }) }
}
