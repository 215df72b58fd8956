import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import type { CallbackNews } from '../identity-provider.ts'
import { CALLBACK_ALGORITHM, isDigest } from './signature.ts'

const MAX_NAME = 200

/** "2024-06-10 06:15:00.123", taken as UTC. */
function readTime(text: string): Date | undefined {
  const match = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,3})?)$/.exec(text)
  const time = match ? new Date(`${match[1]}T${match[2]}Z`) : undefined
  return time && !Number.isNaN(time.getTime()) ? time : undefined
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= MAX_NAME ? value : undefined

/**
 * Checks the digest over the raw bytes before parsing. Takes only identifiers from the callback, never the review.
 * Source: docs.sumsub.com/docs/webhook-manager
 * @throws CallbackRefused
 */
export function readSumsubCallback(webhookSecret: string, { headers, rawBody }: Callback): CallbackNews {
  const [algorithm, digest] = [headers['x-payload-digest-alg'], headers['x-payload-digest']]
  if (algorithm !== CALLBACK_ALGORITHM)
    throw new CallbackRefused(`x-payload-digest-alg must be ${CALLBACK_ALGORITHM}; choose it in the webhook's settings`)
  if (typeof digest !== 'string' || !isDigest(webhookSecret, rawBody, digest))
    throw new CallbackRefused('x-payload-digest does not fit the body')
  let json: Record<string, unknown>
  try {
    json = Object(JSON.parse(rawBody.toString('utf8')))
  } catch {
    throw new CallbackRefused('the body is not JSON')
  }
  const [applicantId, type, createdAtText] = [text(json.applicantId), text(json.type), text(json.createdAtMs)]
  const createdAt = readTime(createdAtText ?? '')
  if (applicantId === undefined || type === undefined || createdAtText === undefined || createdAt === undefined)
    throw new CallbackRefused('applicantId, type or createdAtMs is missing')
  const externalUserId = text(json.externalUserId) ?? null
  return { applicantId, type, createdAtText, createdAt, externalUserId, sandbox: json.sandboxMode === true }
}
