import type { Vault } from '../../kernel/vault.ts'

/**
 * A secret may be used for signing for this long after it was read. `regenerate` answers only after this time, so that
 * no attempt on any node starts with the old secret after the answer.
 */
export const SECRET_AGE_MS = 500

export const secretContext = (companyId: string): string => `company:${companyId}:webhook-secret`

const KEPT_SECRETS = 10_000

/** Decrypts sealed secrets and caches the latest by their sealed text, not by company: a new secret is a new text. */
export function createSecretReader(vault: Vault): (companyId: string, sealed: string) => string {
  const opened = new Map<string, string>()
  return (companyId, sealed) => {
    const known = opened.get(sealed)
    if (known !== undefined) return known
    const secret = vault.open(sealed, secretContext(companyId))
    if (opened.size >= KEPT_SECRETS) opened.clear()
    opened.set(sealed, secret)
    return secret
  }
}
