import { randomBytes } from 'node:crypto'
import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SaleCache } from '../../companies/sale-cache.ts'
import { findStaticLinkByCode, type StaticLink } from '../../companies/static-links/static-link-queries.ts'
import { creatorOf, staticLinkUrl } from '../../companies/static-links/static-link-service.ts'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import { registerPageFailures, toAppError } from '../../http/failures.ts'
import type { Claim } from '../../http/idempotency/idempotency.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { contextAs } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import { type Html, mendPageUrl } from '../../kernel/html.ts'
import { newId } from '../../kernel/ids.ts'
import { EXPONENTS, type Fiat, formatMoney, leastOf, type Money, parseDecimal } from '../../kernel/money.ts'
import { Type } from '../../kernel/schema.ts'
import type { CreateOrder } from '../../orders/order-create.ts'
import type { LargestOrder } from '../../rates/euro.ts'
import { TEXTS } from '../../texts/languages.ts'
import { compressPage } from '../shared/compress.ts'
import { isGeneral, sendErrorPage } from '../shared/error-page.ts'
import { currencySigns, showFiat, showTypedFiat } from '../shared/format.ts'
import { languageOf, rememberLanguage } from '../shared/language.ts'
import { pagePolicy } from '../shared/page-policy.ts'
import { checkSameOrigin, payerOf } from '../shared/payer.ts'
import { posterPolicy, renderPoster } from '../shared/poster.ts'
import { readShop } from '../shared/shop.ts'
import { findLastPayment, rememberPayment } from './last-payment.ts'
import { type LinkPage, renderClosedLink, renderLink, type TypedAmount } from './link-view.ts'

export type LinkPageDeps = {
  db: Db
  config: Pick<Config, 'payUrl'>
  cache: SaleCache
  largestOrder: Pick<LargestOrder, 'peek'>
  createOrder: CreateOrder
  limits: RateLimits
}

const OPEN = { open: true, page: true } as const
const Params = Type.Object({ code: Type.String({ maxLength: 64 }) })
const Form = Type.Object({
  nonce: Type.String({ pattern: '^[A-Za-z0-9_-]{22}$' }),
  amount: Type.Optional(Type.String({ maxLength: 100 })),
})

/** What was typed before the payer chose another language. */
const Typed = Type.Object({ amount: Type.Optional(Type.String({ maxLength: 100 })) })

const newNonce = (): string => randomBytes(16).toString('base64url')

/** May create orders at the link's till, in its company, and nothing else. */
const visitorOf = (link: StaticLink): Actor => ({
  ...payerOf(creatorOf(link)),
  role: 'Service',
  companyId: link.companyId,
  scopes: [],
})

/**
 * Digits, or groups of three between blanks or apostrophes, and at most two decimals: many people read three digits
 * after a point or comma as thousands, and "12 50" as francs and centimes. None of our currencies has three decimals.
 * A dash stands for no decimals: "12.-".
 */
