import { Gauge, type Registry } from 'prom-client'
import type { Config } from '../config/config.ts'
import { type Db, openDb, type Queryable, sql } from './db.ts'

/**
 * Reads whose result may be a few seconds old: lists, files, statistics. Never for decisions about money, and never for
 * data that a caller acts on in the same request.
 */
export type StaleReads = {
  /**
   * Reads from the replica while it keeps up, otherwise from the primary; also if the replica fails during the read.
   */
  read<Result>(work: (q: Queryable) => Promise<Result>): Promise<Result>
  /** For several reads that must see the same state, or a later one. */
  place(): Db
  stop(): Promise<void>
}

/** Reads without a replica. */
export const readsFrom = (db: Db): StaleReads => ({ read: (work) => work(db), place: () => db, stop: async () => {} })

const PROBE_MS = 1000
/** Number of log positions remembered: as far back as the longest lag that can be allowed. */
const KEPT_SAMPLES = 330

type ReplicaOptions = {
  connectionString: string
  prepared: boolean
  /** With a longer lag the replica is not used. */
  maxLagSeconds: number
  metrics: Registry
  log: { warn(fields: object, text: string): void; info(fields: object, text: string): void }
}

/** Compares positions in the database's log, so that neither clocks nor idle times matter. */
const findPosition = (db: Db): Promise<{ position: string }> =>
  db.one(sql`select (pg_current_wal_lsn() - '0/0'::pg_lsn)::text as position`)

/** Null: this server is no replica, or has replayed nothing yet. */
const findReplayed = (db: Db): Promise<{ position: string | null }> =>
  db.one(
    sql`select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::text end as position`,
  )

/** Combines the positions of both servers: up to which time the replica has everything that was committed before. */
class Freshness {
  #samples: { atMs: number; position: bigint }[] = []
  #asOfMs = Number.NEGATIVE_INFINITY

  note(atMs: number, position: bigint, replayed: bigint | null): void {
    this.#samples = [...this.#samples.slice(-KEPT_SAMPLES), { atMs, position }]
    const reached = replayed === null ? undefined : this.#samples.findLast((sample) => sample.position <= replayed)
    this.#asOfMs = reached?.atMs ?? Number.NEGATIVE_INFINITY
  }
  fail(): void {
    this.#asOfMs = Number.NEGATIVE_INFINITY
  }
  lagSeconds(): number {
    return (performance.now() - this.#asOfMs) / 1000
  }
}

function openLagGauge(metrics: Registry, freshness: Freshness): void {
  new Gauge({
    name: 'comptoir_replica_lag_seconds',
    help: 'How far the replica is behind, as this node sees it; +Inf: it does not answer, or is none.',
    registers: [metrics],
    collect() {
      this.set(freshness.lagSeconds())
    },
  })
}

/** Reads from a streaming replica within a lag limit. Polls its position every second. */
function openReplica(db: Db, options: ReplicaOptions): StaleReads {
  const { connectionString, prepared, maxLagSeconds, metrics, log } = options
  const replica = openDb({ connectionString, prepared, max: 6, applicationName: 'comptoir-replica' })
  const freshness = new Freshness()
  let wasUsed: boolean | undefined
  let stopped = false
  const isUsable = (): boolean => freshness.lagSeconds() <= maxLagSeconds
  const probe = async (): Promise<void> => {
    const atMs = performance.now()
    const [now, there] = await Promise.all([findPosition(db), findReplayed(replica)])
    const replayed = there.position === null ? null : BigInt(there.position)
    freshness.note(atMs, BigInt(now.position), replayed)
  }
  const loop = async (): Promise<void> => {
    await probe().catch(() => freshness.fail())
    if (stopped) return
    if (wasUsed !== isUsable()) {
      wasUsed = isUsable()
      const words = wasUsed ? 'the replica is read' : 'the replica is not read: it is behind, away, or no replica'
      log[wasUsed ? 'info' : 'warn']({ lagSeconds: Math.round(freshness.lagSeconds()) }, words)
    }
    timer = setTimeout(() => void loop(), PROBE_MS).unref()
  }
  let timer: NodeJS.Timeout | undefined
  void loop()
  openLagGauge(metrics, freshness)
  return {
    async read(work) {
      if (!isUsable()) return work(db)
      try {
        return await work(replica)
      } catch (error) {
        // the replica is down, or cancelled a query to catch up; an error in the query itself happens again below
        freshness.fail()
        log.warn({ err: error }, 'a read from the replica failed; retrying on the primary')
        return work(db)
      }
    },
    place: () => (isUsable() ? replica : db),
    async stop() {
      stopped = true
      clearTimeout(timer)
      await replica.close()
    },
  }
}

/** As configured. */
export function openReads(
  db: Db,
  {
    config,
    metrics,
    log,
  }: Pick<ReplicaOptions, 'metrics' | 'log'> & {
    config: Pick<Config, 'databaseReplicaUrl' | 'databaseReplicaMaxLagSeconds'>
  },
): StaleReads {
  const { databaseReplicaUrl: connectionString, databaseReplicaMaxLagSeconds: maxLagSeconds } = config
  if (connectionString === null) return readsFrom(db)
  return openReplica(db, { connectionString, prepared: db.prepared, maxLagSeconds, metrics, log })
}
