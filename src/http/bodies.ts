import { isUtf8 } from 'node:buffer'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isStorable } from '../db/storable.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { withAsciiDomain } from '../kernel/people/emails.ts'
import { isTooDeep, MAX_JSON_DEPTH } from './json-depth.ts'
import { registerSchemas } from './lazy-schemas.ts'

export const BODY_LIMIT_BYTES = 64 * 1024

const base = { allErrors: true, useDefaults: true, removeAdditional: false, strict: false } as const
const formats = ['date', 'email', 'uri', 'uuid'] as const
const DATE_TIME = addFormats.default.get('date-time') as { validate: (text: string) => boolean }
const EMAIL = addFormats.default.get('email') as RegExp
/** The domain may have umlauts (IDNA), as on the pages of payers. */
export const isEmail = (text: string): boolean => EMAIL.test(withAsciiDomain(text))
/** A date-time of RFC 3339, which allows leap seconds; ours excludes them, because no clock of ours has one. */
const isDateTime = (text: string): boolean => DATE_TIME.validate(text) && !Number.isNaN(Date.parse(text))

const check = (coerceTypes: false | 'array'): Ajv =>
  addFormats
    .default(new Ajv({ ...base, coerceTypes }), [...formats])
    .addFormat('date-time', isDateTime)
    .addFormat('email', isEmail)
/** Compiles each schema once per process, however many servers it builds. */
const [strict, coercing] = [check(false), check('array')]

/** Where a value contains text that the database cannot store: NUL, or half of a surrogate pair. Undefined: nowhere. */
function findUnstorable(value: unknown): string | undefined {
  if (typeof value === 'string') return isStorable(value) ? undefined : ''
  if (typeof value !== 'object' || value === null) return undefined
  for (const name in value) {
    if (!isStorable(name)) return ''
    const found = findUnstorable((value as Record<string, unknown>)[name])
    if (found !== undefined) return found === '' ? name : `${name}.${found}`
  }
  return undefined
}

/**
 * `null` and `""` count as absent for optional fields, at every depth.
 * @param nullable of the outermost names, those whose `null` says something
 */
function dropEmpty(value: unknown, keepText: boolean, nullable: readonly string[] = []): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return
  const record = value as Record<string, unknown>
  for (const name in record) {
    const inner = record[name]
    if (inner === null && nullable.includes(name)) continue
    if (inner === null || (inner === '' && !keepText)) delete record[name]
    else dropEmpty(inner, keepText)
  }
}

/** @throws VALIDATION_FAILED for a field that is named and empty, where its absence means everything */
function checkNotEmpty(part: unknown, name: string): void {
  if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return
  const value: unknown = Reflect.get(part, name)
  if (value === null || value === '')
    throw invalid(name, 'is empty: send a value, or leave it out to mean all there is')
}

/** @throws VALIDATION_FAILED for a filter that is `null`: whoever lost its value would send all there is */
function checkNoNulls(body: unknown): void {
  for (const [name, value] of Object.entries(body ?? {}))
    if (value === null) throw invalid(name, 'is null: send a value, or leave it out to mean all there is')
}

/** A filter that was left empty in a form filters nothing. */
function dropEmptyFilters({ method, query, routeOptions: { config } }: FastifyRequest): void {
  if (config.permission === undefined || (method !== 'GET' && method !== 'HEAD')) return
  const filters = query as Record<string, unknown>
  for (const name in filters) if (filters[name] === '') delete filters[name]
}

const tooDeep = (): AppError =>
  new AppError('MALFORMED_JSON', { message: `The body is nested deeper than ${MAX_JSON_DEPTH} levels.` })

const notUtf8 = (): AppError =>
  new AppError('MALFORMED_JSON', { message: 'The body is not UTF-8. Send JSON as UTF-8, or write \\u00e9 for é.' })

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Valid JSON that the parser refuses: its names would change what every object of the program has. */
const forbiddenName = (): AppError =>
  new AppError('MALFORMED_JSON', {
    message: 'The body has the name __proto__, or prototype inside constructor, which no field here has. Leave it out.',
  })

/** UTF-8, and what is always the same in it, as clients write them; an empty name says nothing. The bytes decide. */
const UTF8_CHARSETS = ['', 'utf-8', 'utf8', 'utf_8', 'us-ascii', 'ascii']

/** Why the body cannot be read as it is announced. Source: RFC 8259 section 8.1, JSON is UTF-8. */
function unreadableOf({ headers }: FastifyRequest): AppError | undefined {
  const charset = /;\s*charset\s*=\s*["']?([^\s"';]*)/i.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase()
  if (charset !== undefined && !UTF8_CHARSETS.includes(charset)) {
    const message = `The charset ${charset.slice(0, 40)} is not read. Send JSON as UTF-8: Content-Type: application/json.`
    return new AppError('UNSUPPORTED_MEDIA_TYPE', { message })
  }
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (encoding === '' || encoding === 'identity') return undefined
  const message = 'Compressed bodies are not read. Send plain JSON as UTF-8, without Content-Encoding.'
  return new AppError('UNSUPPORTED_MEDIA_TYPE', { message })
}

/**
 * How bodies are read and checked: JSON in UTF-8 only, 64 KiB, no coercion (a coerced `true` would be 1 EUR). Query
 * strings and path parameters are text, so their types are coerced.
 */
export function registerBodies(app: FastifyInstance): void {
  registerSchemas(app, (schema, httpPart) => (httpPart === 'body' ? strict : coercing).compile(schema))
  app.removeAllContentTypeParsers()
  const parse = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    const unreadable = unreadableOf(request)
    if (unreadable) return done(unreadable)
    // decoding would replace what is not UTF-8: two references would become one
    if (!isUtf8(body)) return done(notUtf8())
    const text = body.toString()
    if (isTooDeep(text)) done(tooDeep())
    else void parse(request, text, (error, read) => done(error && isJson(text) ? forbiddenName() : error, read))
  })
  app.addHook('preValidation', async (request) => {
    // a missing body counts as empty, so that validation names the required fields; so does null
    if ((request.body ?? null) === null && request.routeOptions.schema?.body !== undefined) request.body = {}
    // raw bodies (callbacks) are left to their readers
    const body = Buffer.isBuffer(request.body) ? undefined : request.body
    for (const part of [body, request.query, request.params]) {
      const path = findUnstorable(part)
      if (path !== undefined)
        throw invalid(path, 'contains a character that is not text (NUL or half a surrogate pair)')
    }
    const { keepNulls, filtersByBody, allWithout } = request.routeOptions.config
    for (const name of allWithout ?? []) for (const part of [body, request.query]) checkNotEmpty(part, name)
    if (filtersByBody) checkNoNulls(body)
    if (keepNulls !== true) dropEmpty(body, filtersByBody === true, keepNulls)
    dropEmptyFilters(request)
  })
}
