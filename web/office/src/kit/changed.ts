/**
 * The fields that differ from what the form showed. A form that sends all its fields undoes what a colleague changed
 * while it was open.
 */
export function changed<Fields extends object>(shown: object, fields: Fields): Partial<Fields> {
  const before = shown as Record<string, unknown>
  const entries = Object.entries(fields).filter(([name, value]) => String(value ?? '') !== String(before[name] ?? ''))
  return Object.fromEntries(entries) as Partial<Fields>
}

/** `now`, with what a person added to the list `shown` and without what they removed from it. */
export const withChanges = (now: readonly string[], shown: readonly string[], wanted: readonly string[]): string[] => [
  ...now.filter((one) => wanted.includes(one) || !shown.includes(one)),
  ...wanted.filter((one) => !shown.includes(one) && !now.includes(one)),
]

/** One item moved up (-1) or down (1), past a neighbour; unchanged if the neighbour is gone. */
export function moved<Item>(list: readonly Item[], item: Item, { by, past }: { by: -1 | 1; past: Item }): Item[] {
  const rest = list.filter((one) => one !== item)
  if (!rest.includes(past)) return [...list]
  rest.splice(rest.indexOf(past) + (by < 0 ? 0 : 1), 0, item)
  return rest
}
