import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MINUTE } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'

const IGNORED_HEADER = 'comptoir-ignored'

const MAX_NAMES = 20
const MAX_NAME_LENGTH = 100
const MAX_KNOWN = 1000

type Schema = {
  type?: string
  properties?: Record<string, Schema>
  additionalProperties?: unknown
  items?: Schema
  allOf?: Schema[]
  anyOf?: Schema[]
}

/** The names that a schema defines; undefined: it accepts any name, or does not say. */
function propertiesOf(schema: Schema | undefined): Record<string, Schema> | undefined {
  // all of these objects, or one of them, or null
  const parts = schema?.allOf ?? schema?.anyOf?.filter(({ type }) => type !== 'null') ?? []
  if (parts.length > 0) {
    const names = parts.map(propertiesOf)
    return names.includes(undefined) ? undefined : (Object.assign({}, ...names) as Record<string, Schema>)
  }
  const takesAny = typeof schema?.additionalProperties === 'object' || schema?.additionalProperties === true
  return takesAny ? undefined : schema?.properties
}

const NONE: readonly string[] = []

/** Paths of everything in a value that its schema does not define: `returnURL`, `goods.colour`. */
function findUnknown(value: unknown, schema: Schema | undefined, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return NONE
  if (Array.isArray(value)) return value.flatMap((item) => findUnknown(item, schema?.items, path))
  const known = propertiesOf(schema)
  if (known === undefined) return NONE
  let found = NONE
  for (const name in value) {
    const place = path === '' ? name : `${path}.${name}`
    const inner = (value as Record<string, unknown>)[name]
    const unknown = Object.hasOwn(known, name) ? findUnknown(inner, known[name], place) : [place]
    if (unknown.length > 0) found = [...found, ...unknown]
  }
  return found
}

const BRACKETS = /^(\w+)\[\d*\]$/

/** `status[]` and `status[0]`, as PHP and many clients write a list, are `status`, where the route knows that name. */
function readBrackets({ query, routeOptions }: FastifyRequest): void {
  const known = propertiesOf((routeOptions.schema as Parts | undefined)?.querystring) ?? {}
  const sent = query as Record<string, string | string[]>
  for (const written of Object.keys(sent)) {
    const name = BRACKETS.exec(written)?.[1]
    if (name === undefined || !Object.hasOwn(known, name) || Object.hasOwn(known, written)) continue
    const values = [sent[name] ?? [], sent[written] ?? []].flat()
    // one value stays text, which later readers of the query expect
    sent[name] = values.length === 1 ? (values[0] ?? '') : values
    delete sent[written]
  }
}

/** The value, reduced to the names that its schema defines. */
function keepKnown(value: unknown, schema: Schema | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => keepKnown(item, schema?.items))
  const known = propertiesOf(schema)
  if (known === undefined) return value
  const named = Object.entries(value).filter(([name]) => Object.hasOwn(known, name))
  return Object.fromEntries(named.map(([name, inner]) => [name, keepKnown(inner, known[name])]))
}

const NOTHING: Schema = { properties: {} }
type Parts = { body?: Schema; querystring?: Schema }

declare module 'fastify' {
  interface FastifyRequest {
    /** The body including names that its schema does not define: an Idempotency-Key covers all of it. */
    sentBody: unknown
  }
}

type Unknown = { inBody: readonly string[]; inQuery: readonly string[] }

function unknownOf(request: FastifyRequest): Unknown {
  const { body, querystring } = (request.routeOptions.schema ?? {}) as Parts
  return {
    inBody: Buffer.isBuffer(request.body) ? NONE : findUnknown(request.body, body ?? NOTHING, ''),
    inQuery: findUnknown(request.query, querystring ?? NOTHING, ''),
  }
}

const cut = (name: string): string => name.slice(0, MAX_NAME_LENGTH)

/** Encoded for a header field: anything but a plain name is percent-encoded. */
const asField = (name: string): string => encodeURIComponent(name.toWellFormed())

const namesOf = ({ inBody, inQuery }: Unknown): string[] => [...new Set([...inBody, ...inQuery].map(cut))]

