import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { IdentityProviderError } from '../../compliance/identity-provider.ts'
import { askedLevel, type Kyc } from '../../compliance/kyc.ts'
import type { KycLinkKind } from '../../compliance/kyc-links.ts'
import { lookNow, openKycSession } from '../../compliance/kyc-polls.ts'
import { findKycOfOrder, isOpenToPage, updateMailOpened } from '../../compliance/kyc-queries.ts'
import type { KycDeps } from '../../compliance/kyc-service.ts'
import { registerPageFailures } from '../../http/failures.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { DAY, SECOND } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Html } from '../../kernel/html.ts'
import { Type } from '../../kernel/schema.ts'
import type { Order } from '../../orders/order.ts'
import { findOrderByCode } from '../../orders/order-queries.ts'
import { isOpen } from '../../orders/order-states.ts'
import { TEXTS } from '../../texts/languages.ts'
import { isGeneral, sendErrorPage } from '../shared/error-page.ts'
import { languageOf, rememberLanguage } from '../shared/language.ts'
import { NOTICE_POLICY, renderNotice } from '../shared/notice.ts'
import { checkSameOrigin } from '../shared/payer.ts'
import { hasReceived } from '../shared/payer-page-queries.ts'
import { readShop } from '../shared/shop.ts'
import { type KycPage, kycPolicy, renderKyc, renderMailed } from './kyc-view.ts'

export type KycPageDeps = KycDeps & { payUrl: string; limits: Pick<RateLimits, 'checkPayer'> }

const OPEN = { open: true, page: true } as const
const Link = Type.Object({ code: Type.String({ maxLength: 64 }), token: Type.String({ maxLength: 100 }) })
/** Lets the browser of a payer who was in a check into it again, from whatever order. */
const DEVICE_COOKIE = 'kyc'
const DEVICE_SECONDS = (7 * DAY) / SECOND
type PageParams = { code: string; token: string }
type Found = { order: Order; kyc: Kyc; kind: KycLinkKind }
type Answer = { page: Html; lang: string; policy: string }

/** The page behind the mailed link: the state of the check, and, if the provider has one, the check itself. */
const textsFor = (request: FastifyRequest) => {
  const lang = languageOf(request)
  return { lang, texts: TEXTS[lang].kyc }
}

