import { randomBytes } from 'node:crypto'

/** An applicant's review, with the provider's own field names. */
export type Review = {
  reviewStatus: string
  /** "2024-06-10 06:15:00", in UTC. */
  reviewDate?: string
  reviewResult?: {
    reviewAnswer: 'GREEN' | 'RED'
    reviewRejectType?: string
    rejectLabels?: string[]
    moderationComment?: string
    clientComment?: string
  }
}

export type Applicant = {
  id: string
  externalUserId: string
  levelName: string
  createdAt: string
  attemptId: string
  /** Of this level. */
  attemptCnt: number
  review: Review
}

export type Token = { userId: string; levelName: string; expiresAt: number }

/** A decision about an applicant. */
export type Answer = 'approve' | 'retry' | 'refuse' | 'enhanced' | 'reset'

const RESULTS: Record<Exclude<Answer, 'reset'>, NonNullable<Review['reviewResult']>> = {
  approve: { reviewAnswer: 'GREEN' },
  enhanced: { reviewAnswer: 'GREEN' },
  retry: {
    reviewAnswer: 'RED',
    reviewRejectType: 'RETRY',
    rejectLabels: ['BAD_PHOTO'],
    moderationComment: 'The photo is too dark. Please take it again by daylight.',
    clientComment: 'internal: looks nervous',
  },
  refuse: {
    reviewAnswer: 'RED',
    reviewRejectType: 'FINAL',
    rejectLabels: ['FORGERY'],
    moderationComment: 'We could not verify your identity.',
    clientComment: 'internal: forged document',
  },
}

/** Nothing can be handed in any more: who passed, or was refused for good, sees the result. */
export const isDone = ({ reviewResult }: Review): boolean =>
  reviewResult?.reviewAnswer === 'GREEN' || reviewResult?.reviewRejectType === 'FINAL'

export const timeText = (): string => new Date().toISOString().replace('T', ' ').slice(0, 19)

const newId = (): string => randomBytes(12).toString('hex')

export const isAnswer = (text: string): text is Answer => text === 'reset' || Object.hasOwn(RESULTS, text)

export const resultOf = (answer: Exclude<Answer, 'reset'>): NonNullable<Review['reviewResult']> => RESULTS[answer]

/** The imitation's state; it is lost when the process ends. */
export class SumsubState {
  readonly applicants = new Map<string, Applicant>()
  readonly tokens = new Map<string, Token>()

  /** @param key its id, or `-;externalUserId=…` */
  find(key: string): Applicant | undefined {
    const external = /^-;externalUserId=(.+)$/.exec(key)?.[1]
    if (external === undefined) return this.applicants.get(key)
    return [...this.applicants.values()].find(({ externalUserId }) => externalUserId === external)
  }

  add(externalUserId: string, levelName: string): Applicant {
    const attempt = { attemptId: newId(), attemptCnt: 0, review: { reviewStatus: 'init' } }
    const applicant: Applicant = { id: newId(), externalUserId, levelName, createdAt: timeText(), ...attempt }
    this.applicants.set(applicant.id, applicant)
    return applicant
  }

  /** The applicant starts again; documents and results of before no longer count. */
  restart(applicant: Applicant, levelName = applicant.levelName): void {
    const attemptCnt = levelName === applicant.levelName ? applicant.attemptCnt + 1 : 0
    Object.assign(applicant, { levelName, attemptId: newId(), attemptCnt, review: { reviewStatus: 'init' } })
  }

  addToken(userId: string, levelName: string, seconds: number): string {
    const token = `_act-sbx-${randomBytes(18).toString('base64url')}`
    this.tokens.set(token, { userId, levelName, expiresAt: Date.now() + seconds * 1000 })
    return token
  }

  /** The state as plain data. */
  snapshot(): { applicants: Applicant[] } {
    return { applicants: [...this.applicants.values()] }
  }
}
