import { type Queryable, type Sql, sql, type Tx } from '../db/db.ts'
import type { UserRole } from '../http/actor.ts'
import type { Lang } from '../kernel/lang.ts'
import { withAsciiDomain } from '../kernel/people/emails.ts'
import { NO_PASSWORD, type User, type UserCompany } from './user.ts'

type Row = Omit<User, 'company'> & {
  companyId: string | null
  companyName: string
  companyKind: UserCompany['kind']
  companyCountry: string | null
  companySiret: string | null
  companyApproved: boolean
  settlementAddress: string | null
  settlementNetwork: number | null
}

const SELECT = sql`
  select u.id, u.email, u.email_key, u.claimed_email_key, u.password_hash, u.first_name, u.last_name, u.role,
    u.phone_number, u.phone_number_country, u.lang, u.verified_at, u.approved_at, u.disabled_at, u.two_factor_enabled,
    u.totp_enabled_at is not null as totp_enabled,
    exists (select from passkeys p where p.user_id = u.id) as passkey_enabled,
    exists (select from sale_mails m where m.user_id = u.id) as sale_mails,
    u.last_connection_at, u.created_at, u.made_by, u.company_id,
    (select k.public_id from api_keys k where k.created_by = u.id and k.revoked_at is null and not k.of_login
        and (k.expires_at is null or k.expires_at > now())
      order by k.created_at desc limit 1) as api_key,
    c.name as company_name, c.kind as company_kind, c.country as company_country, c.siret as company_siret,
    c.approved as company_approved, c.settlement_address, c.settlement_network
  from users u left join companies c on c.id = u.company_id`

function toUser(row: Row): User {
  const { companyId, companyName, companyKind, companyCountry, companySiret, companyApproved, ...rest } = row
  const { settlementAddress, settlementNetwork, ...user } = rest
  const facts = { name: companyName, kind: companyKind, country: companyCountry, siret: companySiret }
  const settlement = { approved: companyApproved, settlementAddress, settlementNetwork }
  return { ...user, company: companyId === null ? null : { id: companyId, ...facts, ...settlement } }
}

async function findOne(q: Queryable, condition: Sql): Promise<User | undefined> {
  const row = await q.maybe<Row>(sql`${SELECT} where ${condition}`)
  return row && toUser(row)
}

export const findUserById = (q: Queryable, id: string): Promise<User | undefined> => findOne(q, sql`u.id = ${id}`)

export const findUserByEmailKey = (q: Queryable, emailKey: string): Promise<User | undefined> =>
  findOne(q, sql`u.email_key = ${emailKey}`)

/** The invitation of a company (null: of the operator) over the account that holds this address. */
export const findClaim = (q: Queryable, emailKey: string, companyId: string | null): Promise<User | undefined> =>
  findOne(q, sql`u.claimed_email_key = ${emailKey} and u.company_id is not distinct from ${companyId}`)

/** Locks the user's row, so that two decisions about the same user run one after the other. */
export const lockUserById = (tx: Tx, id: string): Promise<User | undefined> =>
  findOne(tx, sql`u.id = ${id} for update of u`)

/** Locks several users in the order of their ids, so that no two transactions wait for each other. */
export async function lockUsersById(tx: Tx, ids: readonly string[]): Promise<User[]> {
  const rows = await tx.many<Row>(sql`${SELECT} where u.id = any(${[...ids]}::text[]) order by u.id for update of u`)
  return rows.map(toUser)
}

export type NewUser = {
  id: string
  email: string
  emailKey: string
  claimedEmailKey?: string | null
  passwordHash: string
  firstName: string
  lastName: string
  role: UserRole
  phoneNumber: string | null
  phoneNumberCountry: string | null
  companyId: string | null
  lang: Lang
  verifiedAt: Date | null
  approvedAt: Date | null
  twoFactorEnabled: boolean
  createdAt: Date
  /** The account that registers or invites this one. */
  madeBy?: string | null
}

export async function insertUser(tx: Tx, user: NewUser): Promise<void> {
  await tx.run(sql`
    insert into users (id, email, email_key, claimed_email_key, password_hash, first_name, last_name, role,
      phone_number, phone_number_country, company_id, lang, verified_at, approved_at, two_factor_enabled, made_by,
      created_at, updated_at)
    values (${user.id}, ${user.email}, ${user.emailKey}, ${user.claimedEmailKey ?? null}, ${user.passwordHash},
      ${user.firstName}, ${user.lastName}, ${user.role}, ${user.phoneNumber}, ${user.phoneNumberCountry}, ${user.companyId}, ${user.lang},
      ${user.verifiedAt}, ${user.approvedAt}, ${user.twoFactorEnabled}, ${user.madeBy ?? null}, ${user.createdAt},
      ${user.createdAt})`)
}

export async function updateUserPassword(
  q: Queryable,
  id: string,
  changed: { passwordHash: string; at: Date | null },
): Promise<void> {
  await q.run(sql`
    update users set password_hash = ${changed.passwordHash},
      password_changed_at = coalesce(${changed.at}, password_changed_at) where id = ${id}`)
}

/** The address becomes the invited account's own; before, the account that holds it has to let go of it. */
export async function updateClaimTaken(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`
    update users set email_key = claimed_email_key, claimed_email_key = null
    where id = ${id} and claimed_email_key is not null`)
}

