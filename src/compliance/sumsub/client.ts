import { request } from 'undici'
import { type Clock, SECOND } from '../../kernel/clock.ts'
import { IdentityProviderError } from '../identity-provider.ts'
import { signRequest } from './signature.ts'

export type ClientOptions = {
  baseUrl: string
  appToken: string
  secretKey: string
  clock: Clock
  timeoutMs?: number
}

export type SumsubAnswer = { status: number; json: unknown }

export type SumsubRequest = {
  /** Names the request in error messages; contains no ids. */
  what: string
  method: 'GET' | 'POST'
  path: string
  body?: unknown
  /** Any other status is an error. */
  expected: readonly number[]
}

export type SumsubClient = {
  /** @throws IdentityProviderError */
  call(request: SumsubRequest): Promise<SumsubAnswer>
}

const TIMEOUT_MS = 10_000
const MAX_BODY_BYTES = 256 * 1024

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Signs each request. After a time-out its effect is unknown. */
export function openSumsubClient(options: ClientOptions): SumsubClient {
  const { baseUrl, appToken, secretKey, clock, timeoutMs = TIMEOUT_MS } = options
  const scrub = (text: string): string => text.replaceAll(secretKey, '[hidden]').replaceAll(appToken, '[hidden]')
  return {
    async call({ what, method, path, body, expected }) {
      const url = new URL(baseUrl + path)
      const sent = body === undefined ? null : JSON.stringify(body)
      const seconds = Math.floor(clock() / SECOND)
      const signed = { method, path: url.pathname + url.search, body: sent }
      const headers: Record<string, string> = {
        accept: 'application/json',
        'user-agent': 'comptoir',
        'x-app-token': appToken,
        'x-app-access-ts': String(seconds),
        'x-app-access-sig': signRequest(secretKey, seconds, signed),
        ...(sent === null ? {} : { 'content-type': 'application/json' }),
      }
      let answer: { status: number; text: string }
      try {
        const signal = AbortSignal.timeout(timeoutMs)
        const response = await request(url, { method, headers, signal, ...(sent === null ? {} : { body: sent }) })
        answer = { status: response.statusCode, text: await readText(response.body) }
      } catch (error) {
        throw new IdentityProviderError('unknown', `sumsub ${what}: no answer`, null, error)
      }
      const json = parse(answer.text)
      if (expected.includes(answer.status)) return { status: answer.status, json }
      const { description } = Object(json) as { description?: unknown }
      const words = typeof description === 'string' ? `: ${scrub(description).slice(0, 200)}` : ''
      const kind = answer.status >= 500 || answer.status === 429 ? 'unknown' : 'definite'
      throw new IdentityProviderError(kind, `sumsub ${what}: HTTP ${answer.status}${words}`, answer.status)
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
