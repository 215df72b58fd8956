import { randomBytes } from 'node:crypto'

/** An applicant's review, with the provider's own field names. */
export type Review = {
  reviewStatus: string
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
    const id = randomBytes(12).toString('hex')
    const createdAt = new Date().toISOString().replace('T', ' ').slice(0, 19)
    const applicant: Applicant = { id, externalUserId, levelName, createdAt, review: { reviewStatus: 'init' } }
    this.applicants.set(id, applicant)
    return applicant
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
