import { createHmac } from 'node:crypto'
import type { DeskPayment, Happening, SignedCallback } from './imitation.ts'
import { orderJson, transactionJson } from './whitepay-words.ts'

/** One token for each payment page by its slug, and the general one. */
export type Tokens = { page: Record<string, string>; merchant: string }

type Sender = { url: string; target: string; tokens: Tokens; escapedSlashes: boolean }

const signed = (target: string, token: string, body: string, message = body): SignedCallback => ({
  url: target,
  headers: {
    'content-type': 'application/json',
    signature: createHmac('sha256', token).update(message).digest('hex'),
  },
  body,
})

function orderEvent(payment: DeskPayment, event: string, sender: Sender, status?: string): SignedCallback {
  const { url, target, tokens, escapedSlashes } = sender
  const body = JSON.stringify({ order: orderJson(payment, url, status), event_type: event })
  const token = tokens.page[String(payment.facts.slug)] ?? ''
  return signed(target, token, body, escapedSlashes ? body.replaceAll('/', '\\/') : body)
}

function transactionEvent(payment: DeskPayment, { target, tokens }: Sender): SignedCallback {
  const transaction = {
    ...transactionJson(payment),
    order_id: payment.reference,
    external_order_id: payment.merchantReference,
  }
  return signed(target, tokens.merchant, JSON.stringify({ transaction, event_type: 'transaction::complete' }))
}

/** Nothing is told of a new order; when old news comes late, it is that a part had arrived. */
export function callbacksOf(payment: DeskPayment, happening: Happening, sender: Sender): SignedCallback[] {
  const event = (name: string, status?: string): SignedCallback => orderEvent(payment, `order::${name}`, sender, status)
  if (happening === 'created')
    return payment.received === '0' ? [] : [event('partially_fulfilled', 'PARTIALLY_FULFILLED')]
  if (happening === 'part') return [event('partially_fulfilled')]
  if (happening === 'paid') return [transactionEvent(payment, sender), event('completed')]
  if (happening === 'failed' || happening === 'expired' || happening === 'closed') return [event('declined')]
  return []
}

/** What somebody sends who has no token. */
export const forge = (callback: SignedCallback): SignedCallback => ({
  ...signed(callback.url, 'a guess', callback.body),
})
