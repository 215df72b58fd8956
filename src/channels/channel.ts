import type { Queryable, Tx } from '../db/db.ts'
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
/**
 * Channels whose payers send to a deposit address of ours, or of the company, which our scanners watch (`onChain`): by
 * what is stored, so that the answer does not depend on the keys and chains of the node that asks. An address that
 * another channel shows is its provider's.
 */
export const ON_CHAIN_CHANNELS: readonly ChannelId[] = ['crypto', 'coinbase']
export const isChannelId = (text: string): text is ChannelId => (CHANNEL_IDS as readonly string[]).includes(text)

/** What the payer needs in order to pay; null if a field does not apply to the channel. */
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

/** Identifies one attempt to pay one order, here and at its provider. */
export type PaymentKey = {
  companyId: string
  /** Our unique reference, the same in every repetition: 26 lower-case hexadecimal digits, more from attempt 100 on. */
  merchantReference: string
  /** The provider's id; null while unknown. */
  providerReference: string | null
  network: number | null
  /** Contract of the token that the payer was asked to send, in lower case; absent if no token was named. */
  tokenAddress?: string | null
  /** What the payer owes, in USDC. */
  due: Money
  /** The order's price in fiat. */
  fiat: Money
  expiresAt: Date
}

/** One attempt to pay one order, as a channel sees it. `providerReference` is set if an earlier call obtained it. */
export type PaymentRequest = PaymentKey & {
  /** For people: the goods, or the order's short code. */
  description: string
  goods: Goods | null
  returnUrl: string | null
  cancelUrl: string | null
  payerEmail: string | null
  /** Where the payer's browser connected from; null when a merchant's server accepts on the payer's behalf. */
  payerIp: string | null
  userAddress: string | null
  /** URL for this channel's callbacks. */
  callbackUrl: string
}

/** One transfer on a chain, for the page that shows its progress. */
export type SeenTransfer = {
  network: number
  txHash: string
  /** The sender, in lower case. */
  from: string
  units: bigint
  /** Block time. */
  at: Date
  final: boolean
  confirmations: number
  /** Null if no number decides (a block tag of the node). */
  needed: number | null
}

/** Money of a payment that does not count towards it. A person decides about it. */
export type UnmatchedMoney = {
  asset: string
  /** All of that asset that arrived under the reference. Each growth is recorded on its own. */
  units: bigint
  reference: string
  /** The reference names one sum: if its coin changes, it is the same money. */
  isOneSum?: true
  /** All that came through the payment, also what it counts, and what is recorded under `alreadyRecorded`. */
  isTotal?: true
}

/** Of money that its provider's screening froze: it cannot be sent back, and its payer must not learn why. */
export const isFrozen = (reference: string): boolean => reference.includes(':frozen:')

/** References of money that its provider may still count for the order, whatever its coin; a pattern, also in SQL. */
export const CREDITABLE = '^(gatepay:.+:late|whitepay:)'

/** What a provider tells of all that came through a payment, whatever became of it. */
export type Total = {
  /** What the payer was asked for there: no more than that pays the order. */
  price: bigint
  /** References of money recorded beside the payment that is part of the total; with a colon at its end: all below. */
  contains: readonly string[]
  /** Reference of what is above the price and has no other name, in USDC. Absent: the provider still has to name it. */
  above?: string
  /** So many units of the payer's coin are the price. Absent: only dollar coins have a known value. */
  rate?: { asset: string; units: bigint }
  /** Money above the price that only a callback told of may be missing in it. */
  mayOmit?: true
  /** The total is the price, and more may have come: no amount is named. What was credited before still is. */
  isLeast?: true
}

/** Money was seen. `final` cannot disappear any more, `pending` still can. In smallest units of the due asset. */
export type SeenReport = {
  outcome: 'seen'
  providerReference: string
  final: bigint
  pending: bigint
  payerAddresses: string[]
  transfers: SeenTransfer[]
  /** Other tokens that arrived at the same place: recorded, never counted. */
  unmatched: UnmatchedMoney[]
  /**
   * `final` is all that came, also what is above the price, beside the payment or decided about. `unmatched` under a
   * reference that it contains is named with the most that it can be: what is above the price is there.
   */
  total?: Total
  /**
   * References of unmatched money that is part of what is told as `pending`, or of a total: what is recorded under them
   * is not on its way. The order waits for it all the same until a person decides.
   */
  alreadyRecorded?: readonly string[]
  /**
   * `pending` is the price: it stands in for an amount that the provider does not name, recorded money included. An
   * estimate says nothing about what came: what was credited before still is, and more may come than what is missing of
   * the price.
   */
  isEstimate?: true
  /** The provider says that more is missing: this never completes a payment, however little is missing. */
  isPart?: true
  /** All that came went back, and no more can come: this also ends the attempt, as a report without money does. */
  ends?: 'expired' | 'cancelled'
  /** The refunded total according to the provider, whether by us or from its console; absent if it does not say. */
  refunded?: bigint
  /** A part was refunded, and the provider does not say how much. */
  refundedPart?: true
  /** What went back to the payer of what came: no part of `final`. Absent: the provider lists no returns. */
  returned?: Returned
  /** When its provider was asked for it. Absent: unknown, it may be a day old. */
  askedAt?: Date
  providerStatus: string
}

