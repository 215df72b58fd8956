import { randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import { type Db, openDb, sql } from '../../src/db/db.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { deliveryId, newId, newWebhookSecret } from '../../src/kernel/ids.ts'
import { openVault, type Vault } from '../../src/kernel/vault.ts'
import { insertDeliveries, type NewDelivery } from '../../src/webhooks/outbox/delivery-queries.ts'
import type { WebhookEvent } from '../../src/webhooks/outbox/events.ts'
import { secretContext } from '../../src/webhooks/outbox/webhook-secret.ts'
import { type Sender, type SenderOptions, startSender } from '../../src/webhooks/sender/sender.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

export const SANDBOX_RULES = { allowHttp: true, allowedRanges: ['127.0.0.0/8', '::1/128'] }

export type LogLine = { level: 'info' | 'warn' | 'error'; fields: unknown; text: string }

/** A logger that keeps its lines. */
export function keepLog(lines: LogLine[] = []) {
  const at = (level: LogLine['level']) => (fields: unknown, text?: string) => {
    lines.push({ level, fields, text: text ?? String(fields) })
  }
  return { lines, info: at('info'), warn: at('warn'), error: at('error') }
}

export type WebhookWorld = {
  db: Db
  vault: Vault
  masterKey: Buffer
  database: TestDatabase
  log: ReturnType<typeof keepLog>
  metrics: Registry
  newCompany(): Promise<{ id: string; secret: string }>
  /** A delivery of a new order, as `insertDeliveries` takes it. */
  newDelivery(companyId: string, url: string, part?: Partial<NewDelivery>): NewDelivery
  insert(deliveries: NewDelivery[]): Promise<void>
  start(part?: Partial<SenderOptions>): Promise<Sender>
  statusOf(id: string): Promise<string>
  close(): Promise<void>
}

/** Companies, deliveries and senders on a database of this test file's own. */
export async function openWebhookWorld(database?: TestDatabase): Promise<WebhookWorld> {
  const own = database ?? (await createTestDatabase())
  const db = openDb({ connectionString: own.connectionString, max: 12 })
  const masterKey = randomBytes(32)
  const vault = openVault(masterKey)
  const log = keepLog()
  const metrics = new Registry()
  const senders: Sender[] = []
  const idKey = randomBytes(32)
  return {
    ...{ db, vault, masterKey, database: own, log, metrics },
    async newCompany() {
      const [id, secret] = [newId(), newWebhookSecret()]
      const sealed = vault.seal(secret, secretContext(id))
      await db.run(sql`insert into companies (id, name, webhook_secret_sealed) values (${id}, 'Shop', ${sealed})`)
      return { id, secret }
    },
    newDelivery(companyId, url, part = {}) {
      const orderId = part.orderId ?? newId()
      const event: WebhookEvent = part.event ?? 'order.paid'
      const refundId = part.refundId ?? null
      const id = deliveryId(idKey, { companyId, orderId, event, refundId })
      const body = JSON.stringify({ _id: orderId, status: 'PAID', event, goods: { goodsName: 'Café “Crème” ☕' } })
      return { companyId, id, orderId, event, refundId, url, body, requestId: null, at: new Date(), ...part }
    },
    insert: (deliveries) => db.tx(async (tx) => void (await insertDeliveries(tx, deliveries))),
    async start(part = {}) {
      const config = { webhooks: SANDBOX_RULES, port: 0 }
      const nodeName = `node-${randomBytes(4).toString('hex')}`
      const sender = await startSender({ db, vault, config, clock: systemClock, log, nodeName, ...part })
      senders.push(sender)
      return sender
    },
    statusOf: async (id) =>
      (await db.one<{ status: string }>(sql`select status from delivery_states where id = ${id}`)).status,
    async close() {
      await Promise.all(senders.map((sender) => sender.stop(200)))
      await db.close()
      await own.drop()
    },
  }
}
