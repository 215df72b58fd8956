import type { Tx } from '../db/db.ts'
import { newId } from '../kernel/ids.ts'
import { insertJournal, type Journal, type Leg } from './ledger-queries.ts'

const USDC = 'USDC'

const leg = (account: Leg['account'], units: bigint): Leg => ({ account, asset: USDC, units })

type Booking = Pick<Journal, 'companyId' | 'causeId' | 'orderId'> & { at: Date }

/** Where a payment's money is: with us, at the company's own account, or in our wallets, which we pay from. */
export type Holder = 'payer_clearing' | 'own_account' | 'wallet'

/** An on-ramp delivers to our deposit address, whichever account it belongs to. */
export const holderOf = ({ ownAccount, channel }: { ownAccount: boolean; channel: string }): Holder =>
  ownAccount && channel !== 'coinbase' ? 'own_account' : 'payer_clearing'

const book = (tx: Tx, kind: Journal['kind'], booking: Booking, legs: Leg[]): Promise<boolean> =>
  insertJournal(tx, { ...booking, id: newId(booking.at.getTime()), kind, legs })

/** The service's fee: a share of the price in hundredths of a percent, rounded down. */
export const feeOf = (units: bigint, feeBps: number): bigint => (units * BigInt(feeBps)) / 10_000n

/**
 * Books a final payment that paid its order: the company’s share, the fee as a separate leg, and money above the price
 * to suspense.
 */
export function bookPayment(
  tx: Tx,
  booking: Booking,
  money: { received: bigint; due: bigint; feeBps: number; holder: Holder },
): Promise<boolean> {
  const excess = money.received > money.due ? money.received - money.due : 0n
  const price = money.received - excess
  const fee = feeOf(price, money.feeBps)
  return book(tx, 'payment', booking, [
    leg(money.holder, money.received),
    leg('company_payable', fee - price),
    leg('fees', -fee),
    leg('suspense', -excess),
  ])
}

/** Money that does not fit an order waits in suspense. Negative `units` correct an earlier record. */
export const bookSuspense = (tx: Tx, booking: Booking, units: bigint, holder: Holder): Promise<boolean> =>
  book(tx, 'mispayment', booking, [leg(holder, units), leg('suspense', -units)])

/** Takes accepted money out of suspense as the payment of an order. */
export const bookAccepted = (tx: Tx, booking: Booking, units: bigint, holder: Holder): Promise<boolean> =>
  book(tx, 'late_accept', booking, [leg('suspense', units), leg(holder, -units)])

/**
 * Committed money left the chain: the amount is in suspense until a person decides who bears the loss. Negative
 * `units`: it came back.
 */
export const bookLoss = (tx: Tx, booking: Booking, units: bigint, holder: Holder): Promise<boolean> =>
  book(tx, 'loss', booking, [leg('suspense', units), leg(holder, -units)])

/** Books who bears a loss. Negative `units`: the money came back afterwards. */
export const bookLossBorne = (tx: Tx, booking: Booking, units: bigint, by: 'operator' | 'company'): Promise<boolean> =>
  book(tx, 'loss_borne', booking, [
    leg(by === 'operator' ? 'losses' : 'company_payable', units),
    leg('suspense', -units),
  ])

export type RefundMoney = { units: bigint; excess: bigint }

/** Reserves a refund: the excess out of suspense, the rest out of the company’s balance. */
export const bookRefund = (tx: Tx, booking: Booking, { units, excess }: RefundMoney): Promise<boolean> =>
  book(tx, 'refund', booking, [leg('company_payable', units - excess), leg('suspense', excess), leg('refunds', -units)])

export const bookRefundSettled = (tx: Tx, booking: Booking, units: bigint, holder: Holder): Promise<boolean> =>
  book(tx, 'refund_settled', booking, [leg('refunds', units), leg(holder, -units)])

export const bookRefundDropped = (tx: Tx, booking: Booking, { units, excess }: RefundMoney): Promise<boolean> =>
  book(tx, 'refund_dropped', booking, [
    leg('company_payable', excess - units),
    leg('suspense', -excess),
    leg('refunds', units),
  ])

export const bookSettlement = (tx: Tx, booking: Booking, units: bigint): Promise<boolean> =>
  book(tx, 'settlement', booking, [leg('company_payable', units), leg('settlement_transit', -units)])

/** @param left what left, if it was another amount: the difference is owed again, or was paid in advance */
export const bookSettlementPaid = (tx: Tx, booking: Booking, units: bigint, left = units): Promise<boolean> =>
  book(tx, 'settlement_paid', booking, [
    leg('settlement_transit', units),
    leg('wallet', -left),
    leg('company_payable', left - units),
  ])

export const bookSettlementCancelled = (tx: Tx, booking: Booking, units: bigint): Promise<boolean> =>
  book(tx, 'settlement_cancelled', booking, [leg('settlement_transit', units), leg('company_payable', -units)])

/** A deposit was swept: the company's money is now in our wallet. */
export const bookSweep = (tx: Tx, booking: Booking, units: bigint): Promise<boolean> =>
  book(tx, 'sweep', booking, [leg('wallet', units), leg('payer_clearing', -units)])

/** A reorganisation undid the sweep that this cause booked: the money is at the deposit address again. */
export const bookSweepUndone = (tx: Tx, booking: Booking, units: bigint): Promise<boolean> =>
  book(tx, 'sweep_undone', booking, [leg('payer_clearing', units), leg('wallet', -units)])

type Gas = { wei: bigint; chainId: number }

const gasLegs = ({ wei, chainId }: Gas): Leg[] => [
  { account: 'network_fees', asset: `WEI-${chainId}`, units: wei },
  { account: 'gas', asset: `WEI-${chainId}`, units: -wei },
]

/** Gas, in wei of a chain's native coin, in the operator's own books. */
export const bookSweepFee = (tx: Tx, booking: Booking, gas: Gas): Promise<boolean> =>
  book(tx, 'sweep_fee', booking, gasLegs(gas))

/** The relayer has the gas of an undone sweep again. */
export const bookSweepFeeUndone = (tx: Tx, booking: Booking, { wei, chainId }: Gas): Promise<boolean> =>
  book(tx, 'sweep_fee_undone', booking, gasLegs({ wei: -wei, chainId }))
