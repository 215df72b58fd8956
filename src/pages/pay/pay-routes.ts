import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ChannelId } from '../../channels/channel.ts'
import { CHANNEL_NAMES } from '../../channels/channel-names.ts'
import type { KycLinks } from '../../compliance/kyc-links.ts'
import type { Config } from '../../config/config.ts'
import { networkOf } from '../../http/address.ts'
import { registerPageFailures, toAppError } from '../../http/failures.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { contextAs } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import { webLink } from '../../kernel/html.ts'
import { type Static, Type } from '../../kernel/schema.ts'
import { upsertPayerLanguage } from '../../mail/payer-language-queries.ts'
import { findOrderByCode } from '../../orders/order-queries.ts'
import { savePayer } from '../../payers/payer-service.ts'
import { acceptOrder } from '../../payments/accept/accept-order.ts'
import { type DepositCheckDeps, nameTransaction } from '../../payments/deposit-checks.ts'
import { askAboutOrder } from '../../payments/payment-service.ts'
import { type AskBackDeps, askBack } from '../../refunds/asked-back/asked-back.ts'
import { TEXTS } from '../../texts/languages.ts'
import { isGeneral, sendErrorPage } from '../shared/error-page.ts'
import {
  hasChosenLanguage,
  LAST_CHANNEL_COOKIE,
  languageOf,
  rememberLanguage,
  YEAR_SECONDS,
} from '../shared/language.ts'
import { renderNotice } from '../shared/notice.ts'
import { checkSameOrigin, openPayerTokens, type PayerTokens, payerOf } from '../shared/payer.ts'
import { findOriginOfOrder } from '../shared/payer-page-queries.ts'
import { posterPolicy, renderPoster } from '../shared/poster.ts'
import type { WalletNetwork } from '../wallet/wallet-panel.ts'
import { cancelUnpaid } from './cancel-unpaid.ts'
import { isEmbedded } from './embed.ts'
import { findFaults, type IdentityGiven, readGiven, readPayerInformation } from './identity-fields.ts'
import type { OrderFeed } from './live-updates.ts'
import { type Away, openPayPages, type PayPages, type Said } from './pay-pages.ts'
import { isCheckOpen, isOrderCode, type PayViewDeps, readPayView } from './pay-service.ts'
import { openPayStreams, openStreamCounter, type PayStreams } from './pay-stream.ts'
import { renderFragment, renderPage, sdkStateOf } from './pay-view.ts'
import { openTypedKeeper, searchOf, withTyped } from './typed.ts'

export type PayPageDeps = Omit<DepositCheckDeps, 'config'> &
  Pick<PayViewDeps, 'links' | 'receiptUrlOf'> & {
    config: Pick<Config, 'mode' | 'payUrl' | 'baseUrl' | 'orders'>
    feed: OrderFeed
    limits: Pick<RateLimits, 'checkPayer'>
    asking: AskBackDeps
    kycLinks: Pick<KycLinks, 'kindOf'>
    /** A chain's name as payers know it: "Base". */
    networkName(chainId: number): string
    /** Block explorer URL of a transaction; null: none is known for that chain. */
    explorerUrl(network: number, txHash: string): string | null
    /** Chains on which a wallet of the payer's browser can pay. */
    walletNetworks: readonly WalletNetwork[]
    /** URL of the sandbox's test wallet; null if there is none. Only used in sandbox mode. */
    providersUrl: string | null
  }

const Query = Type.Object({
  code: Type.Optional(Type.String()),
  lang: Type.Optional(Type.String()),
  embed: Type.Optional(Type.String()),
  last: Type.Optional(Type.String({ maxLength: 200 })),
  problem: Type.Optional(Type.String({ maxLength: 40 })),
  typed: Type.Optional(Type.String({ maxLength: 8000 })),
  search: Type.Optional(Type.String({ maxLength: 1 })),
  token: Type.Optional(Type.String({ maxLength: 100 })),
})
const FormBody = Type.Object({ code: Type.String(), token: Type.String() })
const AcceptForm = Type.Object({
  ...FormBody.properties,
  paymentChannel: Type.String({ maxLength: 40 }),
  network: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' })),
  requote: Type.Optional(Type.Literal('1')),
  open: Type.Optional(Type.Literal('1')),
})
const SearchForm = Type.Object({ ...FormBody.properties, reference: Type.String({ maxLength: 200 }) })
const Text = Type.Optional(Type.String({ maxLength: 400 }))
const IdentityBody = Type.Object({
  ...FormBody.properties,
  email: Text,
  firstName: Text,
  lastName: Text,
  companyName: Text,
  language: Type.Optional(Type.Union([Type.Literal('draft'), Type.Literal('refused')])),
})