function nameIgnored(reply: FastifyReply, names: readonly string[]): void {
  if (names.length > 0) void reply.header(IGNORED_HEADER, names.slice(0, MAX_NAMES).map(asField).join(', '))
}

/** Counts by route and name: logs the first occurrence, then at most once a minute, with the count. */
function openCounter() {
  const counts = new Map<string, { count: number; loggedAt: number }>()
  return (request: FastifyRequest, name: string): void => {
    const route = request.routeOptions.url
    const key = `${request.method} ${route} ${name}`
    if (counts.size > MAX_KNOWN) counts.clear()
    const known = counts.get(key) ?? { count: 0, loggedAt: 0 }
    known.count += 1
    counts.set(key, known)
    const now = Date.now()
    if (now - known.loggedAt < MINUTE) return
    known.loggedAt = now
    request.log.info(
      { ignored: name, count: known.count, method: request.method, route },
      'an unknown name was ignored',
    )
  }
}

/** Pages read single parameters by name, such as the language; API handlers may pass on everything they got. */
const isApi = ({ permission }: FastifyContextConfig): boolean => permission !== undefined

/** Names what the route does not know, and what it does. */
function refusalOf({ inBody, inQuery }: Unknown, { body, querystring }: Parts, except: readonly string[]) {
  const refusals = (names: readonly string[], place: string, schema: Schema | undefined) => {
    const known = Object.keys(schema?.properties ?? {})
    const message = `is not known in the ${place}, which takes ${known.length > 0 ? known.join(', ') : 'nothing'}`
    return names.filter((name) => !except.includes(name)).map((name) => ({ path: cut(name), message }))
  }
  const details = [...refusals(inBody, 'body', body), ...refusals(inQuery, 'address', querystring)]
  return details.length === 0 ? undefined : new AppError('VALIDATION_FAILED', { details: details.slice(0, MAX_NAMES) })
}

/**
 * Unknown body fields and query parameters have no effect (compat), but the response lists them in `Comptoir-Ignored`,
 * so that a typo such as `returnURL` is found; a route that would do more without them refuses them. They are removed
 * before the handler, because one that passes on its body or query would let a client set fields that it must not
 * set. The start fails for a route where they cannot be removed.
 */
export function registerIgnored(app: FastifyInstance): void {
  const count = openCounter()
  app.decorateRequest('sentBody', null)
  app.addHook('onRoute', ({ schema, url }) => {
    for (const part of ['body', 'querystring'] as const) {
      const names = schema?.[part] as Schema | undefined
      if (names === undefined || names.type === 'string' || propertiesOf(names) !== undefined) continue
      throw new Error(
        `${url} takes a ${part} that does not say its names: say them, so that no others reach the handler`,
      )
    }
  })
  app.addHook('preValidation', (request, _reply, done) => {
    if (isApi(request.routeOptions.config)) readBrackets(request)
    done()
  })
  // what the schema refuses never comes to the handler, and a typo is often why: {"amout": 5} lacks its amount
  app.addHook('onError', (request, reply, error, done) => {
    if (error.validation !== undefined && isApi(request.routeOptions.config))
      nameIgnored(reply, namesOf(unknownOf(request)))
    done()
  })
  app.addHook('preHandler', (request, reply, done) => {
    const parts = (request.routeOptions.schema ?? {}) as Parts
    const { body: schema, querystring = NOTHING } = parts
    request.sentBody ??= request.body
    if (isApi(request.routeOptions.config)) {
      const unknown = unknownOf(request)
      const names = namesOf(unknown)
      // everything is known: nothing to remove
      if (names.length === 0) return done()
      const { refuseUnknown } = request.routeOptions.config
      const refusal = refuseUnknown && refusalOf(unknown, parts, refuseUnknown.except)
      if (refusal) return done(refusal)
      for (const name of names) count(request, name)
      nameIgnored(reply, names)
      request.query = keepKnown(request.query, querystring)
    }
    if (schema !== undefined && !Buffer.isBuffer(request.body)) request.body = keepKnown(request.body, schema)
    done()
  })
}
