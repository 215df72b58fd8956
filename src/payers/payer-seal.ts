import { createHmac } from 'node:crypto'
import { emailKeyOf } from '../kernel/people/emails.ts'
import { openHmac, type Vault } from '../kernel/vault.ts'
import type { PayerInformation } from './payer-schemas.ts'

/** A purpose of its own: the key of an identity check says nothing about the e-mail of an order. */
const PURPOSE = 'payer-search'

const contextOf = (orderId: string): string => `order:${orderId}:payer`

/** The text with the key by which its e-mail finds the order; null: it has none. */
export type Seal = { sealed: string; emailKey: string | null }

/** By the master key that sealed the text: once no text needs an old one, no lookup key does either. */
export function keyOf(vault: Vault, sealed: string, text: string): string | null {
  const { email } = JSON.parse(text) as PayerInformation
  if (email === undefined) return null
  return createHmac('sha256', vault.deriveAs(sealed, PURPOSE)).update(emailKeyOf(email)).digest('hex')
}

export function sealPayer(vault: Vault, orderId: string, text: string): Seal {
  const sealed = vault.seal(text, contextOf(orderId))
  return { sealed, emailKey: keyOf(vault, sealed, text) }
}

/** @throws Error if the text was changed, or belongs to another order or an unknown master key */
export const openPayer = (vault: Vault, orderId: string, sealed: string): string =>
  vault.open(sealed, contextOf(orderId))

/** The keys under which an e-mail may be stored: one by each master key, as a rotation takes time. */
export function openSearchKeys(vault: Vault): (email: string) => string[] {
  const hmac = openHmac(vault, PURPOSE, 'hex')
  return (email) => hmac.all(emailKeyOf(email))
}