/** Ends an account whose address goes to another: no password and no PIN fits, and no mailed link finds it. */
export async function updateUserReplaced(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`
    update users set email_key = 'replaced:' || id, password_hash = ${NO_PASSWORD}, disabled_at = ${at},
      updated_at = ${at} where id = ${id}`)
  await tx.run(sql`delete from till_pins where user_id = ${id}`)
  await tx.run(sql`delete from sale_mails where user_id = ${id}`)
}

/**
 * Whether anything happened in the company that someone other than this member may need: an order, an API key, a
 * SuperManager or, once the operator has approved the company, another member who could log in.
 */
export async function hasWorked(q: Queryable, companyId: string, memberId: string): Promise<boolean> {
  const { worked } = await q.one<{ worked: boolean }>(sql`
    select exists (select from orders where company_id = ${companyId})
      or exists (select from api_keys where company_id = ${companyId})
      or exists (select from super_manager_companies where company_id = ${companyId})
      or exists (select from users u join companies c on c.id = u.company_id
        where u.company_id = ${companyId} and u.id <> ${memberId} and c.approved and u.verified_at is not null and (u.approved_at is not null or u.role not in ('Cashier', 'Observer')))
      as worked`)
  return worked
}

export async function updateUserLastConnection(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`update users set last_connection_at = ${at} where id = ${id}`)
}

export async function updateUserVerified(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`update users set verified_at = ${at}, updated_at = ${at} where id = ${id}`)
}

export async function updateUserApproved(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`update users set approved_at = coalesce(approved_at, ${at}), updated_at = ${at} where id = ${id}`)
}

export type UserChange = {
  firstName: string
  lastName: string
  phoneNumber: string | null
  phoneNumberCountry: string | null
  lang: Lang
  role: UserRole
  disabledAt: Date | null
  twoFactorEnabled: boolean
}

export async function updateUser(tx: Tx, id: string, change: UserChange, at: Date): Promise<void> {
  await tx.run(sql`
    update users set first_name = ${change.firstName}, last_name = ${change.lastName},
      phone_number = ${change.phoneNumber}, phone_number_country = ${change.phoneNumberCountry}, lang = ${change.lang},
      role = ${change.role}, disabled_at = ${change.disabledAt}, two_factor_enabled = ${change.twoFactorEnabled},
      updated_at = ${at} where id = ${id}`)
}

export type UserFilter = {
  companyIds: readonly string[] | null
  role: string | null
  search: string | null
  pendingOnly: boolean
}

const patternOf = (text: string): string => `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`

/**
 * A SuperManager is not one of the people of the company that it was a Manager of. A replaced account is no one’s, and
 * the address that it names is another’s by now.
 */
function conditionOf({ companyIds, role, search, pendingOnly }: UserFilter): Sql {
  const pattern = search === null ? null : patternOf(search)
  const email = search === null ? null : patternOf(withAsciiDomain(search))
  return sql`(${companyIds}::text[] is null or (u.company_id = any(${companyIds}) and u.role <> 'SuperManager'))
    and u.email_key <> 'replaced:' || u.id
    and (${role}::text is null or u.role = ${role})
    and (${pattern}::text is null or coalesce(u.claimed_email_key, u.email_key) like ${email}
      or lower(u.first_name || ' ' || u.last_name) like ${pattern})
    and (not ${pendingOnly}::boolean
      or (u.approved_at is null and u.disabled_at is null and u.role in ('Cashier', 'Observer')))`
}

export async function listUsers(
  q: Queryable,
  filter: UserFilter,
  page: { limit: number; offset: number },
): Promise<User[]> {
  const rows = await q.many<Row>(
    sql`${SELECT} where ${conditionOf(filter)} order by u.id desc limit ${page.limit} offset ${page.offset}`,
  )
  return rows.map(toUser)
}

export async function countUsers(q: Queryable, filter: UserFilter): Promise<number> {
  const { count } = await q.one<{ count: number }>(
    sql`select count(*)::int as count from users u where ${conditionOf(filter)}`,
  )
  return count
}

/** Active managers of a company, who approve new users. */
export async function listManagers(q: Queryable, companyId: string): Promise<User[]> {
  const rows = await q.many<Row>(sql`${SELECT}
    where u.company_id = ${companyId} and u.role in ('Manager', 'Association') and u.disabled_at is null
      and u.email_key <> 'replaced:' || u.id
    order by u.id limit 20`)
  return rows.map(toUser)
}

export async function deleteSuperManagerCompanies(tx: Tx, userId: string): Promise<void> {
  await tx.run(sql`delete from super_manager_companies where user_id = ${userId}`)
}

/** Takes the tills of a cashier away. */
export async function deleteTills(tx: Tx, userId: string): Promise<void> {
  await tx.run(sql`delete from collector_cashiers where user_id = ${userId}`)
}

/** @returns how many of the companies exist */
export async function insertSuperManagerCompanies(
  tx: Tx,
  userId: string,
  companyIds: readonly string[],
): Promise<number> {
  return tx.run(sql`
    insert into super_manager_companies (user_id, company_id)
    select ${userId}, id from companies where id = any(${companyIds})`)
}

export async function listSuperManagerCompanies(q: Queryable, userId: string): Promise<string[]> {
  const rows = await q.many<{ companyId: string }>(
    sql`select company_id from super_manager_companies where user_id = ${userId} order by company_id`,
  )
  return rows.map(({ companyId }) => companyId)
}
