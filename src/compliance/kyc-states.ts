import type { Review } from './identity-provider.ts'
import type { EddOutcome, Kyc, KycState } from './kyc.ts'

/** What an enhanced check that was refused leaves to spend, unless a SuperAdmin says otherwise. */
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

const isSame = (left: KycState, right: KycState): boolean =>
  left.status === right.status &&
  left.eddStatus === right.eddStatus &&
  left.eddOutcome === right.eddOutcome &&
  left.spendingLimit === right.spendingLimit

/** The provider's decision is over, or was taken back: also somebody who was approved is checked again. */
function basicState(kyc: Kyc, { outcome }: Review): KycState {
  if (outcome === 'approved') return { ...stateOf(kyc), status: 'approved' }
  if (outcome === 'refused') return { ...stateOf(kyc), status: 'refused' }
  return { ...stateOf(kyc), status: 'pending' }
}

/** The closer look at somebody who passed the usual one. */
function enhancedState(kyc: Kyc, { outcome }: Review): KycState {
  if (outcome === 'refused') return kyc.eddOutcome === 'refused' ? stateOf(kyc) : completeEdd(kyc, 'refused', NOTHING)
  if (outcome === 'approved') {
    if (kyc.eddStatus === 'completed' && kyc.eddOutcome === 'approved') return stateOf(kyc)
    // without a limit to grant a person says it; until then the usual one holds
    if (kyc.eddLimit !== null) return completeEdd(kyc, 'approved', kyc.eddLimit)
  }
  const begun = outcome === 'notStarted' && kyc.eddStatus === 'requested' ? 'requested' : 'pending'
  return { ...stateOf(kyc), eddStatus: begun, eddOutcome: null, spendingLimit: null }
}

/**
 * What a review makes of a check; null: nothing changes. Who passes the closer look without the usual one has passed
 * the usual one as well.
 */
export function applyReview(kyc: Kyc, review: Review): KycState | null {
  if (review.outcome === 'unknown' || review.level === null) return null
  const isCloser = review.level === 'enhanced' && kyc.status === 'approved'
  const next = isCloser ? enhancedState(kyc, review) : basicState(kyc, review)
  return isSame(kyc, next) ? null : next
}
