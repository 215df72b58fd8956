import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type ErrorDetail } from '../kernel/errors.ts'
import { NAME_PATTERN, NAME_RULE, VISIBLE_PATTERN, VISIBLE_RULE } from '../kernel/names.ts'
import { answerPreflight, isPreflight } from './cors.ts'
import { failure } from './envelope.ts'
import { openRouteTable } from './route-table.ts'

type AjvFault = {
  instancePath: string
  schemaPath: string
  keyword: string
  message?: string
  params: Record<string, unknown>
  /** Of a fault in the name of a field, not in its value. */
  propertyName?: string
}

const FRAMEWORK_CODES: Record<string, ConstructorParameters<typeof AppError>[0]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_CTP_BODY_TOO_LARGE: 'BODY_TOO_LARGE',
  FST_ERR_CTP_INVALID_JSON_BODY: 'MALFORMED_JSON',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'MALFORMED_JSON',
  FST_ERR_BAD_URL: 'NOT_FOUND',
  FST_ERR_MAX_PARAM_LENGTH: 'NOT_FOUND',
}

/** A regular expression or a format name does not help the person who has to enter the value. */
const FORMATS: Record<string, string> = {
  'date-time': 'must be a time with its zone, such as 2026-07-03T10:00:00Z; in an address a + is written %2B',
  date: 'must be a day such as 2026-07-03',
  email: 'must be an e-mail address',
  uri: 'must be a whole URL such as https://shop.example/thanks',
}

const decimal = (digits: number, example: string): string =>
  `must be decimal text with at most ${digits} digits after the point, such as "${example}"`

/** Of every pattern that a schema has, by the pattern itself. */
const RULES: Record<string, string> = {
  [NAME_PATTERN]: NAME_RULE,
  [VISIBLE_PATTERN]: VISIBLE_RULE,
  '^[0-9a-f]{24}$': 'must be an id: 24 hexadecimal digits, such as 66a1f0c2e4b07d3a5c9e1f20',
  '^[0-9a-f]{24}(-[0-9a-f]{1,12}-[0-9a-f]{1,12})?$':
    'must be the nextCursor of the page before, such as 66a1f0c2e4b07d3a5c9e1f20-19a3f5c1b00-19a3f51ee20',
  '^[0-9a-f]{32}$': 'must be the id of a delivery: 32 hexadecimal digits, as in Service-Webhook-Id',
  '^[A-Z]{2}$': 'must be an ISO 3166-1 country code: two capital letters, such as FR',
  '^[0-9]{1,18}$': 'must be a whole number: digits only, such as 1041',
  '^[0-9]{1,38}$': 'must be whole units: digits only, such as 12500000 for 12.50 USDC',
  '^[0-9]{6}$': 'must be 6 digits, such as 123456',
  '^[0-9]{14}$': 'must be 14 digits without spaces, such as 73282932000074',
  '^[0-9]{1,15}(\\.[0-9]{1,2})?$': decimal(2, '1000.00'),
  '^[0-9]{1,16}(\\.[0-9]{1,2})?$': decimal(2, '1000.00'),
  '^(?!0+(\\.0+)?$)[0-9]{1,16}(\\.[0-9]{1,2})?$': `${decimal(2, '1000.00')}, and more than 0`,
  '^[0-9]{1,16}(\\.[0-9]{1,6})?$': decimal(6, '1000.000000'),
  '^#[0-9a-fA-F]{6}$': 'must be a colour such as #7a1f3d',
  '^\\+?[0-9][0-9 ()./-]{4,29}$': 'must be a phone number such as +33 1 23 45 67 89',
  '^[A-Za-z0-9+/]+={0,2}$': 'must be the file in base64, without line breaks',
  '^[A-Za-z0-9_=-]*$': 'must be base64url, as the browser gives it',
  '^\\S(.*\\S)?$': 'must not begin or end with a space',
}

/** Names are free in some objects. Source: RFC 6901, section 4. */
const unescapePart = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')

const MAX_NAME = 100

function detailOf(fault: AjvFault): ErrorDetail {
  const base = fault.instancePath.slice(1).split('/').map(unescapePart).join('.')
  if (fault.propertyName !== undefined)
    return { path: `${base}.${fault.propertyName.slice(0, MAX_NAME)}`, message: `has a name that ${fault.message}` }
  const missing = typeof fault.params.missingProperty === 'string' ? fault.params.missingProperty : undefined
  const path = [base, missing].filter(Boolean).join('.')
  if (missing !== undefined) return { path, message: 'is required' }
  if (fault.keyword === 'enum') {
    return { path, message: `must be one of: ${(fault.params.allowedValues as unknown[]).join(', ')}` }
  }
  if (fault.keyword === 'const') return { path, message: `must be ${JSON.stringify(fault.params.allowedValue)}` }
  const rule = fault.keyword === 'pattern' ? RULES[String(fault.params.pattern)] : undefined
  const format = fault.keyword === 'format' ? FORMATS[String(fault.params.format)] : undefined
  return { path, message: rule ?? format ?? fault.message ?? 'is not valid' }
}

/** A choice between objects of which none is whole: what is missing is the rest of one of them, not of each. */
function withChoice(faults: AjvFault[], choice: AjvFault): AjvFault[] {
  const rests = new Map<string | undefined, string[]>()
  const isRest = ({ keyword, instancePath, schemaPath }: AjvFault): boolean =>
    keyword === 'required' && instancePath === choice.instancePath && schemaPath.startsWith(`${choice.schemaPath}/`)
  for (const { schemaPath, params } of faults.filter(isRest)) {
    const one = schemaPath.slice(choice.schemaPath.length + 1).split('/')[0]
    rests.set(one, [...(rests.get(one) ?? []), String(params.missingProperty)])
  }
  if (rests.size < 2) return faults
  const message = `needs ${[...rests.values()].map((names) => names.join(' and ')).join(', or ')}`
  return [...faults.filter((fault) => !isRest(fault)), { ...choice, keyword: 'choice', message }]
}

