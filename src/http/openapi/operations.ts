import { CATALOGUE, type ErrorCode } from '../../kernel/errors.ts'
import { FailureSchema } from '../envelope.ts'
import { isPermission, type Rule, ruleOf } from '../permissions.ts'
import { type Header, type OpenApi, type Operation, operationsOf, type Response, type Schema } from './document.ts'
import { OPERATION_WORDS } from './operation-words.ts'

const header = (name: string): Header => ({ $ref: `#/components/headers/${name}` })
const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example })
const whole = (description: string, example: number) => ({ description, schema: { type: 'integer' }, example })

export const HEADERS = {
  'X-Request-Id': text('Names this call; quote it when you ask for help.', '0190fe2c5d3a4f7b8c1d2e3f4a5b6c7d'),
  'Comptoir-Ignored': text('Fields and query parameters that mean nothing here and were ignored.', 'returnURL'),
  'Idempotency-Replayed': text('`true`: the stored answer of an earlier call with this Idempotency-Key.', 'true'),
  'RateLimit-Limit': whole('Calls in a minute.', 6000),
  'RateLimit-Remaining': whole('Calls left in this minute.', 5999),
  'RateLimit-Reset': whole('Seconds until the minute ends.', 60),
  RateLimit: text('The same by draft-ietf-httpapi-ratelimit-headers.', '"company";r=5999;t=60'),
  'RateLimit-Policy': text('The limits, by the same draft.', '"company";q=6000;w=60'),
  'Retry-After': whole('Seconds to wait before the next try.', 7),
  'WWW-Authenticate': text('How to log in.', 'Bearer'),
  'Comptoir-Next-Cursor': text('Where the next page begins; absent at the end.', 'MTc4MzA3MTAwMDAwMA'),
  Link: text(
    'Address of the next page.',
    '<https://pay.example/api/next/confirm_conversion/links?cursor=…>; rel="next"',
  ),
}

export const PARAMETERS = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes repeating safe: the same key and body answer the stored result, for 48 hours. Use a key of its own for each ' +
      'order, for example your number of it: two customers under one key get one order.',
    schema: { type: 'string', minLength: 1, maxLength: 255, examples: ['order-118'] },
  },
  IdempotencyKeyWithCredential: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Counts only beside a credential: the same key and body then answer the stored result, for 48 hours. Without one ' +
      'it is ignored, and a repetition is a call of its own.',
    schema: { type: 'string', minLength: 1, maxLength: 255, examples: ['order-118'] },
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Your own name for this call: 8 to 64 letters, digits, dots, dashes, underscores; any other is replaced.',
    schema: { type: 'string', examples: ['checkout-20260703-118'] },
  },
}

const LIMITED = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit', 'RateLimit-Policy']
const STATUS_WORDS: Record<number, string> = {
  400: 'Refused.',
  401: 'No credential, or a bad one.',
  403: 'Not allowed; the message names what is missing.',
  404: 'Unknown, or of another company.',
  409: 'The state forbids it.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'A field is not valid; see `details`.',
  429: 'Too many requests; wait as long as `Retry-After` says.',
  500: 'A fault of the service; it was logged.',
  502: 'The provider did not answer; nothing is lost.',
  503: 'The service or its database is busy; wait as long as `Retry-After` says.',
}

const isPost = (method: string): boolean => method === 'post'
const needsCredential = (rule: Rule): boolean => rule.roles !== 'anyone'

/** A stored answer is for calls that have a credential, which some that anyone may make can have too. */
const takesKey = (method: string, rule: Rule): boolean => isPost(method) && rule.ignoreCredential !== true

const keyParameter = (rule: Rule): keyof typeof PARAMETERS =>
  needsCredential(rule) ? 'IdempotencyKey' : 'IdempotencyKeyWithCredential'

function credentialErrors(rule: Rule): ErrorCode[] {
  if (rule.ignoreCredential || rule.staleIsNone) return []
  if (!needsCredential(rule)) return ['UNAUTHORIZED']
  return ['UNAUTHORIZED', 'FORBIDDEN', ...(rule.stepUp ? (['STEP_UP_REQUIRED'] as const) : [])]
}

function missingErrors(path: string): ErrorCode[] {
  if (path.includes('/confirm_conversion/') && path.includes('{')) return ['ORDER_NOT_FOUND']
  return path.includes('{') ? ['OBJECT_NOT_FOUND'] : []
}

