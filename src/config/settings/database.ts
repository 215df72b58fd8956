import { readFileSync } from 'node:fs'
import { optionalUrl, type Setting, SettingFault } from '../setting.ts'

const PROTOCOLS = ['postgres:', 'postgresql:']
/** The driver treats these as verify-full, and warns that a later version will not. */
const STRICT = ['allow', 'prefer', 'require', 'verify-ca']
const MODES = ['disable', 'no-verify', 'verify-full', ...STRICT]
const FILES = ['sslrootcert', 'sslcert', 'sslkey']

function refuseUnreadable(name: string, path: string): void {
  try {
    readFileSync(path)
  } catch (error) {
    throw new SettingFault(`has ${name}=${path}, which cannot be read (${(error as { code?: string }).code})`)
  }
}

/**
 * The URL's TLS options are checked here and translated for the driver: asking for TLS in any way means a verified
 * certificate, host name included; `no-verify` is the one exception. `uselibpqcompat=true` leaves the rest to the
 * driver. Source: PostgreSQL, "SSL Support" of libpq; pg-connection-string.
 * @throws SettingFault
 */
function readDatabaseTls(given: string): string {
  const [start = '', query] = given.split('?')
  const asked = new URLSearchParams(query ?? '')
  for (const name of FILES) {
    const path = asked.get(name)
    if (path !== null) refuseUnreadable(name, path)
  }
  const mode = asked.get('sslmode')
  if (mode === null || asked.get('uselibpqcompat') === 'true') return given
  if (!MODES.includes(mode)) throw new SettingFault(`has sslmode=${mode}; choose disable, verify-full or no-verify`)
  if (!STRICT.includes(mode)) return given
  asked.set('sslmode', 'verify-full')
  return `${start}?${asked}`
}

/** The URL of a PostgreSQL server. */
export function databaseUrl(name: string, description: string, example?: string): Setting<string | null> {
  const setting = optionalUrl(name, description, { protocols: PROTOCOLS, secret: true, ...(example && { example }) })
  return {
    ...setting,
    read(given) {
      const url = setting.read(given)
      return url && readDatabaseTls(url)
    },
  }
}
