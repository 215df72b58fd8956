import type { DeskPayment, DeskRefund, Happening } from './imitation.ts'

/** What Gate calls the states of an order and of a refund. */
const WORDS: Record<DeskPayment['state'], string> = {
  open: 'PENDING',
  part: 'PENDING',
  paid: 'PAID',
  failed: 'PAY_ERROR',
  expired: 'EXPIRED',
  closed: 'EXPIRED',
}
const REFUND_WORDS: Record<DeskRefund['state'], string> = {
  pending: 'REFUND_PROCESS',
  settled: 'REFUND_SUCCESS',
  refused: 'REFUND_REJECTED',
}

export const isLate = (payment: DeskPayment): boolean => payment.facts.late === true

const wordOf = (payment: DeskPayment): string => {
  if (payment.unknownWord) return 'UNDER_MYSTERY'
  // only callbacks are documented to tell of it
  if (payment.facts.blocked === true) return WORDS.open
  return isLate(payment) ? 'EXPIRED' : WORDS[payment.state]
}

/** Camel and snake case as the original mixes them. */
export const statusOf = (payment: DeskPayment): Record<string, unknown> => ({
  prepayId: payment.reference,
  merchantId: 10_000_001,
  merchantTradeNo: payment.merchantReference,
  transactionId: '',
  goodsName: payment.facts.goodsName ?? '',
  currency: payment.currency,
  orderAmount: payment.amount,
  status: wordOf(payment),
  createTime: payment.createdAt,
  expireTime: payment.expiresAt,
  transactTime: payment.facts.transactTime ?? 0,
  pay_currency: payment.currency,
  pay_amount: payment.amount,
  toleranceAmount: '0',
  underpaidAmount: '',
  transaction_info: { done_amount: payment.received, confirming_list: [] },
})

export const refundFields = (payment: DeskPayment, refund: DeskRefund): Record<string, unknown> => ({
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
  status: REFUND_WORDS[refund.state],
  txHash: '',
  refund_fail_reason: refund.state === 'refused' ? 'rejected by the console' : '',
  errMsg: '',
})

type Told = readonly [bizType: string, bizStatus: string]

function toldOf(payment: DeskPayment, happening: Happening, refund?: DeskRefund): Told | undefined {
  if (refund) return ['PAY_REFUND', REFUND_WORDS[refund.state]]
  if (happening === 'part') return ['PAY_ADDRESS', 'TRANSFERRED_ADDRESS_IN_TERM']
  if (happening === 'paid')
    return isLate(payment) ? ['PAY_ADDRESS', 'TRANSFERRED_ADDRESS_DELAY'] : ['PAY', 'PAY_SUCCESS']
  if (happening === 'failed') return ['PAY', payment.facts.blocked === true ? 'PAY_BLOCK' : 'PAY_ERROR']
  return happening === 'expired' || happening === 'closed' ? ['PAY', 'PAY_CLOSE'] : undefined
}

/** The body of a callback; `data` is JSON as text. Undefined: Gate says nothing of it. */
export function callbacksOf(
  payment: DeskPayment,
  happening: Happening,
  refund: DeskRefund | undefined,
  clientId: string,
): string | undefined {
  const told = toldOf(payment, happening, refund)
  if (!told) return undefined
  const { reference, merchantReference, amount, currency, createdAt } = payment
  const order = {
    merchantTradeNo: merchantReference,
    productType: '',
    productName: payment.facts.goodsName ?? '',
    tradeType: 'WEB',
    goodsName: payment.facts.goodsName ?? '',
    terminalType: 'WEB',
    currency,
    totalFee: amount,
    orderAmount: amount,
    createTime: createdAt,
    transactionId: '',
  }
  const [bizType, bizStatus] = told
  const data = JSON.stringify(refund ? refundFields(payment, refund) : order)
  return JSON.stringify({ bizType, bizId: refund?.id ?? reference, bizStatus, client_id: clientId, data })
}
