import type { ComptoirEvent } from './generated/events.ts'

/**
 * Verifies webhooks from Comptoir. Needs nothing but WebCrypto: Node 20 and newer, Deno, Bun, browsers, edge workers.
 */

export type WebhookErrorCode =
  | 'HEADER_MISSING'
  | 'HEADER_MALFORMED'
  | 'TIMESTAMP_OUTSIDE_TOLERANCE'
  | 'SIGNATURE_MISMATCH'

/** The webhook must not be trusted. Answer 400. */
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
  /** Milliseconds since 1970, for tests; default: the current time. */
  nowMs?: number
  /**
   * Whether a test event has the type that it plays, `order.paid` for example. Only where nothing is shipped: its order
   * does not exist. Default false: its type is `test`.
   */
  testEvents?: boolean
}

const encoder = new TextEncoder()

/** Exactly the bytes received. A body that was parsed and serialised again has another signature. */
type RawBody = string | ArrayBuffer | Uint8Array

const toBytes = (body: RawBody): Uint8Array<ArrayBuffer> => {
  if (typeof body === 'string') return encoder.encode(body)
  return body instanceof ArrayBuffer ? new Uint8Array(body) : new Uint8Array(body)
}

/** Headers in the form of Node, Express, Fastify and Fetch. */
export type WebhookHeaders =
  | { get(name: string): string | null | undefined }
  | Record<string, string | string[] | undefined>

function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return Array.isArray(found) ? found.join(',') : (found as string | undefined)
}

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>

const importKey = (bytes: Uint8Array<ArrayBuffer>, use: 'sign' | 'verify'): Promise<Key> =>
  crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [use])

/** The key of `Service-Signature` is the whole text of the secret. */
function textKey(secret: string): Uint8Array<ArrayBuffer> {
  bytesKey(secret)
  return encoder.encode(secret)
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
}

/**
 * The key of `webhook-signature` is what the text after `whsec_` decodes to. With an empty key, anyone could sign.
 * @throws WebhookVerificationError for anything but a secret of Comptoir
 */
function bytesKey(secret: string): Uint8Array<ArrayBuffer> {
  const text = /^whsec_([A-Za-z0-9+/]{22,}={0,2})$/.exec(secret)?.[1]
  try {
    if (text !== undefined) return fromBase64(text)
  } catch {
    // no base64
  }
  throw new WebhookVerificationError('SIGNATURE_MISMATCH', 'The secret is not one of Comptoir’s: whsec_ and base64')
}

function join(head: string, rawBody: RawBody): Uint8Array<ArrayBuffer> {
  const [first, body] = [encoder.encode(head), toBytes(rawBody)]
  const bytes = new Uint8Array(first.length + body.length)
  bytes.set(first)
  bytes.set(body, first.length)
  return bytes
}

function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(hex.length / 2)
  for (let index = 0; index < bytes.length; index += 1)
    bytes[index] = Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16)
  return bytes
}

const toHex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

/** One signature scheme, read from the headers: the signed text, its time, the key, and the signatures to try. */
type Claim = {
  id: string
  atSeconds: string
  head: string
  key: Uint8Array<ArrayBuffer>
  signatures: Uint8Array<ArrayBuffer>[]
}

const malformed = (message: string): WebhookVerificationError =>
  new WebhookVerificationError('HEADER_MALFORMED', message)

function readService(header: string, id: string, secret: string): Claim {
  let atSeconds = ''
  const signatures: Uint8Array<ArrayBuffer>[] = []
  for (const part of header.split(',')) {
    const [name, value = ''] = part.trim().split('=', 2)
    if (name === 't' && /^\d{1,12}$/.test(value)) atSeconds = value
    if (name === 'v1' && /^[0-9a-f]{64}$/.test(value)) signatures.push(fromHex(value))
  }
  if (atSeconds === '' || signatures.length === 0) throw malformed('Service-Signature is not of the form t=…,v1=…')
  return { id, atSeconds, head: `${atSeconds}.`, key: textKey(secret), signatures }
}

