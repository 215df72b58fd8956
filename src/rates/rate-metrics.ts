import { Counter, Gauge, type Registry } from 'prom-client'
import { type Clock, HOUR, isYounger, SECOND } from '../kernel/clock.ts'
import type { Fiat } from '../kernel/money.ts'

/** A rate that was wanted in vain, and then by no one for this long, is no longer missing. */
const WANTED_MS = HOUR

export type RateMetrics = {
  /** @param at time of its price */
  noteAnswer(source: string, at: number): void
  noteFailure(source: string): void
  noteFrozen(source: string, from: Fiat, isFrozen: boolean): void
  /** @param at time of the oldest price in the rate */
  noteRate(from: Fiat, at: number): void
  /** An order needed a rate, and none was available. */
  noteWanted(from: Fiat): void
  /** The sources gave none, whoever asked. */
  noteMissing(from: Fiat): void
  /** Currencies whose rate is missing: to be read until there is one. */
  listWanted(): Fiat[]
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
    help: 'From the first time that a rate was wanted in vain to the last reading; 0 once there is one, gone once no one asks.',
    labelNames: ['from'],
    registers: [registry],
    collect: () => void listWanted(),
  })
  const listWanted = (): Fiat[] => {
    for (const [from, { lastMs }] of wanted) {
      if (isYounger(lastMs, WANTED_MS, clock())) continue
      wanted.delete(from)
      missing.remove({ from })
    }
    return [...wanted.keys()]
  }
  const noteMissing: RateMetrics['noteMissing'] = (from) => {
    const known = wanted.get(from)
    if (known) missing.set({ from }, (clock() - known.firstMs) / SECOND)
  }
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
    noteWanted(from) {
      const lastMs = clock()
      const before = wanted.get(from)
      const firstMs = before && isYounger(before.lastMs, WANTED_MS, lastMs) ? before.firstMs : lastMs
      wanted.set(from, { firstMs, lastMs })
      noteMissing(from)
    },
    noteMissing,
    listWanted,
    noteFailure: (source) => failures.inc({ source }),
  }
}