const TYPED = /^(\d{1,12}|[1-9]\d{0,2}(?:([\s'\u2019])\d{3})(?:\2\d{3}){0,2})(?:[.,](?:(\d{1,2})|[-\u2013\u2014]))?$/u

/** Abbreviations that people write beside the code and the sign, the longer one first. */
const ABBREVIATIONS: Partial<Record<Fiat, readonly string[]>> = { CHF: ['SFr.', 'SFr', 'Fr.', 'Fr'] }

/** Without a sign at its start and at its end: in the middle one may divide francs from centimes. */
const withoutSign = (text: string, sign: string): string => {
  const left = text.startsWith(sign) ? text.slice(sign.length) : text
  return (left.endsWith(sign) ? left.slice(0, -sign.length) : left).trim()
}

/**
 * "12,50" or "12.50", as people type it: the sign or code of the link's currency is accepted before or after it, that
 * of another one is not.
 */
function readTyped(text: string, asset: Fiat, locale: string): bigint | undefined {
  const signs = [...currencySigns(asset, locale), asset, ...(ABBREVIATIONS[asset] ?? [])].map((sign) =>
    sign.toUpperCase(),
  )
  const [, whole, , decimals = '0'] = TYPED.exec(signs.reduce(withoutSign, text.trim().toUpperCase())) ?? []
  return whole === undefined ? undefined : parseDecimal(`${whole.replace(/\D/g, '')}.${decimals}`, EXPONENTS[asset])
}

/** 12.50, or the limit that excludes it. */
function exampleOf({ least, most }: LinkPage): Money {
  const example = { asset: least.asset, units: leastOf(least.asset as Fiat).units * 125n }
  if (example.units < least.units) return least
  return most !== null && example.units > most.units ? most : example
}

/** What is wrong with the payer's input, in the payer's language; null: nothing. */
function faultOf(page: LinkPage, most: Money | null, units: bigint | undefined): string | null {
  const { locale, order } = TEXTS[page.language]
  const { least } = page
  const show = (money: Money): string => showFiat(money, locale)
  if (units === undefined) return order.link.faults.wrong(showTypedFiat(exampleOf(page), locale))
  if (units < least.units) return order.link.faults.low(show(least))
  return most !== null && units > most.units ? order.link.faults.high(show(most)) : null
}

type Sent = { status: number; html: Html; policy?: string }

/** As it was typed; nothing is said of it yet. */
const typedAs = (given: string): TypedAmount => ({ given, fault: null })
const closed = (page: LinkPage): Sent => ({ status: 410, html: renderClosedLink(page) })

/**
 * What to charge, or the page that says why not.
 * @param judge `link`: by the link's own limits only, because the order is compared with the company's at present rates
 */
function readUnits(page: LinkPage, given: string, judge: 'link' | 'company'): bigint | Sent {
  const { isOpen, most } = judge === 'company' ? page : { isOpen: page.link.active, most: page.ownMost }
  if (!isOpen) return closed(page)
  const units = page.price?.units ?? readTyped(given, page.link.currency as Fiat, TEXTS[page.language].locale)
  const fault = page.price === null ? faultOf(page, most, units) : null
  if (fault === null && units !== undefined) return units
  return { status: 422, html: renderLink(page, { given, fault }, null) }
}

/** One order per rendering of a link's form: a second tap leads to the same order. */
const claimOf = (link: StaticLink, nonce: string, amount: string): Claim => ({
  companyId: link.companyId,
  scope: 'POST /link',
  key: `${link.id}:${nonce}:${amount}`,
  fingerprint: 'static-link',
  earlierFingerprints: [],
  claimedBy: newId(),
  stored: null,
  serialize: JSON.stringify,
  write: (response) => response,
})

/**
 * `{payUrl}/link/{code}`: a static link. Opening it creates no order, because previews open links too; its button does.
 */
export const linkRoutes: FastifyPluginAsyncTypebox<LinkPageDeps> = async (app, deps) => {
  const { config, cache, createOrder, limits } = deps
  const basePath = new URL(config.payUrl).pathname.replace(/\/+$/, '')
  await app.register(formbody)
  rememberLanguage(app)

  /** @throws OBJECT_NOT_FOUND */
  const find = async (request: FastifyRequest): Promise<LinkPage> => {
    const { code } = request.params as { code: string }
    const link = await findStaticLinkByCode(deps.db, code)
    const company = link && (await cache.company(link.companyId))
    if (!link || !company) throw new AppError('OBJECT_NOT_FOUND')
    const asset = link.currency as Fiat
    const money = (text: string | null): Money | null =>
      text === null ? null : { asset, units: parseDecimal(text, EXPONENTS[asset]) ?? 0n }
    // null: rates are missing to tell it, so the page shows no limit of the company; each order is compared again
    const largest = deps.largestOrder.peek(company.maxOrderAmount, asset)
    const [price, maximum] = [money(link.amount), money(link.maxAmount)]
    const least = money(link.minAmount) ?? leastOf(asset)
    return {
      ...{ link, price, least, isOpen: link.active && (largest === null || (price ?? least).units <= largest.units) },
      // the company's maximum may have been lowered since
      ownMost: maximum,
      most: largest === null || (maximum !== null && maximum.units < largest.units) ? maximum : largest,
      language: languageOf(request),
      shop: await readShop(deps.db, link.companyId),
      last: await findLastPayment(deps.db, request, link),
      ...{ path: `${basePath}/link/${link.code}`, basePath, payUrl: config.payUrl, nonce: newNonce() },
    }
  }
  const send = async (request: FastifyRequest, reply: FastifyReply, page: LinkPage, sent: Sent) => {
    void reply.code(sent.status).headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': sent.policy ?? pagePolicy({ shop: page.shop, forms: "'self'" }),
      // with no-referrer the browser would send `Origin: null` with our own form
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
      'content-language': page.language,
    })
    return reply.send(await compressPage(request, reply, sent.html.text))
  }

  registerPageFailures(app, 'static link', (request, reply, error) => {
    const isLinks = error.status === 422 && !isGeneral(request, error)
    return sendErrorPage(request, reply, isLinks ? new AppError('NOT_FOUND') : error)
  })

  app.get(
    '/link/:code',
    { config: OPEN, schema: { hide: true, params: Params, querystring: Typed } },
    async (request, reply) => {
      const page = await find(request)
      const typed = typedAs(request.query.amount ?? '')
      const sent = page.isOpen ? { status: 200, html: renderLink(page, typed, null) } : closed(page)
      return send(request, reply, page, sent)
    },
  )

  app.get('/link/:code/poster', { config: OPEN, schema: { hide: true, params: Params } }, async (request, reply) => {
    const page = await find(request)
    const { language, shop, link, price, path } = page
    const url = staticLinkUrl(config.payUrl, link)
    const html = renderPoster({
      ...{ language, shop, name: link.name, price, url, path: `${path}/poster`, query: {}, basePath },
    })
    return send(request, reply, page, { status: 200, html, policy: posterPolicy(shop) })
  })

  const makeOrder = async (request: FastifyRequest, page: LinkPage, nonce: string, units: bigint): Promise<string> => {
    const { link, least } = page
    const amount = formatMoney({ asset: least.asset, units })
    const body = {
      ...{ amount, fromAsset: link.currency, merchantIdentifier: link.collectorId, goods: { goodsName: link.name } },
      // a payer whose time ran out returns here
      cancelUrl: staticLinkUrl(config.payUrl, link),
      ...(link.returnUrl !== null && { returnUrl: mendPageUrl(link.returnUrl) }),
      ...(link.webhookUrl !== null && { webhookUrl: link.webhookUrl }),
    }
    const context = contextAs(request, visitorOf(link))
    const made = await createOrder({ context, body, claim: claimOf(link, nonce, amount) })
    if ('created' in made) return made.created.code
    return (JSON.parse(made.replay) as { data: { code: string } }).data.code
  }

  /** Faults on the shop's side are not shown as the payer's. */
  const refuse = (request: FastifyRequest, reply: FastifyReply, page: LinkPage, given: string, error: AppError) => {
    const { pay, button, order } = TEXTS[page.language]
    if (error.code === 'UNKNOWN_MERCHANT_IDENTIFIER') return send(request, reply, page, closed(page))
    if (error.code === 'TOO_MANY_REQUESTS' || error.code === 'INTERNAL_ERROR') throw error
    const problems: Partial<Record<AppError['code'], string>> = {
      CROSS_SITE_REQUEST: pay.problems.CROSS_SITE_REQUEST,
      VALIDATION_FAILED: order.link.notSetUp(page.shop.name),
    }
    const problem = problems[error.code] ?? button.later
    return send(request, reply, page, { status: error.status, html: renderLink(page, typedAs(given), problem) })
  }

  app.post(
    '/link/:code',
    { config: OPEN, schema: { hide: true, params: Params, body: Form } },
    async (request, reply) => {
      const page = await find(request)
      const { nonce, amount: given = '' } = request.body
      const units = readUnits(page, given, 'link')
      if (typeof units !== 'bigint') return send(request, reply, page, units)
      try {
        checkSameOrigin(request, config.payUrl)
        await limits.checkLink(request, reply, page.link.id)
        const code = await makeOrder(request, page, nonce, units)
        rememberPayment(reply, page, code)
        return reply.redirect(`${basePath}/pay?${new URLSearchParams({ code, lang: page.language })}`, 303)
      } catch (thrown) {
        const error = toAppError(thrown)
        // the order read the company's maximum and the rates again
        const fresh = error.code === 'ILLEGAL_AMOUNT' ? await find(request) : page
        const refusal = readUnits(fresh, given, 'company')
        if (typeof refusal !== 'bigint') return send(request, reply, fresh, refusal)
        return refuse(request, reply, fresh, given, error)
      }
    },
  )
}
