import { Counter, Gauge, type Registry } from 'prom-client'
import { type Clock, isYounger, MINUTE, SECOND } from '../kernel/clock.ts'
import type { Fiat } from '../kernel/money.ts'

/** A rate that was wanted in vain, and then by no one for this long, is no longer missing. Above READ_EVERY_MS. */
const WANTED_MS = 5 * MINUTE

export type RateMetrics = {
  /** @param at time of its price */
  noteAnswer(source: string, at: number): void
  noteFailure(source: string): void
  noteFrozen(source: string, from: Fiat, isFrozen: boolean): void
  /** @param at time of the oldest price in the rate */
  noteRate(from: Fiat, at: number): void
  /** A rate was needed, and none was available. */
  noteMissing(from: Fiat): void
}

/** Metrics of the price sources: age of the last answer, and failures. */
export function openRateMetrics(registry: Registry, clock: Clock): RateMetrics {
  const answeredAt = new Map<string, number>()
  const ratedAt = new Map<Fiat, number>()
  const failures = new Counter({
    name: 'comptoir_rate_source_failures_total',
    help: 'Requests to a price source that returned no price.',
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
  new Gauge({
    name: 'comptoir_rate_age_seconds',
    help: 'Age of the oldest price in the current rate.',
    labelNames: ['from'],
    registers: [registry],
    collect() {
      for (const [from, at] of ratedAt) this.set({ from }, (clock() - at) / SECOND)
    },
  })
  const wanted = new Map<Fiat, { firstMs: number; lastMs: number }>()
  const missing = new Gauge({
    name: 'comptoir_rate_missing_seconds',
    help: 'From the first to the last time that a rate was wanted in vain; 0 once there is one, gone once no one asks.',
    labelNames: ['from'],
    registers: [registry],
    collect() {
      for (const [from, { lastMs }] of wanted) {
        if (isYounger(lastMs, WANTED_MS, clock())) continue
        wanted.delete(from)
        this.remove({ from })
      }
    },
  })
  const frozen = new Gauge({
    name: 'comptoir_rate_source_frozen',
    help: '1 while the price of a source has not changed for longer than its market allows.',
    labelNames: ['source', 'from'],
    registers: [registry],
  })
  return {
    noteAnswer: (source, at) => void answeredAt.set(source, at),
    noteFrozen: (source, from, isFrozen) => frozen.set({ source, from }, isFrozen ? 1 : 0),
    noteRate(from, at) {
      ratedAt.set(from, at)
      wanted.delete(from)
      missing.set({ from }, 0)
    },
    noteMissing(from) {
      const lastMs = clock()
      const before = wanted.get(from)
      const firstMs = before && isYounger(before.lastMs, WANTED_MS, lastMs) ? before.firstMs : lastMs
      wanted.set(from, { firstMs, lastMs })
      missing.set({ from }, (lastMs - firstMs) / SECOND)
    },
    noteFailure: (source) => failures.inc({ source }),
  }
}
