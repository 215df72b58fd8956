import { constants, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** Text of each signed value; a value that is null or undefined has no part in what is signed. */
export type SignedValues = Readonly<Record<string, string | null | undefined>>

/**
 * `name=value` joined by `&`: values as they are, in the order of `names`. Two integrators differ about empty texts,
 * which is why none is ever sent.
 */
export const signedText = (names: readonly string[], values: SignedValues): string =>
  names
    .flatMap((name) => {
      const value = values[name]
      return value === null || value === undefined ? [] : [`${name}=${value}`]
    })
    .join('&')

const PADDING = constants.RSA_PKCS1_PADDING

/** RSA PKCS#1 v1.5 with SHA-256, Base64 in one line. */
export const signText = (key: KeyObject, text: string): string =>
  sign('sha256', Buffer.from(text), { key, padding: PADDING }).toString('base64')

export const isSignedBy = (key: KeyObject, text: string, signature: string): boolean =>
  verify('sha256', Buffer.from(text), { key, padding: PADDING }, Buffer.from(signature, 'base64'))

/** PEM, also with \n written out as environments have it, or only the Base64 between its lines. */
function pem(text: string, label: 'PRIVATE KEY' | 'PUBLIC KEY'): string {
  const lines = text.trim().replaceAll('\\n', '\n')
  return lines.includes('-----BEGIN') ? lines : `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

/** @throws Error when it is not a key */
export const readPrivateKey = (text: string): KeyObject => createPrivateKey(pem(text, 'PRIVATE KEY'))
/** @throws Error when it is not a key */
export const readPublicKey = (text: string): KeyObject => createPublicKey(pem(text, 'PUBLIC KEY'))
