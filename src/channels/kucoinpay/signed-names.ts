/**
 * The signed names, in order, for each call and each kind of callback. The documentation is available to merchants
 * only; these come from public code, and the setting SIGNED_FIELDS corrects them.
 */
const DEFAULTS = {
  create: 'apiKey expireTime orderAmount orderCurrency reference requestId source subMerchantId timestamp',
  info: 'apiKey payOrderId requestId timestamp',
  close: 'apiKey requestId timestamp',
  refund: 'apiKey payID refundAmount refundReason requestId subMerchantId timestamp',
  refundInfo: 'apiKey refundId requestId timestamp',
  TRADE:
    'apiKey errorReason orderAmount orderCurrency payOrderId payTime reference refundCurrency requestId status ' +
    'subMerchantId timestamp',
  REFUND:
    'apiKey merchantId payID refundAmount refundCurrency refundFinishTime refundId remainingRefundAmount ' +
    'remainingRefundCurrency requestId status subMerchantId timestamp',
  ONCHAIN_PAYMENT:
    'apiKey assetUniqueId chain currency paymentAmount paymentCurrency paymentOrderType paymentStatus payOrderId ' +
    'requestId status subMerchantId timestamp',
  ONCHAIN_REFUND:
    'apiKey assetUniqueId chain feeAmount payOrderId refundAmount refundCurrency refundId remainingRefundAmount ' +
    'remainingRefundCurrency requestId status subMerchantId timestamp',
  PAYOUT:
    'apiKey batchNo chain currency payoutType processingFee requestId status totalAmount totalCount ' +
    'totalPaidAmount totalPayoutFee timestamp',
}

export type SignedList = keyof typeof DEFAULTS
export type SignedNames = Readonly<Record<SignedList, readonly string[]>>

export const isSignedList = (text: string): text is SignedList => Object.hasOwn(DEFAULTS, text)

const LIST = /^([A-Za-z_]+)=([A-Za-z]+(?: [A-Za-z]+)*)$/

/**
 * The lists with the operator's corrections: `create=apiKey requestId timestamp; close=…`, empty for none.
 * @throws Error naming the part that cannot be parsed
 */
export function readSignedNames(corrections: string): SignedNames {
  const lists: Record<SignedList, string> = { ...DEFAULTS }
  for (const part of corrections.split(';').map((text) => text.trim())) {
    const [, list = '', names = ''] = LIST.exec(part) ?? []
    if (part !== '' && !isSignedList(list)) throw new Error(`"${part}" is not <list>=<names>`)
    if (isSignedList(list)) lists[list] = names
  }
  const entries = Object.entries(lists).map(([list, names]) => [list, names.split(' ')])
  return Object.fromEntries(entries) as SignedNames
}
