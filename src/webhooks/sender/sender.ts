import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../db/db.ts'
import { clearGauge, shareFigures } from '../../db/metrics/stored-gauge.ts'
import type { Tracer } from '../../http/tracing/tracing.ts'
import type { Clock } from '../../kernel/clock.ts'
import { faultLogOf } from '../../kernel/process/fault-log.ts'
import type { Vault } from '../../kernel/vault.ts'
import { onLateCommit } from '../outbox/late-commits.ts'
import { AttemptSender } from './attempt.ts'
import { ClaimLoop } from './claim-loop.ts'
import type { Buckets } from './claim-queries.ts'
import { createWebhookAgent, type VettedConnectorOptions } from './connector.ts'
import { DeliveryRunner } from './delivery-runner.ts'
import { Lanes } from './lanes.ts'
import { nodeNameOf, thisMachine } from './machine.ts'
import { OutcomeWriter, type SettlementEvents } from './outcome-writer.ts'
import { type SenderFigures, type SenderMetrics, senderMetrics } from './sender-metrics.ts'
import { SenderNode } from './sender-node.ts'
import { countDue } from './sender-queries.ts'
import { Suspects } from './suspects.ts'

/** Concurrent attempts. Those that take more than a second are counted separately, up to the hard limit. */
const SLOTS = 512
const HARD_LIMIT = 2048
const LINGERING_MS = 1000
/** Longer than one attempt with its draining, shorter than a lease. */
const STOP_MS = 12_000
/** How many due deliveries the metrics count. */
const COUNTED = 100_000
const SKEW_ALARM_MS = 30_000

export type SenderOptions = {
  db: Db
  vault: Vault
  config: Pick<Config, 'webhooks' | 'port'>
  clock: Clock
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  metrics?: Registry
  tracer?: Tracer | undefined
  /** Stable across restarts and unique among living nodes; default: host name, port and this boot of the machine. */
  nodeName?: string
  /** Default: the one that this process runs on. */
  machine?: string
  /**
   * True: nodes divide the companies among themselves instead of competing for each delivery, so a lane's cap holds for
   * all nodes together. For many nodes; all should use the same setting.
   */
  ownBuckets?: boolean
  /** Tells the operator of a delivery that was parked. A failure of this is only logged. */
  onParked?: (deliveryId: string) => Promise<void>
  /** For receivers inside an operator's own network: name servers and certificate authority. */
  connector?: Omit<VettedConnectorOptions, 'allowedRanges'>
}

type Counts = {
  delivered: number
  retried: number
  failed: number
  parked: number
  released: number
  unknownOutcomes: number
  fenced: number
  takeovers: number
}

export type SenderStats = Counts & { inFlight: number; lanes: ReturnType<Lanes['counts']> }

export type Sender = {
  /** Call after the commit of a transaction that inserted deliveries. */
  wake(companyId?: string): void
  /**
   * Lets attempts in flight end, writes their outcomes and releases the leases.
   * @param graceMs attempts still in flight after this time are abandoned and due again, not counted; default 12 s,
   * which is longer than any attempt
   */
  stop(graceMs?: number): Promise<void>
  stats(): SenderStats
}

