import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type Figures, openStoredGauge } from '../../db/metrics/stored-gauge.ts'
import type { Due } from './sender-queries.ts'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Read at each scrape. */
export type SenderFigures = { due: Figures<Due>; inFlight(): number; lanes(): Readonly<Record<string, number>> }

function openSenderGauges(registry: Registry, { due, inFlight, lanes }: SenderFigures): void {
  const registers = [registry]
  openStoredGauge(
    { name: 'comptoir_webhook_due', help: 'Deliveries that are due and not yet claimed.', registers },
    due,
    (gauge, found) => gauge.set(found.due),
  )
  openStoredGauge(
    {
      name: 'comptoir_webhook_oldest_seconds',
      help: 'How late the oldest due delivery is, without those that wait for their own slow or busy receiver.',
      registers,
    },
    due,
    (gauge, { oldestMs }) => gauge.set(oldestMs / 1000),
  )
  openStoredGauge(
    {
      name: 'comptoir_webhook_backlog_seconds',
      help: 'How late the oldest due delivery is, whatever it waits for.',
      registers,
    },
    due,
    (gauge, { backlogMs }) => gauge.set(backlogMs / 1000),
  )
  new Gauge({
    name: 'comptoir_webhook_in_flight',
    help: 'Attempts under way on this node.',
    registers,
    collect() {
      this.set(inFlight())
    },
  })
  new Gauge({
    name: 'comptoir_webhook_lanes',
    help: 'Receivers by state on this node.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(lanes())) this.set({ state }, count)
    },
  })
}

/** Webhook metrics; their alarms are described in `docs/operating.md`. */
export function senderMetrics(registry: Registry, figures: SenderFigures) {
  const registers = [registry]
  openSenderGauges(registry, figures)
  return {
    attempts: new Counter({
      name: 'comptoir_webhook_attempts_total',
      help: 'Attempts by outcome; failure is empty for delivered ones.',
      labelNames: ['outcome', 'failure'],
      registers,
    }),
    receivers: new Counter({
      name: 'comptoir_webhook_receiver_attempts_total',
      help: 'Attempts by receiver (its host; all after the first 200 together) and whether they succeeded.',
      labelNames: ['receiver', 'ok'],
      registers,
    }),
    startDelay: new Histogram({
      name: 'comptoir_webhook_start_delay_seconds',
      help: 'From the time a delivery was due to its claim.',
      buckets: SECONDS,
      registers,
    }),
    duration: new Histogram({
      name: 'comptoir_webhook_attempt_seconds',
      help: 'How long an attempt took.',
      buckets: SECONDS,
      registers,
    }),
    takeovers: new Counter({
      name: 'comptoir_webhook_takeovers_total',
      help: 'Dead nodes whose deliveries this node took over.',
      registers,
    }),
    unknownOutcomes: new Counter({
      name: 'comptoir_webhook_unknown_outcomes_total',
      help: 'Attempts whose node died before the outcome was written; they are repeated.',
      registers,
    }),
    released: new Counter({
      name: 'comptoir_webhook_released_total',
      help: 'Claimed deliveries that became due again without an attempt, because their secret was not read in time or at all.',
      labelNames: ['reason'],
      registers,
    }),
    fenced: new Counter({
      name: 'comptoir_webhook_fenced_total',
      help: 'Outcomes dropped because the lease had passed to another node.',
      registers,
    }),
    clockSkew: new Gauge({
      name: 'comptoir_webhook_clock_skew_seconds',
      help: 'This node’s clock minus the database’s; receivers refuse signatures 300 s off.',
      registers,
    }),
  }
}

export type SenderMetrics = ReturnType<typeof senderMetrics>