/** Every failure that the operation can answer with. */
function errorsOf(path: string, method: string, operation: Operation, rule: Rule): ErrorCode[] {
  const own = OPERATION_WORDS[operation.operationId]?.refuses ?? []
  const hasBody = operation.requestBody !== undefined
  const inputs = hasBody || (operation.parameters ?? []).length > 0
  const body = isPost(method) || method === 'put' || hasBody
  const fields = Object.keys(operation.requestBody?.content['application/json']?.schema?.properties ?? {})
  const names = [...fields, ...(operation.parameters ?? []).map(({ name }) => name)]
  const namesCompany = names.includes('companyId') || names.includes('childManager')
  const codes: ErrorCode[] = [
    ...own,
    ...credentialErrors(rule),
    ...missingErrors(path),
    ...(namesCompany ? (['OBJECT_NOT_FOUND'] as const) : []),
    ...(body ? (['MALFORMED_JSON', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) : []),
    ...(inputs || body ? (['VALIDATION_FAILED'] as const) : []),
    ...(takesKey(method, rule) ? (['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'] as const) : []),
    ...(rule.limit === 'none' ? [] : (['TOO_MANY_REQUESTS'] as const)),
    'INTERNAL_ERROR',
    'DATABASE_UNAVAILABLE',
    'BUSY',
  ]
  return [...new Set(codes)]
}

const KEY = [{ apiKey: [], apiSecret: [] }, { secretBearer: [] }]

function securityOf({ operationId }: Operation, rule: Rule): Record<string, string[]>[] {
  if (operationId === 'validateOtp') return [{ otpCookie: [] }, { bearer: [] }]
  if (rule.limit === 'session') return [{ refreshCookie: [] }]
  if (rule.ignoreCredential) return [{}]
  const people = [{ bearer: [] }]
  if (!needsCredential(rule)) return [{}, ...people, ...KEY]
  return rule.scope === undefined ? people : [...people, ...KEY]
}

/** The failure, with no other codes than these. */
function failureSchema(codes: ErrorCode[]): Schema {
  const schema = structuredClone(FailureSchema) as unknown as Schema & { $id?: string }
  delete schema.$id
  const code = schema.properties?.error?.properties?.code
  if (code) Object.assign(code, { enum: codes, examples: [codes[0]] })
  return schema
}

function failureOf(status: number, codes: ErrorCode[], limited: boolean): Response {
  const waits = status === 429 || status === 503 || codes.includes('IDEMPOTENCY_IN_PROGRESS')
  const names = ['X-Request-Id', ...(limited ? LIMITED : []), ...(waits ? ['Retry-After'] : [])]
  if (status === 401) names.push('WWW-Authenticate')
  // these are answered once the names were read
  if ([400, 404, 409, 422].includes(status)) names.push('Comptoir-Ignored')
  return {
    description: `${STATUS_WORDS[status]} ${codes.map((code) => `\`${code}\``).join(', ')}`,
    headers: Object.fromEntries(names.map((name) => [name, header(name)])),
    content: {
      'application/json': {
        schema: status === 500 ? { $ref: '#/components/schemas/Failure' } : failureSchema(codes),
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  }
}

/** Operations that fail alike share one response: `Failure409`, and with other codes `Failure409_2`. */
function openShared(document: OpenApi): (status: number, response: Response) => Response {
  const responses: Record<string, Response> = {}
  document.components.responses = responses
  const names = new Map<string, string>()
  const counts = new Map<number, number>()
  return (status, response) => {
    const key = JSON.stringify(response)
    let name = names.get(key)
    if (name === undefined) {
      const count = (counts.get(status) ?? 0) + 1
      counts.set(status, count)
      name = `Failure${status}${count === 1 ? '' : `_${count}`}`
      names.set(key, name)
      responses[name] = response
    }
    return { $ref: `#/components/responses/${name}` }
  }
}

function completeSuccess(operation: Operation, rule: Rule, method: string): void {
  const names = ['X-Request-Id', 'Comptoir-Ignored', ...(rule.limit === 'none' ? [] : LIMITED)]
  if (takesKey(method, rule)) names.push('Idempotency-Replayed')
  if (operation.operationId === 'listPaymentLinks') names.push('Comptoir-Next-Cursor', 'Link')
  for (const [status, response] of Object.entries(operation.responses)) {
    if (!status.startsWith('2')) continue
    if (response.description === 'Default Response') response.description = 'Done.'
    response.headers = { ...Object.fromEntries(names.map((name) => [name, header(name)])), ...response.headers }
  }
}

type Share = ReturnType<typeof openShared>
type Place = { path: string; method: string; operation: Operation }

function completeOperation({ path, method, operation }: Place, share: Share): void {
  const permission = operation['x-permission']
  if (permission === undefined || !isPermission(permission)) return
  const rule = ruleOf(permission)
  for (const parameter of operation.parameters ?? []) {
    // whoever leaves it out gets the default
    if (parameter.required && parameter.schema?.default !== undefined) parameter.required = false
  }
  const description = operation.description ?? OPERATION_WORDS[operation.operationId]?.does
  if (description !== undefined) operation.description = description
  operation.security = securityOf(operation, rule)
  const body = operation.requestBody
  if (body) body.required = Object.values(body.content).some(({ schema }) => (schema?.required ?? []).length > 0)
  completeSuccess(operation, rule, method)
  const codes = errorsOf(path, method, operation, rule)
  for (const status of [...new Set(codes.map((code) => CATALOGUE[code].status))].sort()) {
    const own = codes.filter((code) => CATALOGUE[code].status === status)
    operation.responses[status] = share(status, failureOf(status, own, rule.limit !== 'none'))
  }
  const extra = [
    { $ref: '#/components/parameters/RequestId' },
    ...(takesKey(method, rule) ? [{ $ref: `#/components/parameters/${keyParameter(rule)}` }] : []),
  ]
  operation.parameters = [...(operation.parameters ?? []), ...extra]
}

/** One whole failure for each error code that an operation can answer with. */
function failureExamples(baseUrl: string, used: ReadonlySet<string>): Record<string, unknown> {
  const rows = Object.entries(CATALOGUE).filter(([code]) => used.has(code))
  return Object.fromEntries(
    rows.map(([code, { status, message }]) => {
      const requestId = '0190fe2c5d3a4f7b8c1d2e3f4a5b6c7d'
      const error = { code, message, requestId, docs: `${baseUrl}/docs/errors/${code}` }
      return [code, { summary: message, value: { success: false, status, data: null, error } }]
    }),
  )
}

/** Gives every operation its text, security, headers, and the failures that are its own. */
export function completeOperations(document: OpenApi, baseUrl: string): void {
  const share = openShared(document)
  for (const place of operationsOf(document)) completeOperation(place, share)
  const examples = Object.values(document.components.responses ?? {}).flatMap(({ content }) =>
    Object.values(content ?? {}).flatMap((media) => Object.keys(media.examples ?? {})),
  )
  document.components.examples = failureExamples(baseUrl, new Set(examples))
}
