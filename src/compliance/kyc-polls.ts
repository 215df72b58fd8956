import { OFFICE_PATHS } from '../config/office-paths.ts'
import type { Queryable } from '../db/db.ts'
import type { PollSpec } from '../db/polling.ts'
import { systemContext } from '../http/request-context.ts'
import { MINUTE } from '../kernel/clock.ts'
import { pollGapMs } from '../kernel/poll-gaps.ts'
import { claimDailyNotice } from '../mail/daily-mail-queries.ts'
import { IdentityProviderError, type RemoteProvider, type Review } from './identity-provider.ts'
import { askedLevel, isEddAsked, isOpenCheck, type Kyc, type KycState, nextReading, PATIENCE_MS } from './kyc.ts'
import * as queries from './kyc-queries.ts'
import { changeKyc, type KycDeps } from './kyc-service.ts'
import { applyReview, isFormer, isTelling } from './kyc-states.ts'

const remoteOf = (deps: KycDeps, kyc: Kyc): RemoteProvider | null =>
  deps.provider.id !== 'manual' && deps.provider.id === kyc.provider ? deps.provider : null

/**
 * The applicant of a check at its provider. The attempt is recorded before the call: after a time-out the provider is
 * searched by our id, and a new applicant is created only when it has none.
 */
async function ensureApplicant(deps: KycDeps, remote: RemoteProvider, kyc: Kyc): Promise<string> {
  if (kyc.applicantId !== null) return kyc.applicantId
  const found = kyc.creationTried ? await remote.findApplicant(kyc.id) : null
  if (!kyc.creationTried) await queries.updateCreationTried(deps.db, kyc)
  const { applicantId } = found ?? (await remote.createApplicant(kyc.id))
  await queries.updateApplicant(deps.db, kyc, applicantId)
  return applicantId
}

/** When to poll next; keeps an immediate poll that was requested during this one. */
function nextCheckOf(claimed: Kyc, current: Kyc, after: KycState, nowMs: number): Date | null {
  if (current.nextCheckAt?.getTime() !== claimed.nextCheckAt?.getTime()) return current.nextCheckAt
  const isForgotten = nowMs - current.updatedAt.getTime() > PATIENCE_MS
  if (isOpenCheck(after) && !isForgotten) return new Date(nowMs + pollGapMs('identity', claimed.checks - 1))
  return after.status === 'pending' ? null : nextReading(current.updatedAt, nowMs)
}

/** Decided, and read again only in case that its provider takes it back. */
const isReading = (kyc: Kyc): boolean => !isOpenCheck(kyc)

/** Whether this review decided an enhanced check before the one that is open was requested. */
const isOfBefore = async (q: Queryable, kyc: Kyc, review: Review): Promise<boolean> =>
  kyc.status === 'approved' &&
  isEddAsked(kyc) &&
  review.level === 'enhanced' &&
  isFormer(review, await queries.findEddRequest(q, kyc))

/**
 * Whether a review was decided after a refusal by hand, which only such a one lifts. Words alone do not tell: those of
 * before the refusal may be read after it. Without a date, the refusal stays.
 */
const isLater = ({ reviewedAt }: Review, refusedAt: Date): boolean =>
  reviewedAt !== null && reviewedAt.getTime() > refusedAt.getTime()

/** Applies a review: the only way that the provider changes a check. */
async function applyNews(deps: KycDeps, claimed: Kyc, given: Review): Promise<void> {
  await deps.db.tx(async (tx) => {
    const kyc = await queries.lockKyc(tx, claimed.id)
    if (!kyc || kyc.provider !== claimed.provider) return
    const review: Review = (await isOfBefore(tx, kyc, given)) ? { ...given, outcome: 'unknown' } : given
    const isDecided = isReading(kyc)
    const isNews = (await queries.isRefusedByHand(tx, kyc))
      ? isLater(review, kyc.updatedAt)
      : !isDecided || review.providerStatus !== kyc.providerStatus // what was read before a person decided is none
    const endedByHand = kyc.eddStatus === 'completed' && (await queries.isEddByHand(tx, kyc))
    const state = isNews ? applyReview(kyc, review, endedByHand) : null
    const nextCheckAt = nextCheckOf(claimed, kyc, state ?? kyc, deps.clock())
    const words = review.outcome === 'unknown' ? kyc.payerMessage : review.payerMessage
    // an erased payer gets no words again
    const payerMessage = kyc.emailSealed === null ? null : words
    // of a decided check only words that were understood: with others in their place, they would not be news later
    const heard = isDecided && !isTelling(review) ? kyc.providerStatus : review.providerStatus
    await queries.updateKycNews(tx, kyc, { providerStatus: heard, payerMessage, nextCheckAt })
    if (!state) return
    const trigger = state.status === kyc.status ? (`edd.${state.eddStatus}` as const) : state.status
    const cause = { by: systemContext(`provider:${kyc.provider}`), reason: review.providerStatus }
    await changeKyc(deps, tx, kyc, { state, trigger, nextCheckAt, cause })
  })
}

