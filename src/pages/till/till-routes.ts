import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../db/db.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Html } from '../../kernel/html.ts'
import { Type } from '../../kernel/schema.ts'
import { type Order, paymentUrlOf } from '../../orders/order.ts'
import { findOrderByCode } from '../../orders/order-queries.ts'
import { TEXTS } from '../../texts/languages.ts'
import { compressPage } from '../shared/compress.ts'
import { languageOf, rememberLanguage } from '../shared/language.ts'
import { qrSvg } from '../shared/qr-svg.ts'
import { renderDisplay, renderTill, TILL_ICON, TILL_POLICY } from './till-view.ts'

const FOLDER = join(import.meta.dirname, '../../../web/till')
const OPEN = { config: { open: true }, schema: { hide: true } } as const
/** Anyone can cause rendering or look-ups here, so it is limited by address. */
const COUNTED = { open: true, page: true } as const
const CODE = '^[0-9A-Za-z]{24}$'

/** A worker has the policy of its own file: it may fetch the shell, and nothing else. */
const WORKER_POLICY = "default-src 'none'; connect-src 'self'"

const TYPES: Record<string, string> = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' }

/** Files whose address stays, whatever the version; again.js in the place of an earlier release's scripts too. */
const UNVERSIONED: Readonly<Record<string, string>> = {
  'sw.js': 'sw.js',
  'again.js': 'again.js',
  'app.js': 'again.js',
  'display.js': 'again.js',
}

type Files = ReadonlyMap<string, string>

function readFiles(): Files {
  return new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]))
}

/** Changes with any file of the shell, so that devices drop their caches. */
const versionOf = (files: Files): string =>
  createHash('sha256')
    .update([...files].flat().join('\n'))
    .digest('hex')
    .slice(0, 16)

export type TillPageDeps = {
  db: Db
  config: Pick<Config, 'payUrl'>
  receiptUrlOf(order: Order): string
}

/** `/till`: what cashiers and customers see in the shop. Pages and files; the calls they make are API. */
export const tillPageRoutes: FastifyPluginAsyncTypebox<TillPageDeps> = async (app, { db, config, receiptUrlOf }) => {
  const files = readFiles()
  const version = versionOf(files)
  rememberLanguage(app)

  for (const [path, render] of [
    ['/till', renderTill],
    ['/till/display', renderDisplay],
  ] as const) {
    app.get(path, OPEN, async (request, reply) => {
      const page: Html = render(languageOf(request), version)
      void reply.headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': TILL_POLICY,
        'cache-control': 'no-cache',
        'content-language': languageOf(request),
      })
      return reply.send(await compressPage(request, reply, page.text))
    })
  }

  app.get('/till/manifest.webmanifest', OPEN, async (request, reply) => {
    const { title } = TEXTS[languageOf(request)].till
    const colors = { theme_color: '#0a6652', background_color: '#f4f5f6' }
    const icons = [{ src: '/till/icon.svg', sizes: 'any', type: 'image/svg+xml', purpose: 'any' }]
    const place = { id: '/till', start_url: '/till', scope: '/till', display: 'standalone' }
    return reply
      .type('application/manifest+json; charset=utf-8')
      .send(JSON.stringify({ name: `Comptoir · ${title}`, short_name: title, ...place, ...colors, icons }))
  })
  app.get('/till/icon.svg', OPEN, async (_request, reply) => reply.type('image/svg+xml').send(TILL_ICON))

  const qrQuery = Type.Object({ code: Type.String({ pattern: CODE }) })
  app.get('/till/qr', { config: COUNTED, schema: { hide: true, querystring: qrQuery } }, async (request, reply) => {
    const svg = qrSvg(paymentUrlOf(config.payUrl, request.query.code), '')
    void reply.header('cache-control', 'private, max-age=3600').type('image/svg+xml')
    return reply.send(svg.text.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" '))
  })

  // anyone with the code can open the pay page, which links to the receipt too
  app.get(
    '/till/receipt',
    { config: COUNTED, schema: { hide: true, querystring: qrQuery } },
    async (request, reply) => {
      const order = await findOrderByCode(db, request.query.code)
      if (!order) throw new AppError('ORDER_NOT_FOUND')
      return reply.redirect(order.paidAt === null ? paymentUrlOf(config.payUrl, order.code) : receiptUrlOf(order), 302)
    },
  )

  const send = async (request: FastifyRequest, reply: FastifyReply, file: string) => {
    const text = files.get(file) ?? ''
    void reply.type(TYPES[file.split('.')[1] ?? ''] ?? '')
    return reply.send(await compressPage(request, reply, text.replace('__VERSION__', version)))
  }
  // another version's file is on another node, or gone: in its place ours would run with a page that is not its own
  const params = Type.Object({ version: Type.String({ maxLength: 40 }), file: Type.String({ maxLength: 40 }) })
  app.get('/till/:version/:file', { ...OPEN, schema: { hide: true, params } }, async (request, reply) => {
    if (request.params.version !== version || !files.has(request.params.file)) throw new AppError('NOT_FOUND')
    void reply.header('cache-control', 'public, max-age=31536000, immutable')
    return send(request, reply, request.params.file)
  })
  for (const [path, file] of Object.entries(UNVERSIONED)) {
    app.get(`/till/${path}`, OPEN, async (request, reply) => {
      void reply.headers({ 'cache-control': 'no-cache', etag: `"${version}"` })
      // the worker's default scope is its own folder, which does not include the page
      if (file === 'sw.js')
        void reply.headers({ 'service-worker-allowed': '/till', 'content-security-policy': WORKER_POLICY })
      if (request.headers['if-none-match'] === `"${version}"`) return reply.code(304).send()
      return send(request, reply, file)
    })
  }
}