/** 32 bytes in base64. Four of the bits of the last letter carry data; the other two are zero in what we send. */
const SIGNATURE = /^v1,([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$/

/** Standard Webhooks 1.0: `v1,<base64>` of `<id>.<seconds>.<body>`; several are separated by spaces. */
function readStandard(header: string, headers: WebhookHeaders, secret: string): Claim {
  const id = readHeader(headers, 'webhook-id') ?? ''
  const atSeconds = readHeader(headers, 'webhook-timestamp') ?? ''
  const found = header.split(' ').map((part) => SIGNATURE.exec(part)?.[1])
  const signatures = found.flatMap((text) => (text === undefined ? [] : [fromBase64(text)]))
  const fits = id !== '' && /^\d{1,12}$/.test(atSeconds) && signatures.length > 0
  if (!fits) throw malformed('webhook-id, webhook-timestamp and webhook-signature are not those of Standard Webhooks')
  return { id, atSeconds, head: `${id}.${atSeconds}.`, key: bytesKey(secret), signatures }
}

/** Standard Webhooks first: its signature covers the id as well. */
function readClaims(headers: WebhookHeaders, secret: string): [Claim, ...Claim[]] {
  const standard = readHeader(headers, 'webhook-signature')
  const service = readHeader(headers, 'service-signature')
  const claims: Claim[] = []
  if (standard) claims.push(readStandard(standard, headers, secret))
  if (service) claims.push(readService(service, readHeader(headers, 'service-webhook-id') ?? '', secret))
  const [first, ...others] = claims
  if (first) return [first, ...others]
  throw new WebhookVerificationError('HEADER_MISSING', 'Neither Service-Signature nor webhook-signature is there')
}

async function checkClaim(
  claim: Claim,
  rawBody: RawBody,
  { toleranceSeconds = 300, nowMs = Date.now() }: VerifyOptions,
) {
  const { head, key, signatures, atSeconds } = claim
  const imported = await importKey(key, 'verify')
  const bytes = join(head, rawBody)
  const matches = await Promise.all(signatures.map((one) => crypto.subtle.verify('HMAC', imported, one, bytes)))
  if (!matches.includes(true)) {
    throw new WebhookVerificationError(
      'SIGNATURE_MISMATCH',
      'Signed by another secret, or the body was changed on the way',
    )
  }
  if (Math.abs(nowMs / 1000 - Number(atSeconds)) > toleranceSeconds) {
    throw new WebhookVerificationError('TIMESTAMP_OUTSIDE_TOLERANCE', `Signed more than ${toleranceSeconds} s from now`)
  }
}

/**
 * Verifies a webhook by `Service-Signature` and by the signature of Standard Webhooks. One of them is enough, but each
 * one that is present must be valid. The comparison takes constant time.
 * @param rawBody the body as received, before any JSON parser
 * @param headers all headers of the request
 * @param secret the account's `webhookSigningSecret`, including `whsec_`
 * @returns the event; `id` is the same when it is sent again, so deduplicate by it. A test event, which no one paid,
 * has the type `test`; `data.event` says what it plays
 * @throws WebhookVerificationError when it must not be trusted
 */
export async function verifyWebhook(
  rawBody: RawBody,
  headers: WebhookHeaders,
  secret: string,
  options: VerifyOptions = {},
): Promise<ComptoirEvent> {
  const claims = readClaims(headers, secret)
  for (const claim of claims) await checkClaim(claim, rawBody, options)
  const [{ id }] = claims
  const data = JSON.parse(new TextDecoder().decode(toBytes(rawBody))) as ComptoirEvent['data']
  const type = data.test === true && options.testEvents !== true ? 'test' : data.event
  return { id, type, createdAt: data.updatedAt, data } as ComptoirEvent
}

/** The body of a webhook: the event, and an order or an identity check. */
export type WebhookPayload = { event: string } & Record<string, unknown>
export type TestWebhook = { body: string; headers: Record<string, string> }

/**
 * Creates a signed webhook for testing a receiver, exactly as Comptoir would send it.
 * @param payload the body, or its bytes as text; `event` names the event
 */
export async function signTestWebhook(
  payload: WebhookPayload | string,
  secret: string,
  options: { id?: string; atSeconds?: number } = {},
): Promise<TestWebhook> {
  const { id = toHex(crypto.getRandomValues(new Uint8Array(16))), atSeconds = Math.floor(Date.now() / 1000) } = options
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const { event } = JSON.parse(body) as WebhookPayload
  const sign = async (key: Uint8Array<ArrayBuffer>, head: string): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.sign('HMAC', await importKey(key, 'sign'), join(head, body)))
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Comptoir-Webhooks/1',
      'service-event': event,
      'service-webhook-id': id,
      'service-signature': `t=${atSeconds},v1=${toHex(await sign(textKey(secret), `${atSeconds}.`))}`,
      'webhook-id': id,
      'webhook-timestamp': String(atSeconds),
      'webhook-signature': `v1,${toBase64(await sign(bytesKey(secret), `${id}.${atSeconds}.`))}`,
    },
  }
}
