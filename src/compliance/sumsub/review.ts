import { toStorableText } from '../../db/storable.ts'
import { ownAt } from '../../kernel/json.ts'
import type { Level, Review, ReviewOutcome } from '../identity-provider.ts'

type Answer = {
  reviewStatus?: unknown
  levelName?: unknown
  reviewDate?: unknown
  reviewResult?: { reviewAnswer?: unknown; reviewRejectType?: unknown; moderationComment?: unknown }
}

/**
 * Not linear: an applicant may go from any of them to any other. Of the last two the check is paused
 * (docs.sumsub.com/docs/applicant-statuses); `awaitingService` may carry a GREEN that is not the result yet.
 */
const OUTCOMES: Record<string, ReviewOutcome> = {
  init: 'notStarted',
  pending: 'pending',
  queued: 'pending',
  prechecked: 'pending',
  onHold: 'pending',
  awaitingUser: 'pending',
  awaitingService: 'pending',
}

function outcomeOf({ reviewStatus, reviewResult }: Answer): ReviewOutcome {
  if (typeof reviewStatus !== 'string') return 'unknown'
  if (reviewStatus !== 'completed') return ownAt(OUTCOMES, reviewStatus) ?? 'unknown'
  const { reviewAnswer, reviewRejectType } = reviewResult ?? {}
  if (reviewAnswer === 'GREEN') return 'approved'
  if (reviewAnswer !== 'RED') return 'unknown'
  if (reviewRejectType === 'FINAL') return 'refused'
  return reviewRejectType === 'RETRY' ? 'retry' : 'unknown'
}

/** "2024-06-10 06:15:00", also with "+0000" behind it: its documents say UTC. */
function readDate(text: unknown): Date | null {
  const match = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:?00)?$/.exec(String(text))
  const time = match ? new Date(`${match[1]}T${match[2]}Z`) : null
  return time && !Number.isNaN(time.getTime()) ? time : null
}

const MAX_MESSAGE = 1000
const word = (value: unknown): string => (typeof value === 'string' ? toStorableText(value, 60) : '-')

/**
 * The answer of `GET …/status`. Of the comments only `moderationComment` is meant for the person; `clientComment` is
 * internal and is not even read. Source: docs.sumsub.com/reference/get-applicant-review-status
 */
export function readReview(json: unknown, levels: { level: string; eddLevel: string }): Review {
  const answer = (typeof json === 'object' && json !== null ? json : {}) as Answer
  const { levelName, reviewStatus, reviewResult, reviewDate } = answer
  const level: Level | null = levelName === levels.level ? 'basic' : levelName === levels.eddLevel ? 'enhanced' : null
  const comment = reviewResult?.moderationComment
  const parts = [
    word(levelName),
    word(reviewStatus),
    word(reviewResult?.reviewAnswer),
    word(reviewResult?.reviewRejectType),
  ]
  return {
    outcome: outcomeOf(answer),
    level,
    providerStatus: parts.join(' '),
    payerMessage:
      typeof comment === 'string' && comment.trim() !== '' ? toStorableText(comment.trim(), MAX_MESSAGE) : null,
    reviewedAt: reviewStatus === 'completed' ? readDate(reviewDate) : null,
  }
}
