import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { ServerKey, ServerKeys } from '../../keys/server-key-service.ts'

/** PKCS #8 of an Ed25519 key, up to its 32 bytes (RFC 8410, section 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

const privateKeyOf = ({ key }: ServerKey): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, key]), format: 'der', type: 'pkcs8' })

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Compact JWS (RFC 7515) by EdDSA (RFC 8037). The same payload and key give the same text. */
export async function signReceipt(keys: ServerKeys, payload: object): Promise<string> {
  const key = await keys.current('receipt')
  const text = `${encode({ alg: 'EdDSA', typ: 'JWT', kid: key.id })}.${encode(payload)}`
  return `${text}.${sign(null, Buffer.from(text), privateKeyOf(key)).toString('base64url')}`
}

/** Every public key that ever signed a receipt (RFC 7517). */
export async function listReceiptKeys(keys: ServerKeys): Promise<object[]> {
  await keys.current('receipt')
  return (await keys.list('receipt')).map((key) => {
    const { kty, crv, x } = createPublicKey(privateKeyOf(key)).export({ format: 'jwk' })
    return { kty, crv, x, kid: key.id, use: 'sig', alg: 'EdDSA' }
  })
}
