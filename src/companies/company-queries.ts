import { json, type Queryable, type Sql, sql, type Tx, unnamed } from '../db/db.ts'
import { SET_BY_RESTORE } from '../db/restored-queries.ts'
import type { UserRole } from '../http/actor.ts'
import type { Lang } from '../kernel/lang.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'
import type { RefundLimits } from './company-refund-limits.ts'

export type Company = {
  id: string
  name: string
  kind: 'company' | 'association'
  country: string | null
  siret: string | null
  /** With its prefix, as `readVatNumber` gives it. */
  vatNumber: string | null
  approved: boolean
  /** A manager who can log in has proven the address. */
  managerVerified: boolean
  settlementAddress: string | null
  settlementNetwork: number | null
  /** Its payout address is the one of a backup, and nobody has confirmed it since. */
  settlementRestored: boolean
  maxOrderAmount: string
  identityThresholdAmount: string
  toleranceBps: number
  toleranceMaxUnits: string
  lateAcceptHours: number
  lateAfterCancel: 'accept' | 'hold'
  requoteHours: number
  linkQuoteMinutes: number | null
  /** USDC, decimal text. */
  settlementReserve: string
  refundApproval: boolean
  /** USDC, decimal text: above it a refund needs a person with a fresh second factor. */
  refundStepUpLimit: string
  refundLimits: RefundLimits
  feeBps: number
  /** EUR; null: payers are not checked. */
  kycThreshold: string | null
  /** EUR in 30 days; null: no limit. */
  kycLimit: string | null
  /** What payers see; null where the company has not said it. */
  displayName: string | null
  legalName: string | null
  brandColor: string | null
  supportEmail: string | null
  supportPhone: string | null
  termsUrl: string | null
  /** Of mails to customers who have chosen none; null: that of the country. */
  customerLanguage: Lang | null
  /** The hash by which the logo is served. */
  logo: string | null
  createdAt: Date
  updatedAt: Date
}

/** Anyone may register a company, with whatever address: nobody is asked about it before its manager has proven his. */
const MANAGER_VERIFIED = sql`exists (select from users u where u.company_id = companies.id
  and u.role in ('Manager', 'Association') and u.verified_at is not null and u.disabled_at is null)`

const COLUMNS = sql`id, name, kind, country, siret, vat_number, approved, ${MANAGER_VERIFIED} as manager_verified, settlement_address, settlement_network,
  settlement_set_by is not distinct from ${SET_BY_RESTORE} as settlement_restored, max_order_amount,
  identity_threshold_amount, tolerance_bps, tolerance_max_units, late_accept_hours, late_after_cancel,
  requote_hours, link_quote_minutes, (reserve_units / 1000000)::numeric(38, 6)::text as settlement_reserve, refund_approval,
  (refund_limit_units / 1000000)::numeric(38, 6)::text as refund_step_up_limit,
  refund_limits, fee_bps, kyc_threshold_amount as kyc_threshold, kyc_limit_amount as kyc_limit,
  display_name, legal_name, brand_color, support_email, support_phone, terms_url, customer_language,
  (select hash from company_logos l where l.company_id = companies.id) as logo, created_at, updated_at`

export async function findCompany(q: Queryable, id: string): Promise<Company | undefined> {
  return q.maybe<Company>(sql`select ${COLUMNS} from companies where id = ${id}`)
}

export async function lockCompany(tx: Tx, id: string): Promise<Company | undefined> {
  return tx.maybe<Company>(sql`select ${COLUMNS} from companies where id = ${id} for update`)
}

/** The company of a manager, by the manager's id or e-mail. */
export async function findCompanyOfManager(q: Queryable, idOrEmail: string): Promise<string | undefined> {
  const row = await q.maybe<{ companyId: string }>(sql`
    select company_id from users
    where (id = ${idOrEmail} or email_key = ${emailKeyOf(idOrEmail)})
      and role in ('Manager', 'Association') and company_id is not null`)
  return row?.companyId
}

export type CompanyFilter = {
  companyIds: readonly string[] | null
  search: string | null
  approved: boolean | null
  /** Whether the operator is asked to approve it. */
  waiting: boolean | null
}

const WAITING = sql`not approved and ${MANAGER_VERIFIED}`

