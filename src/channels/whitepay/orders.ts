import type { Clock } from '../../kernel/clock.ts'
import { formatMoney } from '../../kernel/money.ts'
import {
  type Instructions,
  NO_INSTRUCTIONS,
  type PaymentKey,
  type PaymentReport,
  type PaymentRequest,
  type Recovery,
} from '../channel.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import type { WhitepayApi } from './api.ts'
import { assertWithin, choosePrice, keepList, type Price } from './prices.ts'
import { isOver, readOrder, reportOf, type WhitepayOrder } from './status-map.ts'

type Ready = Instructions & { providerReference: string }

/** Crypto orders on Whitepay's own page: create, find and read. */
export type HostedOrders = {
  /** For a page, which does not wait for Whitepay while that does not answer. */
  peekPrice(payment: { due: PaymentKey['due']; fiat: PaymentKey['fiat'] }): Promise<Price>
  create(request: PaymentRequest): Promise<Ready>
  recover(request: PaymentRequest): Promise<Recovery>
  fetch(payment: PaymentKey & { providerReference: string }): Promise<PaymentReport>
  findByReference(merchantReference: string): Promise<WhitepayOrder | null>
  /** Whitepay's page of an order; null when it shows none. */
  findPage(id: string): Promise<string | null>
}

const isPage = (url: string | null | undefined): url is string => typeof url === 'string' && /^https?:\/\//.test(url)

/** The same URL works on a desktop and a phone, so the QR code leads there too. */
const instructionsOf = (providerReference: string, url: string): Ready => ({
  ...NO_INSTRUCTIONS,
  qrData: url,
  deepLink: url,
  checkoutUrl: url,
  providerReference,
})

/** @throws ProviderTrouble when the answer holds no order */
export function expectOrder(body: unknown): WhitepayOrder {
  const order = readOrder(body)
  if (!order) throw new ProviderTrouble('Whitepay answered without an order', { cause: body })
  return order
}

/** An order that cannot be found changes nothing: the slug may have been changed. */
async function readReport(
  read: () => Promise<unknown>,
  payment: PaymentKey & { providerReference: string },
  clock: Clock,
): Promise<PaymentReport> {
  try {
    return reportOf(expectOrder(await read()), payment, clock())
  } catch (error) {
    if (!(error instanceof ProviderRefusal) || error.reason !== 'state') throw error
    return { outcome: 'unknown', providerReference: payment.providerReference, providerStatus: error.message }
  }
}

const sameReference = (merchantReference: string, body: unknown): WhitepayOrder[] => {
  const rows = (body as { orders?: unknown } | null)?.orders
  if (!Array.isArray(rows)) throw new ProviderTrouble('Whitepay answered without a list of orders')
  const orders = rows.map(expectOrder)
  if (orders.some(({ reference }) => reference !== merchantReference))
    throw new ProviderTrouble('Whitepay did not filter its list by external_order_id')
  return orders
}

export function openHostedOrders(api: WhitepayApi, clock: Clock, slug: string): HostedOrders {
  const root = `/private-api/crypto-orders/${encodeURIComponent(slug)}`
  const prices = keepList(api, clock, {
    path: '/currencies/crypto-order-target-currencies',
    keys: ['currencies'],
  })
  const read = (id: string): Promise<unknown> => api({ method: 'GET', path: `${root}/${encodeURIComponent(id)}` })

  const findByReference: HostedOrders['findByReference'] = async (reference) => {
    const path = `${root}?external_order_id=${reference}&page=1&per_page=20`
    const found = sameReference(reference, await api({ method: 'GET', path, missing: 'account' }))
    return found.find((order) => !isOver(order)) ?? found[0] ?? null
  }

  const findPage: HostedOrders['findPage'] = async (id) => readOrder(await read(id))?.checkoutUrl ?? null

  return {
    peekPrice: async (payment) => choosePrice(await prices.peek(), payment),
    findByReference,
    findPage,
    async create(request) {
      const chosen = choosePrice(await prices.read(), request)
      assertWithin(chosen)
      const { returnUrl, cancelUrl, merchantReference } = request
      const body = {
        amount: formatMoney(chosen.asked),
        currency: chosen.asked.asset,
        external_order_id: merchantReference,
        ...(returnUrl === null ? {} : { successful_link: returnUrl }),
        ...(cancelUrl === null ? {} : { failure_link: cancelUrl }),
      }
      const order = expectOrder(await api({ method: 'POST', path: root, body, missing: 'account' }))
      if (!isPage(order.checkoutUrl)) throw new ProviderTrouble('Whitepay answered without acquiring_url')
      return instructionsOf(order.id, order.checkoutUrl)
    },
    async recover({ merchantReference }) {
      const order = await findByReference(merchantReference)
      if (order === null) return { outcome: 'absent' }
      // its page would only show the payer that it is over
      if (isOver(order)) return { outcome: 'lost', providerReference: order.id }
      const url = order.checkoutUrl ?? (await findPage(order.id))
      if (!isPage(url)) return { outcome: 'lost', providerReference: order.id }
      return { outcome: 'found', instructions: instructionsOf(order.id, url) }
    },
    fetch: (payment) => readReport(() => read(payment.providerReference), payment, clock),
  }
}
