import { createSecretKey, randomBytes } from 'node:crypto'
import { Logger, makeWorkerUtils, run as runGraphile } from 'graphile-worker'
import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import { createBatcher } from '../src/db/batch.ts'
import { type Db, sql } from '../src/db/db.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { deliveryId, newId, newWebhookSecret } from '../src/kernel/ids.ts'
import type { Vault } from '../src/kernel/vault.ts'
import { insertDeliveries } from '../src/webhooks/outbox/delivery-queries.ts'
import { webhookHeaders } from '../src/webhooks/outbox/signature.ts'
import { secretContext } from '../src/webhooks/outbox/webhook-secret.ts'
import { AttemptSender } from '../src/webhooks/sender/attempt.ts'
import { createWebhookAgent } from '../src/webhooks/sender/connector.ts'
import { startSender } from '../src/webhooks/sender/sender.ts'

export type Place = { db: Db; vault: Vault; connectionString: string; receiverUrl: string }

/** One system that delivers webhooks. */
export type Contender = {
  name: string
  /** Commits `count` deliveries in one transaction. @returns their ids */
  enqueue(count: number): Promise<string[]>
  /** Commits deliveries of separate companies to a server that never answers. */
  enqueueDead?(companies: number, each: number, url: string): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

const RULES = { allowHttp: true, allowedRanges: ['127.0.0.0/8'] }
const IN_FLIGHT = 128
const BODY = JSON.stringify({ event: 'order.paid', status: 'PAID', filler: 'x'.repeat(640) })
const silent = { info() {}, warn() {}, error() {} }

/** Ours, to as many receivers as companies; signed with the sealed secret. */
export async function openComptoir({ db, vault, receiverUrl }: Place, receivers = 256): Promise<Contender> {
  const companies = Array.from({ length: receivers }, () => newId())
  for (const id of companies) {
    const sealed = vault.seal(newWebhookSecret(), secretContext(id))
    await db.run(sql`insert into companies (id, name, webhook_secret_sealed) values (${id}, 'Shop', ${sealed})`)
  }
  const key = createSecretKey(randomBytes(32))
  const config = { webhooks: RULES, port: 0 }
  let sender: Awaited<ReturnType<typeof startSender>> | null = null
  let turn = 0
  return {
    name: `comptoir, ${receivers} receiver${receivers === 1 ? '' : 's'}`,
    enqueue: (count) => {
      const rows = Array.from({ length: count }, () => {
        const [companyId, orderId, event] = [companies[turn++ % companies.length] ?? '', newId(), 'order.paid' as const]
        const id = deliveryId(key, { companyId, orderId, event, refundId: null })
        const rest = { refundId: null, requestId: null, at: new Date() }
        return { companyId, id, orderId, event, url: `${receiverUrl}/hook`, body: BODY, ...rest }
      })
      return db.tx(async (tx) => {
        await insertDeliveries(tx, rows)
        tx.afterCommit(() => sender?.wake())
        return rows.map((row) => row.id)
      })
    },
    async enqueueDead(count, each, url) {
      const dead = Array.from({ length: count }, () => newId())
      for (const id of dead) {
        const sealed = vault.seal(newWebhookSecret(), secretContext(id))
        await db.run(sql`insert into companies (id, name, webhook_secret_sealed) values (${id}, 'Dead', ${sealed})`)
      }
      const rows = dead.flatMap((companyId) =>
        Array.from({ length: each }, () => {
          const [orderId, event] = [newId(), 'order.paid' as const]
          const id = deliveryId(key, { companyId, orderId, event, refundId: null })
          return { companyId, id, orderId, event, url, body: BODY, refundId: null, requestId: null, at: new Date() }
        }),
      )
      await db.tx(async (tx) => void (await insertDeliveries(tx, rows)))
    },
    start: async () => {
      sender = await startSender({ db, vault, config, clock: systemClock, log: silent, nodeName: 'bench' })
    },
    stop: async () => {
      await sender?.stop()
      sender = null
    },
  }
}

type Job = { id: string; url: string; body: string }
type Attempt = { id: string; startedAt: Date; durationMs: number; statusCode: number | null }

const ATTEMPTS = `create table if not exists bench_attempts (id text not null, started_at timestamptz not null,
  duration_ms integer not null, status_code integer, primary key (id, started_at))`

/** Many attempts in one statement. */
const logAttempts = (db: Db, rows: readonly Attempt[]): Promise<number> =>
  db.run(sql`
    insert into bench_attempts (id, started_at, duration_ms, status_code)
    select * from unnest(${rows.map(({ id }) => id)}::text[], ${rows.map(({ startedAt }) => startedAt)}::timestamptz[],
      ${rows.map(({ durationMs }) => durationMs)}::integer[], ${rows.map(({ statusCode }) => statusCode)}::integer[])`)

/** The same work for the libraries: body from the job, signed and sent with our client, attempt logged. */
function httpJob(): { send: (job: Job) => Promise<Attempt>; close: () => Promise<void> } {
  const attempts = new AttemptSender(createWebhookAgent(RULES))
  const secret = newWebhookSecret()
  return {
    send: async ({ id, url, body }) => {
      const startedAt = new Date()
      const atSeconds = Math.floor(startedAt.getTime() / 1000)
      const headers = webhookHeaders({ id, event: 'order.paid', body, secret, atSeconds })
      const { failure, durationMs, statusCode } = await attempts.send({ url, headers, body })
      if (failure !== null) throw new Error(failure)
      return { id, startedAt, durationMs, statusCode }
    },
    close: () => attempts.close(),
  }
}

const newJobs = (count: number, receiverUrl: string): Job[] =>
  Array.from({ length: count }, () => ({ id: newId().padStart(32, '0'), url: `${receiverUrl}/hook`, body: BODY }))

/** With the local queue and batched completion that its manual recommends for speed. */
export async function openGraphileWorker({ db, connectionString, receiverUrl }: Place): Promise<Contender> {
  const utils = await makeWorkerUtils({ connectionString })
  await utils.migrate()
  await utils.release()
  await db.pool.query(ATTEMPTS)
  let job: ReturnType<typeof httpJob> | null = null
  let runner: Awaited<ReturnType<typeof runGraphile>> | null = null
  const pgPool = new Pool({ connectionString, max: 12 }).on('error', () => {})
  const log = createBatcher<Attempt, undefined>({
    ...{ max: 200, concurrency: 2 },
    runMany: async (rows) => {
      await logAttempts(db, rows)
      return rows.map(() => undefined)
    },
  })
  return {
    name: 'graphile-worker',
    enqueue: async (count) => {
      const jobs = newJobs(count, receiverUrl)
      await db.run(sql`
        select graphile_worker.add_jobs(array_agg(
          ('send', job, null, now(), 5::smallint, null, null::smallint, null)::graphile_worker.job_spec))
        from unnest(${jobs.map((one) => JSON.stringify(one))}::json[]) as t (job)`)
      return jobs.map(({ id }) => id)
    },
    start: async () => {
      job = httpJob()
      const { send } = job
      runner = await runGraphile({
        pgPool,
        noHandleSignals: true,
        logger: silentGraphileLogger(),
        taskList: { send: async (payload) => log(await send(payload as Job)) },
        preset: {
          worker: {
            concurrentJobs: IN_FLIGHT,
            localQueue: { size: 2 * IN_FLIGHT },
            completeJobBatchDelay: 5,
            failJobBatchDelay: 5,
          },
        },
      })
    },
    stop: async () => {
      await runner?.stop()
      await pgPool.end()
      await job?.close()
    },
  }
}

export async function openPgBoss({ db, connectionString, receiverUrl }: Place): Promise<Contender> {
  const boss = new PgBoss({ connectionString, max: 12 })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue('send')
  await db.pool.query(ATTEMPTS)
  let job: ReturnType<typeof httpJob> | null = null
  return {
    name: 'pg-boss',
    enqueue: async (count) => {
      const jobs = newJobs(count, receiverUrl)
      await boss.insert(
        'send',
        jobs.map((data) => ({ data })),
      )
      return jobs.map(({ id }) => id)
    },
    start: async () => {
      job = httpJob()
      const { send } = job
      const options = { batchSize: IN_FLIGHT, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
      await boss.work<Job>('send', options, async (jobs) => {
        await logAttempts(db, await Promise.all(jobs.map(({ data }) => send(data))))
      })
    },
    stop: async () => {
      await boss.stop({ graceful: true, timeout: 5000 })
      await job?.close()
    },
  }
}

const silentGraphileLogger = (): Logger => new Logger(() => () => {})
