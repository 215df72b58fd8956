import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type ButtonLimits,
  checkSessionOrder,
  findLandingButton,
  findServerSession,
  isRepriced,
  type Landing,
  openLanding,
  openServerSession,
  openSessionTokens,
} from '../../companies/button-landing.ts'
import type { BuyButton } from '../../companies/button-queries.ts'
import type { ButtonDeps } from '../../companies/button-service.ts'
import type { Config } from '../../config/config.ts'
import { registerPageFailures, toAppError } from '../../http/failures.ts'
import { contextAs } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import { type Html, mendPageUrl } from '../../kernel/html.ts'
import { type Static, Type } from '../../kernel/schema.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { CreateOrder } from '../../orders/order-create.ts'
import { type CreateOrderBody, GoodsSchema } from '../../orders/order-schemas.ts'
import type { OrderDeps } from '../../orders/order-service.ts'
import { TEXTS } from '../../texts/languages.ts'
import { cancelUnpaid } from '../pay/cancel-unpaid.ts'
import type { PayViewDeps } from '../pay/pay-service.ts'
import { compressPage } from '../shared/compress.ts'
import { sendErrorPage } from '../shared/error-page.ts'
import { allowFrame } from '../shared/framing.ts'
import { languageOf, rememberLanguage } from '../shared/language.ts'
import { checkSameOrigin, openPayerTokens, payerOf } from '../shared/payer.ts'
import { ANYONE, landingPolicy, renderElsewhere, renderHandOver, renderLanding, renderRefusal } from './landing-view.ts'
import { openTurns } from './turns.ts'

export type LandingDeps = ButtonDeps & {
  config: Pick<Config, 'payUrl' | 'baseUrl'>
  vault: Vault
  createOrder: CreateOrder
  /** What the pay page reads and does. */
  pay: Omit<PayViewDeps, 'payerTokens'> & OrderDeps
  limits: ButtonLimits
}

const Text = (maxLength: number) => Type.Optional(Type.String({ maxLength }))
const { goodsName, goodsType, goodsCategory } = GoodsSchema.properties
/** Parameter names of older clients (compat): docs/old-clients.md. */
const Query = Type.Object({
  id: Text(64),
  session: Text(100),
  orderRef: Text(100),
  price: Text(40),
  currency: Text(8),
  callbackUrl: Text(2048),
  buttonName: Text(200),
  'goods[goodsName]': goodsName,
  'goods[goodsType]': goodsType,
  'goods[goodsCategory]': goodsCategory,
  code: Text(64),
  lang: Text(20),
  tokenKey: Type.Optional(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,39}$' })),
})
type Query = Static<typeof Query>
const Params = Type.Object({ tokenKey: Query.properties.tokenKey })

const OPEN = { open: true, page: true } as const
const DEFAULT_TOKEN_KEY = 'comptoirToken'

/** Older clients send `name=` for absent values, and a script that stored two codes sends both, or a blank. */
function tidyQuery(request: FastifyRequest): void {
  const query = request.query as Record<string, unknown>
  if (typeof query.code === 'string') query.code = query.code.trim().replace(/\s.*/s, '')
  for (const [name, value] of Object.entries(query)) if (value === '') delete query[name]
}

async function sendPage(request: FastifyRequest, reply: FastifyReply, page: Html, origin: string | null) {
  void reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': landingPolicy(origin),
    // a page that the button opened in a window tells the shop's page about its order before it goes on
    'cross-origin-opener-policy': 'unsafe-none',
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    'content-language': languageOf(request),
  })
  if (origin !== null) allowFrame(reply)
  return reply.send(await compressPage(request, reply, page.text))
}

const isFramed = ({ headers }: FastifyRequest): boolean =>
  /^(i?frame|embed|object)$/.test(`${headers['sec-fetch-dest']}`)

/** The origin of the page that sent the request, if the browser reveals it. */
function refererOf({ headers }: FastifyRequest): string | null {
  const { referer = '' } = headers
  return URL.canParse(referer) ? new URL(referer).origin : null
}

/** Faults of the button are the shop's to fix, faults of the rate are ours: each message says who has to act. */
function refusalOf(error: AppError, request: FastifyRequest) {
  const texts = TEXTS[languageOf(request)].button
  const detail = error.details?.map(({ path, message }) => `${path} ${message}`).join('; ')
  const hint = `${error.code}: ${detail ?? error.message}`
  if (error.code === 'ORDER_STATE_CONFLICT') return { title: texts.paidTitle, text: texts.paid }
  if (error.code === 'OBJECT_NOT_FOUND' || error.code === 'UNKNOWN_SESSION')
    return { title: texts.failedTitle, text: texts.unknownButton }
  if (error.code === 'INVALID_EXCHANGE_RATE' || error.status >= 500)
    return { title: texts.failedTitle, text: texts.later, again: request.url }
  return { title: texts.failedTitle, text: texts.wrongSetUp, hint }
}

