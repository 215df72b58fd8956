import { subtract } from '../decimal.ts'
import type { ProviderPayment } from '../imitation.ts'
import {
  type CoinDeposit,
  coinOf,
  completeOf,
  depositedOf,
  depositsOf,
  expectedOf,
  overpaidOf,
  rateOf,
  receivedTotalOf,
  SETTLEMENT_ASSET,
} from './coins.ts'

const fiat = (ticker: string, min: string) => ({
  id: `fiat-${ticker.toLowerCase()}`,
  ticker,
  is_fiat: true,
  title: ticker,
  min_amount: min,
  max_amount: '1000000',
  precision: 2,
  icon: null,
})
const coin = (ticker: string, min: string, precision: number) => ({
  ...fiat(ticker, min),
  id: `coin-${ticker.toLowerCase()}`,
  is_fiat: false,
  precision,
})

/** Target currencies (reference/http, "crypto-order-target-currencies"). Neither CHF nor XPF has been seen there. */
export const CURRENCIES = [
  fiat('EUR', '0.10'),
  fiat('USD', '0.10'),
  fiat('GBP', '0.10'),
  fiat('UAH', '10'),
  coin('USDC', '0.10', 6),
  coin('USDT', '0.10', 6),
  coin('BTC', '0.00001', 8),
]

const network = (min: string) => ({ min_amount: min, max_amount: '1000000', fixed: '0', flex: '0' })
/** Networks where an address is useless without its memo. */
export const MEMO_NETWORKS: readonly string[] = ['XLM']

const walletCurrency = (nth: number, ticker: string, name: string) => ({
  id: `b1f0a1f2-0000-4000-8000-00000000000${nth}`,
  ticker,
  precision: ticker === 'BTC' ? 8 : 6,
  is_fiat: false,
  is_stable: ticker !== 'BTC',
  name,
})

/** Currencies of the acquiring family (docs/http-api/acquiring/crypto, host-to-host). */
export const WALLET_CURRENCIES = [
  {
    ...walletCurrency(1, 'USDC', 'USD Coin'),
    ...{ min: '0.10', max: '1000000', exchange_rate: '1' },
    networks: { BASE: network('0.10'), ERC20: network('5'), XLM: network('1') },
  },
  {
    ...walletCurrency(2, 'USDT', 'Tether'),
    ...{ min: '0.10', max: '1000000', exchange_rate: '1' },
    networks: { TRC20: network('1'), ERC20: network('5') },
  },
  {
    ...walletCurrency(3, 'BTC', 'Bitcoin'),
    ...{ min: '0.00001', max: '100', exchange_rate: '64000' },
    networks: { BTC: network('0.00001') },
  },
]

/** Statuses of the documentation: INIT, OPEN, PARTIALLY_FULFILLED, COMPLETE, DECLINED. */
const STATUS: Record<ProviderPayment['state'], string> = {
  open: 'OPEN',
  part: 'PARTIALLY_FULFILLED',
  confirming: 'OPEN',
  paid: 'COMPLETE',
  failed: 'DECLINED',
  expired: 'DECLINED',
  closed: 'DECLINED',
}

/** "2024-06-10 06:13:20", UTC. */
const dateText = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ')

export function statusOf(payment: ProviderPayment): string {
  if (payment.unknownStatus) return 'UNDER_REVIEW'
  if (payment.facts.completed === true) return 'COMPLETE'
  // no document says that an unfinished transaction fulfils anything
  if (payment.state === 'part' || payment.state === 'confirming')
    return completeOf(payment).length > 0 ? 'PARTIALLY_FULFILLED' : 'OPEN'
  // a coin is chosen and nothing has arrived yet
  return payment.state === 'open' && coinOf(payment) === null ? 'INIT' : STATUS[payment.state]
}

/** A crypto order as every answer and every order event shows it. */
export function orderJson(payment: ProviderPayment, url: string, status = statusOf(payment)): Record<string, unknown> {
  const { reference, amount, currency, merchantReference, facts } = payment
  const deposits = depositsOf(payment)
  const paid = deposits.length > 0
  const rate = rateOf(currency, coinOf(payment) ?? SETTLEMENT_ASSET)
  return {
    id: reference,
    order_number: String(payment.createdAt).slice(-9),
    currency,
    value: amount,
    expected_amount: expectedOf(payment),
    received_total: receivedTotalOf(payment),
    exchange_rate: rate,
    clean_exchange_rate: rate,
    is_internal: paid ? facts.isInternal : null,
    deposited_currency: coinOf(payment),
    received_currency: paid ? SETTLEMENT_ASSET : null,
    status,
    external_order_id: merchantReference,
    created_at: dateText(payment.createdAt),
    completed_at: status === 'COMPLETE' ? dateText(deposits.at(-1)?.at ?? payment.createdAt) : null,
    acquiring_url: `${url}/payments/${reference}`,
    successful_link: payment.returnUrl,
    failure_link: payment.cancelUrl,
    transactions: [
      ...deposits.map((deposit, index) => transactionJson(payment, deposit, index)),
      ...rollbacksOf(payment),
    ],
  }
}

