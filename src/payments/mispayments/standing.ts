import { isFrozen } from '../../channels/channel.ts'
import type { Tx } from '../../db/db.ts'
import type { Payment } from '../payment-queries.ts'
import { lockMispayments, type Mispayment, type MispaymentKind, sumRefundedExcess } from './mispayment-queries.ts'

/** Money that does not pay anything yet. */
export const HELD: readonly MispaymentKind[] = ['under', 'late', 'duplicate', 'held']

const sumUnits = (records: readonly Mispayment[]): bigint => records.reduce((total, { units }) => total + units, 0n)

type Fact = Pick<Mispayment, 'kind' | 'status' | 'units' | 'decidedBy'>

export const isDecided = ({ status }: Pick<Mispayment, 'status'>): boolean =>
  status === 'refunded' || status === 'ignored'

/** Whether any of the records waits for a person. */
export const isUndecided = (records: readonly Fact[]): boolean => records.some(({ status }) => status === 'open')

/** A record used up by a refund of the order, not by a decision about the record itself. */
const isUsedUp = ({ decidedBy }: Fact): boolean => decidedBy?.startsWith('refund:') === true

/** Refunded or ignored before it paid anything. Such money no longer belongs to its order, whatever comes later. */
export const decidedUnits = (records: readonly Mispayment[]): bigint =>
  sumUnits(records.filter((record) => HELD.includes(record.kind) && isDecided(record)))

/** Money that left the chain after it paid an order or was decided about. */
export const lostUnits = (records: readonly Mispayment[]): bigint =>
  sumUnits(records.filter(({ kind, status }) => kind === 'orphaned' && (status === 'open' || status === 'borne')))

/** Loss without a decision. */
export const openLossUnits = (records: readonly Mispayment[]): bigint =>
  sumUnits(records.filter(({ kind, status }) => kind === 'orphaned' && status === 'open'))

/** Units above the price that are still there but reserved by a refund of the order that took part of them. */
export function spokenUnits(records: readonly Mispayment[], refundedExcess: bigint): bigint {
  const over = records.filter(({ kind, status }) => kind === 'over' && status === 'refunded')
  const rest = refundedExcess - sumUnits(over.filter(isUsedUp))
  return rest > 0n ? rest : 0n
}

/** The part of one payment's money that is fixed, whatever is reported next. */
export type Standing = {
  records: readonly Mispayment[]
  /** Refunded or ignored: no longer part of the order. */
  decided: bigint
  /** The price, what was decided, and the returned part of the money above the price: all this must be there. */
  committed: bigint
  /** Part of `committed`: what the open record of money above the price has reserved. */
  spoken: bigint
  /** Part of `committed` that is no longer there. */
  lost: bigint
}

/** The order must be locked. */
export async function readStanding(tx: Tx, payment: Payment): Promise<Standing> {
  const { companyId, id, orderId } = payment
  const records = await lockMispayments(tx, companyId, id)
  const price = payment.priceUnits ?? 0n
  const spoken = price === 0n ? 0n : spokenUnits(records, await sumRefundedExcess(tx, companyId, orderId))
  const decided = decidedUnits(records)
  const over = sumUnits(records.filter((record) => record.kind === 'over' && isDecided(record)))
  return { records, decided, committed: price + decided + over + spoken, spoken, lost: lostUnits(records) }
}

/** Units of a payment that still count towards its order. Page, state, books and decisions all use this figure. */
export const undecidedUnits = (units: bigint, { decided }: Pick<Standing, 'decided'>): bigint =>
  units > decided ? units - decided : 0n

/** The amount that the books show as arrived: a loss of committed money is a separate booking. */
export const bookedUnits = (final: bigint, { committed }: Standing): bigint => (final > committed ? final : committed)

/** What of the received money is there, by what is booked. */
export const presentUnits = ({ receivedUnits }: Pick<Payment, 'receivedUnits'>, { lost }: Standing): bigint =>
  receivedUnits > lost ? receivedUnits - lost : 0n

/**
 * How much of the committed money is lost now. Money that dropped below the required confirmations is not lost, and a
 * loss ends only when the money is final again.
 */
export function lossAfter({ committed, lost }: Standing, { final, seen }: { final: bigint; seen: bigint }): bigint {
  const least = committed > seen ? committed - seen : 0n
  const most = committed > final ? committed - final : 0n
  if (lost < least) return least
  return lost > most ? most : lost
}

type Beside = Pick<Mispayment, 'kind' | 'asset' | 'sourceReference'>

/** Money beside a payment that its payer may see. */
export const isUnmatched = ({ kind, sourceReference }: Pick<Beside, 'kind' | 'sourceReference'>): boolean =>
  kind === 'wrong_token' && !isFrozen(sourceReference)

/** USDC that a provider keeps apart from its payment has the kind of other tokens too. */
export const isUnmatchedUsdc = (record: Beside): boolean => isUnmatched(record) && record.asset === 'USDC'

/** Whether the record is about money under this reference; each growth has a number behind it. */
export const isUnder = ({ sourceReference }: Mispayment, reference: string): boolean =>
  sourceReference === reference || sourceReference.startsWith(`${reference}.`)
