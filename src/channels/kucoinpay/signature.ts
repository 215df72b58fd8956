import { constants, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** Text of each signed value; null and undefined values are not signed. */
export type SignedValues = Readonly<Record<string, string | null | undefined>>

/**
 * `name=value` joined by `&`: values unescaped, in the order of `names`. Two integrators differ on empty texts, so we
 * never send any.
 */
export const signedText = (names: readonly string[], values: SignedValues): string =>
  names
    .flatMap((name) => {
      const value = values[name]
      return value === null || value === undefined ? [] : [`${name}=${value}`]
    })
    .join('&')

const PADDING = constants.RSA_PKCS1_PADDING

/** RSA PKCS#1 v1.5 with SHA-256, Base64 on one line. */
export const signText = (key: KeyObject, text: string): string =>
  sign('sha256', Buffer.from(text), { key, padding: PADDING }).toString('base64')

export const isSignedBy = (key: KeyObject, text: string, signature: string): boolean =>
  verify('sha256', Buffer.from(text), { key, padding: PADDING }, Buffer.from(signature, 'base64'))

/** PEM, also with literal \n as in environment variables, or only the Base64 between its lines. */
function pem(text: string, label: 'PRIVATE KEY' | 'PUBLIC KEY'): string {
  const lines = text.trim().replaceAll('\\n', '\n')
  return lines.includes('-----BEGIN') ? lines : `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

/** @throws Error when it is not a key */
export const readPrivateKey = (text: string): KeyObject => createPrivateKey(pem(text, 'PRIVATE KEY'))
/** @throws Error when it is not a key */
export const readPublicKey = (text: string): KeyObject => createPublicKey(pem(text, 'PUBLIC KEY'))
