import { OFFICE_PATHS } from '../../config/office-paths.ts'
import { openStoredGauge, shareFigures } from '../../db/metrics/stored-gauge.ts'
import {
  findUnreconciled,
  heedPromotion,
  noteServer,
  type Promotion,
  takePromotion,
} from '../../db/restored-queries.ts'
import { SECOND } from '../../kernel/clock.ts'
import { startTicker } from '../../kernel/ticker.ts'
import type { RaiseAlarm } from '../../mail/operator-alarm.ts'
import type { ServiceBase } from '../service-base.ts'

const EVERY_MS = 5 * SECOND

/** What happened, and what to do about it. */
function describe({ from, to, seenAt, isWhole }: Promotion): [happened: string, todo: string] {
  const happened = `Another database server took over (timeline ${from}, now ${to}).`
  if (isWhole)
    return [
      `${happened} Commits waited for a standby, so it should lack none; deposit addresses were skipped all the same.`,
      `Nothing waits. If it was another standby, stop the service and run: comptoir restore --already-done ${seenAt}`,
    ]
  return [
    `${happened} It may lack the last commits, those after ${seenAt} at most: commits waited for no standby.`,
    'Deposit addresses were skipped, and no refund and no settlement leaves before you run: comptoir reconcile',
  ]
}

/**
 * Notes which server writes the database, and marks and reports a standby that took over. What depends on it does not
 * wait for this round: `heedPromotion` and `findUnreconciled` ask the server themselves.
 */
export function startPromotionWatch(
  deps: Pick<ServiceBase, 'db' | 'log' | 'metrics'> & { alarm: RaiseAlarm },
  everyMs = EVERY_MS,
): { stop(): Promise<void> } {
  const { db, log, metrics, alarm } = deps
  openStoredGauge(
    {
      name: 'comptoir_restore_unreconciled',
      help: '1 while refunds and settlements wait for “comptoir reconcile”, after a restore or a standby that took over.',
      registers: [metrics],
    },
    shareFigures(async () => ({ waits: (await findUnreconciled(db)) !== undefined })),
    (gauge, { waits }) => gauge.set(waits ? 1 : 0),
  )
  return startTicker('database.promotion', everyMs, log, async () => {
    await db.tx((tx) => heedPromotion(tx))
    await noteServer(db)
    await db.tx(async (tx) => {
      const promotion = await takePromotion(tx)
      if (!promotion) return
      const paragraphs = describe(promotion)
      const subject = 'Another database server took over'
      await alarm(tx, { subject, paragraphs, path: OFFICE_PATHS.system })
      tx.afterCommit(() => log[promotion.isWhole ? 'warn' : 'error'](promotion, `ALARM: ${paragraphs.join(' ')}`))
    })
  })
}
