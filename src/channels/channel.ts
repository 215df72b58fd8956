import type { Callback } from '../kernel/callback.ts'
import type { Goods } from '../kernel/goods.ts'
import type { Money } from '../kernel/money.ts'
import type { NetworkFault } from './deposit-checks.ts'

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
export const isChannelId = (text: string): text is ChannelId => (CHANNEL_IDS as readonly string[]).includes(text)

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

/** What identifies one attempt to pay one order, here and at its provider. */
export type PaymentKey = {
  companyId: string
  /** Ours, unique, the same in every repetition: 26 lower-case hexadecimal digits, more from attempt 100 on. */
  merchantReference: string
  /** The provider's id; null while unknown. */
  providerReference: string | null
  network: number | null
  /** What the payer owes, in USDC. */
  due: Money
  /** What the order says in fiat. */
  fiat: Money
  expiresAt: Date
}

/** One attempt to pay one order, as a channel sees it. `providerReference` is set when an earlier call got that far. */
export type PaymentRequest = PaymentKey & {
  /** For people: the goods, or the order's short code. */
  description: string
  goods: Goods | null
  returnUrl: string | null
  cancelUrl: string | null
  payerEmail: string | null
  /** Where the payer's browser connected from; null when a merchant's server accepts for him. */
  payerIp: string | null
  userAddress: string | null
  /** Where this channel's callbacks arrive. */
  callbackUrl: string
}

/** One transfer on a chain, for the page that shows how far it is. */
export type SeenTransfer = {
  network: number
  txHash: string
  /** The sender, in lower case. */
  from: string
  units: bigint
  /** When its block was made. */
  at: Date
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
  unmatched: { asset: string; units: bigint; reference: string }[]
  /** The provider says that this is not all: it never completes a payment, however little is missing. */
  isPart?: true
  /** How much the provider says was refunded so far, by us or from its console; absent where it does not say. */
  refunded?: bigint
  providerStatus: string
}

/**
 * What a provider, or the chain, says about one payment.
 * `waiting`: nothing came yet. `expired`: this attempt can no longer be paid, the order may choose again.
 * `cancelled`: by the payer, or in the provider's console. `failed`: a definite failure.
 * `blocked`: the provider's own screening holds the money. `unknown` changes nothing and is asked again; a status
 * never seen before is unknown, never paid or failed.
 */
export type PaymentReport =
  | {
      outcome: 'waiting' | 'expired' | 'cancelled' | 'failed' | 'blocked' | 'unknown'
      providerReference: string
      /** The provider's own word, for support. */
      providerStatus: string
    }
  | SeenReport

/** Money that a provider received for us: final, no transfer to watch. */
export const paidReport = (
  providerReference: string,
  {
    final,
    pending = 0n,
    refunded,
    providerStatus,
  }: { final: bigint; pending?: bigint; refunded?: bigint; providerStatus: string },
): SeenReport => ({
  outcome: 'seen',
  providerReference,
  final,
  pending,
  payerAddresses: [],
  transfers: [],
  unmatched: [],
  ...(refunded === undefined ? {} : { refunded }),
  providerStatus,
})

/** What a verified callback says of one refund, from a provider that cannot be asked about all of a payment's. */
export type RefundNews = {
  /** The provider's id of the refund. */
  reference: string
  /** Ours, when the provider hands it back; null: it may have been started from the provider's console. */
  refundId: string | null
  outcome: 'pending' | 'settled' | 'refused' | 'unknown'
  /** In the currency that the payment was priced in. */
  fiat: Money
  providerStatus: string
}

/** What a verified callback is about. It only says "look now": what is true is asked for. */
export type CallbackNews = {
  /** At least one of the two is known, else there is nothing to look at. */
  merchantReference: string | null
  providerReference: string | null
  /** What the callback claims; the query's answer decides. Null: it says nothing of a payment (a refund, a test). */
  report: PaymentReport | null
  /** It decides about a refund of ours only where `refundsByCallback` is; one from the console is told by it alone. */
  refund?: RefundNews
  /** For the log: event and status words. */
  providerStatus: string
}

/** What a provider expects as answer to a callback that was taken. */
export type Acknowledgement = { contentType: 'application/json' | 'text/plain'; body: string }

