import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import type { Config } from '../config/config.ts'
import type { KnownBackups } from '../db/backup/newest-backup.ts'
import type { Db } from '../db/db.ts'
import type { StaleReads } from '../db/stale-reads.ts'
import type { Tracer } from '../http/tracing/tracing.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Vault } from '../kernel/vault.ts'
import type { Sender } from '../webhooks/sender/sender.ts'

/** The shared base of all parts of the service. */
export type ServiceBase = {
  config: Config
  db: Db
  /** For lists, files and statistics; without it they read the primary database. */
  reads?: StaleReads | undefined
  vault: Vault
  /** In the sandbox: the buy button of its demo shop. */
  demoButtonId?: string | undefined
  clock: Clock
  metrics: Registry
  log: FastifyBaseLogger
  /** Of its database; null: none are made or watched. Commands have no need of them. */
  backups?: KnownBackups | null | undefined
  /** Only if tracing is enabled. */
  tracer?: Tracer | undefined
}

/** The sender starts with the workers. Before that, and on nodes without workers, a wake-up does nothing. */
export type SenderHandle = { sender: Sender | undefined }

/**
 * Wakes the jobs after callbacks. Before they run, and on nodes without them, a wake-up does nothing: the row is due
 * anyway.
 */
export type PollWakes = { pollPayments(): void; pollRefunds(): void; pollScreenings(): void }
