import type { Audit, AuditEntry } from '../audit/audit.ts'
import type { Db, Tx } from '../db/db.ts'
import { type Actor, isOperator, sees } from '../http/actor.ts'
import { hasFreshFactor } from '../http/permissions.ts'
import { nameOf, type RequestContext } from '../http/request-context.ts'
import { readAddress } from '../kernel/addresses.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError, type ErrorDetail, invalid } from '../kernel/errors.ts'
import { webLink } from '../kernel/html.ts'
import type { Lang } from '../kernel/lang.ts'
import { parseDecimal } from '../kernel/money.ts'
import { readVatNumber } from '../kernel/people/vat-numbers.ts'
import { filterText, type Static } from '../kernel/schema.ts'
import type { Mailer } from '../mail/mail.ts'
import type { Company } from './company-queries.ts'
import * as queries from './company-queries.ts'
import { changeRefundLimits, type RefundLimitsChange } from './company-refund-limits.ts'
import type { CompanySchema } from './company-schemas.ts'
import { lockActor } from './company-scope.ts'
import { deleteLogo, type Logo, upsertLogo } from './logo/logo-queries.ts'
import type { SaleCache } from './sale-cache.ts'

export type CompanyDeps = {
  db: Db
  clock: Clock
  audit: Audit
  mailer: Mailer
  cache: SaleCache
  /** Base URL of the payers' pages. */
  payUrl: string
  /** Cached sessions and API keys hold whether their company is approved. */
  forgetActors(): void
  /** What is wrong with a webhook address, or null. */
  callbackFault(url: string): string | null
  /**
   * Why money sent to an address would be lost, as words that follow the field's name; null: no reason known. No wallet
   * comes to name it until the transaction ends.
   */
  findLossyAddress(tx: Tx, address: string): Promise<string | null>
}

export const viewCompany = (
  { payUrl }: Pick<CompanyDeps, 'payUrl'>,
  company: Company,
): Static<typeof CompanySchema> => ({
  _id: company.id,
  name: company.name,
  kind: company.kind,
  country: company.country,
  siret: company.siret,
  vatNumber: company.vatNumber,
  approved: company.approved,
  managerVerified: company.managerVerified,
  settlementAddress: company.settlementAddress,
  settlementNetwork: company.settlementNetwork,
  settlementRestored: company.settlementRestored,
  maxOrderAmount: company.maxOrderAmount,
  identityThresholdAmount: company.identityThresholdAmount,
  toleranceBps: company.toleranceBps,
  toleranceMaxUnits: company.toleranceMaxUnits,
  lateAcceptHours: company.lateAcceptHours,
  lateAfterCancel: company.lateAfterCancel,
  requoteHours: company.requoteHours,
  linkQuoteMinutes: company.linkQuoteMinutes,
  settlementReserve: company.settlementReserve,
  refundApproval: company.refundApproval,
  refundStepUpLimit: company.refundStepUpLimit,
  refundLimits: company.refundLimits,
  feeBps: company.feeBps,
  kycThreshold: company.kycThreshold,
  kycLimit: company.kycLimit,
  displayName: company.displayName,
  legalName: company.legalName,
  brandColor: company.brandColor,
  supportEmail: company.supportEmail,
  supportPhone: company.supportPhone,
  termsUrl: company.termsUrl,
  customerLanguage: company.customerLanguage,
  logoUrl: company.logo && `${payUrl}/logo/${company.logo}`,
  createdAt: company.createdAt.toISOString(),
  updatedAt: company.updatedAt.toISOString(),
})

/** Fields of the company itself; null clears. */
export type CompanyChange = Partial<
  Pick<
    Company,
    | 'name'
    | 'country'
    | 'siret'
    | 'vatNumber'
    | 'settlementAddress'
    | 'settlementNetwork'
    | 'lateAcceptHours'
    | 'lateAfterCancel'
    | 'requoteHours'
    | 'linkQuoteMinutes'
    | 'displayName'
    | 'legalName'
    | 'brandColor'
    | 'supportEmail'
    | 'supportPhone'
    | 'termsUrl'
    | 'customerLanguage'
  >
> &
  Partial<OperatorChange> & { refundLimits?: RefundLimitsChange }

/** Fields that only the operator sets. */
type OperatorChange = Pick<
  Company,
  | 'maxOrderAmount'
  | 'identityThresholdAmount'
  | 'toleranceBps'
  | 'toleranceMaxUnits'
  | 'refundApproval'
  | 'refundStepUpLimit'
  | 'settlementReserve'
  | 'feeBps'
  | 'kycThreshold'
  | 'kycLimit'
>

const OPERATOR_FIELDS: readonly (keyof OperatorChange)[] = [
  'maxOrderAmount',
  'identityThresholdAmount',
  'toleranceBps',
  'toleranceMaxUnits',
  'refundApproval',
  'refundStepUpLimit',
  'settlementReserve',
  'feeBps',
  'kycThreshold',
  'kycLimit',
]

