import { createHmac } from 'node:crypto'
import type { PaymentEvent, ProviderPayment, SignedCallback } from '../imitation.ts'
import { coinOf, depositsOf, SETTLEMENT_ASSET } from './coins.ts'
import { orderJson, rollbacksOf, transactionJson } from './objects.ts'

/** One token per payment page, by its slug, and the merchant's general token. */
export type Tokens = { page: Record<string, string>; merchant: string }

type Sender = { url: string; target: string; tokens: Tokens; escapedSlashes: boolean }

/** `Signature` = lower-case hex HMAC-SHA256 of the body (docs/webhooks/auth). */
const signed = (target: string, token: string, body: string, message = body): SignedCallback => ({
  url: target,
  headers: {
    'content-type': 'application/json',
    signature: createHmac('sha256', token).update(message).digest('hex'),
  },
  body,
})

/** The body as an older PHP writer encodes it: every slash escaped, everything beyond ASCII as \uXXXX. */
const escaped = (body: string): string =>
  body
    .replaceAll('/', '\\/')
    .replace(/[\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Order events are signed with the token of the payment page. */
function orderEvent(payment: ProviderPayment, event: string, sender: Sender, status?: string): SignedCallback {
  const { url, target, tokens, escapedSlashes } = sender
  const body = JSON.stringify({ order: orderJson(payment, url, status), event_type: event })
  const token = tokens.page[String(payment.facts.slug)] ?? ''
  return signed(target, token, body, escapedSlashes ? escaped(body) : body)
}

/** Transaction, withdrawal and rollback events are signed with the merchant's general token. */
function transactionEvent(payment: ProviderPayment, event: string, { target, tokens }: Sender): SignedCallback {
  const { reference, merchantReference, createdAt } = payment
  const deposits = depositsOf(payment)
  // a forged callback claims a deposit that never arrived
  const last = deposits.at(-1) ?? { value: payment.amount, currency: SETTLEMENT_ASSET, received: '0', at: createdAt }
  const made = transactionJson(payment, last, Math.max(0, deposits.length - 1))
  const transaction = { ...made, order_id: reference, external_order_id: merchantReference }
  return signed(target, tokens.merchant, JSON.stringify({ transaction, event_type: event }))
}

/** The events of docs/webhooks/events. A new order has none; a reordered callback reports that a part had arrived. */
export function callbacksOf(payment: ProviderPayment, event: PaymentEvent, sender: Sender): SignedCallback[] {
  const order = (name: string, status?: string): SignedCallback => orderEvent(payment, `order::${name}`, sender, status)
  if (event === 'created') return payment.received === '0' ? [] : [order('partially_fulfilled', 'PARTIALLY_FULFILLED')]
  if (event === 'part') return depositsOf(payment).at(-1)?.unconfirmed ? [] : [order('partially_fulfilled')]
  if (event === 'failed' || event === 'expired' || event === 'closed') return [order('declined')]
  if (event !== 'paid') return []
  const sold = coinOf(payment) !== null && coinOf(payment) !== SETTLEMENT_ASSET
  return [
    transactionEvent(payment, 'transaction::complete', sender),
    ...(sold && payment.facts.announcesConversion === true ? conversionEvents(payment, sender) : []),
    order('completed'),
    ...rollbackEvents(payment, sender),
  ]
}

/** The excess is returned or credited ("rollback to client/account"): a transaction without our reference. */
const rollbackEvents = (payment: ProviderPayment, { target, tokens }: Sender): SignedCallback[] =>
  rollbacksOf(payment).map((made) => {
    const transaction = { ...made, order_id: payment.reference, external_order_id: null }
    const event = made.type.toLowerCase().replace('_', '::')
    return signed(target, tokens.merchant, JSON.stringify({ transaction, event_type: event }))
  })

/** Money has arrived and is being sold. The order's status meanwhile is not documented. */
const conversionEvents = (payment: ProviderPayment, sender: Sender): SignedCallback[] => [
  orderEvent(payment, 'order::final_amount_was_received', sender, 'OPEN'),
  transactionEvent(payment, 'transaction::was_final_exchange', sender),
]

/** The same body, signed by a stranger without a token. */
export const forge = (callback: SignedCallback): SignedCallback => ({
  ...signed(callback.url, 'a guess', callback.body),
})
