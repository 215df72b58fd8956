import type { Db, Queryable, Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
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

export type PayerDeps = {
  db: Db
  vault: Vault
  clock: Clock
  rates: Rates
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

async function open({ vault }: Pick<PayerDeps, 'vault'>, q: Queryable, order: Order): Promise<PayerInformation> {
  const row = await queries.findSealedPayer(q, order.companyId, order.id)
  return row ? (JSON.parse(vault.open(row.sealed, contextOf(order.id))) as PayerInformation) : {}
}

async function write(deps: PayerDeps, tx: Tx, order: Order, payer: PayerInformation): Promise<void> {
  const sealed = deps.vault.seal(JSON.stringify(payer), contextOf(order.id))
  await queries.upsertSealedPayer(tx, { companyId: order.companyId, orderId: order.id, sealed }, new Date(deps.clock()))
}

/** Adds to what is known of the payer of an order; a field that is sent again replaces the earlier one. */
export async function savePayer(deps: PayerDeps, context: RequestContext, body: SavePayerBody): Promise<void> {
  const { actor } = context
  checkPayer(body.payerInformation, 'payerInformation')
  await deps.db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, body.code)
    await write(deps, tx, order, { ...(await open(deps, tx, order)), ...body.payerInformation })
    await context.remember(tx, null)
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
    await notePayerEmail(deps, tx, order, email)
    await context.remember(tx, null)
  })
}

/** For callers that hold the order already. */
export async function notePayerEmail(deps: PayerDeps, tx: Tx, order: Order, email: string): Promise<void> {
  await write(deps, tx, order, { ...(await open(deps, tx, order)), email })
}

export async function readPayer(deps: PayerDeps, actor: Actor, code: string): Promise<PayerInformation> {
  return open(deps, deps.db, await findReachableOrder(deps.db, actor, code))
}

/** The payer's wallet address, where one was given. For refunds. */
export async function findPayerContact(
  deps: Pick<PayerDeps, 'vault'>,
  q: Queryable,
  order: Order,
): Promise<{ address: string | null; email: string | null }> {
  const { userAddress, email } = await open(deps, q, order)
  return { address: userAddress ?? null, email: email ?? null }
}

/** Erases who paid (GDPR, article 17); the order and its money stay. */
export async function erasePayer(deps: PayerDeps, actor: Actor, code: string): Promise<{ erased: boolean }> {
  return deps.db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, code)
    const { email } = await open(deps, tx, order)
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
  const payer = await open(deps, q, order)
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
