import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { getAddress } from 'viem/utils'
import { registerPageFailures } from '../../http/failures.ts'
import { contextAs } from '../../http/request-context.ts'
import { readAddress } from '../../kernel/addresses.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Html } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { Type } from '../../kernel/schema.ts'
import { findOrderByCode } from '../../orders/order-queries.ts'
import { confirmRefundAddress, isNamedByPayer } from '../../refunds/destination/refund-address.ts'
import type { RefundDeps } from '../../refunds/refund-deps.ts'
import type { LinkKind, RefundLinks } from '../../refunds/refund-link.ts'
import { listRefundsOfOrder } from '../../refunds/refund-queries.ts'
import { TEXTS } from '../../texts/languages.ts'
import { isGeneral, sendErrorPage } from '../shared/error-page.ts'
import { languageOf, rememberLanguage } from '../shared/language.ts'
import { renderNotice } from '../shared/notice.ts'
import { pagePolicy } from '../shared/page-policy.ts'
import { checkSameOrigin, payerOf } from '../shared/payer.ts'
import { readShop, type Shop } from '../shared/shop.ts'
import {
  type RefundPage,
  renderAddressCheck,
  renderAddressForm,
  renderNamed,
  renderRefundState,
} from './refund-view.ts'

export type RefundPageDeps = RefundDeps & {
  links: RefundLinks
  payUrl: string
  networkName(chainId: number): string
}

const OPEN = { open: true, page: true } as const
const Link = { code: Type.String({ maxLength: 64 }), token: Type.String({ maxLength: 100 }) }
/** `change`: shows the form although the address was named. */
const Query = Type.Object({ ...Link, change: Type.Optional(Type.String({ maxLength: 8 })) })
const Form = Type.Object({
  ...Link,
  address: Type.String({ maxLength: 200 }),
  confirmed: Type.Optional(Type.String({ maxLength: 42 })),
})

/** An address as wallets put it into QR codes and links (EIP-681). */
const WALLET_LINK = /^ethereum:(?:pay-)?(0x[0-9a-f]{40})(?:@(\d+))?$/i

/** The address in text copied from a wallet; a link to another network is ignored. */
function plainAddress(copied: string, network: number | null): string {
  const text = copied.trim()
  const [, address, chain] = WALLET_LINK.exec(text) ?? []
  return address !== undefined && (chain === undefined || Number(chain) === network) ? address : text
}

type PageParams = Pick<RefundPage, 'code' | 'token'>
type Shown = { lang: Lang; shop: Shop | null }
type Found = RefundPage & { link: LinkKind }

/** The page behind the mailed link: a payer enters a refund's destination, checks the address, and confirms. */
export const refundPageRoutes: FastifyPluginAsyncTypebox<RefundPageDeps> = async (app, deps) => {
  const basePath = new URL(deps.payUrl).pathname.replace(/\/+$/, '')
  const action = `${basePath}/refund`
  await app.register(formbody)
  rememberLanguage(app)

  const send = (reply: FastifyReply, status: number, page: Html, { lang, shop }: Shown): FastifyReply =>
    reply
      .code(status)
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': pagePolicy({ shop, forms: "'self'" }),
        'referrer-policy': 'same-origin',
        'cache-control': 'no-store',
        'content-language': lang,
      })
      .send(page.text)

  /** @throws OBJECT_NOT_FOUND when the link belongs to no refund of this order */
  const find = async (request: FastifyRequest, { code, token }: PageParams): Promise<Found> => {
    const order = await findOrderByCode(deps.db, code)
    const refunds = order ? await listRefundsOfOrder(deps.db, order.companyId, order.id) : []
    const links = refunds.map((refund) => ({ refund, link: deps.links.kindOf(refund.id, token) }))
    const { refund, link } = links.find((one) => one.link !== null) ?? {}
    if (!order || !refund || !link) throw new AppError('OBJECT_NOT_FOUND')
    const network = refund.network === null ? '' : deps.networkName(refund.network)
    const shop = await readShop(deps.db, order.companyId)
    return { lang: languageOf(request), shop, network, order, refund, link, code, token, action, basePath }
  }

  /** The address with its checksum, or what is wrong with it in the payer's language. */
  const check = async ({ lang, refund }: Found, text: string): Promise<{ address: string } | { fault: string }> => {
    const texts = TEXTS[lang].refund
    let address: string
    try {
      address = getAddress(readAddress('address', plainAddress(text, refund.network)))
    } catch {
      return { fault: texts.invalid }
    }
    const fault = await deps.payers.findAddressFault(deps.db, address)
    return fault === null ? { address } : { fault: texts.notYours }
  }

  registerPageFailures(app, 'refund page', (request, reply, error) => {
    if (isGeneral(request, error)) return sendErrorPage(request, reply, error)
    const lang = languageOf(request)
    const { unknownTitle, unknown } = TEXTS[lang].refund
    const status = error.status === 422 ? 404 : error.status
    return send(reply, status, renderNotice(request, { title: unknownTitle, text: unknown }), { lang, shop: null })
  })

  app.get('/refund', { config: OPEN, schema: { hide: true, querystring: Query } }, async (request, reply) => {
    const page = await find(request, request.query)
    const { status, proposedAddress } = page.refund
    if (status !== 'needs_address') return send(reply, 200, renderRefundState(page), page)
    const isAnswered = isNamedByPayer(page.refund) && request.query.change === undefined
    return send(reply, 200, isAnswered ? renderNamed(page) : renderAddressForm(page, proposedAddress ?? '', null), page)
  })

  app.post('/refund', { config: OPEN, schema: { hide: true, body: Form } }, async (request, reply) => {
    checkSameOrigin(request, deps.payUrl)
    const { body } = request
    const page = await find(request, body)
    if (page.refund.status !== 'needs_address') return send(reply, 200, renderRefundState(page), page)
    const checked = await check(page, body.address)
    if ('fault' in checked) return send(reply, 422, renderAddressForm(page, body.address, checked.fault), page)
    if (body.confirmed !== checked.address) return send(reply, 200, renderAddressCheck(page, checked.address), page)
    const said = { address: checked.address, link: page.link }
    await confirmRefundAddress(deps, page.refund, said, contextAs(request, payerOf(page.code)))
    return reply.redirect(`${action}?${new URLSearchParams({ code: page.code, token: page.token })}`, 303)
  })
}
