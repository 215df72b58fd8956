import type { Lang } from '../kernel/lang.ts'
import type { ChannelId } from './channel.ts'

/** Texts that payers read about a channel; null: our default name, and no hint. */
export type ChannelTexts = Partial<Record<Lang, { label: string | null; hint: string | null }>>

/** How a company offers one of its channels. */
export type ChannelRule = {
  channel: ChannelId
  /** From 0; null: after those that have a position. */
  position: number | null
  offered: boolean
  /** EUR, decimal text; null: no limit. */
  minAmount: string | null
  maxAmount: string | null
  texts: ChannelTexts
}

/** Offered to everyone, with our default texts. */
export const plainRule = (channel: ChannelId): ChannelRule => ({
  channel,
  position: null,
  offered: true,
  minAmount: null,
  maxAmount: null,
  texts: {},
})

/** Sorts by the company's order; channels without a position keep their relative order and come last. */
export function sortByRules<Item>(
  items: readonly Item[],
  rules: readonly ChannelRule[],
  idOf: (item: Item) => ChannelId,
): Item[] {
  const places = new Map(rules.map(({ channel, position }) => [channel, position ?? Number.POSITIVE_INFINITY]))
  const placeOf = (item: Item): number => places.get(idOf(item)) ?? Number.POSITIVE_INFINITY
  return items.toSorted((a, b) => (placeOf(a) === placeOf(b) ? 0 : placeOf(a) - placeOf(b)))
}