/** Of the finest amount here, which is USDC. */
const AMOUNT_DIGITS = 6

export type CompanyPage = { companies: Company[]; total: number; page: number; limit: number }
export type CompanyListQuery = { search?: string; approved?: boolean; waiting?: boolean; page: number; limit: number }

export async function listCompanies({ db }: CompanyDeps, actor: Actor, query: CompanyListQuery): Promise<CompanyPage> {
  const { page, limit } = query
  const own = actor.companyId === null ? actor.companyIds : [actor.companyId]
  const filter = {
    companyIds: actor.role === 'SuperAdmin' ? null : own,
    search: filterText(query.search),
    approved: query.approved ?? null,
    waiting: query.waiting ?? null,
  }
  const [companies, total] = await Promise.all([
    queries.listCompanies(db, filter, { limit, offset: (page - 1) * limit }),
    queries.countCompanies(db, filter),
  ])
  return { companies, total, page, limit }
}

/** @throws OBJECT_NOT_FOUND */
export async function readCompany({ db }: CompanyDeps, actor: Actor, id: string): Promise<Company> {
  const company = sees(actor, id) ? await queries.findCompany(db, id) : undefined
  if (!company) throw new AppError('OBJECT_NOT_FOUND')
  return company
}

/** @throws OBJECT_NOT_FOUND, UNAUTHORIZED */
async function lockSeen(tx: Tx, actor: Actor, id: string): Promise<Company> {
  if (!sees(actor, id)) throw new AppError('OBJECT_NOT_FOUND')
  await lockActor(tx, actor, id)
  const company = await queries.lockCompany(tx, id)
  if (!company) throw new AppError('OBJECT_NOT_FOUND')
  return company
}

type Reader = (change: CompanyChange) => CompanyChange

/** @throws VALIDATION_FAILED. @returns the change with the payout address as it is kept */
function readSettlement(change: CompanyChange): CompanyChange {
  if (typeof change.settlementAddress !== 'string') return change
  return { ...change, settlementAddress: readAddress('settlementAddress', change.settlementAddress) }
}

/** A link that payers follow leads to a website. */
function readTerms(change: CompanyChange): CompanyChange {
  const { termsUrl } = change
  if (!termsUrl) return change
  const link = webLink(termsUrl)
  if (link === null) throw invalid('termsUrl', 'must be an http or https address')
  return { ...change, termsUrl: link }
}

/** @throws VALIDATION_FAILED. @returns the change with the number as it is kept */
function readVat(change: CompanyChange): CompanyChange {
  if (!change.vatNumber) return change
  const read = readVatNumber(change.vatNumber)
  if ('fault' in read) throw invalid('vatNumber', read.fault)
  return { ...change, vatNumber: read.number }
}

const READERS: readonly Reader[] = [readSettlement, readVat, readTerms]

/**
 * @throws VALIDATION_FAILED with every field that is wrong: a person mends a form once.
 * @returns the change as it is kept
 */
function readChange(change: CompanyChange): CompanyChange {
  const details: ErrorDetail[] = []
  let read = change
  for (const reader of READERS) {
    try {
      read = reader(read)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      details.push(...(error.details ?? []))
    }
  }
  if (details.length > 0) throw new AppError('VALIDATION_FAILED', { details })
  return read
}

/**
 * Payouts go to another address, or the company itself confirms the one of a backup: that the operator, or a form of
 * theirs, repeats it is not its word. Another network, or another spelling, is no other address.
 */
const isRedirected = (actor: Actor, before: Company, { settlementAddress: after }: CompanyChange): boolean =>
  after !== undefined &&
  (after?.toLowerCase() !== before.settlementAddress?.toLowerCase() ||
    (before.settlementRestored && actor.companyId === before.id && !isOperator(actor)))

/** For the audit log, and for the mails about it. */
const payoutDetail = (before: Company, after: Company) => ({
  settlementNetwork: after.settlementNetwork,
  addressBefore: before.settlementAddress,
  networkBefore: before.settlementNetwork,
})

/** As it counts: `10` and `10.00` are one amount. */
const asCounted = (value: unknown): unknown =>
  typeof value === 'string' ? (parseDecimal(value, AMOUNT_DIGITS) ?? value) : value

/** The operator's fields that this changes, about fees and permissions: old and new values. */
const operatorChanges = (company: Company, change: CompanyChange): string[] =>
  OPERATOR_FIELDS.filter(
    (field) => change[field] !== undefined && asCounted(change[field]) !== asCounted(company[field]),
  ).map((field) => `${field}: ${company[field]} → ${change[field]}`)

/**
 * Changes a company. The payout address, the refund limits and the operator's fields need a fresh second factor.
 * @throws OBJECT_NOT_FOUND, FORBIDDEN for the operator's fields and the caller's own limits, STEP_UP_REQUIRED,
 * VALIDATION_FAILED
 */
