/** What one source says of one address. `unavailable` is no answer: it never lets anything pass. */
export const VERDICTS = ['clean', 'hold', 'blocked', 'unavailable'] as const
export type Verdict = (typeof VERDICTS)[number]

/** Why an address is screened. */
export const PURPOSES = ['payment', 'refund', 'settlement', 'sweep'] as const
export type Purpose = (typeof PURPOSES)[number]

/**
 * `held`: a source does not answer, or wants a person to look. `released` and `returned` are decisions of a person;
 * money of a `returned` one never counts.
 */
export const SCREENING_STATUSES = ['checking', 'held', 'clean', 'blocked', 'released', 'returned'] as const
export type ScreeningStatus = (typeof SCREENING_STATUSES)[number]

/** `provider`: the screening that a payment provider does by itself. */
export const SOURCE_IDS = ['deny_list', 'oracle', 'chainalysis', 'chainalysis_risk', 'trm', 'provider'] as const
export type SourceId = (typeof SOURCE_IDS)[number]

export type Answer = {
  verdict: Verdict
  /** The source's own word for the risk, where it has one. */
  level: string | null
  /** For the person who decides. */
  reasons: string[]
  /** The answer as it came. */
  evidence: unknown
}

/** A chain id, and an address in lower case. */
export type Place = { network: number | null; address: string }

export interface ScreeningSource {
  readonly id: SourceId
  /** Any error means unavailable. */
  screen(place: Place): Promise<Answer>
}

export const clean = (evidence: unknown, level: string | null = null): Answer => ({
  ...{ verdict: 'clean', level, reasons: [], evidence },
})

export const unavailable = (reason: string, evidence: unknown = null): Answer => ({
  ...{ verdict: 'unavailable', level: null, reasons: [reason], evidence },
})

/** The worst first. A definite finding outweighs a source that is away. */
const WORST_FIRST: readonly Verdict[] = ['blocked', 'unavailable', 'hold', 'clean']

/** The answer that counts. Without any answer nothing passes. */
export const worstOf = (verdicts: readonly Verdict[]): Verdict =>
  WORST_FIRST.find((verdict) => verdicts.includes(verdict)) ?? 'unavailable'
