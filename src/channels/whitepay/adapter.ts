import type { Channel, ChannelId } from '../channel.ts'
import { type ChannelContext, defineChannel } from '../kind.ts'
import { openWhitepayApi } from './api.ts'
import { readWhitepayCallback } from './callback.ts'
import { openHostedOrders } from './orders.ts'
import { settings, type WhitepayValues } from './settings.ts'

/**
 * A crypto order that the payer pays on Whitepay's page, from the WhiteBIT app or from any wallet. No call closes or
 * refunds an order: a person does that in the CRM, or refunds on a chain.
 */
export function openHosted(values: WhitepayValues, context: ChannelContext, place: { id: ChannelId; slug: string }) {
  const api = openWhitepayApi(context.http, { base: values.BASE_URL, token: values.TOKEN })
  const orders = openHostedOrders(api, context.clock, place.slug)
  const channel = {
    id: place.id,
    networks: [],
    findLimits: async (payment) => {
      const { min, max } = await orders.peekPrice(payment)
      return { min, max }
    },
    createPayment: orders.create,
    recoverPayment: orders.recover,
    fetchPayment: orders.fetch,
    readCallback: async (callback) => readWhitepayCallback(values, callback),
    acknowledgement: { contentType: 'text/plain', body: 'OK' },
  } satisfies Channel
  return { api, orders, channel }
}

export const whitepay = defineChannel({
  id: 'whitepay',
  env: 'WHITEPAY',
  settings,
  accountOf: ({ SLUG }) => SLUG,
  open: (values, context) => openHosted(values, context, { id: 'whitepay', slug: values.SLUG }).channel,
})