export async function changeCompany(
  deps: CompanyDeps,
  context: RequestContext,
  id: string,
  change: CompanyChange,
): Promise<Company> {
  const { actor } = context
  const { db, clock, audit, cache } = deps
  const forbidden = OPERATOR_FIELDS.filter((field) => change[field] !== undefined)
  if (forbidden.length > 0 && actor.role !== 'SuperAdmin') {
    throw new AppError('FORBIDDEN', {
      message: `Only a SuperAdmin may change ${forbidden.join(', ')}. Ask the operator.`,
    })
  }
  const read = readChange(change)
  return db.tx(async (tx) => {
    const company = await lockSeen(tx, actor, id)
    const { refundLimits: wanted, ...others } = read
    const rest = others.brandColor ? { ...others, brandColor: others.brandColor.toLowerCase() } : others
    const refundLimits = wanted ? changeRefundLimits(actor, company.refundLimits, wanted) : company.refundLimits
    const isSet = isRedirected(actor, company, read)
    const { settlementNetwork: network = company.settlementNetwork } = read
    const settlement = isSet || network !== company.settlementNetwork
    const operators = operatorChanges(company, change)
    const isOperators = operators.length > 0
    if ((settlement || wanted || isOperators) && !hasFreshFactor(actor, clock())) throw new AppError('STEP_UP_REQUIRED')
    if (read.settlementAddress && isSet) {
      const fault = await deps.findLossyAddress(tx, read.settlementAddress)
      if (fault !== null) throw invalid('settlementAddress', `${fault}. Give an address of a wallet of your own`)
    }
    const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
    const { approved } = company
    await queries.updateCompany(tx, { ...company, ...given, id, approved, refundLimits }, new Date(clock()))
    tx.afterCommit(() => cache.forget(id))
    if (isSet) await queries.updateSettlementSet(tx, id, { by: nameOf(context), at: new Date(clock()) })
    const changed = await queries.findCompany(tx, id)
    const limits = wanted && {
      before: JSON.stringify(company.refundLimits),
      refundLimits: JSON.stringify(refundLimits),
    }
    const fields = [...Object.keys(given), ...(wanted ? ['refundLimits'] : [])]
    const target = settlement && payoutDetail(company, changed ?? company)
    const settlementAddress = changed?.settlementAddress ?? null
    const detail = { fields, settlement, settlementAddress, ...target, ...limits, ...(isOperators && { operators }) }
    const entry = { action: 'company.change', companyId: id, object: `company:${id}` }
    await audit.write(tx, context, { ...entry, detail })
    return changed ?? company
  })
}

/** Sets the logo that payers see; null removes it. @throws OBJECT_NOT_FOUND */
export async function changeLogo(
  deps: CompanyDeps,
  context: RequestContext,
  id: string,
  logo: Logo | null,
): Promise<Company> {
  return deps.db.tx(async (tx) => {
    const company = await lockSeen(tx, context.actor, id)
    if (logo) await upsertLogo(tx, id, logo, new Date(deps.clock()))
    else await deleteLogo(tx, id)
    const entry = {
      action: 'company.logo',
      companyId: id,
      object: `company:${id}`,
      detail: { logo: logo?.hash ?? null },
    }
    await deps.audit.write(tx, context, entry)
    return { ...company, logo: logo?.hash ?? null }
  })
}

/** Approves a company, so that it can sell. Idempotent. */
export async function approveCompany(deps: CompanyDeps, context: RequestContext, id: string): Promise<Company> {
  const { actor } = context
  const { db, clock, audit, cache, mailer } = deps
  return db.tx(async (tx) => {
    const company = await lockSeen(tx, actor, id)
    if (company.approved) return company
    const approved = { ...company, approved: true, updatedAt: new Date(clock()) }
    await queries.updateCompany(tx, approved, approved.updatedAt)
    tx.afterCommit(() => {
      cache.forget(id)
      deps.forgetActors()
    })
    for (const manager of await queries.listCompanyManagers(tx, id)) {
      const data = { name: manager.firstName, company: company.name }
      await mailer.send(tx, { to: manager.email, lang: manager.lang as Lang, kind: 'companyApproved', data })
    }
    await context.remember(tx, viewCompany(deps, approved))
    const entry = { action: 'company.approve', companyId: id, object: `company:${id}` }
    await audit.write(tx, context, entry)
    return approved
  })
}

/**
 * Audits a change to a company's object and invalidates cached copies, in the transaction of the change.
 */
export async function noteChange(
  deps: CompanyDeps,
  tx: Tx,
  context: RequestContext,
  change: Pick<AuditEntry, 'action' | 'object' | 'detail'> & { companyId: string },
): Promise<void> {
  const { companyId } = change
  await queries.updateCompanyVersion(tx, companyId)
  tx.afterCommit(() => deps.cache.forget(companyId))
  await deps.audit.write(tx, context, change)
}
