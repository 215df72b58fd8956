import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { DAY, SECOND } from '../kernel/clock.ts'
import { openHmac, type Vault } from '../kernel/vault.ts'

const LIFE_MS = 180 * DAY
const FORM = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/

/**
 * Browsers in which a person logged in before, or chose a password by a mailed link. Their attempts count by
 * themselves, so that a stranger who sends wrong passwords locks no one out of their own browser.
 * Source: OWASP, "Slow Down Online Guessing Attacks with Device Cookies"
 */
export type KnownBrowsers = {
  /** A name of this browser that only these two give; null: it is not known for this address. */
  find(request: FastifyRequest, emailKey: string): string | null
  /** After a finished login, or a password that the mailbox let someone choose. */
  remember(reply: FastifyReply, emailKey: string): void
}

export function openKnownBrowsers({ vault, config }: { vault: Vault; config: Pick<Config, 'baseUrl'> }): KnownBrowsers {
  const tokens = openHmac(vault, 'known-browser', 'base64url')
  // several people may share a browser
  const nameOf = (emailKey: string): string => `knownBrowser_${tokens.of(`name ${emailKey}`).slice(0, 16)}`
  const options = {
    ...({ httpOnly: true, sameSite: 'strict', path: '/api/next/auth', maxAge: LIFE_MS / SECOND } as const),
    secure: config.baseUrl.startsWith('https://'),
  }
  return {
    find(request, emailKey) {
      const [, name, proof] = FORM.exec(request.cookies[nameOf(emailKey)] ?? '') ?? []
      if (name === undefined || proof === undefined) return null
      return tokens.fits(`browser ${name} ${emailKey}`, proof) ? name : null
    },
    remember(reply, emailKey) {
      const name = randomBytes(16).toString('base64url')
      void reply.setCookie(nameOf(emailKey), `${name}.${tokens.of(`browser ${name} ${emailKey}`)}`, options)
    },
  }
}
