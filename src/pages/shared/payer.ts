import type { FastifyRequest } from 'fastify'
import type { Actor } from '../../http/actor.ts'
import { AppError } from '../../kernel/errors.ts'
import { openHmac, type Vault } from '../../kernel/vault.ts'

/** The person behind a pay page: may act as the payer of this one order, and nothing else. */
export const payerOf = (code: string): Actor => ({
  kind: 'payer',
  id: code,
  role: 'SimpleUser',
  companyId: null,
  companyIds: [],
  collectorIds: [],
  scopes: null,
  valid: true,
  sessionId: null,
  secondFactorAt: null,
})

/** Proof that a form came from a page that we rendered for this order: HMAC-SHA-256 of its code, base64url. */
export type PayerTokens = { of(code: string): string; fits(code: string, token: string): boolean }

export function openPayerTokens(vault: Vault): PayerTokens {
  const tokens = openHmac(vault, 'payer', 'base64url')
  return { of: (code) => tokens.of(`payer:${code}`), fits: (code, token) => tokens.fits(`payer:${code}`, token) }
}

/**
 * Rejects forms sent by another website: by `Sec-Fetch-Site` if the browser sends it, otherwise by `Origin`.
 * @param payUrl URL under which payers see the pages; the requested host counts as well
 * @throws CROSS_SITE_REQUEST
 */
export function checkSameOrigin(request: FastifyRequest, payUrl: string): void {
  const site = request.headers['sec-fetch-site']
  const { origin } = request.headers
  const own =
    origin === undefined ||
    origin === new URL(payUrl).origin ||
    (URL.canParse(origin) && new URL(origin).host === request.host)
  if (site === undefined ? own : site === 'same-origin') return
  throw new AppError('CROSS_SITE_REQUEST')
}
