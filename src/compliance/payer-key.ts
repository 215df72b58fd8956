import { createHmac } from 'node:crypto'
import type { Vault } from '../kernel/vault.ts'

/** Finds a payer without storing the e-mail in clear; hex. */
export type PayerKeyOf = (email: string) => string

/** HMAC-SHA-256 under a key of the vault, over the e-mail in one case and one Unicode form. */
export function openPayerKeys(vault: Vault): PayerKeyOf {
  const key = vault.derive('kyc-payer')
  return (email) => createHmac('sha256', key).update(email.normalize('NFKC').trim().toLowerCase()).digest('hex')
}

/** Binds a sealed e-mail to its check. */
export const sealContext = (kycId: string): string => `kyc:${kycId}:email`
