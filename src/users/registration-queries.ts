import { type Queryable, sql, type Tx } from '../db/db.ts'
import type { UserCompany } from './user.ts'

export type NewCompany = {
  id: string
  name: string
  kind: 'company' | 'association'
  approved: boolean
  webhookSecretSealed: string
  at: Date
}

export async function insertCompany(tx: Tx, company: NewCompany): Promise<void> {
  await tx.run(sql`
    insert into companies (id, name, kind, approved, webhook_secret_sealed, created_at, updated_at)
    values (${company.id}, ${company.name}, ${company.kind}, ${company.approved}, ${company.webhookSecretSealed},
      ${company.at}, ${company.at})`)
}

/** The first till, so that the first order needs no setup. */
export async function insertFirstTill(
  tx: Tx,
  till: { companyId: string; name: string; salesPointId: string; collectorId: string; identifier: string; at: Date },
): Promise<void> {
  await tx.run(sql`
    with point as (
      insert into sales_points (id, company_id, name, created_at, updated_at)
      values (${till.salesPointId}, ${till.companyId}, ${till.name}, ${till.at}, ${till.at}) returning id
    )
    insert into collectors (id, company_id, sales_point_id, identifier, created_at, updated_at)
    select ${till.collectorId}, ${till.companyId}, point.id, ${till.identifier}, ${till.at}, ${till.at} from point`)
}

/** Companies that match a name or an id; two are enough to see that the name is ambiguous. */
export async function listCompaniesNamed(q: Queryable, nameOrId: string): Promise<{ id: string; name: string }[]> {
  return q.many<{ id: string; name: string }>(sql`
    select id, name from companies where id = ${nameOrId} or lower(name) = lower(${nameOrId}) order by id limit 2`)
}

export async function findCompanyName(
  q: Queryable,
  id: string,
): Promise<Pick<UserCompany, 'id' | 'name' | 'kind'> | undefined> {
  return q.maybe(sql`select id, name, kind from companies where id = ${id}`)
}

export async function insertVerification(
  tx: Tx,
  verification: { tokenHash: string; userId: string; emailKey: string; at: Date; expiresAt: Date },
): Promise<void> {
  await tx.run(sql`
    insert into email_verifications (token_hash, user_id, email_key, created_at, expires_at)
    values (${verification.tokenHash}, ${verification.userId}, ${verification.emailKey}, ${verification.at},
      ${verification.expiresAt})`)
}

/** The user of a verification link that still works. */
export async function findVerification(
  q: Queryable,
  tokenHash: string,
  at: Date,
): Promise<{ userId: string } | undefined> {
  return q.maybe<{ userId: string }>(sql`
    select v.user_id from email_verifications v join users u on u.id = v.user_id and u.email_key = v.email_key
    where v.token_hash = ${tokenHash} and v.expires_at > ${at}`)
}

/** Uses a verification once. @returns the user, if the link was good, and the address that the mail went to */
export async function updateVerificationUsed(
  tx: Tx,
  tokenHash: string,
  at: Date,
): Promise<{ userId: string; emailKey: string } | undefined> {
  return tx.maybe<{ userId: string; emailKey: string }>(sql`
    update email_verifications v set used_at = coalesce(v.used_at, ${at}) from users u
    where v.token_hash = ${tokenHash} and v.expires_at > ${at} and u.id = v.user_id and u.email_key = v.email_key
    returning v.user_id, v.email_key`)
}

/** Was a verification mail written for this user since then? */
export async function findRecentVerification(q: Queryable, userId: string, since: Date): Promise<boolean> {
  const row = await q.maybe<{ found: number }>(sql`
    select 1 as found from email_verifications where user_id = ${userId} and created_at > ${since} limit 1`)
  return row !== undefined
}