/** `{baseUrl}/buy-button/landing`: the step from a shop's button to the pay page. A page, not API. */
export const landingRoutes: FastifyPluginAsyncTypebox<LandingDeps> = async (app, deps) => {
  const { config, createOrder } = deps
  const sessionTokens = openSessionTokens(deps.vault)
  const payerTokens = openPayerTokens(deps.vault)
  const inTurn = openTurns()
  const basePath = new URL(config.payUrl).pathname.replace(/\/+$/, '')
  const ours = new Set([config.payUrl, config.baseUrl].map((url) => new URL(url).origin))
  await app.register(formbody)
  rememberLanguage(app)
  app.addHook('preValidation', async (request) => tidyQuery(request))

  /** The website that may frame this page, if the request names an existing button. */
  const originOf = async ({ id, session }: Query): Promise<string | null> => {
    const button = await (session === undefined
      ? findLandingButton(deps, id ?? '')
      : findServerSession(deps, session).then((found) => found.button))
    return button.websiteOrigin
  }
  registerPageFailures(app, 'landing page', async (request, reply, error) => {
    if (error.code === 'TOO_MANY_REQUESTS') return sendErrorPage(request, reply, error)
    // an unknown button or session has no website: without this, the frame that requests it would stay empty
    const isUnknown = error.code === 'OBJECT_NOT_FOUND' || error.code === 'UNKNOWN_SESSION'
    const anyone = isFramed(request) && isUnknown ? ANYONE : null
    const origin = await originOf(request.query as Query).catch(() => anyone)
    const { again = null, ...words } = refusalOf(error, request)
    const { lang: _, ...query } = request.query as Record<string, string>
    const address = { path: request.url.split('?')[0] ?? '', query }
    const page = renderRefusal(languageOf(request), { ...words, again }, address)
    return sendPage(request, reply.code(error.status), page, origin)
  })

  const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const website = await originOf(request.query as Query)
    const here = isFramed(request) ? refererOf(request) : null
    const isForeign = here !== null && here !== website && !ours.has(here)
    if (website === null || !isForeign)
      return sendPage(request, reply, renderLanding(languageOf(request), request.url), website)
    const page = renderElsewhere(languageOf(request), { website, here, address: request.url })
    return sendPage(request, reply, page, ANYONE)
  }

  const makeOrder = async (request: FastifyRequest, landing: Landing): Promise<string> => {
    if (landing.code !== null) return landing.code
    const query = request.query as Query
    const goods = {
      ...(query['goods[goodsName]'] === undefined ? {} : { goodsName: query['goods[goodsName]'] }),
      ...(query['goods[goodsType]'] === undefined ? {} : { goodsType: query['goods[goodsType]'] }),
      ...(query['goods[goodsCategory]'] === undefined ? {} : { goodsCategory: query['goods[goodsCategory]'] }),
    }
    const { session, button, price, currency } = landing
    const body: CreateOrderBody = {
      ...{ amount: price, fromAsset: currency, websiteUrl: mendPageUrl(button.websiteUrl), sessionId: session.id },
      ...(Object.keys(goods).length > 0 ? { goods } : {}),
    }
    const context = contextAs(request, payerOf(session.id))
    const made = await createOrder({ context, body, claim: null })
    if ('replay' in made) throw new AppError('INTERNAL_ERROR')
    return made.created.code
  }

  /** Lands at the page's present price: cancels an open order at another one, unless `kept`, which has money. */
  const landAt = async (button: BuyButton, request: FastifyRequest, kept?: string): Promise<Landing> => {
    const landing = await openLanding(deps, button, request.query as Query)
    if (landing.code === null || !landing.isOutdated || landing.code === kept) return landing
    await cancelUnpaid({ ...deps.pay, payerTokens }, request, landing.code).catch((error: unknown) => {
      // it has money, and stays; or another click has just cancelled it
      if (toAppError(error).code !== 'ORDER_STATE_CONFLICT') throw error
    })
    return landAt(button, request, landing.code)
  }

  type Opened = { landing: Landing; code: string }

  /** A session sells one order, at one price: of two clicks that land in it at once, the slower one lands again. */
  const orderAt = async (land: () => Promise<Landing>, request: FastifyRequest, tries = 10): Promise<Opened> => {
    const landing = await land()
    try {
      return { landing, code: await makeOrder(request, landing) }
    } catch (thrown) {
      const { code } = toAppError(thrown)
      const isOvertaken = code === 'UNKNOWN_SESSION' || (code === 'ILLEGAL_AMOUNT' && (await isRepriced(deps, landing)))
      if (tries <= 1 || !isOvertaken) throw thrown
      return orderAt(land, request, tries - 1)
    }
  }

  /**
   * Clicks with the same reference take turns on this node; without, many at once would overtake each other until they
   * have no tries left.
   */
  const openOrder = async (request: FastifyRequest, reply: FastifyReply): Promise<Opened> => {
    const { session, id = '', orderRef, code } = request.query as Query
    if (session !== undefined) {
      const found = await findServerSession(deps, session)
      await checkSessionOrder(deps.limits, [request, reply], found.session)
      return inTurn(session, () => orderAt(() => openServerSession(deps, session), request))
    }
    const button = await findLandingButton(deps, id)
    await deps.limits.checkLink(request, reply, button.id)
    const order = () => orderAt(() => landAt(button, request), request)
    const name = orderRef ?? code
    return name === undefined ? order() : inTurn(`${button.companyId} ${name}`, order)
  }

  const begin = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    checkSameOrigin(request, config.payUrl)
    const { landing, code } = await openOrder(request, reply)
    const { websiteOrigin } = landing.button
    const sessionId = landing.session.id
    const query = request.query as Query
    const named = (request.params as Static<typeof Params>).tokenKey ?? query.tokenKey ?? DEFAULT_TOKEN_KEY
    const next = `${basePath}/pay?${new URLSearchParams({ code, lang: languageOf(request) })}`
    const messages = [{ [named]: sessionTokens.of(sessionId) }, { sessionId }, { conversionCode: code }]
    const page = renderHandOver(languageOf(request), {
      ...{ messages, origin: websiteOrigin, next, framed: `${next}&embed=1` },
    })
    return sendPage(request, reply, page, websiteOrigin)
  }
  const schema = { hide: true, querystring: Query, params: Params }
  for (const path of ['/buy-button/landing', '/buy-button/landing/:tokenKey']) {
    app.get(path, { config: OPEN, schema }, show)
    app.post(path, { config: OPEN, schema }, begin)
  }
}
