import type { ChannelId, Instructions } from '../../channels/channel.ts'
import type { Money } from '../../kernel/money.ts'
import type { Mispayment } from '../../payments/mispayments/mispayment-queries.ts'
import type { Payment } from '../../payments/payment-queries.ts'
import { CHANGE, type RefundLinks } from '../../refunds/refund-link.ts'
import type { Refund, RefundStatus } from '../../refunds/refund-queries.ts'
import type { Facts, Situation } from '../../texts/order-texts.ts'
import { besideUnits, type ChainProgress, countedTransactions, type OrderFacts, refundSituation } from './pay-state.ts'

/* An order's money as its payer sees it. */

type Network = { id: number; name: string }

type Names = {
  /** A chain's name as payers know it: "Base". */
  networkName(chainId: number): string
}

/** The money that a page is about, and where the receipt says that it came. */
export type Received = { amount: Money; network: Network | null; transactions: ChainProgress['transactions'] }

export type PaymentView = {
  channel: ChannelId
  /** It is paid to an account or a wallet of the company's own, which may be removed or replaced. */
  ownAccount: boolean
  network: Network | null
  /** The network where the money arrived, once it did: any of our networks counts, also one that was not chosen. */
  moneyNetwork: Network | null
  /** Null also where its payer is not sent any more. */
  instructions: Instructions | null
  /** Where its payer was sent before: unseen money may be under way. Null: nowhere, or is still sent there. */
  formerTo: string | null
  /** Its link works once, so a fresh one is made when the payer presses the button. */
  singleUseLink: boolean
  due: Money
  arrived: Money
  /** Seen by the provider, and not credited yet. */
  coming: Money
  /** Zero once everything has arrived or is on its way. */
  missing: Money
  progress: ChainProgress | null
  /** Those whose money counts, oldest first. */
  transactions: ChainProgress['transactions']
}

/** One refund as its payer sees it. */
export type RefundView = {
  status: RefundStatus
  channel: ChannelId
  situation: Situation
  amount: Money
  /** Of a paid order: it returned money that the payment does not count, such as a second payment. */
  beside: boolean
  /** Its destination, once that is settled; before, what the shop checks as the payer's own. */
  address: string | null
  network: Network | null
  txHash: string | null
  /** Where the payer enters or changes the address; null when the link was mailed, or nothing is asked. */
  askUrl: string | null
}

export const recordsOf = (records: readonly Mispayment[], { id }: Payment): Mispayment[] =>
  records.filter(({ paymentId }) => paymentId === id)

export function viewPayment(
  payment: Payment,
  { progress, arrived, coming, records, accountRemoved }: Omit<OrderFacts, 'others' | 'payment'>,
  singleUseLink: boolean,
  { networkName }: Names,
): PaymentView {
  const named = (id: number | null) => (id === null ? null : { id, name: networkName(id) })
  const transactions = countedTransactions(progress, recordsOf(records, payment))
  const missing = payment.dueUnits - arrived - coming
  const usdc = (units: bigint): Money => ({ asset: 'USDC', units })
  return {
    channel: payment.channel,
    ownAccount: payment.ownAccount,
    network: named(payment.network),
    moneyNetwork: named((transactions[0] ?? progress?.transactions[0])?.network ?? payment.network),
    // nobody is sent to a place that is not the shop's any more
    instructions: accountRemoved ? null : payment.instructions,
    formerTo: accountRemoved ? (payment.instructions?.toAddress ?? null) : null,
    due: usdc(payment.dueUnits),
    arrived: usdc(arrived),
    coming: usdc(coming),
    missing: usdc(missing > 0n ? missing : 0n),
    ...{ progress, transactions, singleUseLink },
  }
}

export function viewRefund(
  { links, networkName }: Names & { links: RefundLinks },
  { order, records }: Pick<OrderFacts, 'order' | 'records'>,
  refund: Refund,
): RefundView {
  const { status, channel, network, units, id } = refund
  const record = records.find((one) => one.id === refund.mispaymentId)
  const counted = !record || (record.kind === 'over' && record.paymentId === order.paymentId)
  const situation = refundSituation(refund)
  const asks = situation === 'refundAddress' || situation === 'refundCheck'
  return {
    ...{ status, channel, situation },
    amount: { asset: order.to.asset, units },
    beside: order.paidAt !== null && !counted,
    address: situation === 'refundCheck' ? refund.proposedAddress : refund.address,
    network: network === null ? null : { id: network, name: networkName(network) },
    txHash: refund.txHash,
    // if the mailed link were shown here, anyone with the order's URL could answer for the payer
    askUrl: asks ? `${links.urlOf(order.code, id, 'handed')}${situation === 'refundCheck' ? CHANGE : ''}` : null,
  }
}

/** What paid the order, or what arrived through every attempt; the network of the oldest transaction. */
export function viewReceived({ networkName }: Names, facts: OrderFacts, paying: PaymentView | null): Received {
  const { order, payment, progress, arrived, others } = facts
  if (order.paidAt !== null && paying) {
    const { moneyNetwork: network, transactions } = paying
    return { amount: paying.arrived.units > 0n ? paying.arrived : order.to, network, transactions }
  }
  const transactions = [...others.map((other) => other.progress), progress].flatMap((one) => one?.transactions ?? [])
  // what an earlier attempt's provider has seen is on no network that this one chose
  const chosen = others.some(({ coming }) => coming > 0n) ? null : payment?.network
  const network = transactions[0]?.network ?? chosen ?? null
  return {
    amount: { asset: order.to.asset, units: arrived + besideUnits(facts) },
    network: network === null ? null : { id: network, name: networkName(network) },
    transactions: [...new Map(transactions.map((one) => [one.hash, one])).values()],
  }
}

/** Whether these instructions show their address from the start; otherwise only for the rest of a part. */
export const showsAddress = ({ toAddress, tokenAmount }: Instructions): boolean =>
  toAddress !== null && tokenAmount !== null

/** What the payer was told to pay to, through any attempt. */
export function shownBy({ payment, others }: OrderFacts): Facts['shown'] {
  const told = [payment, ...others.map((other) => other.payment)].flatMap((one) => one?.instructions ?? [])
  if (told.length === 0) return null
  return told.some(showsAddress) || payment?.channel === 'crypto' ? 'address' : 'provider'
}
