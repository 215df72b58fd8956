import { Gauge, type GaugeConfiguration } from 'prom-client'
import { SECOND } from '../../kernel/clock.ts'

/** Shorter than a scrape may take (Prometheus: 10 s), so that a slow database costs its own gauges only. */
const PATIENCE_MS = 5 * SECOND

/** What a query found; null while the database does not answer. */
export type Figures<Found> = () => Promise<Found | null>

/** One question for all gauges of a scrape, and for scrapes that come while it is asked. */
export function shareFigures<Found>(find: () => Promise<Found>, patienceMs = PATIENCE_MS): Figures<Found> {
  let asked: Promise<Found | null> | undefined
  return async () => {
    asked ??= find()
      .catch(() => null)
      .finally(() => {
        asked = undefined
      })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), patienceMs)
    })
    return Promise.race([asked, late]).finally(() => clearTimeout(timer))
  }
}

/** Its series are gone until they are set again. */
export function clearGauge(gauge: Gauge): void {
  gauge.reset()
  // one without labels is 0 after that
  gauge.remove({})
}

/**
 * A gauge that is read from the database at each scrape, and absent without an answer: an old value would pass for a
 * present one.
 */
export function openStoredGauge<Found, Label extends string = never>(
  spec: GaugeConfiguration<Label>,
  figures: Figures<Found>,
  show: (gauge: Gauge<Label>, found: Found) => void,
): void {
  new Gauge<Label>({
    ...spec,
    async collect() {
      const found = await figures()
      clearGauge(this)
      if (found !== null) show(this, found)
    },
  })
}
