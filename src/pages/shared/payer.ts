import type { FastifyRequest } from 'fastify'
import type { Actor } from '../../http/actor.ts'
import { AppError } from '../../kernel/errors.ts'
import { openHmac, type Vault } from '../../kernel/vault.ts'

/** The person behind a pay page: may do to this one order what a payer may, and nothing else. */
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
 * Refuses forms that another website sends: by `Sec-Fetch-Site` where the browser says it, else by `Origin`.
 * @param payUrl the address under which payers see the pages; the host that was called counts as well
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
