import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/** Encrypts what must be readable again, and derives the server's other keys from the master key. */
export type Vault = {
  /** AES-256-GCM (NIST SP 800-38D), bound to `context`: a sealed value copied to another row cannot be opened there. */
  seal(plain: string, context: string): string
  /** @throws Error when the text was changed, or belongs to another context or to an unknown master key */
  open(sealed: string, context: string): string
  /** Prefix of everything sealed with the current key. */
  readonly sealPrefix: string
  /** Prefixes of everything sealed with older keys, which can still be opened. */
  readonly previousSealPrefixes: readonly string[]
  /** 32 bytes for one purpose (HKDF-SHA-256, RFC 5869). */
  derive(purpose: string): Buffer
  /**
   * The same by the master key that sealed this text.
   * @throws Error when that key is unknown
   */
  deriveAs(sealed: string, purpose: string): Buffer
  /** As `derive`, for every master key, the current one first. */
  deriveAll(purpose: string): Buffer[]
}

/** The vault of a database that was opened: it knows of which sandbox. */
export type SandboxVault = Vault & {
  /** 32 bytes for one purpose of the sandbox: by the master key of its first start, whatever the present one is. */
  deriveSandbox(purpose: string): Buffer
}

const keyFrom = (master: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `comptoir:${purpose}`, 32))

/**
 * @param masterKey 32 bytes; seals and opens
 * @param previous older master keys, which only open, so that rows can be sealed again one by one after a rotation
 */
export function openVault(masterKey: Buffer, previous: Buffer[] = []): Vault {
  const keys = [masterKey, ...previous].map((master) => ({
    master,
    id: keyFrom(master, 'key-id').toString('hex').slice(0, 8),
    key: keyFrom(master, 'seal'),
  }))
  const [current, ...older] = keys
  if (!current) throw new Error('a vault needs a master key')
  const find = (sealed: string) => keys.find(({ id }) => sealed.startsWith(`s1.${id}.`))
  return {
    seal(plain, context) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', current.key, nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `s1.${current.id}.${nonce.toString('base64url')}.${body.toString('base64url')}`
    },
    open(sealed, context) {
      const [, , nonce, body] = sealed.split('.')
      const key = find(sealed)?.key
      if (!key || !nonce || !body) throw new Error(`cannot open ${context}: sealed by an unknown master key`)
      const bytes = Buffer.from(body, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'))
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-16))
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
    },
    sealPrefix: `s1.${current.id}.`,
    previousSealPrefixes: older.map(({ id }) => `s1.${id}.`),
    derive: (purpose) => keyFrom(masterKey, purpose),
    deriveAs(sealed, purpose) {
      const key = find(sealed)
      if (!key) throw new Error(`cannot derive ${purpose}: sealed by an unknown master key`)
      return keyFrom(key.master, purpose)
    },
    deriveAll: (purpose) => [masterKey, ...previous].map((master) => keyFrom(master, purpose)),
  }
}

/** HMAC-SHA-256 for one purpose: made with the current master key, accepted from older ones too. */
export type Hmac = {
  of(text: string): string
  /** By every master key, the current one first: for lookups of stored values. */
  all(text: string): string[]
  /** Whether one of the keys made this. Takes the same time whichever it was. */
  fits(text: string, given: string): boolean
}

export function openHmac(vault: Vault, purpose: string, encoding: 'hex' | 'base64url'): Hmac {
  // KeyObjects, because converting a Buffer costs createHmac 8 µs each time
  const keys = vault.deriveAll(purpose).map((key) => createSecretKey(key))
  const all = (text: string): string[] => keys.map((key) => createHmac('sha256', key).update(text).digest(encoding))
  const [present] = keys
  if (!present) throw new Error('a vault needs a master key')
  return {
    of: (text) => createHmac('sha256', present).update(text).digest(encoding),
    all,
    fits(text, given) {
      const bytes = Buffer.from(given)
      const equals = all(text).map((made) => {
        const expected = Buffer.from(made)
        return expected.length === bytes.length && timingSafeEqual(expected, bytes)
      })
      return equals.includes(true)
    },
  }
}
