/** What a provider sends us, as it came; header names are in lower case. */
export type Callback = { headers: Record<string, string | string[] | undefined>; rawBody: Buffer }

/**
 * A callback that cannot be believed: wrong signature, too old, unreadable. It changes nothing. The message names why,
 * for the log, and repeats nothing of it.
 */
export class CallbackRefused extends Error {
  override readonly name = 'CallbackRefused'
}
