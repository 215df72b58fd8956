import { createHmac, randomUUID } from 'node:crypto'
import type { PaymentEvent, ProviderPayment, SignedCallback } from '../imitation.ts'

/** One purchase of the payer. `txHash` is "0x" until the USDC is sent (OnrampTransactionPayload). */
export type Purchase = {
  id: string
  status: 'CREATED' | 'IN_PROGRESS' | 'SUCCESS' | 'FAILED' | 'ON_HOLD'
  amount: string
  txHash: string
  createdAt: number
  completedAt: number | null
}

const ZERO_DATE = '0001-01-01T00:00:00Z'
/** `ONRAMP_TRANSACTION_STATUS_…` (openapi.yaml; "transaction status"). */
const statusText = (status: Purchase['status']): string => `ONRAMP_TRANSACTION_STATUS_${status}`

export const newPurchase = (fields: Pick<Purchase, 'amount' | 'createdAt' | 'status'>): Purchase => ({
  id: randomUUID(),
  txHash: '0x',
  completedAt: null,
  ...fields,
})

const kept = ({ facts }: ProviderPayment): Purchase[] => (facts.purchases as Purchase[] | undefined) ?? []

/** Newest first; a failed payment and an unknown status each add a purchase. */
export function purchasesOf(payment: ProviderPayment): Purchase[] {
  const { amount, createdAt, state, unknownStatus, reference } = payment
  const extra = (status: Purchase['status']): Purchase => ({
    ...newPurchase({ amount, createdAt, status }),
    id: `${reference}-${status}`,
  })
  const said = [...(unknownStatus ? [extra('ON_HOLD')] : []), ...(state === 'failed' ? [extra('FAILED')] : [])]
  return [...said, ...kept(payment).toReversed()]
}

const FEE = { value: '0.00', currency: 'USD' }

function fieldsOf(payment: ProviderPayment, purchase: Purchase): Record<string, unknown> {
  const value = { value: purchase.amount, currency: 'USDC' }
  const completedAt = purchase.completedAt === null ? ZERO_DATE : new Date(purchase.completedAt).toISOString()
  return {
    status: statusText(purchase.status),
    purchaseCurrency: 'USDC',
    purchaseNetwork: payment.facts.network,
    purchaseAmount: value,
    paymentTotal: { value: purchase.amount, currency: 'USD' },
    paymentSubtotal: { value: purchase.amount, currency: 'USD' },
    coinbaseFee: FEE,
    networkFee: FEE,
    exchangeRate: { value: '1', currency: 'USD' },
    txHash: purchase.txHash,
    createdAt: new Date(purchase.createdAt).toISOString(),
    completedAt,
    country: 'FR',
    userId: 'sandbox-payer',
    paymentMethod: 'CARD',
    walletAddress: payment.reference,
    type: 'ONRAMP_TRANSACTION_TYPE_BUY_AND_SEND',
    transactionId: purchase.id,
    partnerUserRef: payment.facts.partnerUserRef,
    ...(purchase.status === 'FAILED' ? { failureReason: 'FAILURE_REASON_BUY_FAILED' } : {}),
  }
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A transaction of the v1 status answer, in snake case. */
export const statusJson = (payment: ProviderPayment, purchase: Purchase): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fieldsOf(payment, purchase)).map(([name, value]) => [snake(name), value]))

export type Sender = { target: string; secret: string; now(): number }

const NAMES = ['content-type', 'x-event-id', 'x-event-type'] as const

/** Hook0's `v1` over time, header names, their values and the body. */
function signed(body: string, event: string, { target, secret, now }: Sender): SignedCallback {
  const headers = { 'content-type': 'application/json', 'x-event-id': randomUUID(), 'x-event-type': event }
  const time = Math.floor(now() / 1000)
  const list = NAMES.join(' ')
  const message = [time, list, ...NAMES.map((name) => headers[name]), body].join('.')
  const v1 = createHmac('sha256', secret).update(message).digest('hex')
  return { url: target, headers: { ...headers, 'x-hook0-signature': `t=${time},h=${list},v1=${v1}` }, body }
}

const eventOf = (payment: ProviderPayment, purchase: Purchase, name: string, sender: Sender): SignedCallback => {
  const event = `onramp.transaction.${name}`
  return signed(JSON.stringify({ eventType: event, ...fieldsOf(payment, purchase) }), event, sender)
}

/** A purchase has three events: created, updated, success; only the last has its transaction hash. */
export function callbacksOf(payment: ProviderPayment, event: PaymentEvent, sender: Sender): SignedCallback[] {
  const { amount, createdAt } = payment
  const last = kept(payment).at(-1)
  if (event === 'created')
    return last ? [eventOf(payment, { ...last, status: 'CREATED', txHash: '0x' }, 'created', sender)] : []
  if (event === 'failed')
    return [eventOf(payment, newPurchase({ amount, createdAt, status: 'FAILED' }), 'failed', sender)]
  if (event !== 'paid' && event !== 'part') return []
  const sent = last ?? newPurchase({ amount, createdAt, status: 'SUCCESS' })
  const begun = { txHash: '0x', completedAt: null }
  return [
    eventOf(payment, { ...sent, ...begun, status: 'CREATED' }, 'created', sender),
    eventOf(payment, { ...sent, ...begun, status: 'IN_PROGRESS' }, 'updated', sender),
    eventOf(payment, sent, 'success', sender),
  ]
}

/** The same body, signed by a stranger without the subscription's secret. */
export const forge = (callback: SignedCallback, now: () => number): SignedCallback =>
  signed(callback.body, String(callback.headers['x-event-type']), { target: callback.url, secret: 'a guess', now })
