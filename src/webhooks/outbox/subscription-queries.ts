import { type Queryable, sql, type Tx } from '../../db/db.ts'

export type WebhookAccount = {
  id: string
  name: string
  optionalEvents: string[]
  webhookSecretSealed: string
  /** Prepared, not active yet. */
  nextWebhookSecretSealed: string | null
}

export const findWebhookAccount = (q: Queryable, companyId: string): Promise<WebhookAccount | undefined> =>
  q.maybe<WebhookAccount>(
    sql`select id, name, optional_events, webhook_secret_sealed, next_webhook_secret_sealed
      from companies where id = ${companyId}`,
  )

export const updateWebhookSecret = (tx: Tx, companyId: string, sealed: string): Promise<number> =>
  tx.run(sql`
    update companies set webhook_secret_sealed = ${sealed}, next_webhook_secret_sealed = null, updated_at = now()
    where id = ${companyId}`)

export const updateNextWebhookSecret = (tx: Tx, companyId: string, sealed: string): Promise<number> =>
  tx.run(sql`update companies set next_webhook_secret_sealed = ${sealed}, updated_at = now() where id = ${companyId}`)

/** Activates the prepared secret. @returns 0 when it is no longer the prepared one */
export const activateNextWebhookSecret = (tx: Tx, companyId: string, sealed: string): Promise<number> =>
  tx.run(sql`
    update companies set webhook_secret_sealed = next_webhook_secret_sealed, next_webhook_secret_sealed = null,
      updated_at = now()
    where id = ${companyId} and next_webhook_secret_sealed = ${sealed}`)

/** Also increments the company's version, which invalidates every cached copy. */
export const updateOptionalEvents = (tx: Tx, companyId: string, events: readonly string[]): Promise<number> =>
  tx.run(sql`
    update companies set optional_events = ${[...events]}::text[], version = version + 1, updated_at = now()
    where id = ${companyId}`)