/** The sale of a deposited coin; none when the deposit is kept as it is. */
const stockOrder = ({ value, currency, at }: CoinDeposit) => ({
  amount: value,
  status: 'COMPLETE',
  pair: `${currency}_${SETTLEMENT_ASSET}`,
  date: dateText(at).slice(0, 10),
  time: dateText(at).slice(11),
  exchange_rate: rateOf(currency, SETTLEMENT_ASSET),
  created_at: dateText(at),
})

export function transactionJson({ reference, facts }: ProviderPayment, deposit: CoinDeposit, index: number) {
  const { value, currency, at, unconfirmed = false } = deposit
  const hash = Buffer.from(`${reference}${index}`.replaceAll('-', '').slice(0, 32)).toString('hex').padEnd(64, '0')
  return {
    id: `t${index}-${reference}`,
    currency,
    value,
    // one has a status and a completed_at of its own (webhooks/events); of the order's words, OPEN fits before COMPLETE
    status: unconfirmed ? 'OPEN' : 'COMPLETE',
    hash: facts.isInternal === true ? null : `0x${hash}`,
    is_internal: facts.isInternal,
    type: 'DEPOSIT',
    created_at: dateText(at),
    completed_at: unconfirmed ? null : dateText(at),
    stock_orders: currency === SETTLEMENT_ASSET || unconfirmed ? [] : [stockOrder(deposit)],
  }
}

/** Where an overpayment goes; no document says who decides. */
export const OVERPAYMENT_TARGETS = ['client', 'merchant'] as const
export type OverpaymentTarget = (typeof OVERPAYMENT_TARGETS)[number]

/** The excess as a transaction of the order, with an id of its own (webhooks/events, "rollback to client/account"). */
export function rollbacksOf(payment: ProviderPayment) {
  const value = overpaidOf(payment)
  const deposits = depositsOf(payment)
  const last = deposits.at(-1)
  if (value === null || last === undefined || payment.state !== 'paid') return []
  const made = transactionJson(payment, { ...last, value }, deposits.length)
  const target: OverpaymentTarget = payment.facts.overpaymentTo === 'merchant' ? 'merchant' : 'client'
  // the example of ROLLBACK_TO_MERCHANT has neither, although it is COMPLETE
  const credited = target === 'merchant' ? { hash: null, completed_at: null } : {}
  return [{ ...made, ...credited, stock_orders: [], type: `ROLLBACK_TO_${target.toUpperCase()}` }]
}

/** What host-to-host answers contain: exactly what is documented, the order's other fields too, or older answers. */
export const ACQUIRING_SHAPES = ['documented', 'extended', 'under-order', 'at-root'] as const
export type AcquiringShape = (typeof ACQUIRING_SHAPES)[number]

/**
 * An order as the acquiring family shows it (http-api/static-wallets, "receive order details"): neither the merchant's
 * reference nor the price, the coin or the transactions.
 */
function staticWalletOrder(payment: ProviderPayment): Record<string, unknown> {
  const { address, network: chain, memo = null, currencyId } = payment.facts
  const expected = expectedOf(payment) ?? '0'
  return {
    id: payment.reference,
    min_deposit_amount: '0.10',
    amount: null,
    expected_amount: expected,
    network_fee: '0',
    status: statusOf(payment),
    order_type: 'CRYPTO_DONATION',
    exchange_rate: null,
    received_total: receivedTotalOf(payment),
    invoice_reminder: overpaidOf(payment) === null ? subtract(expected, depositedOf(payment)) : '0',
    payment_url: null,
    successful_link: null,
    failure_link: null,
    fixated_at: dateText(payment.createdAt),
    wallet: { address, network: chain, memo },
    currency: { id: currencyId, ticker: payment.currency },
  }
}

/** Read an order (host-to-host): `order.wallet{address,network,memo}`, `order.currency{id,ticker}` as an object. */
export function acquiringOrder(payment: ProviderPayment, url: string, shape: AcquiringShape): Record<string, unknown> {
  if (shape === 'documented') return { order: staticWalletOrder(payment) }
  const { acquiring_url: paymentUrl, ...order } = orderJson(payment, url)
  const { address, network: chain, memo } = payment.facts
  const wallet = { address, network: chain, ...(memo === undefined ? {} : { memo }) }
  const rest = {
    min_deposit_amount: '0.10',
    network_fee: '0',
    payment_url: paymentUrl,
    fixated_at: dateText(payment.createdAt),
  }
  if (shape === 'at-root') return { order: { ...order, ...rest }, ...wallet }
  if (shape === 'under-order') return { order: { ...order, ...rest, ...wallet } }
  const currency = { id: payment.facts.currencyId, ticker: payment.currency }
  return { order: { ...order, currency, ...rest, wallet } }
}
