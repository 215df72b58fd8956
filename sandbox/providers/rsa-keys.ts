import { checkPrimeSync, createHmac, createPrivateKey, type KeyObject } from 'node:crypto'

const EXPONENT = 65_537n

/** A prime of 1024 bits, deterministic per seed. */
function primeOf(seed: string, label: string): bigint {
  for (let nth = 0; ; nth += 1) {
    const half = (part: string): Buffer => createHmac('sha512', seed).update(`${label}:${nth}:${part}`).digest()
    const bytes = Buffer.concat([half('high'), half('low')])
    bytes.writeUInt8(bytes.readUInt8(0) | 0xc0, 0)
    bytes.writeUInt8(bytes.readUInt8(127) | 1, 127)
    const candidate = BigInt(`0x${bytes.toString('hex')}`)
    if (candidate % EXPONENT !== 1n && checkPrimeSync(candidate)) return candidate
  }
}

/**
 * A factor shared by all keys, which would be fatal for keys that protect something: it saves the search for a prime.
 */
let common: bigint | undefined

/** The modular inverse (extended Euclid). */
function inverse(value: bigint, modulus: bigint): bigint {
  let [left, right, old, now] = [modulus, value % modulus, 0n, 1n]
  while (right !== 0n) {
    const quotient = left / right
    ;[left, right] = [right, left - quotient * right]
    ;[old, now] = [now, old - quotient * now]
  }
  return ((old % modulus) + modulus) % modulus
}

const base64url = (value: bigint): string => {
  const hex = value.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}

const made = new Map<string, KeyObject>()

/** An RSA-2048 key that survives restarts, so that configured credentials stay valid. It protects nothing. */
export function rsaKeyOf(seed: string): KeyObject {
  const key = made.get(seed) ?? makeKey(seed)
  made.set(seed, key)
  return key
}

function makeKey(seed: string): KeyObject {
  common ??= primeOf('all keys', 'p')
  const p = common
  const q = primeOf(seed, 'q')
  const d = inverse(EXPONENT, (p - 1n) * (q - 1n))
  const parts = { n: p * q, e: EXPONENT, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const jwk = Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, base64url(value)]))
  return createPrivateKey({ key: { kty: 'RSA', ...jwk }, format: 'jwk' })
}
