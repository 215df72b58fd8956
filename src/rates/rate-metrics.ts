import { Counter, Gauge, type Registry } from 'prom-client'
import { type Clock, SECOND } from '../kernel/clock.ts'

export type RateMetrics = { noteAnswer(source: string): void; noteFailure(source: string): void }

/** What an operator watches of the price sources: how old each one's last answer is, and how often it fails. */
export function openRateMetrics(registry: Registry, clock: Clock): RateMetrics {
  const answeredAt = new Map<string, number>()
  const failures = new Counter({
    name: 'comptoir_rate_source_failures_total',
    help: 'Questions that a price source did not answer with a price.',
    labelNames: ['source'],
    registers: [registry],
  })
  new Gauge({
    name: 'comptoir_rate_source_age_seconds',
    help: 'Age of the last price of a source.',
    labelNames: ['source'],
    registers: [registry],
    collect() {
      for (const [source, at] of answeredAt) this.set({ source }, (clock() - at) / SECOND)
    },
  })
  return {
    noteAnswer: (source) => void answeredAt.set(source, clock()),
    noteFailure: (source) => failures.inc({ source }),
  }
}
