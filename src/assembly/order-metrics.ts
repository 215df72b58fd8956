import { Counter, type Registry } from 'prom-client'
import type { Db } from '../db/db.ts'
import { openStoredGauge, shareFigures } from '../db/metrics/stored-gauge.ts'
import { countOpenOrders } from '../orders/order-metrics-queries.ts'
import type { TransitionOrder } from '../orders/order-transition.ts'

/** Counts open orders, and how often each state is reached: paid per minute is a rate of the latter. */
export function countTransitions(metrics: Registry, transition: TransitionOrder): TransitionOrder {
  const reached = new Counter({
    name: 'comptoir_order_transitions_total',
    help: 'Orders that reached a state.',
    labelNames: ['status'],
    registers: [metrics],
  })
  return async (tx, order, step) => {
    const moved = await transition(tx, order, step)
    tx.afterCommit(() => reached.inc({ status: moved.status }))
    return moved
  }
}

export function openOrderMetrics(metrics: Registry, db: Db): void {
  const figures = shareFigures(() => countOpenOrders(db))
  const registers = [metrics]
  openStoredGauge(
    {
      name: 'comptoir_orders',
      help: 'Orders under way, by state. Ended ones are counted by comptoir_order_transitions_total.',
      labelNames: ['status'],
      registers,
    },
    figures,
    (gauge, open) => {
      for (const { status, count } of open) gauge.set({ status }, count)
    },
  )
  openStoredGauge(
    {
      name: 'comptoir_orders_oldest_seconds',
      help: 'For how long the oldest order has been in its state.',
      labelNames: ['status'],
      registers,
    },
    figures,
    (gauge, open) => {
      for (const { status, oldestSeconds } of open) gauge.set({ status }, oldestSeconds)
    },
  )
}
