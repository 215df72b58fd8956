import type { Callback } from '../kernel/callback.ts'
/** The usual check, and the one that looks closer (enhanced due diligence). */
export type Level = 'basic' | 'enhanced'

/**
 * What a provider says of one person. `retry`: refused for now, the person may try again. `unknown` changes nothing:
 * also every word that nobody has seen before.
 */
export type ReviewOutcome = 'notStarted' | 'pending' | 'retry' | 'approved' | 'refused' | 'unknown'

export type Review = {
  outcome: ReviewOutcome
  /** Which check it is about; null: one that is not set up here. */
  level: Level | null
  /** The provider's words, for the operator. */
  words: string
  /** What the provider wants the person to read. */
  payerMessage: string | null
}

/** A genuine callback: it only says that it is time to look. */
export type CallbackNews = {
  applicantId: string
  externalUserId: string | null
  type: string
  /** As it was sent; with applicant and type the name of this callback. */
  createdAtText: string
  createdAt: Date
  /** About a person who was made for tests. */
  sandbox: boolean
}

/**
 * `definite`: the provider read the request and refused it. `unknown`: no usable answer; what was asked for may have
 * been done. Messages hold no secret.
 */
export class IdentityProviderError extends Error {
  override readonly name = 'IdentityProviderError'
  readonly kind: 'unknown' | 'definite'
  /** HTTP status, where there was one. */
  readonly status: number | null
  constructor(kind: 'unknown' | 'definite', message: string, status: number | null = null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
    this.status = status
  }
}

/** What a page needs to let a person go through the check. */
export type Embedding = { scriptUrl: string; frameOrigin: string }

/** A provider that checks people itself. Stateless: it stores nothing here, the caller keeps what it returns. */
export type RemoteProvider = {
  readonly id: 'sumsub'
  readonly embedding: Embedding
  /**
   * Makes the applicant for our id, or finds the one that exists.
   * @throws IdentityProviderError; after `unknown` ask `findApplicant` before another try
   */
  createApplicant(externalUserId: string): Promise<{ applicantId: string }>
  /** @returns null when the provider knows nobody by our id */
  findApplicant(externalUserId: string): Promise<{ applicantId: string } | null>
  /** @returns null when there is no such applicant any more */
  fetchReview(applicantId: string): Promise<Review | null>
  /** A short-lived token for the page of one person. */
  openSession(externalUserId: string, level: Level): Promise<{ token: string }>
  /** Verifies the raw bytes, then parses. @throws CallbackRefused */
  readCallback(callback: Callback): CallbackNews
}

/** `manual`: a person of the back office decides. */
export type IdentityProvider = { readonly id: 'manual' } | RemoteProvider
