import { type Queryable, sql } from '../db/db.ts'

export type DemoUsers = {
  companyId: string
  managerId: string
  managerEmail: string
  managerPasswordHash: string
  superAdminId: string
  superAdminEmail: string
  superAdminPasswordHash: string
}

export type DemoRows = {
  companyId: string
  salesPointId: string
  collectorId: string
  apiKeyId: string
  webhookSecretSealed: string
  merchantIdentifier: string
  apiKey: string
  apiSecretHash: string
  scopes: readonly string[]
  buttonId: string
  /** Where the demo shop stands. */
  baseUrl: string
}

/** The demo merchant: company, till, button and API key. Leaves existing rows unchanged. */
export async function insertDemo(q: Queryable, demo: DemoRows): Promise<void> {
  await q.run(sql`
    with company as (
      insert into companies (id, name, country, approved, webhook_secret_sealed)
      values (${demo.companyId}, 'Café de la Gare', 'FR', true, ${demo.webhookSecretSealed}) on conflict do nothing
    ), point as (
      insert into sales_points (id, company_id, name, city, country)
      values (${demo.salesPointId}, ${demo.companyId}, 'Café de la Gare', 'Lyon', 'FR') on conflict do nothing
    ), till as (
      insert into collectors (id, company_id, sales_point_id, identifier)
      values (${demo.collectorId}, ${demo.companyId}, ${demo.salesPointId}, ${demo.merchantIdentifier}) on conflict do nothing
    ), button as (
      insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency)
      values (${demo.buttonId}, ${demo.companyId}, 'Demo shop', ${demo.baseUrl}, ${demo.baseUrl}, '12.50', 'EUR')
      on conflict (id) do update set website_url = excluded.website_url, website_origin = excluded.website_origin
    )
    insert into api_keys (id, company_id, name, public_id, secret_hash, scopes)
    values (${demo.apiKeyId}, ${demo.companyId}, 'Demo server', ${demo.apiKey}, ${demo.apiSecretHash}, ${demo.scopes})
    on conflict do nothing`)
}

/** What a person may have changed since. */
export const findDemoSecrets = (
  q: Queryable,
  { companyId, apiKeyId }: Pick<DemoRows, 'companyId' | 'apiKeyId'>,
): Promise<{ webhookSecretSealed: string; hasApiKey: boolean } | undefined> =>
  q.maybe(sql`
    select webhook_secret_sealed,
      exists (select from api_keys where id = ${apiKeyId} and revoked_at is null) as has_api_key
    from companies where id = ${companyId}`)

export async function hasDemoUsers(q: Queryable, ids: readonly string[]): Promise<boolean> {
  const { found } = await q.one<{ found: bigint }>(sql`select count(*) as found from users where id = any(${ids})`)
  return found === BigInt(ids.length)
}

/** Whoever logs in to it. Leaves existing rows unchanged. */
export async function insertDemoUsers(q: Queryable, demo: DemoUsers): Promise<void> {
  await q.run(sql`
    insert into users (id, email, email_key, password_hash, first_name, last_name, role, company_id, verified_at,
      approved_at, two_factor_enabled)
    values
      (${demo.managerId}, ${demo.managerEmail}, ${demo.managerEmail}, ${demo.managerPasswordHash}, 'Maud', 'Gérant',
        'Manager', ${demo.companyId}, now(), now(), true),
      (${demo.superAdminId}, ${demo.superAdminEmail}, ${demo.superAdminEmail}, ${demo.superAdminPasswordHash},
        'Otto', 'Betreiber', 'SuperAdmin', null, now(), now(), true)
    on conflict do nothing`)
}