const OPEN = { open: true, page: true } as const
const MAX_STREAMS = 10_000
/** A reader this far behind is disconnected; it reconnects automatically. */
const MAX_UNREAD_BYTES = 256 * 1024

/** Failures are pages too. */
function registerNotices(app: FastifyInstance, pages: PayPages): void {
  registerPageFailures(app, 'pay page', (request, reply, error) => {
    if (isGeneral(request, error)) return sendErrorPage(request, reply, error)
    const { unknownTitle: title, unknown: text } = TEXTS[languageOf(request)].pay
    const html = renderNotice(request, { title, text })
    return pages.send(request, reply, { status: 404, html, shop: null })
  })
}

/** Sends a stream that stays open, with the headers of every response, bypassing the framework's reply. */
function openStream(
  request: FastifyRequest,
  reply: FastifyReply,
  streams: PayStreams,
  seen: { code: string; lastId: string | null; leave(): void },
): void {
  const { code, lastId, leave } = seen
  const { raw } = reply.hijack()
  // whoever left while the order was read closes no second time
  if (raw.destroyed || raw.closed) {
    leave()
    return
  }
  let close = (): void => {}
  raw.on('close', () => {
    close()
    leave()
  })
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  close = streams.open(code, {
    language: languageOf(request),
    lastId,
    send(chunk) {
      if (raw.writableEnded || raw.destroyed) return
      if (raw.writableLength > MAX_UNREAD_BYTES) raw.destroy()
      else raw.write(chunk)
    },
    end: () => void raw.end(),
  })
}

/** Redirects to the order unless it leads away. @returns what the page says about it */
type FormWork = (
  request: FastifyRequest,
  form: Static<typeof AcceptForm>,
  reply: FastifyReply,
) => Promise<Said | { away: Away } | undefined>

/** Mails about the order use the language that its payer uses here. */
async function noteLanguage({ db }: PayPageDeps, request: FastifyRequest, code: string): Promise<void> {
  const order = await findOrderByCode(db, code)
  if (order) await upsertPayerLanguage(db, order, languageOf(request))
}

/**
 * Runs a form's action for its payer, then redirects to the page, or to a provider's.
 * @param keep seals what was typed into the form, which a refusal shows again
 */
function openForm(
  deps: PayPageDeps,
  payerTokens: PayerTokens,
  pages: PayPages,
  work: FormWork,
  keep?: (request: FastifyRequest, code: string) => string,
) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const form = request.body as Static<typeof AcceptForm>
    if (!isOrderCode(form.code)) throw new AppError('ORDER_NOT_FOUND')
    try {
      checkSameOrigin(request, deps.config.payUrl)
      if (!payerTokens.fits(form.code, form.token)) throw new AppError('CROSS_SITE_REQUEST')
      await noteLanguage(deps, request, form.code)
      const done = await work(request, form, reply)
      if (done && 'away' in done) return pages.sendAway(request, reply, done.away)
      return pages.sendBack(request, reply, form.code, done)
    } catch (error) {
      const known = toAppError(error)
      if (known.code === 'INTERNAL_ERROR' || known.code === 'ORDER_NOT_FOUND') throw error
      if (known.code === 'TOO_MANY_REQUESTS') throw error
      request.log.info({ code: known.code }, 'a payer’s step was refused')
      const check = known.code === 'KYC_REQUIRED' ? known.details?.find(({ path }) => path === 'kycUrl') : undefined
      if (check) return pages.sendOn(request, reply, new URL(check.message))
      const isSold = known.details?.some(({ path }) => path === 'orderRef')
      // nothing is lost: the payer presses again
      const problem = form.open && known.code === 'CHANNEL_UNAVAILABLE' ? 'LINK_UNAVAILABLE' : known.code
      // what another website filled in is not shown
      const typed = known.code === 'CROSS_SITE_REQUEST' ? undefined : keep?.(request, form.code)
      return pages.sendBack(request, reply, form.code, {
        problem: isSold ? 'PURCHASE_SOLD' : problem,
        ...(typed !== undefined && { typed }),
      })
    }
  }
}

