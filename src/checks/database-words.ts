import { AppError } from '../kernel/errors.ts'

type Known = { isIt(code: string, message: string): boolean; start: string; fix: string }

const REFUSED = 'The database refuses us'
const BAD_CERTIFICATE = 'The certificate of the database does not hold'

const UNKNOWN_AUTHORITY = new Set([
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
])

/** Codes: Node's TLS (X509_V_ERR_…), and PostgreSQL, Appendix A. */
const CONNECTION_FAULTS: readonly Known[] = [
  {
    isIt: (code) => UNKNOWN_AUTHORITY.has(code),
    start: BAD_CERTIFICATE,
    fix:
      'Save the certificate authority that your provider publishes, and name the file in DATABASE_URL: ' +
      '?sslmode=verify-full&sslrootcert=/path/to/ca.pem. With sslmode=no-verify the connection is encrypted, but nothing shows who is at its other end.',
  },
  {
    isIt: (code) => code === 'ERR_TLS_CERT_ALTNAME_INVALID',
    start: BAD_CERTIFICATE,
    fix: 'Use the host name that stands in the certificate.',
  },
  {
    isIt: (code) => code === 'CERT_HAS_EXPIRED',
    start: BAD_CERTIFICATE,
    fix: 'Renew the certificate of the database server.',
  },
  {
    isIt: (_code, message) => /does not support SSL/.test(message),
    start: REFUSED,
    fix: 'Turn TLS on there, or write ?sslmode=disable on a private network.',
  },
  {
    // PgBouncer: a connection brings the limits of its statements, unless the service sets them in each transaction
    isIt: (_code, message) => /unsupported startup parameter/.test(message),
    start: REFUSED,
    fix:
      'Behind PgBouncer in transaction mode, set DATABASE_PREPARED=false, and name the database itself in ' +
      'DATABASE_DIRECT_URL for migrations.',
  },
  {
    // invalid_authorization_specification: pg_hba.conf contains only hostssl lines
    isIt: (code, message) => code === '28000' && /no encryption/.test(message),
    start: REFUSED,
    fix: 'It accepts only encrypted connections: add ?sslmode=verify-full to DATABASE_URL.',
  },
]

/** Since PostgreSQL 15, only its owner may create objects in the schema public. */
const NOT_OWNER: Known = {
  isIt: (code, message) => code === '42501' && /for schema/.test(message),
  start: REFUSED,
  fix: 'Make the role of DATABASE_URL the owner of its database: alter database comptoir owner to comptoir. Others may not make tables there.',
}

/** Whether a check failed for one of these reasons: then the database was not reached at all. */
export const isConnectionFix = (wanted: string | null): boolean => CONNECTION_FAULTS.some(({ fix }) => fix === wanted)

/** What the driver said, behind our own error for a database that is away. */
const causeOf = (error: unknown): unknown =>
  error instanceof AppError && error.code === 'DATABASE_UNAVAILABLE' ? (error.cause ?? error) : error

/**
 * Explains what the driver's message does not: a connection that failed because of encryption, or a role that may not
 * create tables, and what to do. Undefined: neither.
 */
export function explainDatabaseFault(error: unknown): { message: string; fix: string } | undefined {
  const { code = '', message = '' } = causeOf(error) as { code?: string; message?: string }
  const known = [...CONNECTION_FAULTS, NOT_OWNER].find(({ isIt }) => isIt(code, message))
  return known && { message: `${known.start}: ${message.split(';')[0]}.`, fix: known.fix }
}

/** Why a start or a command failed, for the operator. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const refused = explainDatabaseFault(error)
  if (refused) return `${refused.message} ${refused.fix}`
  const cause = causeOf(error)
  return cause !== error && cause instanceof Error ? `${error.message} ${cause.message}` : error.message
}