const GONE: Review = {
  outcome: 'unknown',
  level: null,
  providerStatus: 'the provider has no such applicant',
  payerMessage: null,
  reviewedAt: null,
}

/**
 * A decision that was taken back while no callback arrived. Without its applicant, which may be erased there, or
 * without its provider here, the decision stands as it is.
 */
async function readAgain(deps: KycDeps, remote: RemoteProvider | null, kyc: Kyc): Promise<void> {
  const review = remote && kyc.applicantId !== null ? await remote.fetchReview(kyc.applicantId) : null
  await applyNews(deps, kyc, review ?? { ...GONE, providerStatus: kyc.providerStatus ?? GONE.providerStatus })
}

/** Who passed an enhanced check before must start again. Only a person at the provider lets one whom it refused. */
const mustStartAgain = async (deps: KycDeps, kyc: Kyc, review: Review): Promise<boolean> =>
  review.outcome === 'approved' && (await isOfBefore(deps.db, kyc, review))

/** Without the right to reset, every further enhanced check waits until somebody gives it. */
const tellNoReset = (deps: KycDeps, kyc: Kyc, words: string): Promise<void> =>
  deps.db.tx(async (tx) => {
    if (!(await claimDailyNotice(tx, 'kyc.reset', deps.clock()))) return
    await deps.alarm(tx, {
      subject: 'The identity provider starts no check again',
      paragraphs: [
        `A further enhanced check was requested (check ${kyc.id}), for which its payer has to start again at ` +
          `${kyc.provider}. That was refused: ${words}.`,
        'Allow the app token to reset applicants, or reset this applicant in the dashboard of the provider. It is tried ' +
          'again by itself; until then the check waits, and a SuperAdmin may complete it by hand.',
      ],
      path: OFFICE_PATHS.system,
    })
  })

/** What the provider says of an open check. Who passed an enhanced check before starts again to be asked anew. */
async function readOpen(deps: KycDeps, remote: RemoteProvider, kyc: Kyc): Promise<Review | null> {
  const applicantId = await ensureApplicant(deps, remote, kyc)
  const review = await remote.fetchReview(applicantId)
  if (!review || !(await mustStartAgain(deps, kyc, review))) return review
  try {
    await remote.resetApplicant(applicantId)
  } catch (error) {
    if (!(error instanceof IdentityProviderError) || error.kind !== 'definite') throw error
    if (error.status === 401 || error.status === 403) await tellNoReset(deps, kyc, error.message)
    return { ...review, outcome: 'unknown', providerStatus: error.message }
  }
  return remote.fetchReview(applicantId)
}

/** Polls one due check. @throws IdentityProviderError */
async function pollKyc(deps: KycDeps, kyc: Kyc): Promise<void> {
  const remote = remoteOf(deps, kyc)
  if (isReading(kyc)) return readAgain(deps, remote, kyc)
  // a person may decide here: the provider's last words tell what is news to another node
  if (!remote)
    return applyNews(deps, kyc, {
      ...GONE,
      providerStatus: kyc.providerStatus ?? `${kyc.provider} is not set up here`,
    })
  const review = await readOpen(deps, remote, kyc)
  // deleted at the provider: the next poll creates a new one
  if (review === null) await queries.updateApplicant(deps.db, kyc, null)
  await applyNews(deps, kyc, review ?? GONE)
}

/** Checks without a final answer, for the polling engine. */
export const kycPolls = (deps: KycDeps): PollSpec => ({
  ...queries.KYC_POLLS,
  async work(db, { id }) {
    const kyc = await queries.findKyc(db, id)
    if (kyc) await pollKyc({ ...deps, db }, kyc)
  },
})

/**
 * A token for one load of the payer's page; null: no check is open. Its level is the one that is asked for, or the
 * enhanced one where the provider demands that: a session at the basic level would take the demand back.
 * @throws IdentityProviderError
 */
export async function openKycSession(deps: KycDeps, kyc: Kyc): Promise<{ token: string } | null> {
  const asked = askedLevel(kyc)
  const remote = remoteOf(deps, kyc)
  if (!remote || asked === null) return null
  const review = await remote.fetchReview(await ensureApplicant(deps, remote, kyc))
  const session = await remote.openSession(kyc.id, review?.level === 'enhanced' ? 'enhanced' : asked)
  // the poll resets, one at a time: a second reset would undo what the payer hands in meanwhile
  if (review && (await mustStartAgain(deps, kyc, review))) await lookNow(deps, kyc)
  else if (kyc.nextCheckAt === null) await queries.updateKycDue(deps.db, kyc, new Date(deps.clock() + MINUTE))
  return session
}

/** The payer reports being done: poll soon, but trust only the provider's answer. */
export async function lookNow(deps: KycDeps, kyc: Kyc): Promise<void> {
  if (remoteOf(deps, kyc)) {
    await queries.updateKycDue(deps.db, kyc, new Date(deps.clock()))
    deps.signals.look()
  }
}
