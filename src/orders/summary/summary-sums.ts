import { DAY } from '../../kernel/clock.ts'
import type { RefundsRow, SalesRow } from './summary-queries.ts'

export type DaySum = { day: string; created: number; paid: number; paidUnits: bigint; refundedUnits: bigint }
export type ChannelSum = { paymentChannel: string; paid: number; paidUnits: bigint }

const nameOf = (day: Date | number): string => new Date(day).toISOString().slice(0, 10)

/** One entry for each day (UTC), oldest first, days without orders too. */
export function sumDays(
  { sales, refunds }: { sales: readonly SalesRow[]; refunds: readonly RefundsRow[] },
  sinceMs: number,
  nowMs: number,
): DaySum[] {
  const days = new Map<string, DaySum>()
  for (let ms = sinceMs - (sinceMs % DAY); ms <= nowMs; ms += DAY)
    days.set(nameOf(ms), { day: nameOf(ms), created: 0, paid: 0, paidUnits: 0n, refundedUnits: 0n })
  const find = (day: Date | null): DaySum | undefined => (day === null ? undefined : days.get(nameOf(day)))
  for (const { createdDay, paidDay, orders, paidUnits } of sales) {
    const created = find(createdDay)
    if (created) created.created += Number(orders)
    const paid = find(paidDay)
    if (paid) {
      paid.paid += Number(orders)
      paid.paidUnits += BigInt(paidUnits)
    }
  }
  for (const { day, units } of refunds) {
    const refunded = find(day)
    if (refunded) refunded.refundedUnits += BigInt(units)
  }
  return [...days.values()]
}

/** What each channel brought on these days, the largest first. */
export function sumChannels(sales: readonly SalesRow[], sinceMs: number): ChannelSum[] {
  const first = nameOf(sinceMs)
  const channels = new Map<string, ChannelSum>()
  for (const { channel, paidDay, orders, paidUnits } of sales) {
    if (channel === null || paidDay === null || nameOf(paidDay) < first) continue
    const sum = channels.get(channel) ?? { paymentChannel: channel, paid: 0, paidUnits: 0n }
    channels.set(channel, { ...sum, paid: sum.paid + Number(orders), paidUnits: sum.paidUnits + BigInt(paidUnits) })
  }
  return [...channels.values()].sort((a, b) => (a.paidUnits < b.paidUnits ? 1 : -1))
}
