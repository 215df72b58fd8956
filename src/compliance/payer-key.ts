import { openHmac, type Vault } from '../kernel/vault.ts'

/** Find a payer without storing the e-mail in clear; hex. `all`: one by each master key, as rows may still have it. */
export type PayerKeys = { present: string; all: readonly string[] }
export type PayerKeysOf = (email: string) => PayerKeys

/** HMAC-SHA-256 under a key of the vault, over the e-mail in one case and one Unicode form. */
export function openPayerKeys(vault: Vault): PayerKeysOf {
  const hmac = openHmac(vault, 'kyc-payer', 'hex')
  return (email) => {
    const text = email.normalize('NFKC').trim().toLowerCase()
    return { present: hmac.of(text), all: hmac.all(text) }
  }
}

/** Binds a sealed e-mail to its check. */
export const sealContext = (kycId: string): string => `kyc:${kycId}:email`
