import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

const hmac = (key: KeyObject, text: string) => createHmac('sha256', key).update(text)

/** The two keys of a secret: its whole text, and the bytes whose base64 follows `whsec_`. */
type SigningKeys = { text: KeyObject; bytes: KeyObject }

const KEPT_KEYS = 10_000
const keptKeys = new Map<string, SigningKeys>()

/** Cached, because creating a key costs more than signing with it. */
function keysOf(secret: string): SigningKeys {
  const kept = keptKeys.get(secret)
  if (kept) return kept
  const bytes = createSecretKey(Buffer.from(secret.slice('whsec_'.length), 'base64'))
  const keys = { text: createSecretKey(secret, 'utf8'), bytes }
  if (keptKeys.size >= KEPT_KEYS) keptKeys.clear()
  keptKeys.set(secret, keys)
  return keys
}

/**
 * `t=<seconds>,v1=<64 hex>`: HMAC-SHA-256 of `<t>.<body>`, keyed by the whole secret text including `whsec_` (interface
 * 6.4). No space after the comma: receivers that split on it, such as Stripe's library, do not expect one.
 */
const serviceSignature = ({ text }: SigningKeys, body: string, atSeconds: number): string =>
  `t=${atSeconds},v1=${hmac(text, `${atSeconds}.${body}`).digest('hex')}`

/**
 * `v1,<base64>` of the Standard Webhooks specification 1.0: HMAC-SHA-256 of `<id>.<t>.<body>`, keyed by the bytes
 * whose base64 follows `whsec_`.
 */
const standardSignature = ({ bytes }: SigningKeys, id: string, body: string, atSeconds: number): string =>
  `v1,${hmac(bytes, `${id}.${atSeconds}.${body}`).digest('base64')}`

export type SignedMessage = { id: string; event: string; body: string; secret: string; atSeconds: number }

/** All headers of one attempt as name, value, name, value …; `t` and the signatures are valid for this attempt only. */
export function webhookHeaders(message: SignedMessage): string[] {
  const { id, event, body, atSeconds } = message
  const keys = keysOf(message.secret)
  return [
    ...['content-type', 'application/json'],
    ...['user-agent', 'Comptoir-Webhooks/1'],
    ...['service-event', event],
    ...['service-webhook-id', id],
    ...['service-signature', serviceSignature(keys, body, atSeconds)],
    ...['webhook-id', id],
    ...['webhook-timestamp', String(atSeconds)],
    ...['webhook-signature', standardSignature(keys, id, body, atSeconds)],
  ]
}
