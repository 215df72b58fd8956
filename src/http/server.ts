import cookie from '@fastify/cookie'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { Counter, collectDefaultMetrics, Histogram, type Metric, Registry } from 'prom-client'
import type { Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import { askFor } from '../db/shares.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Vault } from '../kernel/vault.ts'
import { type Actor, type Authenticate, EndedCredential, hasStanding } from './actor.ts'
import { networkOf } from './address.ts'
import { BODY_LIMIT_BYTES, registerBodies } from './bodies.ts'
import { MAX_PATH_PART, openAnswerBroken, openAnswerUnroutable } from './broken-requests.ts'
import { registerCors, registerShopCors } from './cors.ts'
import { type ErrorPage, registerFailures } from './failures.ts'
import { registerIdempotency } from './idempotency/idempotency.ts'
import { registerIgnored } from './ignored.ts'
import type { CookieOwners } from './limits/cookie-limits.ts'
import { registerForwarded } from './limits/forwarded.ts'
import { registerProxyNotice } from './limits/proxy-notice.ts'
import type { RateLimits } from './limits/rate-limits.ts'
import { registerRehearsal } from './limits/rehearsal.ts'
import { openTurns } from './limits/turns.ts'
import { type CookieKind, checkPermission, isPermission, mayBeLate, type Rule, ruleOf } from './permissions.ts'
import { registerOpenApi } from './reference/openapi.ts'

export type ServerDeps = {
  config: Pick<Config, 'baseUrl' | 'corsOrigins' | 'trustProxy' | 'logLevel'>
  db: Db
  clock: Clock
  authenticate: Authenticate
  limits: RateLimits
  /** Whose cookies the rows with `byCookie` name. */
  cookieOwners?: Record<CookieKind, CookieOwners>
  vault: Vault
  /** Whether a buy button is registered for this website; without it, shop pages cannot call the API. */
  isShop?: (origin: string) => Promise<boolean>
  /** The database is a copy for a rehearsal: only reads and logins are answered. */
  isRehearsal?: boolean
  /** How a failure is shown to people; without it everyone gets JSON. */
  errorPage?: ErrorPage
  /** Where log lines go; default: standard output. */
  logStream?: { write(line: string): void }
  metrics: Registry
}

const HEADERS_WITH_SECRETS = ['authorization', 'cookie', 'x-api-key', 'x-api-secret', 'idempotency-key']

/** Paths may hold codes and tokens, so the log shows the route instead of the requested path. */
const describe = (request: FastifyRequest) => ({
  method: request.method,
  route: request.routeOptions.url ?? '(none)',
  remoteAddress: request.ip,
})

/** The request's own id if it is well-formed, otherwise a new one. */
function requestIdOf(headers: Record<string, string | string[] | undefined>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(given) ? given : newId()
}

/** Whether the request bears anything that `authenticate` would look up or refuse. */
const hasCredential = ({ headers }: FastifyRequest): boolean =>
  [headers.authorization, headers['x-api-secret'], headers['x-api-key']].some((value) => (value ?? '') !== '')

function registerPermissions(app: FastifyInstance, { authenticate, clock, limits, cookieOwners }: ServerDeps): void {
  app.decorateRequest('actor', null)
  app.decorateRequest('rateLimits', null)
  const readActor = async (
    request: FastifyRequest,
    reply: FastifyReply,
    rule: Rule,
    isAfresh = false,
  ): Promise<Actor | null> => {
    try {
      return await authenticate(request, { isGuess: limits.isGuessing(request), isAfresh })
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'UNAUTHORIZED') throw error
      const isGuess = !(error instanceof EndedCredential)
      if (rule.staleIsNone) {
        if (isGuess) await limits.noteRefusal(request)
        return null
      }
      // on a 401 clients renew their token; a 429 instead would keep everyone at this address from it
      if (isGuess) await limits.countRefusal(request, reply)
      throw error
    }
  }
  app.addHook('onRoute', (route) => {
    const { permission, open } = route.config ?? {}
    if (open || route.url.startsWith('/docs')) return
    const name = `${String(route.method)} ${route.url}`
    if (permission === undefined || !isPermission(permission))
      throw new Error(`${name} has no row in the permission table`)
    if (ruleOf(permission).byCookie && !cookieOwners)
      throw new Error(`${name} counts by a cookie, and nothing finds the owners of cookies`)
  })
  app.addHook('onRequest', async (request, reply) => {
    const { permission, page } = request.routeOptions.config
    if (page) await limits.checkPage(request, reply)
    if (permission === undefined || !isPermission(permission)) return
    // the response is for this client only: proxies and browsers must not store it
    void reply.header('cache-control', 'no-store')
    const rule = ruleOf(permission)
    if (rule.ownToken !== undefined && request.headers.authorization?.startsWith(`Bearer ${rule.ownToken}`)) {
      await limits.checkAddress(request, reply, 'public')
      return
    }
    // a read that is open to everyone counts for the company that its credential stands for, else for its address
    const mayBeOurs = rule.limit === 'public' && !rule.ignoreCredential && hasCredential(request)
    const cookies = rule.byCookie && cookieOwners?.[rule.byCookie]
    if (cookies) await cookies.count(request, reply, rule.limit)
    else if (!mayBeOurs) await limits.checkAddress(request, reply, rule.limit)
    if (!rule.ignoreCredential) request.actor = await readActor(request, reply, rule)
    const isOurs = mayBeOurs && hasStanding(request.actor)
    if (mayBeOurs && !isOurs) await limits.checkAddress(request, reply, rule.limit)
    if (isOurs || rule.limit === 'company') await limits.checkCompany(request, reply)
    try {
      checkPermission(permission, request.actor, clock())
    } catch (error) {
      if (!mayBeLate(permission, request.actor, clock())) throw error
      request.actor = await readActor(request, reply, rule, true)
      checkPermission(permission, request.actor, clock())
    }
  })
}

