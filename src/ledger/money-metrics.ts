import type { Registry } from 'prom-client'
import type { Db } from '../db/db.ts'
import { openStoredGauge, shareFigures } from '../db/metrics/stored-gauge.ts'
import { findMoneyFigures, type MoneyFigures } from './money-metrics-queries.ts'

const REFUNDS = ['needs_approval', 'needs_address', 'ready', 'submitted'] as const
/** No person decides about them any more. */
const UNDER_WAY: readonly string[] = ['ready', 'submitted']
const SETTLEMENTS = ['open', 'approved'] as const

/** Differences, losses, decisions and payouts that wait: read from the database at each scrape. */
export function openMoneyMetrics(registry: Registry, db: Db): void {
  const figures = shareFigures(() => findMoneyFigures(db))
  const registers = [registry]
  const gauge = (name: string, help: string, pick: (figures: MoneyFigures) => number): void => {
    openStoredGauge({ name: `comptoir_${name}`, help, registers }, figures, (one, found) => one.set(pick(found)))
  }
  const byStatus = (
    name: string,
    help: string,
    statuses: readonly string[],
    pick: (figures: MoneyFigures) => MoneyFigures['settlements'],
  ): void => {
    const spec = { name: `comptoir_${name}`, help, labelNames: ['status'], registers }
    openStoredGauge(spec, figures, (one, found) => {
      const counts = new Map(pick(found).map(({ status, count }) => [status, count]))
      for (const status of statuses) one.set({ status }, counts.get(status) ?? 0)
    })
  }
  gauge('ledger_differences', 'Open differences between the books and what happened.', (figures) => figures.differences)
  gauge('orphaned_units', 'USDC units that left a chain after they counted, undecided.', (figures) =>
    Number(figures.orphanedUnits),
  )
  gauge(
    'mispayments_open',
    'Money that does not fit its order and waits for a person.',
    (figures) => figures.mispayments,
  )
  gauge(
    'unmatched_transfers_open',
    'Transfers that match no order and wait for a person.',
    (figures) => figures.unmatched,
  )
  gauge(
    'books_age_seconds',
    'Since the longest unchecked company was compared with the facts, or made its first order; NaN: no order yet.',
    (figures) => figures.booksAgeSeconds ?? Number.NaN,
  )
  gauge(
    'refunds_oldest_seconds',
    'How long the oldest refund has been under way, from when it needed no approval and no address; 0: none is.',
    ({ refunds }) =>
      Math.max(0, ...refunds.filter(({ status }) => UNDER_WAY.includes(status)).map(({ age }) => age ?? 0)),
  )
  byStatus('refunds_waiting', 'Refunds that are not finished.', REFUNDS, (figures) => figures.refunds)
  byStatus('settlements_waiting', 'Settlements that are not finished.', SETTLEMENTS, (figures) => figures.settlements)
}
