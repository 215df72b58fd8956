import { toStorableText } from '../db/storable.ts'
import type { Callback } from '../kernel/callback.ts'

/** The basic check, and enhanced due diligence. */
export type Level = 'basic' | 'enhanced'

/**
 * What a provider says of one person. `retry`: refused for now, the person may try again. `unknown` changes nothing
 * and covers every undocumented status.
 */
export type ReviewOutcome = 'notStarted' | 'pending' | 'retry' | 'approved' | 'refused' | 'unknown'

export type Review = {
  outcome: ReviewOutcome
  /** The check it concerns; null: one that is not configured here. */
  level: Level | null
  /** The provider's words, for the operator. */
  providerStatus: string
  /** What the provider wants the person to read. */
  payerMessage: string | null
  /** When a decided check was decided, to the second; null: it is not, or the provider does not say. */
  reviewedAt: Date | null
}

/** A genuine callback; it only triggers a poll. */
export type CallbackNews = {
  applicantId: string
  externalUserId: string | null
  type: string
  /** As it was sent; with applicant and type the name of this callback. */
  createdAtText: string
  createdAt: Date
  /** Concerns a test applicant. */
  sandbox: boolean
}

/**
 * `definite`: the provider read the request and refused it. `unknown`: no usable answer; the request may have
 * taken effect. Messages contain no secrets.
 */
export class IdentityProviderError extends Error {
  override readonly name = 'IdentityProviderError'
  readonly kind: 'unknown' | 'definite'
  /** HTTP status, where there was one. */
  readonly status: number | null
  constructor(kind: 'unknown' | 'definite', message: string, status: number | null = null, cause?: unknown) {
    super(toStorableText(message), cause === undefined ? undefined : { cause })
    this.kind = kind
    this.status = status
  }
}

/** What the payer's page needs to run the check. */
export type Embedding = { scriptUrl: string; frameOrigin: string }

/** A provider that runs checks itself. Stateless: the caller stores what it returns. */
export type RemoteProvider = {
  readonly id: 'sumsub'
  readonly embedding: Embedding
  /**
   * Creates the applicant for our id, or finds the existing one.
   * @throws IdentityProviderError; after `unknown`, call `findApplicant` before retrying
   */
  createApplicant(externalUserId: string): Promise<{ applicantId: string }>
  /** @returns null when the provider has no applicant with our id */
  findApplicant(externalUserId: string): Promise<{ applicantId: string } | null>
  /** @returns null when the applicant no longer exists */
  fetchReview(applicantId: string): Promise<Review | null>
  /**
   * The applicant starts again, at the same level: what was handed in and decided no longer counts there.
   * @throws IdentityProviderError, also while the applicant is being checked
   */
  resetApplicant(applicantId: string): Promise<void>
  /** A short-lived token for one payer's page. It moves the applicant to that level. */
  openSession(externalUserId: string, level: Level): Promise<{ token: string }>
  /** Verifies the raw bytes, then parses. @throws CallbackRefused */
  readCallback(callback: Callback): CallbackNews
}

/** `manual`: decided in the back office. */
export type IdentityProvider = { readonly id: 'manual' } | RemoteProvider