/** Ajv reports every branch of a failed union; people need one line per field. */
function detailsOf(reported: AjvFault[]): ErrorDetail[] {
  const seen = new Map<string, ErrorDetail>()
  const faults = reported.filter(({ keyword }) => keyword === 'anyOf').reduce(withChoice, reported)
  // a wrong name is reported twice, and the other time says why
  const isSaid = ({ keyword }: AjvFault): boolean => keyword === 'anyOf' || keyword === 'propertyNames'
  for (const detail of faults.filter((fault) => !isSaid(fault)).map(detailOf)) {
    const known = seen.get(detail.path)
    if (!known) seen.set(detail.path, detail)
    else if (!known.message.includes(detail.message)) known.message += `, or ${detail.message}`
  }
  return [...seen.values()].slice(0, 20)
}

/** The framework could not read the request, or the client disconnected in the middle of it: not a bug of ours. */
const isUnread = ({ code, statusCode }: FastifyError): boolean =>
  statusCode !== undefined &&
  statusCode >= 400 &&
  statusCode < 500 &&
  (code === 'ECONNRESET' || code?.startsWith('FST_ERR_') === true)

/** Converts anything thrown into the error that the client gets. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const { code, validation, statusCode } = error as FastifyError
  if (validation) return new AppError('VALIDATION_FAILED', { details: detailsOf(validation as unknown as AjvFault[]) })
  const known = code === undefined ? undefined : FRAMEWORK_CODES[code]
  if (known) return new AppError(known)
  if (error instanceof SyntaxError && statusCode === 400) return new AppError('MALFORMED_JSON')
  if (isUnread(error as FastifyError)) return new AppError('MALFORMED_REQUEST', { cause: error })
  return new AppError('INTERNAL_ERROR', { cause: error })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of the refusal that answered it. */
    refusal: AppError['code'] | null
  }
  interface FastifyInstance {
    /** Answers a failure as every route does that has no pages of its own. */
    sendFailure: Send
  }
}

/** Shows a failure to a person, as a page. */
export type ErrorPage = (request: FastifyRequest, reply: FastifyReply, error: AppError) => FastifyReply

/** Browsers ask for HTML explicitly and programs do not; the API always answers JSON. */
const wantsPage = ({ url, headers, method, routeOptions }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'POST') &&
  !url.startsWith('/api') &&
  routeOptions.config?.json !== true &&
  /\btext\/html\b/.test(headers.accept ?? '')

/** A page is a page to everyone but a program that asks for JSON by name. */
const wantsJson = (request: FastifyRequest): boolean =>
  request.routeOptions.config?.json === true ||
  (/\bapplication\/(\w+\+)?json\b/i.test(request.headers.accept ?? '') && !wantsPage(request))

type Send = (request: FastifyRequest, reply: FastifyReply, error: AppError) => FastifyReply

const openSend =
  (baseUrl: string, errorPage: ErrorPage | undefined): Send =>
  (request, reply, error) => {
    request.refusal = error.code
    if (errorPage && wantsPage(request)) return errorPage(request, reply, error)
    if (error.retryAfter !== undefined)
      void reply.header('retry-after', String(Math.max(1, Math.ceil(error.retryAfter))))
    if (error.status === 401) void reply.header('www-authenticate', 'Bearer')
    return reply
      .code(error.status)
      .type('application/json; charset=utf-8')
      .send(failure(error, request.id, baseUrl))
  }

/** How the pages of a scope fail: `show` tells people, in their words; programs get JSON. */
export function registerPageFailures(
  app: FastifyInstance,
  what: string,
  show: (request: FastifyRequest, reply: FastifyReply, error: AppError) => unknown,
): void {
  app.setErrorHandler((thrown, request, reply) => {
    const error = toAppError(thrown)
    if (error.status >= 500) request.log.error({ err: thrown }, `${what} failed`)
    return wantsJson(request) ? app.sendFailure(request, reply, error) : show(request, reply, error)
  })
}

/**
 * Answers every failure in the same way: envelope, code, request id. Bugs are logged in full and answered without
 * internals.
 */
export function registerFailures(
  app: FastifyInstance,
  { baseUrl, errorPage }: { baseUrl: string; errorPage?: ErrorPage },
): void {
  const send = openSend(baseUrl, errorPage)
  app.decorateRequest('refusal', null)
  app.decorate('sendFailure', send)
  const methodsAt = openRouteTable(app)
  app.setErrorHandler((thrown, request, reply) => {
    const error = toAppError(thrown)
    if (error.code === 'INTERNAL_ERROR') request.log.error({ err: thrown }, 'unexpected error')
    else if (error.status >= 500) request.log.warn({ err: thrown, code: error.code }, 'refused')
    return send(request, reply, error)
  })
  app.setNotFoundHandler((request, reply) => {
    if (isPreflight(request)) {
      const answered = answerPreflight(request, reply, methodsAt)
      if (answered) return answered
    }
    const allowed = methodsAt(request.url)
    if (allowed.length === 0 || allowed.includes(request.method)) return send(request, reply, new AppError('NOT_FOUND'))
    void reply.header('allow', allowed.join(', '))
    const message = `${request.method} is not possible here. Allowed: ${allowed.join(', ')}.`
    return send(request, reply, new AppError('METHOD_NOT_ALLOWED', { message }))
  })
}