/** A number that is no hash comes from a provider: asks each provider where this order was opened. */
async function askProviders(deps: PayPageDeps, request: FastifyRequest, code: string): Promise<string | null> {
  return (await askAboutOrder(deps, contextAs(request, payerOf(code)), code)) ? null : 'PAYMENT_NOT_RECEIVED'
}

/** Looks up the payer's input. @returns the problem that the page shows; null when the money is recorded */
async function lookUpTransaction(deps: PayPageDeps, code: string, txHash: string): Promise<string | null> {
  try {
    const named = { actor: payerOf(code), code, txHash, network: null }
    const { found, counted, waiting, reason } = await nameTransaction(deps, named)
    if (counted) return null
    if (!found) return 'TRANSACTION_UNKNOWN'
    if (waiting) return 'TRANSACTION_WAITING'
    return / not USDC/.test(reason) ? 'TRANSACTION_TOKEN' : 'TRANSACTION_ELSEWHERE'
  } catch (error) {
    if (toAppError(error).code === 'VALIDATION_FAILED') return 'TRANSACTION_INVALID'
    throw error
  }
}

/** A hash as wallets show it, possibly without 0x, or inside a block explorer's URL. */
const HASH = /(?:^|[^0-9a-f])(?:0x)?([0-9a-f]{64})(?![0-9a-f])/i

/** Looks up a transaction hash on the chains, and any other number at the providers. @returns the problem to show */
async function lookUp(deps: PayPageDeps, request: FastifyRequest, code: string): Promise<string | null> {
  const reference = (request.body as Static<typeof SearchForm>).reference.trim()
  const [, digits] = HASH.exec(reference) ?? []
  if (digits !== undefined) return lookUpTransaction(deps, code, `0x${digits}`)
  return /^0x/i.test(reference) ? lookUpTransaction(deps, code, reference) : askProviders(deps, request, code)
}

const lastChannelOf = (request: FastifyRequest): string | null => request.cookies?.[LAST_CHANNEL_COOKIE] ?? null