/** Money that a provider lists as sent back: a refund, or what never paid anything (`returned-money.ts`). */
export type Returned = {
  units: bigint
  /** The part of it whose return is complete. */
  complete: bigint
  /** The complete ones of which it says when they were made. */
  made: readonly { units: bigint; at: Date }[]
  /** Set where the list is read. */
  read?: ReadReturns
}

export type ReadReturns = {
  /**
   * Of the complete ones, what is gone and was no refund, in the order in which it was read. Each part was first told
   * after the returns until that time; null: nothing was told before. `unknown`: no list was kept before, but there
   * were refunds, so it may be any of the returns that were listed then: those up to `until`, null being none with a
   * time.
   */
  gone: readonly { units: bigint; after: Date | null | 'unknown'; until?: Date | null }[]
  /** Of the complete ones, what is taken for ignored money, whether it is among those gone or may still come to be. */
  ignored: bigint
  /** All that came is back. */
  isAll: boolean
}

/**
 * A provider's or the chain's report about one payment. `waiting`: nothing has arrived yet. `expired`: this attempt can
 * no longer be paid, and the order may choose again. `cancelled`: by the payer, or in the provider's console. `failed`:
 * a definite failure. `blocked`: the provider's own screening holds the money, and only `unmatched` if that is given.
 * `unknown` changes nothing and is polled again; an unrecognised status is unknown, never paid or failed.
 */
export type PaymentReport =
  | {
      outcome: 'waiting' | 'expired' | 'cancelled' | 'failed' | 'blocked' | 'unknown'
      providerReference: string
      /** Money that arrived all the same and will not count. */
      unmatched?: UnmatchedMoney[]
      /** As in a report of money that was seen. */
      alreadyRecorded?: readonly string[]
      /** The provider's own words, for support. */
      providerStatus: string
    }
  | SeenReport

/** Money that a provider received for us: final, without a transfer to watch. */
export const paidReport = (
  providerReference: string,
  {
    final,
    pending = 0n,
    refunded,
    refundedPart,
    providerStatus,
  }: { final: bigint; pending?: bigint; refunded?: bigint; refundedPart?: true; providerStatus: string },
): SeenReport => ({
  outcome: 'seen',
  providerReference,
  final,
  pending,
  payerAddresses: [],
  transfers: [],
  unmatched: [],
  ...(refunded === undefined ? {} : { refunded }),
  ...(refundedPart && { refundedPart }),
  providerStatus,
})

/**
 * A verified callback's statement about one refund, from a provider that cannot be polled about all refunds of a
 * payment.
 */
export type RefundNews = {
  /** The provider's id of the refund. */
  reference: string
  /** Our id, if the provider returns it; null: it may have been started from the provider's console. */
  refundId: string | null
  outcome: 'pending' | 'settled' | 'refused' | 'unknown'
  /** In the currency that the payment was priced in. */
  fiat: Money
  providerStatus: string
}

/** Content of a verified callback. It only means "look now": the truth is polled. */
export type CallbackNews = {
  /** At least one of the two is known; otherwise there is nothing to look at. */
  merchantReference: string | null
  providerReference: string | null
  /** What the callback claims; the answer of the query decides. Null: it is not about a payment (a refund, a test). */
  report: PaymentReport | null
  /**
   * Decides about our refund only if `refundsByCallback` is set; a refund from the console is reported by nothing else.
   */
  refund?: RefundNews
  /** Money at the provider that the query does not show: recorded from the callback. */
  unmatched?: UnmatchedMoney[]
  /** For the log: event and status words. */
  providerStatus: string
}

/** The answer that a provider expects to a callback that was accepted. */
export type Acknowledgement = { contentType: 'application/json' | 'text/plain'; body: string }

