import { createHmac } from 'node:crypto'

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text)

/**
 * `t=<seconds>,v1=<64 hex>`: HMAC-SHA-256 of `<t>.<body>`, keyed by the whole secret text including `whsec_`
 * (interface 6.4). No space after the comma: receivers that split on it, such as Stripe's library, need none.
 */
const serviceSignature = (secret: string, body: string, atSeconds: number): string =>
  `t=${atSeconds},v1=${hmac(secret, `${atSeconds}.${body}`).digest('hex')}`

/**
 * `v1,<base64>` of the Standard Webhooks specification 1.0: HMAC-SHA-256 of `<id>.<t>.<body>`, keyed by the bytes
 * whose base64 follows `whsec_`.
 */
function standardSignature(secret: string, id: string, body: string, atSeconds: number): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return `v1,${hmac(key, `${id}.${atSeconds}.${body}`).digest('base64')}`
}

export type SignedMessage = { id: string; event: string; body: string; secret: string; atSeconds: number }

/** All headers of one attempt as name, value, name, value …; `t` and the signatures are good for this attempt only. */
export function webhookHeaders(message: SignedMessage): string[] {
  const { id, event, body, secret, atSeconds } = message
  return [
    ...['content-type', 'application/json'],
    ...['user-agent', 'Comptoir-Webhooks/1'],
    ...['service-event', event],
    ...['service-webhook-id', id],
    ...['service-signature', serviceSignature(secret, body, atSeconds)],
    ...['webhook-id', id],
    ...['webhook-timestamp', String(atSeconds)],
    ...['webhook-signature', standardSignature(secret, id, body, atSeconds)],
  ]
}