/** The payer's pages: `/pay`, its live stream, and its forms. Pages, not API: outside the permission table. */
export const payRoutes: FastifyPluginAsyncTypebox<PayPageDeps> = async (app, deps) => {
  const payerTokens = openPayerTokens(deps.vault)
  const providersUrl = deps.config.mode === 'sandbox' ? deps.providersUrl : null
  const findShopOrigin = (code: string) => findOriginOfOrder(deps.db, code)
  const pages = openPayPages({ ...deps, providersUrl, findShopOrigin })
  const keeper = openTypedKeeper(deps)
  const viewDeps: PayViewDeps = { ...deps, payerTokens }
  const streams = openPayStreams({
    feed: deps.feed,
    log: app.log,
    clock: deps.clock,
    load: (code) => readPayView(viewDeps, code),
    accountsOf: (companyId) => deps.channels.of(companyId),
    render: (view, language) => renderFragment(view, pages.contextOf(language)).text,
  })
  const counter = openStreamCounter()
  app.addHook('preClose', async () => {
    streams.stop()
    await deps.feed.stop()
  })
  await app.register(formbody)
  rememberLanguage(app)
  registerNotices(app, pages)
  app.get('/pay', { config: OPEN, schema: { hide: true, querystring: Query } }, async (request, reply) => {
    const { code = '', problem = null, token } = request.query
    const view = await readPayView(viewDeps, code)
    if (token !== undefined && isEmbedded(request)) {
      if (!(await isCheckOpen(deps, view, token))) return pages.sendBack(request, reply, code)
      return pages.sendWayOut(request, reply, { token, state: sdkStateOf(view, deps.clock()) })
    }
    if (hasChosenLanguage(request)) await noteLanguage(deps, request, code)
    const language = languageOf(request)
    const typed = keeper.open(code, request.query.typed)
    const page = { ...pages.contextOf(language, lastChannelOf(request)), ...searchOf(request.query, typed) }
    const html = renderPage(withTyped(view, typed), page, language, problem)
    return pages.send(request, reply, { status: 200, html, shop: view.shop })
  })

  app.get('/pay/poster', { config: OPEN, schema: { hide: true, querystring: Query } }, async (request, reply) => {
    const view = await readPayView(viewDeps, request.query.code ?? '')
    const language = languageOf(request)
    const { basePath, payUrl } = pages.contextOf(language)
    const { code, shop } = view
    const poster = {
      ...{ language, shop, name: view.goodsName, price: view.fiat, url: `${payUrl}/pay?code=${code}` },
      ...{ path: `${basePath}/pay/poster`, query: { code }, basePath },
    }
    return pages.send(request, reply, { status: 200, html: renderPoster(poster), shop, policy: posterPolicy(shop) })
  })

  app.get('/pay/events', { config: OPEN, schema: { hide: true, querystring: Query } }, async (request, reply) => {
    const view = await readPayView(viewDeps, request.query.code ?? '')
    const header = request.headers['last-event-id']
    const lastId = typeof header === 'string' ? header : (request.query.last ?? null)
    if (view.final && lastId === view.id) return reply.code(204).send()
    if (streams.count() >= MAX_STREAMS) throw new AppError('BUSY', { retryAfter: 10 })
    const leave = counter.enter(networkOf(request.ip), view.code)
    openStream(request, reply, streams, { code: view.code, lastId, leave })
  })

  const accept = openForm(deps, payerTokens, pages, async (request, form, reply) => {
    const { code, paymentChannel, network, requote, open } = form
    await deps.limits.checkPayer(request, reply, code)
    reply.setCookie(LAST_CHANNEL_COOKIE, paymentChannel, {
      path: '/',
      maxAge: YEAR_SECONDS,
      sameSite: 'lax',
      httpOnly: true,
    })
    const chosen = network === undefined ? {} : { network: Number(network) }
    const body = { paymentChannel, ...chosen, ...(requote && { requote: true }) }
    const accepted = await acceptOrder(deps, { context: contextAs(request, payerOf(code)), code, body })
    const url = open ? webLink(accepted.checkoutUrl) : null
    const { openPage } = TEXTS[languageOf(request)].order.ways
    return url === null ? undefined : { away: { url, label: openPage(CHANNEL_NAMES[paymentChannel as ChannelId]) } }
  })
  app.post('/pay/accept', { config: OPEN, schema: { hide: true, body: AcceptForm } }, accept)

  const keepIdentity = (request: FastifyRequest, code: string): string =>
    keeper.seal(code, { identity: readGiven(request.body as IdentityGiven) })
  const saveIdentity: FormWork = async (request, { code }) => {
    const view = await readPayView(viewDeps, code)
    if (!view.identity) return undefined
    const given = readGiven(request.body as IdentityGiven)
    const { language } = request.body as Static<typeof IdentityBody>
    if (language)
      return { typed: keeper.seal(code, { identity: given, ...(language === 'draft' && { isDraft: true }) }) }
    const isWrong = Object.keys(findFaults(view.identity, given)).length > 0
    if (isWrong) return { typed: keeper.seal(code, { identity: given }) }
    const payerInformation = readPayerInformation(given, view.identity)
    await savePayer(deps.payers, contextAs(request, payerOf(code)), { code, payerInformation })
    return undefined
  }
  const identity = openForm(deps, payerTokens, pages, saveIdentity, keepIdentity)
  app.post('/pay', { config: OPEN, schema: { hide: true, body: IdentityBody } }, identity)

  const search = openForm(deps, payerTokens, pages, async (request, { code }, reply) => {
    await deps.limits.checkPayer(request, reply, code)
    const { reference } = request.body as Static<typeof SearchForm>
    const problem = await lookUp(deps, request, code)
    return problem === null ? undefined : { problem, typed: keeper.seal(code, { reference }) }
  })
  app.post('/pay/transaction', { config: OPEN, schema: { hide: true, body: SearchForm } }, search)

  const cancel = openForm(deps, payerTokens, pages, async (request, { code }) => {
    // with money the page offers no cancel, but a page from before the money does
    await cancelUnpaid({ ...deps, payerTokens }, request, code)
    return undefined
  })
  app.post('/pay/cancel', { config: OPEN, schema: { hide: true, body: FormBody } }, cancel)

  const ask = openForm(deps, payerTokens, pages, async (request, { code }, reply) => {
    await deps.limits.checkPayer(request, reply, code)
    await askBack(deps.asking, contextAs(request, payerOf(code)), code)
    return undefined
  })
  app.post('/pay/ask-back', { config: OPEN, schema: { hide: true, body: FormBody } }, ask)
}