/** Sends due deliveries on this node, alongside any number of other nodes on the same database. */
export async function startSender(options: SenderOptions): Promise<Sender> {
  const { db, config, log } = options
  const lanes = new Lanes(SLOTS, HARD_LIMIT)
  const { allowedRanges, allowHttp } = config.webhooks
  const attempts = new AttemptSender(createWebhookAgent({ ...options.connector, allowedRanges }))
  const figures: SenderFigures = {
    due: shareFigures(() => countDue(db, { limit: COUNTED, waiting: lanes.waiting(roomOf(attempts) > 0) })),
    inFlight: () => attempts.inFlight.size,
    lanes: () => lanes.counts(),
  }
  const faults = faultLogOf(log)
  const metrics = options.metrics ? senderMetrics(options.metrics, figures) : null
  const counts: Counts = {
    delivered: 0,
    retried: 0,
    failed: 0,
    parked: 0,
    released: 0,
    unknownOutcomes: 0,
    fenced: 0,
    takeovers: 0,
  }
  const settlement = new OutcomeWriter(
    db,
    settlementEvents(options, counts, metrics, (id) => suspects.settled(id)),
  )
  const machine = options.machine ?? thisMachine()
  const name = options.nodeName ?? nodeNameOf(machine, config.port)
  const node = new SenderNode(
    db,
    options.clock,
    { name, machine },
    {
      tookOver: (takeover) => {
        counts.takeovers += takeover.instances.length
        metrics?.takeovers.inc(takeover.instances.length)
        log.warn(takeover, 'took over the webhooks of a dead node')
        loop.sweep()
      },
      bucketsChanged: () => loop.sweep(),
      clockSkew: (skewMs) => {
        metrics?.clockSkew.set(skewMs / 1000)
        if (Math.abs(skewMs) > SKEW_ALARM_MS)
          log.error({ skewMs }, 'this node’s clock is off; receivers may refuse signatures')
      },
      failed: (error) => {
        if (metrics) clearGauge(metrics.clockSkew)
        faults.failed(error, 'webhooks.heartbeat', 'webhook heartbeat failed')
      },
    },
  )
  const buckets = (): Buckets => (options.ownBuckets === true ? node.buckets : null)
  const suspects = new Suspects({ db, lanes, buckets, freed: () => loop.wake() })
  const runner = new DeliveryRunner({
    ...options,
    allowHttp,
    attempts,
    lanes,
    suspects,
    settlement,
    metrics,
    freed: () => loop.wake(),
  })
  const loop = new ClaimLoop({
    db,
    lanes,
    instance: () => node.instance,
    buckets,
    room: () => roomOf(attempts),
    suspects,
    start: (delivery, readAtMs) => {
      if (delivery.wasInterrupted) counts.unknownOutcomes += 1
      runner.start(delivery, readAtMs)
    },
    failed: (error) => void faults.failed(error, 'webhooks.claim', 'claiming webhooks failed'),
  })
  await node.start()
  loop.start()
  const forget = onLateCommit(() => loop.sweep())
  return {
    wake: () => loop.wake(),
    stats: () => ({ ...counts, inFlight: attempts.inFlight.size, lanes: lanes.counts() }),
    stop: async (graceMs = STOP_MS) => {
      forget()
      await loop.stop()
      await runner.idle(graceMs)
      await attempts.close()
      await settlement.drain(graceMs)
      await node.stop()
    },
  }
}

function settlementEvents(
  { log, onParked }: Pick<SenderOptions, 'log' | 'onParked'>,
  counts: Counts,
  metrics: SenderMetrics | null,
  ended: (deliveryId: string) => void,
): SettlementEvents {
  return {
    settled: ({ outcome, errorCode, deliveryId }) => {
      ended(deliveryId)
      counts[outcome === 'retry' ? 'retried' : outcome] += 1
      metrics?.attempts.inc({ outcome, failure: errorCode ?? '' })
      if (outcome !== 'parked') return
      log.error({ deliveryId }, 'ALARM: a webhook was parked after three crashes')
      onParked?.(deliveryId).catch((error: unknown) => log.error({ err: error }, 'the alarm was not mailed'))
    },
    fenced: ({ deliveryId }) => {
      ended(deliveryId)
      counts.fenced += 1
      metrics?.fenced.inc()
    },
    failed: (error) =>
      void faultLogOf(log).failed(error, 'webhooks.outcomes', 'webhook outcomes wait for the database'),
  }
}

function roomOf(attempts: AttemptSender): number {
  const youngSinceMs = performance.now() - LINGERING_MS
  let lingering = 0
  for (const attempt of attempts.inFlight) {
    if (attempt.startedAtMs > youngSinceMs) break
    lingering += 1
  }
  const { size } = attempts.inFlight
  return Math.min(SLOTS - (size - lingering), HARD_LIMIT - size)
}
