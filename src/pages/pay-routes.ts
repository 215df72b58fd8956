import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import { toAppError } from '../http/failures.ts'
import type { Call } from '../http/idempotency.ts'
import { endOrder } from '../orders/order-service.ts'
import { acceptOrder } from '../payments/payment-accept.ts'
import type { PaymentDeps } from '../payments/payment-service.ts'
import { compressPage } from './compress.ts'
import type { Html } from './html.ts'
import type { OrderFeed } from './order-feed.ts'
import type { PageContext } from './pay-parts.ts'
import { isOrderCode, type PayView, type PayViewDeps, readPayView } from './pay-service.ts'
import { openPayStreams } from './pay-stream.ts'
import { chooseLanguage, type PayLanguage, textsOf } from './pay-texts.ts'
import { contentSecurityPolicy, renderFragment, renderNotice, renderPage } from './pay-view.ts'
import { checkSameOrigin, isPayerToken, payerOf } from './payer.ts'

export type PayPageDeps = Omit<PaymentDeps, 'config'> & {
  config: Pick<Config, 'mode' | 'payUrl' | 'orders'>
  feed: OrderFeed
  /** A chain's name that payers know: "Base". */
  networkName(chainId: number): string
  /** Where the sandbox's test wallet answers; null when there is none. Only used in sandbox mode. */
  providersUrl: string | null
}

const Query = Type.Object({
  code: Type.Optional(Type.String()),
  lang: Type.Optional(Type.String()),
  last: Type.Optional(Type.String({ maxLength: 200 })),
  problem: Type.Optional(Type.String({ maxLength: 40 })),
})
const FormBody = Type.Object({ code: Type.String(), token: Type.String() })
const AcceptForm = Type.Object({
  ...FormBody.properties,
  paymentChannel: Type.String({ maxLength: 40 }),
  network: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' })),
})

const OPEN = { open: true as const }
const MAX_STREAMS = 10_000
/** A reader that is this far behind is gone; it comes back by itself. */
const MAX_UNREAD_BYTES = 256 * 1024

const languageOf = (request: FastifyRequest): PayLanguage =>
  chooseLanguage((request.query as { lang?: string }).lang, request.headers['accept-language'])

/** The effect of a form is not kept under an idempotency key: repeating these forms is harmless by itself. */
const callOfForm = (request: FastifyRequest): Call => ({ requestId: request.id, remember: async () => {} })

/** The payer's pages: `/pay`, its live stream, and its two forms. Pages, not API: outside the permission table. */
export const payRoutes: FastifyPluginAsyncTypebox<PayPageDeps> = async (app, deps) => {
  const { config, clock } = deps
  const payerKey = deps.vault.derive('payer')
  const providersUrl = config.mode === 'sandbox' ? deps.providersUrl : null
  const basePath = new URL(config.payUrl).pathname.replace(/\/+$/, '')
  const policy = contentSecurityPolicy(providersUrl)
  const viewDeps: PayViewDeps = { ...deps, payerKey }
  const contextOf = (language: PayLanguage): PageContext => ({
    texts: textsOf(language),
    basePath,
    payUrl: config.payUrl,
    providersUrl,
    nowMs: clock(),
  })
  const streams = openPayStreams({
    feed: deps.feed,
    log: app.log,
    load: (code) => readPayView(viewDeps, code),
    render: (view, language) => renderFragment(view, contextOf(language)).text,
  })
  app.addHook('preClose', async () => {
    streams.stop()
    await deps.feed.stop()
  })
  await app.register(formbody)

  const sendPage = async (
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    page: Html,
  ): Promise<unknown> => {
    void reply.code(status).headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      // with no-referrer the browser would send `Origin: null` with our own forms
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
      'content-language': languageOf(request),
    })
    return reply.send(await compressPage(request, reply, page.text))
  }

  /** Back to the page, which shows how things stand; a failure is named there in the payer's words. */
  const sendBack = (request: FastifyRequest, reply: FastifyReply, code: string, problem?: AppError): FastifyReply => {
    const { lang } = request.query as { lang?: string }
    const query = new URLSearchParams({
      code,
      ...(lang ? { lang } : {}),
      ...(problem ? { problem: problem.code } : {}),
    })
    return reply.redirect(`${basePath}/pay?${query}`, 303)
  }

  const runForm = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { code, token }: { code: string; token: string },
    work: () => Promise<unknown>,
  ): Promise<FastifyReply> => {
    if (!isOrderCode(code)) throw new AppError('ORDER_NOT_FOUND')
    try {
      checkSameOrigin(request, config.payUrl)
      if (!isPayerToken(payerKey, code, token)) throw new AppError('CROSS_SITE_REQUEST')
      await work()
      return sendBack(request, reply, code)
    } catch (error) {
      const known = toAppError(error)
      if (known.code === 'INTERNAL_ERROR' || known.code === 'ORDER_NOT_FOUND') throw error
      request.log.info({ code: known.code }, 'a payer’s step was refused')
      return sendBack(request, reply, code, known)
    }
  }

  app.setErrorHandler((thrown, request, reply) => {
    const error = toAppError(thrown)
    if (error.status >= 500) request.log.error({ err: thrown }, 'pay page failed')
    const language = languageOf(request)
    const texts = textsOf(language)
    const unknown = error.status < 500
    const page = unknown
      ? renderNotice(language, texts.unknownTitle, texts.unknown)
      : renderNotice(language, texts.failedTitle, texts.failed)
    return sendPage(request, reply, unknown ? 404 : error.status, page)
  })

  app.get('/pay', { config: OPEN, schema: { hide: true, querystring: Query } }, async (request, reply) => {
    const language = languageOf(request)
    const view: PayView = await readPayView(viewDeps, request.query.code ?? '')
    const page = renderPage(view, contextOf(language), language, request.query.problem ?? null)
    return sendPage(request, reply, 200, page)
  })

  app.get('/pay/events', { config: OPEN, schema: { hide: true, querystring: Query } }, async (request, reply) => {
    const view = await readPayView(viewDeps, request.query.code ?? '')
    const header = request.headers['last-event-id']
    const lastId = typeof header === 'string' ? header : (request.query.last ?? null)
    if (view.final && lastId === view.id) return reply.code(204).send()
    if (streams.count() >= MAX_STREAMS) throw new AppError('BUSY', { retryAfter: 10 })
    const { raw } = reply.hijack()
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    const close = streams.open(view.code, {
      language: languageOf(request),
      lastId,
      send(chunk) {
        if (raw.writableEnded || raw.destroyed) return
        if (raw.writableLength > MAX_UNREAD_BYTES) raw.destroy()
        else raw.write(chunk)
      },
      end: () => void raw.end(),
    })
    raw.on('close', close)
  })

  app.post('/pay/accept', { config: OPEN, schema: { hide: true, body: AcceptForm } }, async (request, reply) => {
    const { code, paymentChannel, network } = request.body
    const body = { paymentChannel, ...(network === undefined ? {} : { network: Number(network) }) }
    return runForm(request, reply, request.body, () =>
      acceptOrder(deps, { actor: payerOf(code), code, body, call: callOfForm(request) }),
    )
  })

  app.post('/pay/cancel', { config: OPEN, schema: { hide: true, body: FormBody } }, async (request, reply) => {
    const { code } = request.body
    return runForm(request, reply, request.body, () =>
      endOrder(deps, payerOf(code), code, 'cancel', callOfForm(request)),
    )
  })
}