export type RefundRequest = {
  /** Our id, 24 hexadecimal digits, the same in every repetition: at most one payout is ever made for it. */
  refundId: string
  companyId: string
  merchantReference: string
  providerReference: string
  /** USDC units; `fiat` is the same share of the price in the order's currency, rounded down. */
  units: bigint
  fiat: Money
  /** The whole payment: the amount that arrived, in USDC units, and its price in fiat. */
  paidUnits: bigint
  paidFiat: Money
  /** When the payment began: an older transfer does not return it. */
  openedAt?: Date
  /** Sum of earlier refunds of the same payment through the provider, in both. */
  earlierUnits: bigint
  earlierFiat: Money
  /** The provider's id of the previous refund of the same payment; absent: there was none. */
  lastReference?: string
  /** The provider's id of this refund, once it is known. */
  reference: string | null
  /** It may have been sent before: query first. */
  attempted: boolean
  /**
   * It may have left before the database was restored. `counted`: refunds that did not start here were booked since
   * then, and what the provider has under this id may be one of them.
   */
  leftBefore?: 'maybe' | 'counted'
  /** On a chain: all checks just passed. Absent: only what is under way goes on, and nothing is signed. */
  isChecked?: true
  /** On a chain: a person sends it, or named what paid it, so nothing is sent; what was signed before is followed. */
  followOnly?: true
  /** On a chain: the transaction that a person named was accepted before, and is looked at again. */
  isFollowed?: true
  network: number | null
  address: string | null
  reason: string | null
  /** Where the provider may report on this refund; absent: at the address set in its console. */
  callbackUrl?: string
}

/**
 * `manual`: not sent, a person must send it, because no signer is configured or the provider would send something other
 * than requested. `unknown`: the outcome is open; it is polled with the same id, never blindly sent twice.
 */
export type RefundReport = {
  outcome: 'settled' | 'pending' | 'refused' | 'unknown' | 'manual'
  reference: string | null
  txHash: string | null
  providerStatus: string
  /** The refunded total of the payment, if the provider sent more than requested. */
  refundedUnits?: bigint
  /** It was there before it was sent, and may be in what the request has as refunded earlier. */
  mayBeCounted?: true
  /** A person has to look before anything is concluded from it: meanwhile nobody sends it, not even by hand. */
  waits?: true
}

/** The result of a creation that was never answered. */
export type Recovery =
  | { outcome: 'found'; instructions: Instructions & { providerReference: string } }
  /** The provider does not know it: creating again with the same reference is safe. */
  | { outcome: 'absent' }
  /** It exists, but what the payer needs cannot be retrieved: it is closed, and another reference replaces it. */
  | { outcome: 'lost'; providerReference: string }

/** Minimum and maximum of a payment; null: no limit. */
export type ChannelLimits = { min: Money | null; max: Money | null }

/**
 * One payment provider. Stateless: no order status, no database of its own; the caller stores what it returns. Every
 * method may throw ProviderRefusal (definitely not done); after any other error the outcome is unknown.
 */
export interface Channel {
  readonly id: ChannelId
  /** Networks that the payer can choose from; empty if there is no choice. */
  readonly networks: readonly number[]
  /** Our own scanners watch the deposits: polling costs no provider call. */
  readonly onChain?: true
  /** A company's wallet: whether the address (lower case) is its own on this chain. Absent: every place is. */
  hasPlace?(place: { address: string; network: number | null }, q?: Queryable): Promise<boolean>
  /** The payer's link works once: accepting again creates a fresh link to the same payment through `createPayment`. */
  readonly singleUseLink?: true
  /** Checked before the call, in the order's fiat or in USDC. */
  findLimits?(payment: { due: Money; fiat: Money }): Promise<ChannelLimits>
  /** Chains that no new payment should use now, because payments there would not be seen soon. */
  findNetworkFaults?(): Promise<readonly NetworkFault[]>
  /** Requires a merchantReference that was never sent before, or that `recoverPayment` reported absent. */
  createPayment(request: PaymentRequest): Promise<Instructions & { providerReference: string }>
  /**
   * The payer comes back to an earlier attempt: its place takes money for the order again, at the current price.
   * Undefined: the place is no longer free. Absent: another attempt is made.
   */
  reopenPayment?(tx: Tx, payment: PaymentKey): Promise<(Instructions & { providerReference: string }) | undefined>
  /**
   * Called after a creation without an answer. Absent: `createPayment` itself is idempotent; or the provider can
   * neither be queried by our reference nor repeat safely, and an orphan may exist there until a callback names it.
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
  /** Sends a refund, or fetches its state. Idempotent by refundId. Absent: manual refunds only. */
  refundPayment?(refund: RefundRequest): Promise<RefundReport>
  /** The provider refunds in the order's fiat: it uses `fiat` of the request, which must not be zero. */
  readonly refundsInFiat?: true
  /**
   * Only callbacks report the end of a refund. If none arrives, a person looks it up at the provider and records that
   * it was sent, with a proof, or that it was not.
   */
  readonly refundsByCallback?: true
  /** The chains that are set up for such refunds. */
  readonly refundNetworks?: readonly number[]
  /** Checks that a transaction named by a person pays this refund. @throws VALIDATION_FAILED saying what is wrong */
  checkRefundTransaction?(refund: RefundRequest, txHash: string): Promise<RefundReport>
}
