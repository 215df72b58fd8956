/* What fees and estimates of several nodes are compared with. */

/** The one in the middle; of two, the lower one. 0 of none. */
export function middleOf(values: readonly bigint[]): bigint {
  const sorted = values.toSorted((left, right) => (left < right ? -1 : Number(left > right)))
  return sorted[(sorted.length - 1) >> 1] ?? 0n
}
