import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { AppError } from '../../kernel/errors.ts'
import { printLlms } from './llms.ts'
import type { DocPage } from './site.ts'
import { SITE_SCRIPT, SITE_STYLE } from './site-style.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
/** A search reads every page, so it is rate-limited. */
const counted = { config: { open: true, page: true }, schema: { hide: true } } as const
const open = { config: { open: true }, schema: { hide: true } } as const

const sendHtml = (reply: FastifyReply, html: string): FastifyReply =>
  reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY).send(html)

/** The documentation: rendered from `docs/` at the first request. */
export const docsRoutes: FastifyPluginAsync = async (app) => {
  let loaded: Promise<{ site: typeof import('./site.ts'); pages: DocPage[] }> | undefined
  const load = () => {
    loaded ??= import('./site.ts').then((site) => ({ site, pages: site.readPages() }))
    return loaded
  }
  const find = async (path: string) => {
    const { site, pages } = await load()
    const page = pages.find((one) => one.path === path)
    if (!page) throw new AppError('NOT_FOUND')
    return { site, pages, page }
  }
  const show = async (path: string, reply: FastifyReply): Promise<FastifyReply> => {
    const { site, pages, page } = await find(path)
    return sendHtml(reply, site.renderPage(page, pages))
  }
  const sendMarkdown = async (path: string, reply: FastifyReply): Promise<FastifyReply> =>
    reply.type('text/markdown; charset=utf-8').send((await find(path)).page.markdown)
  app.get('/docs', open, (_request, reply) => show('index', reply))
  app.get('/docs/site.css', open, async (_request, reply) => reply.type('text/css; charset=utf-8').send(SITE_STYLE))
  app.get('/docs/site.js', open, async (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(SITE_SCRIPT),
  )
  app.get<{ Querystring: { q?: string } }>('/docs/search', counted, async (request, reply) => {
    const { site, pages } = await load()
    return sendHtml(reply, site.renderSearch(pages, String(request.query.q ?? '').slice(0, 200)))
  })
  app.get('/docs/llms.txt', open, async (_request, reply) => {
    const { site, pages } = await load()
    return reply.type('text/plain; charset=utf-8').send(printLlms(pages, site.markdownHrefOf))
  })
  app.get<{ Params: { '*': string } }>('/docs/*', open, (request, reply) => {
    const { '*': path } = request.params
    return path.endsWith('.md') ? sendMarkdown(path.slice(0, -'.md'.length), reply) : show(path, reply)
  })
}
