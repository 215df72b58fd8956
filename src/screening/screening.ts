/** One source's verdict on one address. `unavailable` is no answer: it never clears anything. */
export const VERDICTS = ['clean', 'hold', 'blocked', 'unavailable'] as const
export type Verdict = (typeof VERDICTS)[number]

/** Why an address is screened. */
export const PURPOSES = ['payment', 'refund', 'settlement', 'sweep'] as const
export type Purpose = (typeof PURPOSES)[number]

/**
 * `held`: a source does not answer, or asks for a person's review. `released` and `returned` are decisions of a person;
 * money of a `returned` one never counts.
 */
export const SCREENING_STATUSES = ['checking', 'held', 'clean', 'blocked', 'released', 'returned'] as const
export type ScreeningStatus = (typeof SCREENING_STATUSES)[number]

/** `provider`: a payment provider's own screening. */
export const SOURCE_IDS = ['deny_list', 'oracle', 'chainalysis', 'chainalysis_risk', 'trm', 'provider'] as const
export type SourceId = (typeof SOURCE_IDS)[number]

export type Answer = {
  verdict: Verdict
  /** The source's own risk level, if it has one. */
  level: string | null
  /** For the person who decides. */
  reasons: string[]
  /** The unprocessed answer. */
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

/** Worst first. A definite finding outweighs a source that is unavailable. */
const WORST_FIRST: readonly Verdict[] = ['blocked', 'unavailable', 'hold', 'clean']

/** The decisive verdict. Without any answer nothing is cleared. */
export const worstOf = (verdicts: readonly Verdict[]): Verdict =>
  WORST_FIRST.find((verdict) => verdicts.includes(verdict)) ?? 'unavailable'
