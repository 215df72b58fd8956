import { randomBytes, randomInt } from 'node:crypto'
import { subtract } from '../decimal.ts'
import type { Deposit, PaymentEvent, ProviderPayment, ProviderRefund, Unresolved } from '../imitation.ts'

/**
 * Order statuses of the query: PENDING, PROCESS, PAID, EXPIRED (official Java SDK, address query). PAY_ERROR is
 * documented for callbacks only ("webhooks"). The query's status after a close is unknown.
 */
const STATUS: Record<ProviderPayment['state'], string> = {
  open: 'PENDING',
  part: 'PENDING',
  confirming: 'PROCESS',
  paid: 'PAID',
  failed: 'PAY_ERROR',
  expired: 'EXPIRED',
  closed: 'EXPIRED',
}
/** Possible statuses of the query after a close; the sandbox's staff choose one. */
export const CLOSED_STATUSES = ['EXPIRED', 'CANCELLED', 'CLOSED'] as const
export type ClosedStatus = (typeof CLOSED_STATUSES)[number]

/** Refund statuses ("webhooks"). */
const REFUND_STATUS: Record<ProviderRefund['state'], string> = {
  pending: 'REFUND_PROCESS',
  settled: 'REFUND_SUCCESS',
  refused: 'REFUND_REJECTED',
}

export const isLate = (payment: ProviderPayment): boolean => payment.facts.late === true

const statusOf = (payment: ProviderPayment, closed: ClosedStatus): string => {
  if (payment.unknownStatus) return 'UNDER_MYSTERY'
  // a block is documented for callbacks only
  if (payment.facts.blocked === true) return STATUS.open
  if (payment.state === 'closed' || payment.facts.closedBefore === true) return closed
  return isLate(payment) ? 'EXPIRED' : STATUS[payment.state]
}

/**
 * A deposit waits in `confirming_list` until the chain confirms it. `done_amount` grows with each deposit, before the
 * order's end and after it: all of them are credited (addresspayment/callback, "notes").
 */
function transactionInfo({ state, received }: ProviderPayment): Record<string, unknown> {
  if (state === 'confirming') return { done_amount: '0', confirming_list: [{ amount: received, confirm: 1 }] }
  return { done_amount: received, confirming_list: [] }
}

const underpaid = ({ state, amount, received }: ProviderPayment): string =>
  state === 'part' ? subtract(amount, received) : ''

/** Switches for the sandbox's staff, where the documents leave a choice. */
export type Quirks = { closedStatus: ClosedStatus; zeroPayAmount: boolean }

/**
 * Empty and "0" while nothing has arrived (callpayment/query and webpayment/orderQuery, examples of EXPIRED). No
 * document shows an expired order with money: a switch has the same words there.
 */
function payFields(payment: ProviderPayment, { closedStatus, zeroPayAmount }: Quirks): Record<string, unknown> {
  const { received, currency, amount } = payment
  const isEmpty = received === '0' || (zeroPayAmount && statusOf(payment, closedStatus) === 'EXPIRED')
  return { pay_currency: isEmpty ? '' : currency, pay_amount: isEmpty ? '0' : amount }
}

/** The query's answer; it mixes camel and snake case as the original does (official Go SDK). */
export const orderFields = (payment: ProviderPayment, quirks: Quirks): Record<string, unknown> => ({
  prepayId: payment.reference,
  merchantId: 10_000_001,
  merchantTradeNo: payment.merchantReference,
  transactionId: '',
  goodsName: payment.facts.goodsName ?? '',
  currency: payment.currency,
  orderAmount: payment.amount,
  status: statusOf(payment, quirks.closedStatus),
  createTime: payment.createdAt,
  expireTime: payment.expiresAt,
  transactTime: payment.facts.transactTime ?? 0,
  ...payFields(payment, quirks),
  actualCurrency: payment.received === '0' ? '' : payment.currency,
  actualAmount: payment.received === '0' ? '' : payment.received,
  toleranceAmount: payment.facts.tolerance ?? '0',
  underpaidAmount: underpaid(payment),
  chain: payment.facts.chain ?? '',
  fullCurrType: payment.facts.fullCurrType ?? '',
  address: payment.facts.address ?? '',
  transaction_info: transactionInfo(payment),
})

export const refundFields = (payment: ProviderPayment, refund: ProviderRefund): Record<string, unknown> => ({
  refundRequestId: refund.requestId,
  refundGateId: refund.id,
  gateRefundId: refund.id,
  prepayId: payment.reference,
  orderId: payment.reference,
  merchantTradeNo: payment.merchantReference,
  orderAmount: payment.amount,
  orderCurrency: payment.currency,
  refundAmount: refund.amount,
  requestAmount: refund.amount,
  requestCurrency: payment.currency,
  amount: refund.amount,
  currency: payment.currency,
  status: REFUND_STATUS[refund.state],
  txHash: '',
  refund_fail_reason: refund.state === 'refused' ? 'rejected by the console' : '',
  errMsg: '',
})

