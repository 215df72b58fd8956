/**
 * Checks the webhooks that Comptoir sends. Needs nothing but WebCrypto: Node 20 and newer, Deno, Bun, browsers, edge
 * workers.
 */

export type WebhookErrorCode =
  | 'HEADER_MISSING'
  | 'HEADER_MALFORMED'
  | 'TIMESTAMP_OUTSIDE_TOLERANCE'
  | 'SIGNATURE_MISMATCH'

/** The webhook must not be believed. Answer 400. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
  readonly code: WebhookErrorCode
  constructor(code: WebhookErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

export type VerifyOptions = {
  /** Seconds that `t` may differ from now, in both directions; default 300. */
  toleranceSeconds?: number
  /** Milliseconds since 1970, for tests; default the clock. */
  nowMs?: number
}

/** What every webhook has; the other fields are those of an order or of an identity check. */
export type WebhookEvent = { event: string } & Record<string, unknown>

const encoder = new TextEncoder()

/** Exactly the bytes received. A body that was parsed and written again has another signature. */
type RawBody = string | ArrayBuffer | Uint8Array

const toBytes = (body: RawBody): Uint8Array<ArrayBuffer> => {
  if (typeof body === 'string') return encoder.encode(body)
  return body instanceof ArrayBuffer ? new Uint8Array(body) : new Uint8Array(body)
}

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>

const importKey = (secret: string, use: 'sign' | 'verify'): Promise<Key> =>
  crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [use])

function signedBytes(atSeconds: string, rawBody: RawBody): Uint8Array<ArrayBuffer> {
  const [head, body] = [encoder.encode(`${atSeconds}.`), toBytes(rawBody)]
  const bytes = new Uint8Array(head.length + body.length)
  bytes.set(head)
  bytes.set(body, head.length)
  return bytes
}

function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(hex.length / 2)
  for (let index = 0; index < bytes.length; index += 1)
    bytes[index] = Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16)
  return bytes
}

const toHex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

function parseHeader(header: string): { atSeconds: string; signatures: string[] } {
  let atSeconds = ''
  const signatures: string[] = []
  for (const part of header.split(',')) {
    const [name, value = ''] = part.trim().split('=', 2)
    if (name === 't' && /^\d{1,12}$/.test(value)) atSeconds = value
    if (name === 'v1' && /^[0-9a-f]{64}$/.test(value)) signatures.push(value)
  }
  if (atSeconds === '' || signatures.length === 0) {
    throw new WebhookVerificationError('HEADER_MALFORMED', 'Service-Signature is not of the form t=…,v1=…')
  }
  return { atSeconds, signatures }
}

/**
 * Verifies a webhook and returns its body. Compare in constant time, done by WebCrypto.
 * @param rawBody the body as received, before any JSON parser
 * @param header the `Service-Signature` header
 * @param secret the account's `webhookSigningSecret`, with its `whsec_`
 * @throws WebhookVerificationError when it must not be believed
 */
export async function verifyWebhook(
  rawBody: RawBody,
  header: string | null | undefined,
  secret: string,
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
  if (!header) throw new WebhookVerificationError('HEADER_MISSING', 'The header Service-Signature is missing')
  const { atSeconds, signatures } = parseHeader(header)
  const { toleranceSeconds = 300, nowMs = Date.now() } = options
  const key = await importKey(secret, 'verify')
  const bytes = signedBytes(atSeconds, rawBody)
  const matches = await Promise.all(signatures.map((hex) => crypto.subtle.verify('HMAC', key, fromHex(hex), bytes)))
  if (!matches.includes(true)) {
    throw new WebhookVerificationError(
      'SIGNATURE_MISMATCH',
      'Signed by another secret, or the body was changed on the way',
    )
  }
  if (Math.abs(nowMs / 1000 - Number(atSeconds)) > toleranceSeconds) {
    throw new WebhookVerificationError('TIMESTAMP_OUTSIDE_TOLERANCE', `Signed more than ${toleranceSeconds} s from now`)
  }
  return JSON.parse(new TextDecoder().decode(toBytes(rawBody)))
}

export type TestWebhook = { body: string; headers: Record<string, string> }

/**
 * Makes a signed webhook for the tests of a receiver, as Comptoir would send it.
 * @param payload the body; `event` names the event
 */
export async function signTestWebhook(
  payload: WebhookEvent,
  secret: string,
  options: { id?: string; atSeconds?: number } = {},
): Promise<TestWebhook> {
  const { id = toHex(crypto.getRandomValues(new Uint8Array(16))), atSeconds = Math.floor(Date.now() / 1000) } = options
  const body = JSON.stringify(payload)
  const key = await importKey(secret, 'sign')
  const signature = await crypto.subtle.sign('HMAC', key, signedBytes(String(atSeconds), body))
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'service-event': payload.event,
      'service-webhook-id': id,
      'service-signature': `t=${atSeconds},v1=${toHex(new Uint8Array(signature))}`,
    },
  }
}
