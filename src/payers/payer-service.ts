import type { Audit } from '../audit/audit.ts'
import { lockActor } from '../companies/company-scope.ts'
import type { Db, Queryable, Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import { isEmail } from '../http/bodies.ts'
import { hasFreshFactor } from '../http/permissions.ts'
import type { RequestContext } from '../http/request-context.ts'
import { isCountry, isSiret } from '../kernel/addresses.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { parseMoney } from '../kernel/money.ts'
import { readVatNumber } from '../kernel/people/vat-numbers.ts'
import type { Vault } from '../kernel/vault.ts'
import { countNotes } from '../orders/notes/note-queries.ts'
import type { Order } from '../orders/order.ts'
import { findReachableOrder, lockReachableOrder } from '../orders/order-service.ts'
import { findEuroRate, limitUnits } from '../rates/euro.ts'
import type { Rates } from '../rates/rate-service.ts'
import { type PayerAddressDeps, readPayerAddress } from './payer-address.ts'
import * as queries from './payer-queries.ts'
import { hasText, type PayerInformation, type SavePayerBody } from './payer-schemas.ts'
import { openPayer, sealPayer } from './payer-seal.ts'
import { type Asked, isBeforePaid, keepAsked, noteOf, speaksForPayer, type Written, writerOf } from './payer-word.ts'

/**
 * The e-mail of the payer's identity check, the wallet given at accept, files that prove refunds, and mails that were
 * not sent yet.
 */
export type ErasedElsewhere = { check: boolean; wallet: boolean; files: boolean; mails: boolean }

const NOTHING: ErasedElsewhere = { check: false, wallet: false, files: false, mails: false }

export type PayerDeps = PayerAddressDeps & {
  db: Db
  vault: Vault
  clock: Clock
  rates: Rates
  audit: Audit
  /** Notifies the previous address that it was replaced; only writes a job. */
  tellEmailChanged(tx: Tx, order: Order, oldEmail: string): Promise<void>
  /** Whether any money was seen for the order, in whatever coin, also if it was sent back since. */
  hasMoney(tx: Tx, order: Order): Promise<boolean>
  /** An order's payer became known by this e-mail; called in the transaction that saves it. */
  onEmail?(tx: Tx, order: Order, known: { email: string; euroRate: bigint | null }): Promise<void>
  /** This e-mail of an order is sealed by a new master key; in the same transaction. */
  onReseal?(tx: Tx, row: { companyId: string; orderId: string }, email: string): Promise<void>
  /** Erases the payer elsewhere too, in the transaction of the erasure. @returns what was erased */
  forget?(tx: Tx, order: Order, email: string | null): Promise<ErasedElsewhere>
}

/** The given fields, trimmed; one without text counts as absent. */
function trimPayer(given: PayerInformation): PayerInformation {
  const fields = Object.entries(given).map(([name, value]) => [name, typeof value === 'string' ? value.trim() : value])
  return Object.fromEntries(fields.filter(([, value]) => typeof value !== 'string' || hasText(value)))
}

/** Every field is optional; a given one must be valid. @throws VALIDATION_FAILED */
async function checkPayer(deps: PayerDeps, payer: PayerInformation, path: string): Promise<void> {
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`)
  if (payer.country !== undefined && !isCountry(payer.country)) {
    throw invalid(at('country'), 'must be an ISO 3166-1 country code: two capital letters, such as FR')
  }
  if (payer.email !== undefined && !isEmail(payer.email)) throw invalid(at('email'), 'must be an e-mail address')
  if (payer.userAddress !== undefined) await readPayerAddress(deps, deps.db, at('userAddress'), payer.userAddress)
  if (payer.companySiret !== undefined && !isSiret(payer.companySiret)) {
    throw invalid(
      at('companySiret'),
      'must be 14 digits with a valid check digit; outside France give companyVatNumber',
    )
  }
  const vat = payer.companyVatNumber === undefined ? null : readVatNumber(payer.companyVatNumber)
  if (vat && 'fault' in vat) throw invalid(at('companyVatNumber'), vat.fault)
  if (payer.isCompany && payer.companyName === undefined)
    throw invalid(at('companyName'), 'is required when isCompany is true')
}

/** Who wrote each field, sealed with it: the writer decides where refunds may go. */
type Notes = {
  userAddress?: Written
  email?: Written
  /** The e-mail known before PAID, kept when a later one replaces it. */
  askAt?: string | null
  /** Where the payer is asked about a refund, if not at the e-mail that is shown (`keepAsked`). */
  asked?: Asked
}
type Known = { payer: PayerInformation; notes: Notes }

/** Versions before wrote no `asked`, and of `askAt` it is not known who wrote it. */
function askedOf({ payer, notes }: Known): Asked {
  if (notes.asked !== undefined) return notes.asked
  if (notes.askAt !== undefined) return { email: notes.askAt, by: null }
  return { email: payer.email ?? null, by: notes.email?.by ?? null }
}

async function open({ vault }: Pick<PayerDeps, 'vault'>, q: Queryable, order: Order): Promise<Known> {
  const row = await queries.findSealedPayer(q, order.companyId, order.id)
  if (!row) return { payer: {}, notes: {} }
  const { notes = {}, ...payer } = JSON.parse(openPayer(vault, order.id, row.sealed)) as PayerInformation & {
    notes?: Notes
  }
  return { payer, notes }
}

async function write(deps: PayerDeps, tx: Tx, order: Order, { payer, notes }: Known): Promise<void> {
  const kept = Object.keys(notes).length > 0 ? { ...payer, notes } : payer
  const seal = sealPayer(deps.vault, order.id, JSON.stringify(kept))
  await queries.upsertSealedPayer(
    tx,
    { companyId: order.companyId, orderId: order.id, ...seal },
    new Date(deps.clock()),
  )
}

const MAY_CHANGE_EMAIL: readonly string[] = ['SuperAdmin', 'SuperManager', 'Manager', 'Association']

/**
 * After PAID, or the end of an order with money, requests about refunds go to the payer's e-mail, so changing it takes
 * a role that decides about money and a fresh second factor. @throws ORDER_STATE_CONFLICT, FORBIDDEN, STEP_UP_REQUIRED
 */
function checkMayChangeEmail(actor: Actor, nowMs: number): void {
  if (actor.kind === 'payer') {
    throw new AppError('ORDER_STATE_CONFLICT', { message: 'The order is closed. Ask the shop to change the e-mail.' })
  }
  if (actor.kind !== 'user' || !MAY_CHANGE_EMAIL.includes(actor.role)) {
    throw new AppError('FORBIDDEN', {
      message:
        'Once an order is paid, or over with money, only a Manager may change the payer’s e-mail. ' +
        'Log in as one, with a second factor.',
    })
  }
  if (!hasFreshFactor(actor, nowMs)) throw new AppError('STEP_UP_REQUIRED')
}

const sameEmail = (left: string | undefined, right: string): boolean => left?.toLowerCase() === right.toLowerCase()

/** Of a company, and nothing of a person: its name would otherwise stand for that of a payer who is none. */
const COMPANY_FIELDS = ['companyName', 'companySiret', 'companyVatNumber'] as const

function withoutCompany(payer: PayerInformation, given: PayerInformation): PayerInformation {
  const kept = { ...payer }
  for (const field of COMPANY_FIELDS) if (given[field] === undefined) delete kept[field]
  return kept
}

/** The fields of a request that take effect. @throws ORDER_STATE_CONFLICT, FORBIDDEN, STEP_UP_REQUIRED */
function mergePayer(
  known: Known,
  given: PayerInformation,
  facts: { actor: Actor; now: Date; beforePaid: boolean; isLate: boolean },
): Known & { replaced: string | null } {
  const { payer, notes } = known
  const { actor, now, beforePaid, isLate } = facts
  const note = noteOf(actor, facts)
  const { email, ...rest } = given
  const before = rest.isCompany === false ? withoutCompany(payer, rest) : payer
  const merged: Known = { payer: { ...before, ...rest }, notes: { ...notes } }
  if (rest.userAddress !== undefined) merged.notes.userAddress = note
  if (email === undefined) return { ...merged, replaced: null }
  // anyone with the link may enter an e-mail, but not replace the shop's
  const isShops = payer.email !== undefined && !notes.email?.by.startsWith('payer:')
  const isOther = !sameEmail(payer.email, email)
  if (isOther && actor.kind === 'payer' && isShops) return { ...merged, replaced: null }
  if (isOther && !beforePaid) {
    checkMayChangeEmail(actor, now.getTime())
    if (notes.askAt === undefined) merged.notes.askAt = payer.email ?? null
  }
  const { asked: kept, ...others } = merged.notes
  const asked = keepAsked(askedOf(known), { kept, by: note.by, isLate })
  merged.notes = { ...others, ...(asked && { asked }) }
  if (isOther || actor.kind !== 'payer') merged.notes.email = note
  merged.payer.email = email
  return { ...merged, replaced: isOther && !beforePaid ? (payer.email ?? null) : null }
}

/** Who saves payer information of which order. */
export type Saving = {
  order: Order
  actor: Actor
  /** USDC for one EUR, scaled; null: no fresh rate. */
  euroRate: bigint | null
}

const isBefore = ({ hasMoney }: Pick<PayerDeps, 'hasMoney'>, tx: Tx, order: Order): Promise<boolean> =>
  isBeforePaid(order, () => hasMoney(tx, order))

/**
 * Whether the payer is asked about a refund at the e-mail of before, whatever is written now: after PAID, and of staff
 * as soon as money was seen, which may be hours earlier.
 */
async function isLate(deps: PayerDeps, tx: Tx, { order, actor }: Saving, beforePaid: boolean): Promise<boolean> {
  if (!beforePaid) return true
  if (speaksForPayer(writerOf(actor))) return false
  return order.status === 'WAITING_CHAIN_CONFIRMATION' || (await deps.hasMoney(tx, order))
}

/** Saves the given fields, and notifies an e-mail replaced after PAID. The order must be locked. */
async function store(deps: PayerDeps, tx: Tx, facts: Saving, given: PayerInformation): Promise<void> {
  const { order, euroRate } = facts
  const now = new Date(deps.clock())
  const beforePaid = await isBefore(deps, tx, order)
  const late = given.email !== undefined && (await isLate(deps, tx, facts, beforePaid))
  const about = { ...facts, now, beforePaid, isLate: late }
  const { replaced, ...known } = mergePayer(await open(deps, tx, order), given, about)
  await write(deps, tx, order, known)
  if (replaced !== null) await deps.tellEmailChanged(tx, order, replaced)
  const { email } = known.payer
  if (given.email !== undefined && email !== undefined) await deps.onEmail?.(tx, order, { email, euroRate })
}

/** Audits who wrote which fields, never the values. Must be the last statement of the transaction. */
export async function writePayerAudit(
  deps: Pick<PayerDeps, 'audit' | 'hasMoney'>,
  tx: Tx,
  context: RequestContext,
  { order, fields }: { order: Order; fields: readonly string[] },
): Promise<void> {
  const { companyId, id, status } = order
  const detail = { fields, status, beforePaid: await isBefore(deps, tx, order) }
  return deps.audit.write(tx, context, { action: 'payer.write', companyId, object: `order:${id}`, detail })
}

/** Adds to an order's payer information; a repeated field replaces the earlier value. */
export async function savePayer(deps: PayerDeps, context: RequestContext, body: SavePayerBody): Promise<void> {
  const { actor } = context
  const given = trimPayer(body.payerInformation)
  await checkPayer(deps, given, 'payerInformation')
  const euroRate = given.email === undefined ? null : await findEuroRate(deps)
  const { companyId } = await findReachableOrder(deps.db, actor, body.code)
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const order = await lockReachableOrder(tx, actor, body.code)
    await store(deps, tx, { order, actor, euroRate }, given)
    await context.remember(tx, null)
    await writePayerAudit(deps, tx, context, { order, fields: Object.keys(given) })
  })
}

export async function savePayerEmail(
  deps: PayerDeps,
  context: RequestContext,
  code: string,
  email: string,
): Promise<void> {
  const { actor } = context
  const euroRate = await findEuroRate(deps)
  const { companyId } = await findReachableOrder(deps.db, actor, code)
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const order = await lockReachableOrder(tx, actor, code)
    await notePayerEmail(deps, tx, { order, actor, euroRate }, email)
    await context.remember(tx, null)
    await writePayerAudit(deps, tx, context, { order, fields: ['email'] })
  })
}

/** For callers that already hold the order's lock; call `writePayerAudit` last. */
export const notePayerEmail = (deps: PayerDeps, tx: Tx, facts: Saving, email: string): Promise<void> =>
  store(deps, tx, facts, { email })

/** Who looked at which fields is in the audit log, never the values. */
export async function readPayer(deps: PayerDeps, context: RequestContext, code: string): Promise<PayerInformation> {
  const { actor } = context
  const order = await findReachableOrder(deps.db, actor, code)
  const { companyId, id } = order
  return deps.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const { payer } = await open(deps, tx, order)
    const detail = { fields: Object.keys(payer) }
    await deps.audit.write(tx, context, { action: 'payer.read', companyId, object: `order:${id}`, detail })
    return payer
  })
}

export type PayerContact = {
  address: string | null
  /** Null for an address saved before writers were recorded. */
  addressWritten: Written | null
  /** After PAID, the one known before it. */
  email: string | null
  /** Where a refund's requests for proof go. */
  asked: Asked
}

/** The payer's e-mail and wallet address, for refunds. */
export async function findPayerContact(
  deps: Pick<PayerDeps, 'vault'>,
  q: Queryable,
  order: Order,
): Promise<PayerContact> {
  const known = await open(deps, q, order)
  const { payer, notes } = known
  const { userAddress = null, email = null } = payer
  const askAt = notes.askAt === undefined ? email : notes.askAt
  const written = notes.userAddress ?? null
  return { address: userAddress, addressWritten: written, email: askAt, asked: askedOf(known) }
}

/**
 * Erases payer information (GDPR, article 17); the order and its payments stay. Who did it stays too: it takes away
 * the proof of refunds that were sent by hand.
 * @returns also how many notes of the staff remain, which may name the payer: a person reads them
 */
export async function erasePayer(
  deps: PayerDeps,
  context: RequestContext,
  code: string,
): Promise<{ erased: boolean; notes: number }> {
  const { actor } = context
  const { companyId } = await findReachableOrder(deps.db, actor, code)
  return deps.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const order = await lockReachableOrder(tx, actor, code)
    const { email } = (await open(deps, tx, order)).payer
    const elsewhere = (await deps.forget?.(tx, order, email ?? null)) ?? NOTHING
    const payer = await queries.deletePayer(tx, order.companyId, order.id)
    const erased = payer || Object.values(elsewhere).includes(true)
    const { id, status } = order
    const notes = await countNotes(tx, { companyId: order.companyId, orderId: id })
    const detail = { payer, ...elsewhere, status, notes }
    const entry = { action: 'payer.erase', companyId, object: `order:${id}`, detail }
    if (erased) await deps.audit.write(tx, context, entry)
    return { erased, notes }
  })
}

/** Is the order worth as much as the company's threshold, which is in EUR? Without a rate the answer is yes. */
function isAboveThreshold(order: Order, thresholdEur: string, euroRate: bigint | null): boolean {
  const threshold = parseMoney(thresholdEur, 'EUR')
  if (order.from.asset === 'EUR') return order.from.units >= threshold.units
  return order.to.units >= limitUnits(threshold, euroRate)
}

export type Identity = { email: string | null; euroRate: bigint | null }

/** The payer information that is still missing. */
export type MissingIdentity = { email: boolean; name: boolean }

/**
 * From the company's threshold on, an order needs payer information: an e-mail with first and last name, or with a
 * company name. @returns null when nothing is missing
 */
export async function findMissingIdentity(
  deps: PayerDeps,
  q: Queryable,
  order: Order,
  given: Identity,
): Promise<MissingIdentity | null> {
  if (order.anonymous) return null
  const threshold = await queries.findIdentityThreshold(q, order.companyId)
  if (!isAboveThreshold(order, threshold, given.euroRate)) return null
  const { payer } = await open(deps, q, order)
  const email = (given.email ?? payer.email) === undefined
  const name = payer.companyName === undefined && (payer.firstName === undefined || payer.lastName === undefined)
  return email || name ? { email, name } : null
}

/** @throws PAYER_IDENTITY_REQUIRED */
export async function checkIdentity(deps: PayerDeps, tx: Tx, order: Order, given: Identity): Promise<void> {
  if (await findMissingIdentity(deps, tx, order, given)) throw new AppError('PAYER_IDENTITY_REQUIRED')
}

const RETENTION_BATCH = 500

/** Erases payer information unchanged for that many days. @returns how many were erased */
export const erasePayersOlderThan = ({ db, clock }: Pick<PayerDeps, 'db' | 'clock'>, days: number): Promise<number> =>
  queries.deleteOldPayers(db, new Date(clock() - days * DAY), RETENTION_BATCH)

/** Reseals and keys, a batch at a time, what an older master key sealed. @returns how many were resealed */
export async function resealPayers({
  db,
  vault,
  onReseal,
}: Pick<PayerDeps, 'db' | 'vault' | 'onReseal'>): Promise<number> {
  const rows = await queries.listPayersSealedOtherwise(db, vault.sealPrefix, 200)
  for (const row of rows) {
    const opened = openPayer(vault, row.orderId, row.sealed)
    const { email } = JSON.parse(opened) as PayerInformation
    await db.tx(async (tx) => {
      await queries.updateSealedPayer(tx, row, sealPayer(vault, row.orderId, opened))
      if (email !== undefined) await onReseal?.(tx, row, email)
    })
  }
  return rows.length
}
