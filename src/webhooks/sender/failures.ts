import { AddressRefusedError } from './connector.ts'
import { DnsError } from './resolver.ts'

/** Why an attempt failed, as shown in the delivery log. A non-2xx answer also has its status code there. */
export const FAILURES = [
  'http_status',
  'redirect_refused',
  'timeout',
  'connect_timeout',
  'dns_not_found',
  'dns_timeout',
  'dns_failed',
  'connection_refused',
  'connection_reset',
  'host_unreachable',
  'answer_cut_off',
  'bad_answer',
  'tls_certificate_expired',
  'tls_wrong_host',
  'tls_untrusted',
  'tls_failed',
  'address_refused',
  'scheme_refused',
  'send_failed',
  'unknown_outcome',
] as const

export type Failure = (typeof FAILURES)[number]

/** Failures that hold a slot for the whole deadline; three in a row put a receiver into the slow lane. */
export const isTimeout = (failure: Failure | null): boolean =>
  failure === 'timeout' || failure === 'connect_timeout' || failure === 'dns_timeout'

const BY_CODE: Record<string, Failure> = {
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  UND_ERR_SOCKET: 'connection_reset',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  EHOSTUNREACH: 'host_unreachable',
  ENETUNREACH: 'host_unreachable',
  EADDRNOTAVAIL: 'host_unreachable',
  CERT_HAS_EXPIRED: 'tls_certificate_expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls_wrong_host',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls_untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls_untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'tls_untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'tls_untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'tls_untrusted',
  CERT_UNTRUSTED: 'tls_untrusted',
  CERT_NOT_YET_VALID: 'tls_untrusted',
  CERT_REVOKED: 'tls_untrusted',
  EPROTO: 'tls_failed',
  UND_ERR_HEADERS_OVERFLOW: 'bad_answer',
  // also how undici reports two contradicting lengths in the header; once the status is known, it decides
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'bad_answer',
}

const DNS: Record<string, Failure> = { ENOTFOUND: 'dns_not_found', ENODATA: 'dns_not_found', ETIMEOUT: 'dns_timeout' }

const isHttpParserError = (error: Error, code: string): boolean =>
  code.startsWith('HPE_') || error.name === 'HTTPParserError'

/**
 * @param error reported by the connection or by undici
 * @param sawAnswer whether the first byte of an answer had arrived
 */
export function failureOf(error: unknown, sawAnswer: boolean): Failure {
  if (error instanceof AddressRefusedError) return 'address_refused'
  if (error instanceof DnsError) return DNS[error.code] ?? 'dns_failed'
  if (error instanceof AggregateError && error.errors.length > 0) return failureOf(error.errors[0], sawAnswer)
  if (!(error instanceof Error)) return 'send_failed'
  const code = (error as { code?: string }).code ?? ''
  if (isHttpParserError(error, code)) return 'bad_answer'
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code.startsWith('CERT_')) {
    return BY_CODE[code] ?? 'tls_failed'
  }
  const failure = BY_CODE[code] ?? 'send_failed'
  return failure === 'connection_reset' && sawAnswer ? 'answer_cut_off' : failure
}
