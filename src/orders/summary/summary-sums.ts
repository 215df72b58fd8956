import type { LocalDay } from '../../http/calendar.ts'
import type { Fiat } from '../../kernel/money.ts'
import type { RefundsRow, SalesRow } from './summary-queries.ts'

export type DaySum = {
  day: string
  created: number
  paid: number
  paidUnits: bigint
  /** Sales per currency. */
  sales: Map<Fiat, bigint>
  refundedUnits: bigint
}
export type ChannelSum = { paymentChannel: string; paid: number; paidUnits: bigint }

/** One entry per day, oldest first, including days without orders. */
export function sumDays(
  { sales, refunds }: { sales: readonly SalesRow[]; refunds: readonly RefundsRow[] },
  days: readonly LocalDay[],
): DaySum[] {
  const sums = days.map(
    ({ day }): DaySum => ({ day, created: 0, paid: 0, paidUnits: 0n, sales: new Map(), refundedUnits: 0n }),
  )
  const find = (place: number | null): DaySum | undefined => (place === null ? undefined : sums[place - 1])
  for (const { createdDay, paidDay, orders, paidUnits, fromAsset, fromUnits } of sales) {
    const created = find(createdDay)
    if (created) created.created += Number(orders)
    const paid = find(paidDay)
    if (paid) {
      paid.paid += Number(orders)
      paid.paidUnits += BigInt(paidUnits)
      paid.sales.set(fromAsset, (paid.sales.get(fromAsset) ?? 0n) + BigInt(fromUnits ?? 0))
    }
  }
  for (const { day, units } of refunds) {
    const refunded = find(day)
    if (refunded) refunded.refundedUnits += BigInt(units)
  }
  return sums
}

/** Sales per channel on these days, largest first. */
export function sumChannels(sales: readonly SalesRow[]): ChannelSum[] {
  const channels = new Map<string, ChannelSum>()
  for (const { channel, paidDay, orders, paidUnits } of sales) {
    if (channel === null || paidDay === null || paidDay === 0) continue
    const sum = channels.get(channel) ?? { paymentChannel: channel, paid: 0, paidUnits: 0n }
    channels.set(channel, { ...sum, paid: sum.paid + Number(orders), paidUnits: sum.paidUnits + BigInt(paidUnits) })
  }
  return [...channels.values()].sort((a, b) => (a.paidUnits < b.paidUnits ? 1 : -1))
}
