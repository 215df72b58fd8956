import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import type { Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import type { StaleReads } from '../db/stale-reads.ts'
import type { Tracer } from '../http/tracing/tracing.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Vault } from '../kernel/vault.ts'
import type { Sender } from '../webhooks/sender/sender.ts'

/** What the service stands on; the same for every part. */
export type ServiceBase = {
  config: Config
  db: Db
  /** For lists, files and statistics; without it they read the database itself. */
  reads?: StaleReads | undefined
  vault: Vault
  clock: Clock
  metrics: Registry
  log: FastifyBaseLogger
  /** Only where traces are wanted. */
  tracer?: Tracer | undefined
}

/** The sender starts with the workers; until then, and on nodes without workers, a wake-up goes nowhere. */
export type SenderHandle = { sender: Sender | undefined }

/** The jobs that callbacks wake; until they run, and on nodes without them, a wake-up goes nowhere: the row says it. */
export type PollWakes = { pollPayments(): void; pollRefunds(): void; pollScreenings(): void }
