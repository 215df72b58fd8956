import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '../../config/config.ts'
import { registerPageFailures } from '../../http/failures.ts'
import { AppError } from '../../kernel/errors.ts'
import { Type } from '../../kernel/schema.ts'
import type { ServerKeys } from '../../keys/server-key-service.ts'
import type { Order } from '../../orders/order.ts'
import { findOrderById } from '../../orders/order-queries.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { PageContext } from '../pay/pay-parts.ts'
import { type PayView, type PayViewDeps, readPayView } from '../pay/pay-service.ts'
import { compressPage } from '../shared/compress.ts'
import { sendErrorPage } from '../shared/error-page.ts'
import { languageOf, rememberLanguage } from '../shared/language.ts'
import { NOTICE_POLICY, renderNotice } from '../shared/notice.ts'
import { findSellerAt } from '../shared/payer-page-queries.ts'
import { receiptOf } from './receipt.ts'
import { isReceiptToken, orderOfToken } from './receipt-link.ts'
import { listReceiptKeys, signReceipt } from './receipt-sign.ts'
import { receiptPolicy, renderReceipt } from './receipt-view.ts'
import { renderVerify, VERIFY_POLICY } from './verify-view.ts'

export type ReceiptPageDeps = Omit<PayViewDeps, 'payerTokens'> & {
  config: Pick<Config, 'payUrl' | 'baseUrl'>
  keys: ServerKeys
  explorerUrl: PageContext['explorerUrl']
}

const OPEN = { open: true, page: true } as const
const SIGNED = { ...OPEN, json: true } as const
const Token = Type.Object({ token: Type.String({ maxLength: 60 }) })

/**
 * Receipts at URLs that cannot be guessed, for people, and signed for programs; and the public keys for verification.
 */
export const receiptRoutes: FastifyPluginAsyncTypebox<ReceiptPageDeps> = async (app, deps) => {
  const { config, clock, explorerUrl, keys } = deps
  const basePath = new URL(config.payUrl).pathname.replace(/\/+$/, '')
  rememberLanguage(app)

  /** @throws OBJECT_NOT_FOUND, the same for a wrong token and for an order that was never paid */
  const find = async (token: string): Promise<{ order: Order; view: PayView }> => {
    const key = orderOfToken(token)
    const order = key === null ? undefined : await findOrderById(deps.db, key.companyId, key.id)
    if (!order || !isReceiptToken(order, token) || order.paidAt === null) throw new AppError('OBJECT_NOT_FOUND')
    // the pay page's forms are not rendered here, so no key is needed to sign them
    const view = await readPayView({ ...deps, payerTokens: { of: () => '' } }, order.code)
    const seller = await findSellerAt(deps.db, order.companyId, order.paidAt)
    return { order, view: { ...view, shop: { ...view.shop, ...seller } } }
  }

  registerPageFailures(app, 'receipt', (request, reply, error) => {
    if (error.status >= 500 || error.status === 429) return sendErrorPage(request, reply, error)
    void reply.code(error.status).header('content-security-policy', NOTICE_POLICY)
    const language = languageOf(request)
    const { title, unknown } = TEXTS[language].order.receipt
    return reply.type('text/html; charset=utf-8').send(renderNotice(request, { title, text: unknown }).text)
  })

  app.get('/receipt/:token.json', { config: SIGNED, schema: { hide: true, params: Token } }, async (request, reply) => {
    const { order, view } = await find(request.params.token)
    const receipt = receiptOf(order, view, config.baseUrl)
    void reply.header('cache-control', 'no-store').type('application/json; charset=utf-8')
    return { receipt, jws: await signReceipt(keys, receipt) }
  })

  app.get('/receipt/verify', { config: OPEN, schema: { hide: true } }, async (request, reply) => {
    const language = languageOf(request)
    const page = await compressPage(request, reply, renderVerify(language).text)
    return reply
      .headers({ 'content-security-policy': VERIFY_POLICY, 'content-language': language, 'cache-control': 'no-store' })
      .type('text/html; charset=utf-8')
      .send(page)
  })

  app.get('/receipt/:token', { config: OPEN, schema: { hide: true, params: Token } }, async (request, reply) => {
    const { token } = request.params
    const { order, view } = await find(token)
    const language = languageOf(request)
    const { pay: texts, locale } = TEXTS[language]
    const quiet = { providersUrl: null, walletNetworks: [], lastUsed: null, search: null, kept: {} }
    const page: PageContext = {
      ...{ language, texts, locale, basePath, explorerUrl, ...quiet },
      payUrl: config.payUrl,
      nowMs: clock(),
    }
    const receipt = receiptOf(order, view, config.baseUrl)
    const shown = renderReceipt({ receipt, view, page, token, keysUrl: `${config.baseUrl}/.well-known/jwks.json` })
    return reply
      .headers({
        'content-security-policy': receiptPolicy(view.shop),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'content-language': language,
      })
      .type('text/html; charset=utf-8')
      .send(shown.text)
  })

  app.get('/.well-known/jwks.json', { config: SIGNED, schema: { hide: true } }, async (_request, reply) => {
    void reply.headers({
      'cache-control': 'public, max-age=300',
      // public keys: a saved page that verifies receipts requests them without an origin
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
    })
    void reply.type('application/json; charset=utf-8')
    return { keys: await listReceiptKeys(keys) }
  })
}
