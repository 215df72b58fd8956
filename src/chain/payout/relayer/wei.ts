/* What fees and estimates of several nodes are compared with. */

export const smaller = (left: bigint, right: bigint): bigint => (left < right ? left : right)
export const larger = (left: bigint, right: bigint): bigint => (left > right ? left : right)

/** The one in the middle; of two, the lower one. 0 of none. */
export function middleOf(values: readonly bigint[]): bigint {
  const sorted = values.toSorted((left, right) => (left < right ? -1 : Number(left > right)))
  return sorted[(sorted.length - 1) >> 1] ?? 0n
}