/** Who shares database connections when they run short: a company, an operator, the address of anyone else. */
function sharerOf({ actor, ip }: FastifyRequest): string {
  if (actor === null || !hasStanding(actor)) return `address:${networkOf(ip)}`
  return actor.companyId === null ? `user:${actor.id}` : `company:${actor.companyId}`
}

/**
 * The caller's turn and its share of the database connections. Set after the body is read, because the events of that
 * stream lack the context; everything later in the request counts. Long responses (a file, a live stream) have their
 * own limits.
 */
function registerShares(app: FastifyInstance): void {
  const turns = openTurns()
  app.addHook('preValidation', (request, reply, done) => {
    const sharer = sharerOf(request)
    const begin = (end: () => void): void => {
      if (reply.raw.closed) end()
      else reply.raw.once('close', end)
      askFor(sharer, done)
    }
    const turn = turns.take(sharer)
    if (typeof turn === 'function') begin(turn)
    else turn.then(begin, done)
  })
}

let processMetrics: Registry | undefined

/**
 * Memory, event loop and garbage collection belong to the process, so all services in it share one set. Each set holds
 * a timer of 10 ms and an observer of every collection, which nothing can stop.
 */
function registerProcessMetrics(metrics: Registry): void {
  if (processMetrics === undefined) {
    processMetrics = new Registry()
    collectDefaultMetrics({ register: processMetrics })
  }
  for (const metric of processMetrics.getMetricsAsArray()) metrics.registerMetric(metric as unknown as Metric)
}

function registerMetrics(app: FastifyInstance, metrics: Registry): void {
  registerProcessMetrics(metrics)
  const duration = new Histogram({
    name: 'comptoir_http_request_seconds',
    help: 'Time to answer, by route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [metrics],
  })
  const bugs = new Counter({
    name: 'comptoir_http_bugs_total',
    help: 'Answers 500, and steps after a stored answer that failed.',
    registers: [metrics],
  })
  app.addHook('onResponse', (request, reply, done) => {
    const labels = {
      method: request.method,
      route: request.routeOptions.url ?? '(none)',
      status: String(reply.statusCode),
    }
    duration.observe(labels, reply.elapsedTime / 1000)
    // also behind a stored answer, which replaces that of a step after the commit
    if (reply.statusCode === 500 || request.refusal === 'INTERNAL_ERROR') bugs.inc()
    done()
  })
}

