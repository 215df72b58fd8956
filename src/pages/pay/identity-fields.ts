import { needsEmail } from '../../compliance/payer-gate.ts'
import type { Db } from '../../db/db.ts'
import { isEmail } from '../../http/bodies.ts'
import type { Order } from '../../orders/order.ts'
import { hasText } from '../../payers/payer-schemas.ts'
import { findMissingIdentity, type MissingIdentity, type PayerDeps } from '../../payers/payer-service.ts'
import { findEuroRate } from '../../rates/euro.ts'
import type { IdentityTexts } from '../../texts/page-texts.ts'

export const IDENTITY_FIELDS = ['email', 'firstName', 'lastName', 'companyName'] as const
export type Field = (typeof IDENTITY_FIELDS)[number]
export type IdentityGiven = Partial<Record<Field, string>>
type Faults = Partial<Record<Field, keyof IdentityTexts['faults']>>

/** The page's questions to the payer: what is missing, what was entered so far, and what is wrong with it. */
export type IdentityForm = MissingIdentity & { given: IdentityGiven; faults: Faults }

/**
 * What the payer must enter before the order can be accepted, or null. From the identity check threshold upwards an
 * e-mail address is required even if the order is marked anonymous.
 */
export async function readIdentityForm(
  { db, payers }: { db: Db; payers: PayerDeps },
  order: Order,
): Promise<IdentityForm | null> {
  const euroRate = order.from.asset === 'EUR' ? null : await findEuroRate(payers)
  const missing = await findMissingIdentity(payers, db, order, { email: null, euroRate })
  if (missing) return { ...missing, given: {}, faults: {} }
  return (await needsEmail(payers, db, order, euroRate)) ? { email: true, name: false, given: {}, faults: {} } : null
}

/** The fault of each field, if any. */
export function findFaults({ email, name }: MissingIdentity, given: IdentityGiven): Faults {
  const faults: Faults = {}
  if (email && given.email === undefined) faults.email = 'emailMissing'
  else if (email && !isEmail(given.email ?? '')) faults.email = 'emailWrong'
  if (name && given.companyName === undefined) {
    if (given.firstName === undefined) faults.firstName = 'firstName'
    if (given.lastName === undefined) faults.lastName = 'lastName'
  }
  return faults
}

/** The entered fields, trimmed; a field without text counts as missing. */
export function readGiven(fields: IdentityGiven): IdentityGiven {
  const typed = IDENTITY_FIELDS.map((field) => [field, (fields[field] ?? '').trim().slice(0, 320)] as const)
  return Object.fromEntries(typed.filter(([, text]) => hasText(text)))
}

/** Keeps only the requested fields; otherwise anyone with the link could overwrite what the shop sent. */
export function readPayerInformation({ email, ...names }: IdentityGiven, asked: MissingIdentity) {
  const { companyName, ...person } = names
  const named = companyName === undefined ? person : { ...person, isCompany: true, companyName }
  return { ...(asked.email && email !== undefined ? { email } : {}), ...(asked.name ? named : {}) }
}