export const kycPageRoutes: FastifyPluginAsyncTypebox<KycPageDeps> = async (app, deps) => {
  const basePath = new URL(deps.payUrl).pathname.replace(/\/+$/, '')
  await app.register(formbody)
  rememberLanguage(app)

  const send = (reply: FastifyReply, status: number, { page, lang, policy }: Answer): FastifyReply =>
    reply
      .code(status)
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'referrer-policy': 'same-origin',
        'cache-control': 'no-store',
        'content-language': lang,
      })
      .send(page.text)

  /** Through a link from a pay page: only of the order that started it, or in a browser that was let in before. */
  const isLetIn = async (request: FastifyRequest, { order, kyc, kind }: Found): Promise<boolean> => {
    if (kind !== 'page' || (await isOpenToPage(deps.db, kyc, order.id))) return true
    const device = deps.links.deviceKindOf(kyc.id, request.cookies?.[DEVICE_COOKIE] ?? '')
    return device === 'proven' || (device === 'page' && kyc.mailOpenedAt === null)
  }
  /** @throws OBJECT_NOT_FOUND when the link belongs to no check of this order */
  const find = async ({ code, token }: PageParams): Promise<Found> => {
    const order = await findOrderByCode(deps.db, code)
    const kyc = order && (await findKycOfOrder(deps.db, order.companyId, order.id))
    const kind = order && kyc && deps.links.kindOf(order.code, kyc.id, token)
    if (!order || !kyc || !kind) throw new AppError('OBJECT_NOT_FOUND')
    return { order, kyc, kind }
  }
  /** What a link from elsewhere proved is not lost by a later one from a pay page. */
  const letInAgain = (request: FastifyRequest, reply: FastifyReply, { kyc, kind }: Found): void => {
    const known = deps.links.deviceKindOf(kyc.id, request.cookies?.[DEVICE_COOKIE] ?? '')
    if (known === 'proven') return
    reply.setCookie(DEVICE_COOKIE, deps.links.deviceOf(kyc.id, kind), {
      ...{ path: '/', maxAge: DEVICE_SECONDS, sameSite: 'lax', httpOnly: true },
      secure: deps.payUrl.startsWith('https://'),
    })
  }
  const stageOf = async (order: Order): Promise<KycPage['order']['stage']> => {
    const { status, paidAt, expiresAt } = order
    const isPaid = paidAt !== null || status === 'WAITING_CHAIN_CONFIRMATION'
    if (isPaid || (await hasReceived(deps.db, order))) return 'paid'
    return isOpen(status) && expiresAt.getTime() > deps.clock() ? 'open' : 'ended'
  }
  const embeddingFor = (kyc: Kyc) => {
    const { provider } = deps
    return provider.id !== 'manual' && provider.id === kyc.provider && askedLevel(kyc) !== null
      ? provider.embedding
      : null
  }

  registerPageFailures(app, 'identity page', (request, reply, error) => {
    if (isGeneral(request, error)) return sendErrorPage(request, reply, error)
    const { lang, texts } = textsFor(request)
    const page = renderNotice(request, { title: texts.unknownTitle, text: texts.unknown })
    return send(reply, error.status === 422 ? 404 : error.status, { page, lang, policy: NOTICE_POLICY })
  })

  app.get('/kyc', { config: OPEN, schema: { hide: true, querystring: Link } }, async (request, reply) => {
    const found = await find(request.query)
    const { order, kyc } = found
    const { lang, texts } = textsFor(request)
    const { code, shortCode } = order
    const shop = await readShop(deps.db, order.companyId)
    if (!(await isLetIn(request, found))) {
      const page = renderMailed({ ...{ lang, texts, shop, basePath, code, shortCode }, token: request.query.token })
      return send(reply, 200, { page, lang, policy: kycPolicy(shop, null) })
    }
    letInAgain(request, reply, found)
    const embedding = embeddingFor(kyc)
    const page = renderKyc({
      ...{ lang, texts, shop, kyc, basePath, embedding },
      order: { code, shortCode, stage: await stageOf(order) },
      token: request.query.token,
    })
    return send(reply, 200, { page, lang, policy: kycPolicy(shop, embedding) })
  })

  /** Each of these calls the provider, which would soon throttle the whole service. */
  const findForScript = async (request: FastifyRequest, reply: FastifyReply): Promise<Found> => {
    checkSameOrigin(request, deps.payUrl)
    const found = await find(request.body as PageParams)
    await deps.limits.checkPayer(request, reply, found.order.code)
    if (!(await isLetIn(request, found))) throw new AppError('OBJECT_NOT_FOUND')
    return found
  }
  app.post('/kyc/session', { config: OPEN, schema: { hide: true, body: Link } }, async (request, reply) => {
    const { kyc, kind } = await findForScript(request, reply)
    void reply.header('cache-control', 'no-store')
    // not when the page is read: scanners of mails follow links
    if (kind === 'mailed') await updateMailOpened(deps.db, kyc, new Date(deps.clock()))
    try {
      const session = await openKycSession(deps, kyc)
      return session ?? reply.code(409).send({ error: 'There is nothing to go through.' })
    } catch (error) {
      if (!(error instanceof IdentityProviderError)) throw error
      request.log.warn({ err: error, kycId: kyc.id }, 'no session for a check')
      return reply.code(502).send({ error: 'The provider did not answer.' })
    }
  })
  app.post('/kyc/look', { config: OPEN, schema: { hide: true, body: Link } }, async (request, reply) => {
    await lookNow(deps, (await findForScript(request, reply)).kyc)
    return reply.code(204).send()
  })
}
