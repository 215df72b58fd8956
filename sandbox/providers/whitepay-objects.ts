import { isAtLeast } from './decimal.ts'
import type { DeskPayment } from './imitation.ts'

const fiat = (ticker: string, least: string) => ({
  id: `fiat-${ticker.toLowerCase()}`,
  ticker,
  is_fiat: true,
  title: ticker,
  min_amount: least,
  max_amount: '1000000',
  precision: 2,
  icon: null,
})
const coin = (ticker: string, least: string, precision: number) => ({
  ...fiat(ticker, least),
  id: `coin-${ticker.toLowerCase()}`,
  is_fiat: false,
  precision,
})

/** Neither CHF nor XPF: such orders are priced in USDC. */
export const CURRENCIES = [
  fiat('EUR', '0.10'),
  fiat('USD', '0.10'),
  fiat('GBP', '0.10'),
  fiat('UAH', '10'),
  coin('USDC', '0.10', 6),
  coin('USDT', '0.10', 6),
  coin('BTC', '0.00001', 8),
]

const network = (least: string) => ({ min_amount: least, max_amount: '1000000', fixed: '0', flex: '0' })

/** What the acquiring family takes. */
export const WALLET_CURRENCIES = [
  {
    id: 'b1f0a1f2-0000-4000-8000-000000000001',
    ticker: 'USDC',
    precision: 6,
    is_fiat: false,
    is_stable: true,
    name: 'USD Coin',
    min: '0.10',
    max: '1000000',
    networks: { BASE: network('0.10'), ERC20: network('5') },
    exchange_rate: '1',
  },
]

const STATUS: Record<DeskPayment['state'], string> = {
  open: 'OPEN',
  part: 'PARTIALLY_FULFILLED',
  paid: 'COMPLETE',
  failed: 'DECLINED',
  expired: 'DECLINED',
  closed: 'DECLINED',
}

/** "2024-06-10 06:13:20", UTC. */
const dateText = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ')

export function statusOf(payment: DeskPayment): string {
  if (payment.unknownWord) return 'UNDER_REVIEW'
  return payment.facts.completed === true ? 'COMPLETE' : STATUS[payment.state]
}

/** A crypto order as every answer and every order event shows it. */
export function orderJson(payment: DeskPayment, url: string, status = statusOf(payment)): Record<string, unknown> {
  const { reference, amount, currency, received, merchantReference, facts } = payment
  const paid = received !== '0'
  const completed = isAtLeast(received, amount) ? dateText(payment.createdAt) : null
  return {
    id: reference,
    order_number: String(payment.createdAt).slice(-9),
    currency,
    value: amount,
    expected_amount: amount,
    received_total: received,
    exchange_rate: '1',
    clean_exchange_rate: '1',
    is_internal: paid ? facts.isInternal : null,
    deposited_currency: paid ? 'USDT' : null,
    received_currency: paid ? currency : null,
    status,
    external_order_id: merchantReference,
    created_at: dateText(payment.createdAt),
    completed_at: completed,
    acquiring_url: `${url}/payments/${reference}`,
    successful_link: payment.returnUrl,
    failure_link: payment.cancelUrl,
    transactions: paid ? [transactionJson(payment)] : [],
  }
}

export function transactionJson({ reference, amount, currency, received, facts, createdAt }: DeskPayment) {
  return {
    id: `t-${reference}`,
    currency,
    value: received === '0' ? amount : received,
    status: 'COMPLETE',
    hash: null,
    is_internal: facts.isInternal,
    type: 'DEPOSIT',
    created_at: dateText(createdAt),
    completed_at: dateText(createdAt),
    stock_orders: [],
  }
}

/** The acquiring family writes the same order with where to pay to, beside the object as public code reads it. */
export function acquiringOrder(payment: DeskPayment, url: string): Record<string, unknown> {
  const { acquiring_url: paymentUrl, ...order } = orderJson(payment, url)
  const { address, network: chain } = payment.facts
  const place = { address, network: chain, min_deposit_amount: '0.10', network_fee: '0', payment_url: paymentUrl }
  return { order: { ...order, ...place } }
}
