import { type Queryable, sql, type Tx } from '../db/db.ts'

export type WebhookAccount = { id: string; name: string; optionalEvents: string[]; webhookSecretSealed: string }

export const findWebhookAccount = (q: Queryable, companyId: string): Promise<WebhookAccount | undefined> =>
  q.maybe<WebhookAccount>(
    sql`select id, name, optional_events, webhook_secret_sealed from companies where id = ${companyId}`,
  )

export const updateWebhookSecret = (tx: Tx, companyId: string, sealed: string): Promise<number> =>
  tx.run(sql`update companies set webhook_secret_sealed = ${sealed}, updated_at = now() where id = ${companyId}`)

/** Also moves the company's version, so that every cached copy knows that it is old. */
export const updateOptionalEvents = (tx: Tx, companyId: string, events: readonly string[]): Promise<number> =>
  tx.run(sql`
    update companies set optional_events = ${[...events]}::text[], version = version + 1, updated_at = now()
    where id = ${companyId}`)
