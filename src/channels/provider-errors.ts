import { toStorableText } from '../db/storable.ts'

/** What a refusal is about; `credentials`, `clock` and `account` are for the operator to fix. */
export type RefusalReason = 'credentials' | 'clock' | 'account' | 'amount' | 'request' | 'state'

/** Whether the operator can fix it: then the refused call is retried, and nothing is decided yet. */
export const isForOperator = (reason: RefusalReason): boolean => ['credentials', 'clock', 'account'].includes(reason)

/**
 * The provider answered, and definitely did not do it. Any other error says nothing about what happened at the
 * provider, and is rethrown unchanged.
 */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal'
  readonly reason: RefusalReason
  /** @param words for the merchant, without secrets; @param cause the provider's own answer */
  constructor(reason: RefusalReason, providerStatus: string, cause?: unknown) {
    super(toStorableText(providerStatus), cause === undefined ? undefined : { cause })
    this.reason = reason
  }
}

/** For the person who looks at a refund. */
export const OTHER_ACCOUNT =
  'the account that is asked does not know what was paid or refunded at this provider before, so it is another one. ' +
  'Give back the credentials of the account that was paid, or settle the refund by hand'

/**
 * "Not found" is about the account that is asked, not about a refund that may have been taken elsewhere: it waits for
 * its own account, and is never over because of it.
 */
export const otherAccount = (cause?: unknown): ProviderRefusal => new ProviderRefusal('account', OTHER_ACCOUNT, cause)

export const isOtherAccount = (error: unknown): boolean =>
  error instanceof ProviderRefusal && error.message === OTHER_ACCOUNT

/** The provider answered something that is neither a success nor a known refusal: the outcome is unknown. */
export class ProviderTrouble extends Error {
  override readonly name = 'ProviderTrouble'
  /** How long it asks us to wait (HTTP 429), in milliseconds, or null. */
  readonly retryAfterMs: number | null
  /** The request never reached the provider: certainly not done. */
  readonly notSent: boolean
  /** It answered with a status unknown to us: so the provider itself works. */
  readonly answered: boolean
  constructor(
    providerStatus: string,
    options: { cause?: unknown; retryAfterMs?: number; notSent?: boolean; answered?: boolean } = {},
  ) {
    super(toStorableText(providerStatus), options.cause === undefined ? undefined : { cause: options.cause })
    this.retryAfterMs = options.retryAfterMs ?? null
    this.notSent = options.notSent ?? false
    this.answered = options.answered ?? false
  }
}
