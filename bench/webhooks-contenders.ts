import { makeWorkerUtils, run as runGraphile } from 'graphile-worker'
import { PgBoss } from 'pg-boss'
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

/** One way to get webhooks delivered. */
export type Contender = {
  name: string
  /** Commits `count` deliveries in one transaction. @returns their ids */
  enqueue(count: number): Promise<string[]>
  /** Commits deliveries of companies of their own to a server that never answers. */
  enqueueDead?(companies: number, each: number, url: string): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

const RULES = { allowHttp: true, allowedRanges: ['127.0.0.0/8'] }
const IN_FLIGHT = 128
const BODY = JSON.stringify({ event: 'order.paid', status: 'PAID', filler: 'x'.repeat(640) })
const silent = { info() {}, warn() {}, error() {} }

/** Ours: 256 companies, as lanes hold 8 in flight each; signed from the sealed secret, attempts logged. */
export async function openComptoir({ db, vault, receiverUrl }: Place): Promise<Contender> {
  const companies = Array.from({ length: 256 }, () => newId())
  for (const id of companies) {
    const sealed = vault.seal(newWebhookSecret(), secretContext(id))
    await db.run(sql`insert into companies (id, name, webhook_secret_sealed) values (${id}, 'Shop', ${sealed})`)
  }
  const key = vault.derive('webhook-id')
  const config = { webhooks: RULES, port: 0 }
  let sender: Awaited<ReturnType<typeof startSender>> | null = null
  let turn = 0
  return {
    name: 'comptoir',
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

/** The same HTTP job for the libraries: sign, send with our client, fail on anything but 2xx. No attempt is logged. */
function httpJob(receiverUrl: string): { send: (id: string) => Promise<void>; close: () => Promise<void> } {
  const attempts = new AttemptSender(createWebhookAgent(RULES))
  const secret = newWebhookSecret()
  return {
    send: async (id) => {
      const atSeconds = Math.floor(Date.now() / 1000)
      const headers = webhookHeaders({ id, event: 'order.paid', body: BODY, secret, atSeconds })
      const { failure } = await attempts.send({ url: `${receiverUrl}/hook`, headers, body: BODY })
      if (failure !== null) throw new Error(failure)
    },
    close: () => attempts.close(),
  }
}

const newJobIds = (count: number): string[] => Array.from({ length: count }, () => newId().padStart(32, '0'))

export async function openGraphileWorker({ db, connectionString, receiverUrl }: Place): Promise<Contender> {
  const utils = await makeWorkerUtils({ connectionString })
  await utils.migrate()
  await utils.release()
  let job: ReturnType<typeof httpJob> | null = null
  let runner: Awaited<ReturnType<typeof runGraphile>> | null = null
  return {
    name: 'graphile-worker',
    enqueue: async (count) => {
      const ids = newJobIds(count)
      await db.run(sql`
        select graphile_worker.add_jobs(array_agg(
          ('send', json_build_object('id', id), null, now(), 5::smallint, null, null::smallint, null)
            ::graphile_worker.job_spec))
        from unnest(${ids}::text[]) as t (id)`)
      return ids
    },
    start: async () => {
      job = httpJob(receiverUrl)
      const { send } = job
      runner = await runGraphile({
        connectionString,
        noHandleSignals: true,
        logger: silentGraphileLogger(),
        taskList: { send: (payload) => send((payload as { id: string }).id) },
        preset: {
          worker: {
            concurrentJobs: IN_FLIGHT,
            maxPoolSize: 12,
            localQueue: { size: 2 * IN_FLIGHT },
            completeJobBatchDelay: 5,
            failJobBatchDelay: 5,
          },
        },
      })
    },
    stop: async () => {
      await runner?.stop()
      await job?.close()
    },
  }
}

export async function openPgBoss({ connectionString, receiverUrl }: Place): Promise<Contender> {
  const boss = new PgBoss({ connectionString, max: 12 })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue('send')
  let job: ReturnType<typeof httpJob> | null = null
  return {
    name: 'pg-boss',
    enqueue: async (count) => {
      const ids = newJobIds(count)
      await boss.insert(
        'send',
        ids.map((id) => ({ data: { id } })),
      )
      return ids
    },
    start: async () => {
      job = httpJob(receiverUrl)
      const { send } = job
      const options = { batchSize: IN_FLIGHT, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
      await boss.work<{ id: string }>('send', options, async (jobs) => {
        await Promise.all(jobs.map(({ data }) => send(data.id)))
      })
    },
    stop: async () => {
      await boss.stop({ graceful: true, timeout: 5000 })
      await job?.close()
    },
  }
}

import { Logger } from 'graphile-worker'

const silentGraphileLogger = (): Logger => new Logger(() => () => {})