function conditionOf({ companyIds, search, approved, waiting }: CompanyFilter): Sql {
  const pattern = search === null ? null : `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
  return sql`(${companyIds}::text[] is null or id = any(${companyIds}))
    and (${pattern}::text is null or lower(name) like ${pattern})
    and (${approved}::boolean is null or approved = ${approved})
    and ${waiting === null ? sql`true` : waiting ? WAITING : sql`not (${WAITING})`}`
}

export async function listCompanies(
  q: Queryable,
  filter: CompanyFilter,
  page: { limit: number; offset: number },
): Promise<Company[]> {
  return q.many<Company>(
    unnamed(sql`
    select ${COLUMNS} from companies where ${conditionOf(filter)} order by id desc
    limit ${page.limit} offset ${page.offset}`),
  )
}

export async function countCompanies(q: Queryable, filter: CompanyFilter): Promise<number> {
  const { count } = await q.one<{ count: number }>(
    unnamed(sql`select count(*)::int as count from companies where ${conditionOf(filter)}`),
  )
  return count
}

/**
 * Writes every field and raises the version, so that no order is created from an old copy. What receipts say about the
 * company is kept as it was.
 */
export async function updateCompany(tx: Tx, company: Company, at: Date): Promise<void> {
  await tx.run(sql`
    with kept as (
      insert into company_history (company_id, until_at, name, display_name, legal_name, siret, vat_number)
      select id, ${at}, name, display_name, legal_name, siret, vat_number from companies
      where id = ${company.id} and (name, display_name, legal_name, siret, vat_number) is distinct from
        (${company.name}, ${company.displayName}, ${company.legalName}, ${company.siret}, ${company.vatNumber})
      on conflict do nothing)
    update companies set name = ${company.name}, country = ${company.country}, siret = ${company.siret},
      vat_number = ${company.vatNumber}, approved = ${company.approved}, settlement_address = ${company.settlementAddress},
      settlement_network = ${company.settlementNetwork}, max_order_amount = ${company.maxOrderAmount},
      identity_threshold_amount = ${company.identityThresholdAmount}, tolerance_bps = ${company.toleranceBps},
      tolerance_max_units = ${company.toleranceMaxUnits}, late_accept_hours = ${company.lateAcceptHours},
      late_after_cancel = ${company.lateAfterCancel}, requote_hours = ${company.requoteHours},
      link_quote_minutes = ${company.linkQuoteMinutes},
      reserve_units = ${company.settlementReserve}::numeric * 1000000, refund_approval = ${company.refundApproval},
      refund_limit_units = ${company.refundStepUpLimit}::numeric * 1000000,
      refund_limits = ${json(company.refundLimits)}, fee_bps = ${company.feeBps},
      kyc_threshold_amount = ${company.kycThreshold}, kyc_limit_amount = ${company.kycLimit},
      display_name = ${company.displayName}, legal_name = ${company.legalName}, brand_color = ${company.brandColor},
      support_email = ${company.supportEmail}, support_phone = ${company.supportPhone},
      terms_url = ${company.termsUrl}, customer_language = ${company.customerLanguage}, version = version + 1,
      updated_at = ${at} where id = ${company.id}`)
}

/** Notes who wrote the payout address. */
export const updateSettlementSet = (tx: Tx, id: string, { by, at }: { by: string; at: Date }): Promise<number> =>
  tx.run(sql`update companies set settlement_set_at = ${at}, settlement_set_by = ${by} where id = ${id}`)

/** Invalidates cached copies after a change to one of the company's objects. */
export async function updateCompanyVersion(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`update companies set version = version + 1 where id = ${id}`)
}

/** Companies whose settlements go to this address (lower case). */
export async function listCompaniesSettledAt(q: Queryable, address: string): Promise<string[]> {
  const rows = await q.many<{ id: string }>(sql`
    select id from companies where lower(settlement_address) = ${address}`)
  return rows.map(({ id }) => id)
}

/** Not a replaced account, though an earlier version may enable one: its address is another's by now. */
export async function listCompanyManagers(
  q: Queryable,
  companyId: string,
): Promise<{ email: string; firstName: string; lang: string }[]> {
  return q.many<{ email: string; firstName: string; lang: string }>(sql`
    select email, first_name, lang from users
    where company_id = ${companyId} and role in ('Manager', 'Association') and disabled_at is null
      and email_key <> 'replaced:' || id order by id limit 20`)
}

export type Standing = {
  role: UserRole
  disabledAt: Date | null
  sessionEndedAt: Date | null
  secondFactorAt: Date | null
}

/**
 * A person and the session, as they are now; whoever changes either waits until the transaction ends. Not `for share`:
 * the overlapping requests of a busy person would keep whoever takes the rights away waiting for good.
 */
export const lockStanding = (tx: Tx, userId: string, sessionId: string | null): Promise<Standing | undefined> =>
  tx.maybe<Standing>(sql`
    select u.role, u.disabled_at, s.revoked_at as session_ended_at, s.second_factor_at
    from users u join sessions s on s.user_id = u.id
    where u.id = ${userId} and s.id = ${sessionId} for no key update`)

export async function isAttached(tx: Tx, superManagerId: string, companyId: string): Promise<boolean> {
  const row = await tx.maybe(sql`
    select 1 from super_manager_companies where user_id = ${superManagerId} and company_id = ${companyId}`)
  return row !== undefined
}
