import { createHmac } from 'node:crypto'
import type { Vault } from '../kernel/vault.ts'

/** The name under which a payer is found again without an e-mail standing in clear anywhere: hex. */
export type PayerKeyOf = (email: string) => string

/** HMAC-SHA-256 under a key of the vault, over the e-mail in one case and one Unicode form. */
export function openPayerKeys(vault: Vault): PayerKeyOf {
  const key = vault.derive('kyc-payer')
  return (email) => createHmac('sha256', key).update(email.normalize('NFKC').trim().toLowerCase()).digest('hex')
}

/** What the sealed e-mail of a check is bound to. */
export const sealContext = (kycId: string): string => `kyc:${kycId}:email`
