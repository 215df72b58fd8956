import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../kernel/errors.ts'
import { rememberLanguage } from '../shared/language.ts'

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

/** Built by `npm run build:office` and committed, so that a production install serves it without a build. */
const DIST = join(import.meta.dirname, '../../../web/office/dist')

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** React sets styles through the DOM, which needs no `unsafe-inline`; QR codes are data images. */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
  "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
const YEAR_SECONDS = 31_536_000

type Encoding = 'br' | 'gzip' | 'identity'
type Packed = { type: string; bodies: Partial<Record<Encoding, Promise<Buffer>>>; raw: Buffer }

/**
 * The files contain no secrets and echo nothing from a request, so they are compressed once, at the highest level (no
 * BREACH).
 */
function pack(file: Packed, encoding: Encoding): Promise<Buffer> {
  file.bodies[encoding] ??=
    encoding === 'br'
      ? brotli(file.raw, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } })
      : encoding === 'gzip'
        ? zip(file.raw)
        : Promise.resolve(file.raw)
  return file.bodies[encoding]
}

function encodingOf(request: FastifyRequest): Encoding {
  const accepted = String(request.headers['accept-encoding'] ?? '')
  if (/\bbr\b/.test(accepted)) return 'br'
  return /\bgzip\b/.test(accepted) ? 'gzip' : 'identity'
}

/** The built files by name, read at the first request; a process compresses them once for all services in it. */
function openFiles(): (name: string) => Packed | undefined {
  let files: Map<string, Packed> | undefined
  const load = (): Map<string, Packed> => {
    const names = existsSync(DIST) ? readdirSync(DIST, { recursive: true, encoding: 'utf8' }) : []
    const known = names.filter((name) => TYPES[extname(name)] !== undefined)
    return new Map(
      known.map((name) => {
        const type = TYPES[extname(name)] ?? ''
        return [name.replaceAll('\\', '/'), { type, raw: readFileSync(join(DIST, name)), bodies: {} }]
      }),
    )
  }
  return (name) => {
    files ??= load()
    return files.get(name)
  }
}

const find = openFiles()

/**
 * The back office at `/app`: every path without a file gets the one HTML document, and the browser's router takes over.
 * Asset names contain a content hash and are cached for a year; the document is revalidated each time.
 */
export const officeRoutes: FastifyPluginAsync = async (app) => {
  rememberLanguage(app)
  const send = async (request: FastifyRequest, reply: FastifyReply, name: string): Promise<FastifyReply> => {
    const file = find(name)
    if (!file) throw new AppError('NOT_FOUND')
    const encoding = encodingOf(request)
    void reply.headers({
      'content-type': file.type,
      'content-security-policy': CSP,
      'cache-control': name === 'index.html' ? 'no-cache' : `public, max-age=${YEAR_SECONDS}, immutable`,
      vary: 'accept-encoding',
    })
    if (encoding !== 'identity') void reply.header('content-encoding', encoding)
    return reply.send(await pack(file, encoding))
  }
  const open = { config: { open: true as const }, schema: { hide: true } }
  app.get<{ Params: { '*': string } }>('/app/assets/*', open, (request, reply) =>
    send(request, reply, `assets/${request.params['*']}`),
  )
  // people who type only the host name work here: payers come through the links of their orders
  app.get('/', open, (_request, reply) => reply.redirect('/app'))
  for (const path of ['/app', '/app/*']) app.get(path, open, (request, reply) => send(request, reply, 'index.html'))
}
