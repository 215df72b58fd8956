import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { IdentityProviderError } from '../../compliance/identity-provider.ts'
import { askedLevel, type Kyc } from '../../compliance/kyc.ts'
import { lookNow, openKycSession } from '../../compliance/kyc-polls.ts'
import { findKycOfOrder } from '../../compliance/kyc-queries.ts'
import type { KycDeps } from '../../compliance/kyc-service.ts'
import { registerPageFailures } from '../../http/failures.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
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
import { type KycPage, kycPolicy, renderKyc } from './kyc-view.ts'

export type KycPageDeps = KycDeps & { payUrl: string; limits: Pick<RateLimits, 'checkPayer'> }

const OPEN = { open: true, page: true } as const
const Link = Type.Object({ code: Type.String({ maxLength: 64 }), token: Type.String({ maxLength: 100 }) })
type PageParams = { code: string; token: string }
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

  /** @throws OBJECT_NOT_FOUND when the link belongs to no check of this order */
  const find = async ({ code, token }: PageParams): Promise<{ order: Order; kyc: Kyc }> => {
    const order = await findOrderByCode(deps.db, code)
    const kyc = order && (await findKycOfOrder(deps.db, order.companyId, order.id))
    if (!order || !kyc || !deps.links.fits(order.code, kyc.id, token)) throw new AppError('OBJECT_NOT_FOUND')
    return { order, kyc }
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
    const { order, kyc } = await find(request.query)
    const { lang, texts } = textsFor(request)
    const { code, shortCode } = order
    const embedding = embeddingFor(kyc)
    const shop = await readShop(deps.db, order.companyId)
    const page = renderKyc({
      ...{ lang, texts, shop, kyc, basePath, embedding },
      order: { code, shortCode, stage: await stageOf(order) },
      token: request.query.token,
    })
    return send(reply, 200, { page, lang, policy: kycPolicy(shop, embedding) })
  })

  /** Each of these calls the provider, which would soon throttle the whole service. */
  const findForScript = async (request: FastifyRequest, reply: FastifyReply): Promise<Kyc> => {
    checkSameOrigin(request, deps.payUrl)
    const { order, kyc } = await find(request.body as PageParams)
    await deps.limits.checkPayer(request, reply, order.code)
    return kyc
  }
  app.post('/kyc/session', { config: OPEN, schema: { hide: true, body: Link } }, async (request, reply) => {
    const kyc = await findForScript(request, reply)
    void reply.header('cache-control', 'no-store')
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
    await lookNow(deps, await findForScript(request, reply))
    return reply.code(204).send()
  })
}
