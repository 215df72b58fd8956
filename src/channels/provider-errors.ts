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
