import { Counter, Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/db.ts'
import { countOpenOrders, type OpenOrders } from '../orders/order-metrics-queries.ts'
import type { TransitionOrder } from '../orders/order-transition.ts'

/** The gauges of one scrape share one query. */
const SHARED_MS = 1000

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
  let askedAtMs = Number.NEGATIVE_INFINITY
  let figures: Promise<OpenOrders[]> = Promise.resolve([])
  const read = (): Promise<OpenOrders[]> => {
    if (performance.now() - askedAtMs > SHARED_MS) {
      askedAtMs = performance.now()
      // without its database a node still serves its other metrics
      figures = countOpenOrders(db).catch(() => [])
    }
    return figures
  }
  new Gauge({
    name: 'comptoir_orders',
    help: 'Orders under way, by state. Ended ones are counted by comptoir_order_transitions_total.',
    labelNames: ['status'],
    registers: [metrics],
    async collect() {
      for (const { status, count } of await read()) this.set({ status }, count)
    },
  })
  new Gauge({
    name: 'comptoir_orders_oldest_seconds',
    help: 'For how long the oldest order has been in its state.',
    labelNames: ['status'],
    registers: [metrics],
    async collect() {
      for (const { status, oldestSeconds } of await read()) this.set({ status }, oldestSeconds)
    },
  })
}
