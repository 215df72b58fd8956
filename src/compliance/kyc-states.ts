import type { Review } from './identity-provider.ts'
import type { EddOutcome, Kyc, KycState } from './kyc.ts'

/** The spending limit after refused EDD, unless a SuperAdmin sets another. */
export const NOTHING = '0.00'

const stateOf = ({ status, eddStatus, eddOutcome, spendingLimit }: KycState): KycState => ({
  status,
  eddStatus,
  eddOutcome,
  spendingLimit,
})

export const completeEdd = (kyc: KycState, eddOutcome: EddOutcome, spendingLimit: string): KycState => ({
  ...stateOf(kyc),
  eddStatus: 'completed',
  eddOutcome,
  spendingLimit,
})

/** Opens EDD: an earlier grant is suspended, a refusal stays until the new check is completed. */
export const openEdd = (kyc: KycState, eddStatus: 'requested' | 'pending'): KycState => ({
  ...stateOf(kyc),
  eddStatus,
  ...(kyc.eddOutcome !== 'refused' && { eddOutcome: null, spendingLimit: null }),
})

const isSame = (left: KycState, right: KycState): boolean =>
  left.status === right.status &&
  left.eddStatus === right.eddStatus &&
  left.eddOutcome === right.eddOutcome &&
  left.spendingLimit === right.spendingLimit

/** The provider's decision expired or was withdrawn: even an approved payer is checked again. */
function basicState(kyc: Kyc, { outcome }: Review): KycState {
  if (outcome === 'approved') return { ...stateOf(kyc), status: 'approved' }
  if (outcome === 'refused') return { ...stateOf(kyc), status: 'refused' }
  return { ...stateOf(kyc), status: 'pending' }
}

/** Restarts a check: a grant is lost, a refusal stays. */
const takeBack = (kyc: KycState): KycState =>
  kyc.eddOutcome === 'refused'
    ? { ...stateOf(kyc), status: 'pending' }
    : { status: 'pending', eddStatus: 'none', eddOutcome: null, spendingLimit: null }

/**
 * EDD after the basic check; EDD that we did not request withdraws the approval. Where a person ended it, the payer may
 * still finish what he had open: only a refusal counts then.
 */
function enhancedState(kyc: Kyc, { outcome }: Review, endedByHand: boolean): KycState {
  const isRefused = kyc.eddStatus === 'completed' && kyc.eddOutcome === 'refused'
  if (outcome === 'refused') return isRefused ? stateOf(kyc) : completeEdd(kyc, 'refused', NOTHING)
  if (outcome === 'approved') {
    // a manual decision stands until EDD is requested again
    if (kyc.eddStatus === 'completed') return stateOf(kyc)
    // without a limit to grant, a SuperAdmin sets it
    if (kyc.eddLimit !== null) return completeEdd(kyc, 'approved', kyc.eddLimit)
  } else if (kyc.eddStatus !== 'requested' && kyc.eddStatus !== 'pending')
    return kyc.eddStatus === 'completed' && endedByHand ? stateOf(kyc) : takeBack(kyc)
  const begun = outcome === 'notStarted' && kyc.eddStatus === 'requested' ? 'requested' : 'pending'
  return openEdd(kyc, begun)
}

/** Whether a review says something about a check. Of a level that our settings do not name it does not. */
export const isTelling = ({ outcome, level }: Review): boolean => outcome !== 'unknown' && level !== null

/** The provider's dates end with the second. */
const DATE_MS = 1000

/**
 * Whether a review decided an enhanced check before the present one was requested. It answers nothing: neither does it
 * grant the new limit, nor is there anything to go through at the provider before the applicant starts again.
 */
export const isFormer = ({ outcome, level, reviewedAt }: Review, requestedAt: Date | undefined): boolean =>
  level === 'enhanced' &&
  (outcome === 'approved' || outcome === 'refused') &&
  reviewedAt !== null &&
  requestedAt !== undefined &&
  reviewedAt.getTime() + DATE_MS <= requestedAt.getTime()

/**
 * The state of a check after a review; null: no change. Passing EDD counts as passing the basic check too.
 * @param endedByHand a person completed the last EDD
 */
export function applyReview(kyc: Kyc, review: Review, endedByHand = false): KycState | null {
  if (!isTelling(review)) return null
  const isCloser = review.level === 'enhanced' && kyc.status === 'approved'
  const next = isCloser ? enhancedState(kyc, review, endedByHand) : basicState(kyc, review)
  return isSame(kyc, next) ? null : next
}