/** For every answer; pages set their own Content-Security-Policy. Source: OWASP HTTP Headers Cheat Sheet. */
const SECURITY_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
}

function registerHeaders(app: FastifyInstance, config: ServerDeps['config']): void {
  const https = config.baseUrl.startsWith('https://')
  const headers = { ...SECURITY_HEADERS, ...(https ? { 'strict-transport-security': 'max-age=31536000' } : {}) }
  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(headers).header('x-request-id', request.id)
    const { httpVersion, headers: sent, rawHeaders } = request.raw
    // RFC 9112, section 3.2; of two lines Node keeps the first
    const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length
    const message = hosts > 1 ? 'Send the header Host once.' : 'Send the header Host with HTTP/1.1.'
    const isWrong = hosts > 1 || (httpVersion === '1.1' && sent.host === undefined)
    done(isWrong ? new AppError('MALFORMED_REQUEST', { message }) : undefined)
  })
  if (config.corsOrigins.length > 0) registerCors(app, config.corsOrigins)
}

/** Time limits for the headers and for a whole request, so that slow clients hold no connection for long. */
const HEAD_MS = 15_000
const REQUEST_MS = 30_000

/**
 * The HTTP base: envelope, uniform failures, request ids, schemas, permissions, idempotency, headers, metrics, OpenAPI.
 * Features add their routes to it. A route without a row in the permission table makes the start fail.
 */
export async function buildServer(deps: ServerDeps): Promise<FastifyInstance> {
  const { config, db, clock } = deps
  const app = Fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_MS,
    // Node would answer a request without Host itself, with nothing in it
    http: { headersTimeout: HEAD_MS, connectionsCheckingInterval: 1000, requireHostHeader: false },
    clientErrorHandler: openAnswerBroken(config.baseUrl),
    frameworkErrors: openAnswerUnroutable(config.baseUrl),
    keepAliveTimeout: 65_000,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    genReqId: (raw) => requestIdOf(raw.headers),
    routerOptions: { maxParamLength: MAX_PATH_PART, ignoreTrailingSlash: true },
    logController: new LogController({ disableRequestLogging: true }),
    // accepted requests are still answered: another process takes new connections by now
    return503OnClosing: false,
    logger: {
      level: config.logLevel,
      base: null,
      redact: { paths: HEADERS_WITH_SECRETS.map((name) => `req.headers["${name}"]`), censor: '[hidden]' },
      serializers: { req: describe },
      ...(deps.logStream ? { stream: deps.logStream } : {}),
    },
    ajv: { customOptions: { strict: false } },
  })
  const isVerbose = ['debug', 'trace'].includes(config.logLevel)
  registerFailures(app, { ...config, ...(deps.errorPage && { errorPage: deps.errorPage }) })
  // before all that reads the address
  if (config.trustProxy.length > 0) registerForwarded(app, clock)
  registerBodies(app)
  app.addHook('onResponse', (request, reply, done) => {
    if (reply.statusCode >= 500 || isVerbose) {
      const facts = { ...describe(request), status: reply.statusCode, durationMs: Math.round(reply.elapsedTime) }
      request.log[reply.statusCode >= 500 ? 'warn' : 'debug'](facts, 'answered')
    }
    done()
  })
  registerHeaders(app, config)
  await app.register(cookie)
  registerMetrics(app, deps.metrics)
  registerProxyNotice(app, clock)
  registerPermissions(app, deps)
  if (deps.isRehearsal) registerRehearsal(app)
  // after the limits, because an unknown origin costs a query
  if (deps.isShop) registerShopCors(app, deps.isShop)
  registerShares(app)
  registerIgnored(app)
  await registerOpenApi(app, config)
  registerIdempotency(app, { db, clock, vault: deps.vault })
  return app
}
