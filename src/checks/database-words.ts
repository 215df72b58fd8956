const CA_FIX =
  'Save the certificate authority that your provider publishes, and name the file in DATABASE_URL: ' +
  '?sslmode=verify-full&sslrootcert=/path/to/ca.pem. With sslmode=no-verify the connection is encrypted, but whoever sits in between is not noticed.'
const NAME_FIX = 'Use the host name that stands in the certificate.'
const OFF_FIX = 'Turn TLS on there, or write ?sslmode=disable where the network between is yours alone.'
const ON_FIX = 'It takes encrypted connections only: add ?sslmode=verify-full to DATABASE_URL.'

/** Of Node's TLS (X509_V_ERR_…). */
const UNKNOWN_AUTHORITY =
  /^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|(DEPTH_ZERO_)?SELF_SIGNED_CERT(_IN_CHAIN)?)$/

const AGE_FIX = 'Renew the certificate of the database server.'

/** Whether a check failed for one of these: then the database was not reached at all. */
export const isTlsFix = (fix: string | null): boolean =>
  [CA_FIX, NAME_FIX, OFF_FIX, ON_FIX, AGE_FIX].some((one) => one === fix)

/** PostgreSQL, release 15: the schema public is its owner's. */
const OWNER_FIX =
  'Make the role of DATABASE_URL the owner of its database: alter database comptoir owner to comptoir. Others may not make tables there.'

const fixOf = (code: string, message: string): string | undefined => {
  if (UNKNOWN_AUTHORITY.test(code)) return CA_FIX
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return NAME_FIX
  if (code === 'CERT_HAS_EXPIRED') return AGE_FIX
  if (/does not support SSL/.test(message)) return OFF_FIX
  if (code === '42501' && /for schema/.test(message)) return OWNER_FIX
  // 28000: invalid_authorization_specification; pg_hba.conf has hostssl lines only
  return code === '28000' && /no encryption/.test(message) ? ON_FIX : undefined
}

/**
 * What the driver's words do not say: a connection that failed for its encryption, a role that may not make tables, and
 * what to do. Undefined: it was neither.
 */
export function explainDatabaseFault(error: unknown): { message: string; fix: string } | undefined {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const fix = fixOf(code, message)
  const theirs = [OFF_FIX, ON_FIX, OWNER_FIX].some((one) => one === fix)
  const [words = ''] = message.split(';')
  const start = theirs ? 'The database refuses us' : 'The certificate of the database does not hold'
  return fix === undefined ? undefined : { message: `${start}: ${words}.`, fix }
}
