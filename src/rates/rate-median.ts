/** One source's answer, kept as proof of the rate. */
export type Evidence = {
  source: string
  /** Scaled by 10^RATE_EXPONENT. */
  rate: bigint | null
  /** The time of the price, in milliseconds since 1970; null without a price. */
  at: number | null
  taken: boolean
  reason: string | null
}

export type MedianRules = { minSources: number; maxDeviationPercent: number }

const middle = (sorted: readonly bigint[]): bigint => {
  const half = Math.floor(sorted.length / 2)
  const upper = sorted[half] ?? 0n
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? 0n) + upper) / 2n
}

const ascending = (rates: readonly bigint[]): bigint[] => [...rates].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))

/** Of two prices neither can be judged by the median: their distance counts. */
function contradict([one, other]: readonly bigint[], percent: number): boolean {
  if (one === undefined || other === undefined) return false
  const [low, high] = one < other ? [one, other] : [other, one]
  return (high - low) * 100n > low * BigInt(percent)
}

/**
 * Median of the answers, without those further than the allowed deviation from the first median. Undefined when fewer
 * than `minSources` are left, or when two sources contradict each other, since either may be wrong.
 */
export function medianRate(
  answers: readonly Evidence[],
  rules: MedianRules,
): { rate: bigint | undefined; evidence: Evidence[] } {
  const rates = answers.flatMap((answer) => (answer.rate === null ? [] : [answer.rate]))
  const first = rates.length === 0 ? 0n : middle(ascending(rates))
  const limit = (first * BigInt(rules.maxDeviationPercent)) / 100n
  const evidence = answers.map((answer): Evidence => {
    if (answer.rate === null) return answer
    const distance = answer.rate > first ? answer.rate - first : first - answer.rate
    if (distance <= limit) return { ...answer, taken: true, reason: null }
    return { ...answer, taken: false, reason: `more than ${rules.maxDeviationPercent} % from the median` }
  })
  const taken = evidence.flatMap((answer) => (answer.taken && answer.rate !== null ? [answer.rate] : []))
  if (taken.length === 2 && contradict(taken, rules.maxDeviationPercent)) {
    const reason = `more than ${rules.maxDeviationPercent} % from the only other source`
    return {
      rate: undefined,
      evidence: evidence.map((answer) => (answer.taken ? { ...answer, taken: false, reason } : answer)),
    }
  }
  const rate = taken.length >= Math.max(1, rules.minSources) ? middle(ascending(taken)) : undefined
  return { rate, evidence }
}
