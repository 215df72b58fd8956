import type { Money } from '../money.ts'

export const CHANNEL_IDS = [
  'binance',
  'whitepay',
  'whitepay-non-custody',
  'cryptopay',
  'crypto',
  'gatepay',
  'coinbase',
  'kucoinpay',
] as const
export type ChannelId = (typeof CHANNEL_IDS)[number]

/** What the payer needs in order to pay; null where it has no meaning for the channel. */
export type Instructions = {
  qrData: string | null
  deepLink: string | null
  checkoutUrl: string | null
  toAddress: string | null
  /** Decimal text with 6 digits. */
  tokenAmount: string | null
  tokenAddress: string | null
  network: number | null
  /** EIP-681 */
  paymentUri: string | null
  providerReference: string | null
}

export const NO_INSTRUCTIONS: Instructions = {
  qrData: null,
  deepLink: null,
  checkoutUrl: null,
  toAddress: null,
  tokenAmount: null,
  tokenAddress: null,
  network: null,
  paymentUri: null,
  providerReference: null,
}

/** One attempt to pay one order, as a channel sees it. */
export type PaymentRequest = {
  companyId: string
  /** Ours, the same in every repetition: travels as the provider's idempotency key where there is one. */
  merchantReference: string
  /** What the payer owes, in USDC. */
  due: Money
  /** What the order says in fiat. */
  fiat: Money
  network: number | null
  expiresAt: Date
  description: string
  returnUrl: string | null
  cancelUrl: string | null
  payerEmail: string | null
  userAddress: string | null
  /** Set when an earlier call got that far: a repetition must lead to the same payment. */
  providerReference: string | null
}

/** One transfer on a chain, for the page that shows how far it is. */
export type SeenTransfer = {
  network: number
  txHash: string
  units: bigint
  final: boolean
  confirmations: number
  /** Null where no number decides (a tag of the node). */
  needed: number | null
}

/** Money was seen. `final` cannot disappear any more, `pending` still can. In smallest units of the due asset. */
export type SeenReport = {
  outcome: 'seen'
  providerReference: string
  final: bigint
  pending: bigint
  payerAddresses: string[]
  transfers: SeenTransfer[]
  /** Other tokens that came to the same place: noticed, never counted. */
  strays: { asset: string; units: bigint; reference: string }[]
  words: string
}

/**
 * What a provider, or the chain, says about one payment. `unknown` changes nothing and is asked again; words that
 * nobody has seen before are unknown, never paid or failed.
 */
export type PaymentReport =
  | { outcome: 'waiting' | 'expired' | 'unknown'; providerReference: string; words: string }
  | SeenReport
  | { outcome: 'failed'; providerReference: string; words: string }

export type Callback = { headers: Record<string, string | string[] | undefined>; rawBody: Buffer }

export type RefundRequest = {
  /** Ours, the same in every repetition: at most one payout for it, whatever happens in between. */
  refundId: string
  companyId: string
  merchantReference: string
  providerReference: string
  /** USDC units; `fiat` is the same share of the price in the order's currency, rounded down. */
  units: bigint
  fiat: Money
  network: number | null
  address: string | null
  reason: string | null
}

/**
 * `manual`: this channel cannot send here (no signer is set up); a person sends and names the transaction.
 * `unknown`: nobody can say; it is asked again with the same id, never sent blindly a second time.
 */
export type RefundReport = {
  outcome: 'settled' | 'pending' | 'refused' | 'unknown' | 'manual'
  reference: string | null
  txHash: string | null
  words: string
}

/**
 * One payment provider. Stateless: no order status, nothing of its own in the database; the caller stores what it
 * returns.
 */
export interface Channel {
  readonly id: ChannelId
  /** Networks that the payer can choose from; empty where the question has no meaning. */
  readonly networks: readonly number[]
  /** Safe to repeat with the same merchantReference. Throws CHANNEL_UNAVAILABLE when the outcome is unknown. */
  createPayment(request: PaymentRequest): Promise<Instructions & { providerReference: string }>
  fetchPayment(payment: {
    providerReference: string
    merchantReference: string
    network: number | null
  }): Promise<PaymentReport>
  /** Verifies the raw bytes, then parses. Absent: this channel sends no callbacks. */
  readCallback?(callback: Callback): Promise<{ merchantReference: string | null; report: PaymentReport }>
  /** Ends an unpaid payment at the provider; done already is fine. */
  closePayment?(payment: { providerReference: string; merchantReference: string }): Promise<void>
  /** Sends money back. Safe to repeat with the same refundId. Absent: only by hand. */
  refundPayment?(refund: RefundRequest): Promise<RefundReport>
  /** Whether a refund's destination must be known (a chain), or the provider sends it back where it came from. */
  readonly refundsToAddress?: true
  /** Checks that a transaction which a person names pays this refund. @throws VALIDATION_FAILED saying what is wrong */
  checkRefundTransaction?(refund: RefundRequest, txHash: string): Promise<RefundReport>
}
