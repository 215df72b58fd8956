const UNTRUSTED = 'its TLS certificate is not signed by an authority that this machine trusts'

/** Connection errors that an operator can fix, by the error codes of Node and OpenSSL. */
const WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its TLS certificate has expired',
  CERT_NOT_YET_VALID: 'its TLS certificate is not valid yet by the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name is unknown',
  EAI_AGAIN: 'the name server does not answer',
}

/** Why a connection failed, in words; undefined if there is nothing to add. Never contains an address. */
export function whyUnreached(error: unknown): string | undefined {
  let next: unknown = error
  for (let depth = 0; next instanceof Error && depth < 5; depth += 1) {
    const { code } = next as { code?: unknown }
    const words = typeof code === 'string' && Object.hasOwn(WORDS, code) ? WORDS[code] : undefined
    if (words !== undefined) return words
    const expired = /certificate has expired/.test(next.message)
    if (expired) return WORDS.CERT_HAS_EXPIRED
    next = next.cause
  }
  return undefined
}
