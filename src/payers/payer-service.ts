import type { Audit } from '../audit/audit.ts'
import type { Db, Queryable, Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import { hasFreshFactor } from '../http/permissions.ts'
import type { RequestContext } from '../http/request-context.ts'
import { isCountry, isSiret, readAddress } from '../kernel/addresses.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { convert, parseMoney } from '../kernel/money.ts'
import type { Vault } from '../kernel/vault.ts'
import type { Order } from '../orders/order.ts'
import { findReachableOrder, lockReachableOrder } from '../orders/order-service.ts'
import type { Rates } from '../rates/rate-service.ts'
import * as queries from './payer-queries.ts'
import type { PayerInformation, SavePayerBody } from './payer-schemas.ts'
import { isBeforePaid, noteOf, type Written } from './payer-word.ts'

export type PayerDeps = {
  db: Db
  vault: Vault
  clock: Clock
  rates: Rates
  audit: Audit
  /** Tells the address that was known so far that another one stands in its place; only writes a job. */
  tellEmailChanged(tx: Tx, order: Order, oldEmail: string): Promise<void>
  /** What else knows the payer of an order forgets him too, in the transaction of the erasure. */
  forget?(tx: Tx, order: Order, email: string | null): Promise<void>
}

const contextOf = (orderId: string): string => `order:${orderId}:payer`

/** Every field is optional; one that is given must make sense. @throws VALIDATION_FAILED */
function checkPayer(payer: PayerInformation, path: string): void {
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`)
  if (payer.country !== undefined && !isCountry(payer.country)) {
    throw invalid(at('country'), 'must be a country code of ISO 3166-1, two capital letters such as FR')
  }
  if (payer.userAddress !== undefined) readAddress(at('userAddress'), payer.userAddress)
  if (payer.companySiret !== undefined && !isSiret(payer.companySiret)) {
    throw invalid(at('companySiret'), 'must be 14 digits with a right check digit')
  }
  if (payer.isCompany && payer.companyName === undefined)
    throw invalid(at('companyName'), 'is required when isCompany is true')
}

/** Sealed beside what is known: who wrote what decides where money goes. */
type Notes = {
  userAddress?: Written
  email?: Written
  /** The e-mail known before PAID, kept when a later one replaces it: proofs are asked for there. */
  askAt?: string | null
}
type Known = { payer: PayerInformation; notes: Notes }

async function open({ vault }: Pick<PayerDeps, 'vault'>, q: Queryable, order: Order): Promise<Known> {
  const row = await queries.findSealedPayer(q, order.companyId, order.id)
  if (!row) return { payer: {}, notes: {} }
  const { notes = {}, ...payer } = JSON.parse(vault.open(row.sealed, contextOf(order.id))) as PayerInformation & {
    notes?: Notes
  }
  return { payer, notes }
}

async function write(deps: PayerDeps, tx: Tx, order: Order, { payer, notes }: Known): Promise<void> {
  const kept = Object.keys(notes).length > 0 ? { ...payer, notes } : payer
  const sealed = deps.vault.seal(JSON.stringify(kept), contextOf(order.id))
  await queries.upsertSealedPayer(tx, { companyId: order.companyId, orderId: order.id, sealed }, new Date(deps.clock()))
}

const MAY_CHANGE_EMAIL: readonly string[] = ['SuperAdmin', 'SuperManager', 'Manager', 'Association']

/**
 * After PAID the payer's e-mail is where the proof for a refund is asked: a person who may decide about money changes
 * it, with a fresh second factor. @throws ORDER_STATE_CONFLICT, FORBIDDEN, STEP_UP_REQUIRED
 */
function checkMayChangeEmail(actor: Actor, nowMs: number): void {
  if (actor.kind === 'payer') {
    throw new AppError('ORDER_STATE_CONFLICT', { message: 'The order is over; ask the shop to change the e-mail.' })
  }
  if (actor.kind !== 'user' || !MAY_CHANGE_EMAIL.includes(actor.role)) {
    throw new AppError('FORBIDDEN', {
      message: 'After the payment only a Manager may change the payer’s e-mail, logged in and with a second factor.',
    })
  }
  if (!hasFreshFactor(actor, nowMs)) throw new AppError('STEP_UP_REQUIRED')
}

const sameEmail = (left: string | undefined, right: string): boolean => left?.toLowerCase() === right.toLowerCase()

/** What of a request counts. @throws ORDER_STATE_CONFLICT, FORBIDDEN, STEP_UP_REQUIRED */
function mergePayer(
  { payer, notes }: Known,
  given: PayerInformation,
  facts: { order: Order; actor: Actor; now: Date },
): Known & { replaced: string | null } {
  const { order, actor, now } = facts
  const note = noteOf(order, actor, now)
  const { email, ...rest } = given
  const merged: Known = { payer: { ...payer, ...rest }, notes: { ...notes } }
  if (rest.userAddress !== undefined) merged.notes.userAddress = note
  if (email === undefined) return { ...merged, replaced: null }
  // whoever has the link may type an e-mail, but not over the shop's
  const isShops = payer.email !== undefined && !notes.email?.by.startsWith('payer:')
  const isOther = !sameEmail(payer.email, email)
  if (isOther && actor.kind === 'payer' && isShops) return { ...merged, replaced: null }
  if (isOther && !isBeforePaid(order)) {
    checkMayChangeEmail(actor, now.getTime())
    if (notes.askAt === undefined) merged.notes.askAt = payer.email ?? null
  }
  if (isOther || actor.kind !== 'payer') merged.notes.email = note
  merged.payer.email = email
  return { ...merged, replaced: isOther && !isBeforePaid(order) ? (payer.email ?? null) : null }
}

/** Writes down what was given, and tells an e-mail that was replaced after PAID. The order must be locked. */
async function store(
  deps: PayerDeps,
  tx: Tx,
  facts: { order: Order; actor: Actor },
  given: PayerInformation,
): Promise<void> {
  const { order } = facts
  const now = new Date(deps.clock())
  const { replaced, ...known } = mergePayer(await open(deps, tx, order), given, { ...facts, now })
  await write(deps, tx, order, known)
  if (replaced !== null) await deps.tellEmailChanged(tx, order, replaced)
}

/** Who wrote about a payer, by field and never the value; the last statement of its transaction. */
export function writePayerAudit(
  { audit }: Pick<PayerDeps, 'audit'>,
  tx: Tx,
  context: RequestContext,
  { order, fields }: { order: Order; fields: readonly string[] },
): Promise<void> {
  const { companyId, id, status } = order
  const detail = { fields, status, beforePaid: isBeforePaid(order) }
  return audit.write(tx, context, { action: 'payer.write', companyId, object: `order:${id}`, detail })
}

/** Adds to what is known of the payer of an order; a field that is sent again replaces the earlier one. */
export async function savePayer(deps: PayerDeps, context: RequestContext, body: SavePayerBody): Promise<void> {
  const { actor } = context
  const { payerInformation: given } = body
  checkPayer(given, 'payerInformation')
  await deps.db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, body.code)
    await store(deps, tx, { order, actor }, given)
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
  await deps.db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, code)
    await notePayerEmail(deps, tx, { order, actor }, email)
    await context.remember(tx, null)
    await writePayerAudit(deps, tx, context, { order, fields: ['email'] })
  })
}

/** For callers that hold the order already; they end with `writePayerAudit`. */
export const notePayerEmail = (
  deps: PayerDeps,
  tx: Tx,
  facts: { order: Order; actor: Actor },
  email: string,
): Promise<void> => store(deps, tx, facts, { email })

export async function readPayer(deps: PayerDeps, actor: Actor, code: string): Promise<PayerInformation> {
  return (await open(deps, deps.db, await findReachableOrder(deps.db, actor, code))).payer
}

export type PayerContact = {
  address: string | null
  /** Null for an address that was saved before writers were noted. */
  addressWritten: Written | null
  /** Where the payer is asked for proofs: after PAID the e-mail that was known before it. */
  email: string | null
}

/** Where the payer is reached, and the wallet address that was given. For refunds. */
export async function findPayerContact(
  deps: Pick<PayerDeps, 'vault'>,
  q: Queryable,
  order: Order,
): Promise<PayerContact> {
  const { payer, notes } = await open(deps, q, order)
  const { userAddress = null, email = null } = payer
  const askAt = notes.askAt === undefined ? email : notes.askAt
  return { address: userAddress, addressWritten: notes.userAddress ?? null, email: askAt }
}

/** Erases who paid (GDPR, article 17); the order and its money stay. */
export async function erasePayer(deps: PayerDeps, actor: Actor, code: string): Promise<{ erased: boolean }> {
  return deps.db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, code)
    const { email } = (await open(deps, tx, order)).payer
    await deps.forget?.(tx, order, email ?? null)
    return { erased: await queries.deletePayer(tx, order.companyId, order.id) }
  })
}

/** Units of USDC for one EUR, or null without a fresh rate. Ask before a transaction is opened. */
export const findEuroRate = async ({ rates }: Pick<PayerDeps, 'rates'>): Promise<bigint | null> =>
  rates.quote('EUR').then(
    (quote) => quote.rate,
    () => null,
  )

/** Is the order worth as much as the company's threshold, which is in EUR? Without a rate the answer errs to yes. */
function isAboveThreshold(order: Order, thresholdEur: string, euroRate: bigint | null): boolean {
  const threshold = parseMoney(thresholdEur, 'EUR')
  if (order.from.asset === 'EUR') return order.from.units >= threshold.units
  const limitUnits = euroRate === null ? threshold.units * 10_000n : convert(threshold, euroRate, 'USDC').units
  return order.to.units >= limitUnits
}

export type Identity = { email: string | null; anonymous: boolean; euroRate: bigint | null }

/** What nobody knows yet of who pays. */
export type MissingIdentity = { email: boolean; name: boolean }

/**
 * An order of the company's threshold and above needs to know who pays: an e-mail with first and last name, or with a
 * company's name. @returns null when nothing is missing
 */
export async function findMissingIdentity(
  deps: PayerDeps,
  q: Queryable,
  order: Order,
  given: Identity,
): Promise<MissingIdentity | null> {
  if (order.anonymous || given.anonymous) return null
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

/** Erases who paid orders whose information nobody touched for so many days. @returns how many were erased */
export const erasePayersOlderThan = ({ db, clock }: Pick<PayerDeps, 'db' | 'clock'>, days: number): Promise<number> =>
  queries.deleteOldPayers(db, new Date(clock() - days * DAY), RETENTION_BATCH)

/** Seals again, a batch at a time, what an older master key sealed. @returns how many were done */
export async function resealPayers({ db, vault }: Pick<PayerDeps, 'db' | 'vault'>): Promise<number> {
  const rows = await queries.listPayersSealedOtherwise(db, vault.sealPrefix, 200)
  for (const row of rows) {
    const context = contextOf(row.orderId)
    await queries.updateSealedPayer(db, row, vault.seal(vault.open(row.sealed, context), context))
  }
  return rows.length
}
