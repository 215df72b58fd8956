/** A provider's request to us, unparsed; header names are in lower case. */
export type Callback = { headers: Record<string, string | string[] | undefined>; rawBody: Buffer }

/**
 * A callback that fails verification: wrong signature, too old, unreadable. It changes nothing. The message gives the
 * reason for the log and repeats none of its content.
 */
export class CallbackRefused extends Error {
  override readonly name = 'CallbackRefused'
}
