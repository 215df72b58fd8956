import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { encodeQR } from 'qr'
import { openHmac, type Vault } from '../../kernel/vault.ts'

const PERIOD_SECONDS = 30
const ISSUER = 'Comptoir'

const totpOf = (secret: string, label = ''): TOTP =>
  new TOTP({
    issuer: ISSUER,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
    secret: Secret.fromBase32(secret),
  })

/** 160 random bits in base32 (RFC 4226 asks for that many). */
export const newTotpSecret = (): string => new Secret({ size: 20 }).base32

/** The time step whose code this is, one step of tolerance either way (RFC 6238, 5.2), or undefined. */
export function stepOfCode(secret: string, code: string, nowMs: number): bigint | undefined {
  if (!/^\d{6}$/.test(code)) return undefined
  const delta = totpOf(secret).validate({ token: code, timestamp: nowMs, window: 1 })
  return delta === null ? undefined : BigInt(Math.floor(nowMs / (PERIOD_SECONDS * 1000)) + delta)
}

/** The enrolment for an authenticator app, as a link and as a QR code. */
export function enrolmentOf(secret: string, email: string): { otpauthUri: string; qrSvg: string } {
  const otpauthUri = totpOf(secret, email).toString()
  return { otpauthUri, qrSvg: encodeQR(otpauthUri, 'svg', { ecc: 'medium', border: 4 }) }
}

const ALPHABET = 'ABCDEFGHJKMNPQRSTVWXYZ23456789'

/** Ten codes for a lost phone: 10 characters, 49 bits, each valid once. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: 10 }, () => {
    const limit = 256 - (256 % ALPHABET.length)
    let text = ''
    while (text.length < 10) {
      for (const byte of randomBytes(16)) if (byte < limit && text.length < 10) text += ALPHABET[byte % ALPHABET.length]
    }
    return `${text.slice(0, 5)}-${text.slice(5)}`
  })
}

/** What a secret at rest is bound to. */
export const totpContext = (userId: string): string => `user:${userId}:totp`

/** Codes at rest are keyed hashes: a plain hash of so short a code can be reversed by trying all codes. */
export type CodeHash = {
  of(purpose: string, code: string): string
  /** By every master key: a code lives for one use, so what an older key hashed is not hashed again. */
  all(purpose: string, code: string): string[]
  fits(purpose: string, code: string, hash: string): boolean
}

export function openCodeHash(vault: Vault): CodeHash {
  const hmac = openHmac(vault, 'codes', 'hex')
  const textOf = (purpose: string, code: string): string => `${purpose}|${code.toUpperCase().replace(/[^A-Z0-9]/g, '')}`
  return {
    of: (purpose, code) => hmac.of(textOf(purpose, code)),
    all: (purpose, code) => hmac.all(textOf(purpose, code)),
    fits: (purpose, code, hash) => hmac.fits(textOf(purpose, code), hash),
  }
}