type Notice = readonly [bizType: string, bizStatus: string]

function noticeOf(payment: ProviderPayment, event: PaymentEvent, refund?: ProviderRefund): Notice | undefined {
  if (refund) return ['PAY_REFUND', REFUND_STATUS[refund.state]]
  // TRANSFER_ADDRESS: funds that arrive, each payment by itself (help centre, "Gate Pay callback interpretation")
  const isDelayed = isLate(payment) || payment.facts.surplus === true
  const arrival = ['TRANSFER_ADDRESS', `TRANSFERRED_ADDRESS_${isDelayed ? 'DELAY' : 'IN_TERM'}`] as const
  if (event === 'part' || event === 'confirming') return arrival
  if (event === 'paid') return isDelayed ? arrival : ['PAY', 'PAY_SUCCESS']
  if (event === 'failed') return ['PAY', payment.facts.blocked === true ? 'PAY_BLOCK' : 'PAY_ERROR']
  // enough money in time, and not confirmed at the end (addresspayment/callback, "notes")
  if (event === 'expired' && payment.state === 'confirming') return ['PAY_ADDRESS', 'PAY_EXPIRED_IN_PROCESS']
  return event === 'expired' || event === 'closed' ? ['PAY', 'PAY_CLOSE'] : undefined
}

/** The body of a callback ("webhooks"); `data` is JSON as text. Undefined: Gate sends none. */
export function callbacksOf(
  payment: ProviderPayment,
  event: PaymentEvent,
  refund: ProviderRefund | undefined,
  clientId: string,
): string | undefined {
  const notice = noticeOf(payment, event, refund)
  if (!notice) return undefined
  const { reference, merchantReference, amount, currency, createdAt } = payment
  const order = {
    merchantTradeNo: merchantReference,
    productType: '',
    productName: payment.facts.goodsName ?? '',
    tradeType: 'WEB',
    goodsName: payment.facts.goodsName ?? '',
    terminalType: 'WEB',
    currency,
    orderAmount: amount,
    createTime: createdAt,
    transactionId: '',
  }
  const [bizType, bizStatus] = notice
  if (!refund) {
    const data = JSON.stringify({ ...order, totalFee: amount })
    return JSON.stringify({ bizType, bizId: reference, bizStatus, client_id: clientId, data })
  }
  // callpayment/refundNotify, "example message"
  const refundInfo = {
    refundRequestId: refund.requestId,
    prepayId: reference,
    orderAmount: amount,
    refundAmount: refund.amount,
    refundPayCurrency: currency,
    refundPayAmount: refund.amount,
  }
  const data = JSON.stringify({ ...order, refundInfo, channelId: '' })
  return JSON.stringify({ bizType, bizId: reference, bizStatus, clientId, data })
}

/** Those of an address that belongs to one order (help centre, "Gate Pay callback interpretation"). */
const ERROR_TYPES: Record<Unresolved, string> = {
  'wrong-coin': 'address_error_currency',
  'wrong-chain': 'address_error_chain',
  'risk-address': 'address_risk_address',
}
const anyAddress = (): string => `0x${randomBytes(20).toString('hex')}`

/**
 * The callback about money that Gate holds and does not credit (fundrecords/unresolvedPayNotify, "example"; help
 * centre, "payment handling guide"). `data` is an object, and only `originalOrderId` names the order.
 */
export function unresolvedBody(payment: ProviderPayment, reason: Unresolved, deposit: Deposit, now: number): string {
  const { reference, amount, currency, facts } = payment
  const { chain = 'ETH', address = anyAddress() } = facts
  const { currency: coin = currency === 'USDT' ? 'USDC' : 'USDT' } = deposit
  if (reason === 'wrong-coin' && coin === currency) throw new Error(`${currency} is the coin of this payment`)
  const data = {
    exceptionId: String(randomInt(1e12)),
    orderType: 'acquiring_type',
    errorType: ERROR_TYPES[reason],
    originalOrderId: reference,
    expectedAmount: amount,
    expectedChainCurrency: [{ chain, currencies: [currency] }],
    actualAmount: deposit.amount ?? amount,
    actualCurrency: reason === 'wrong-coin' ? coin : currency,
    actualChain: reason !== 'wrong-chain' ? chain : chain === 'BSC' ? 'ETH' : 'BSC',
    customerName: '',
    toAddress: address,
    fromAddress: anyAddress(),
    hash: `0x${randomBytes(32).toString('hex')}`,
    updateTime: now,
  }
  // "identifier linked to the exception; actual payload may vary": one example differs from exceptionId
  const bizId = String(randomInt(1e6))
  return JSON.stringify({ bizType: 'PAY_UNRESOLVED', bizId, bizStatus: 'UNRESOLVED_PENDING', data })
}
