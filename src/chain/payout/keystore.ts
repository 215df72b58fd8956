import { createDecipheriv, pbkdf2Sync, scryptSync, timingSafeEqual } from 'node:crypto'
import { concat, keccak256 } from 'viem/utils'

type ScryptParams = { n: number; r: number; p: number; dklen: number; salt: string }
type Pbkdf2Params = { c: number; prf: string; dklen: number; salt: string }
type Crypto = {
  cipher: string
  ciphertext: string
  cipherparams: { iv: string }
  kdf: string
  kdfparams: ScryptParams & Pbkdf2Params
  mac: string
}

const MAX_MEMORY_BYTES = 512 * 1024 * 1024
/** Maximum work of scrypt (n · r · p): eight times geth's standard (n 262144, r 8, p 1), a few seconds at most. */
const MAX_WORK = 8 * 262_144 * 8
/** Maximum rounds of PBKDF2: forty times geth's number. */
const MAX_ROUNDS = 10_000_000

const EXPORT_AGAIN = 'Export it again from a current wallet, for example with `geth account update`.'

const fromHex = (text: string): Buffer => Buffer.from(text.replace(/^0x/, ''), 'hex')

/** Whether the text of a setting is a keystore rather than a bare key. */
export const isKeystore = (text: string): boolean => text.trimStart().startsWith('{')

function readCrypto(text: string): Crypto {
  let parsed: { version?: unknown; crypto?: Crypto; Crypto?: Crypto }
  try {
    parsed = JSON.parse(text) as typeof parsed
  } catch {
    throw new Error('the keystore is not valid JSON')
  }
  const crypto = parsed.crypto ?? parsed.Crypto
  if (parsed.version !== 3 || !crypto?.kdfparams || !crypto.cipherparams)
    throw new Error('the keystore is not of version 3 (Web3 Secret Storage)')
  if (crypto.cipher !== 'aes-128-ctr') throw new Error('the keystore’s cipher is not aes-128-ctr')
  return crypto
}

/**
 * Why this scrypt is refused; null if it is allowed. RFC 7914, section 6: n is a power of two, and less than 2^(128 r
 * 8). An old example of the Web3 Secret Storage definition (n 262144, r 1, p 8) breaks that rule, so no library that
 * follows the RFC opens it.
 */
function scryptFault({ n, r, p }: ScryptParams): string | null {
  const whole = [n, r, p].every((value) => Number.isSafeInteger(value) && value > 0)
  if (!whole || n < 2 || !Number.isInteger(Math.log2(n))) return 'n must be a power of two, r and p whole numbers'
  if (Math.log2(n) >= 16 * r) return `n ${n} is too large for r ${r} (RFC 7914). ${EXPORT_AGAIN}`
  if (128 * r * (n + p) > MAX_MEMORY_BYTES) return `n ${n} with r ${r} needs more than 512 MB. ${EXPORT_AGAIN}`
  if (n * r * p > MAX_WORK) return `n ${n}, r ${r}, p ${p} would take minutes. ${EXPORT_AGAIN}`
  return null
}

function deriveKey({ kdf, kdfparams }: Crypto, password: string): Buffer {
  const { salt, dklen, n, r, p, c, prf } = kdfparams
  if (dklen !== 32) throw new Error('the keystore’s derived key must have 32 bytes')
  if (kdf === 'scrypt') {
    const fault = scryptFault(kdfparams)
    if (fault !== null) throw new Error(`the keystore’s scrypt parameters are refused: ${fault}`)
    // plus memory that the library itself needs
    return scryptSync(password, fromHex(salt), dklen, { N: n, r, p, maxmem: 2 * MAX_MEMORY_BYTES })
  }
  if (kdf === 'pbkdf2' && !(Number.isSafeInteger(c) && c > 0 && c <= MAX_ROUNDS))
    throw new Error(`the keystore’s pbkdf2 has ${c} rounds; at most ${MAX_ROUNDS} are run. ${EXPORT_AGAIN}`)
  if (kdf === 'pbkdf2' && prf === 'hmac-sha256') return pbkdf2Sync(password, fromHex(salt), c, dklen, 'sha256')
  throw new Error('the keystore’s key derivation is neither scrypt nor pbkdf2 with hmac-sha256')
}

/**
 * Opens an encrypted keystore of version 3, as described by the Web3 Secret Storage definition on ethereum.org.
 * @returns the private key as hexadecimal text
 * @throws Error with the reason; it contains neither password nor key
 */
export function openKeystore(text: string, password: string): string {
  const crypto = readCrypto(text)
  const derived = deriveKey(crypto, password)
  const ciphertext = fromHex(crypto.ciphertext)
  const mac = fromHex(keccak256(concat([derived.subarray(16, 32), ciphertext])))
  const expected = fromHex(crypto.mac)
  if (expected.length !== mac.length || !timingSafeEqual(mac, expected))
    throw new Error('the password does not open the keystore')
  const decipher = createDecipheriv('aes-128-ctr', derived.subarray(0, 16), fromHex(crypto.cipherparams.iv))
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('hex')
}