export type RefundRequest = {
  /** Ours, 24 hexadecimal digits, the same in every repetition: at most one payout is ever made for it. */
  refundId: string
  companyId: string
  merchantReference: string
  providerReference: string
  /** USDC units; `fiat` is the same share of the price in the order's currency, rounded down. */
  units: bigint
  fiat: Money
  /** The whole payment: what came, in USDC units, and its price in fiat. */
  paidUnits: bigint
  paidFiat: Money
  /** What earlier refunds of the same payment sent back through the provider, in both. */
  earlierUnits: bigint
  earlierFiat: Money
  /** The provider's id of the refund before this one of the same payment; absent: there was none. */
  lastReference?: string
  /** The provider's id of this refund, once it is known. */
  reference: string | null
  /** It may have been sent before: ask first. */
  attempted: boolean
  network: number | null
  address: string | null
  reason: string | null
}

/**
 * `manual`: not sent, a person does: no signer is set up, or the provider would send something else than was asked.
 * `unknown`: no one can tell; it is asked again with the same id, never blindly sent twice.
 */
export type RefundReport = {
  outcome: 'settled' | 'pending' | 'refused' | 'unknown' | 'manual'
  reference: string | null
  txHash: string | null
  providerStatus: string
  /** What went back of the payment in all, where the provider sent more than it was asked to. */
  refundedUnits?: bigint
}

/** The result of a creation that was never answered. */
export type Recovery =
  | { outcome: 'found'; instructions: Instructions & { providerReference: string } }
  /** The provider never heard of it: creating again with the same reference is safe. */
  | { outcome: 'absent' }
  /** It exists, but what the payer needs cannot be had again: it is closed, and another reference takes its place. */
  | { outcome: 'lost'; providerReference: string }

/** Minimum and maximum of a payment; null: no limit. */
export type ChannelLimits = { min: Money | null; max: Money | null }

/**
 * One payment provider. Stateless: no order status, nothing of its own in the database; the caller stores what it
 * returns. Every method may throw ProviderRefusal (definitely not done); after any other error the outcome is unknown.
 */
export interface Channel {
  readonly id: ChannelId
  /** Networks that the payer can choose from; empty where the question has no meaning. */
  readonly networks: readonly number[]
  /** Deposits are watched by our own scanners: looking at it costs no provider's call. */
  readonly onChain?: true
  /** The payer's link works once: accepting again makes a fresh link to the same payment by `createPayment`. */
  readonly singleUseLink?: true
  /** Checked before the call, in the order's fiat or in USDC. */
  findLimits?(payment: { due: Money; fiat: Money }): Promise<ChannelLimits>
  /** Chains that no new payment should use now: what is paid there would not be seen soon. */
  findNetworkFaults?(): Promise<readonly NetworkFault[]>
  /** With a merchantReference that was never sent before, or that `recoverPayment` called absent. */
  createPayment(request: PaymentRequest): Promise<Instructions & { providerReference: string }>
  /**
   * After a creation without an answer. Absent: `createPayment` itself is safe to repeat; or the provider can neither
   * be asked by our reference nor repeats safely, and one orphan may exist there until a callback names it.
   */
  recoverPayment?(request: PaymentRequest): Promise<Recovery>
  fetchPayment(payment: PaymentKey & { providerReference: string }): Promise<PaymentReport>
  /**
   * Verifies the raw bytes in constant time, and their age, then parses. Absent: this channel sends no callbacks.
   * @throws CallbackRefused
   */
  readCallback?(callback: Callback): Promise<CallbackNews>
  readonly acknowledgement?: Acknowledgement
  /** Ends an unpaid payment at the provider; harmless if it has already ended. `fetchPayment` tells the result. */
  closePayment?(payment: PaymentKey & { providerReference: string }): Promise<void>
  /** Sends a refund, or asks for its state. Safe to repeat with the same refundId. Absent: manual refunds only. */
  refundPayment?(refund: RefundRequest): Promise<RefundReport>
  /** The provider refunds in the order's fiat: `fiat` of the request counts, and must not be zero. */
  readonly refundsInFiat?: true
  /**
   * Only callbacks report the end of a refund. If none arrives, a person looks it up there and records that it
   * was sent, with a proof, or that it was not.
   */
  readonly refundsByCallback?: true
  /** Whether a refund's destination must be known (a chain), or the provider sends it back where it came from. */
  readonly refundsToAddress?: true
  /** Checks that a transaction which a person names pays this refund. @throws VALIDATION_FAILED saying what is wrong */
  checkRefundTransaction?(refund: RefundRequest, txHash: string): Promise<RefundReport>
}
