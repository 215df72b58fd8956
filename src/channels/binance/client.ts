import { type Clock, SECOND } from '../../kernel/clock.ts'
import { parseJsonExact, textAt } from '../../kernel/json.ts'
import { ProviderRefusal, ProviderTrouble, type RefusalReason } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderHttp } from '../provider-http.ts'
import { makeNonce, signRequest } from './signature.ts'

/** A definite answer. Everything else is thrown as ProviderTrouble. */
export type Answer = { outcome: 'done'; data: unknown } | { outcome: 'refused'; code: string; refusal: ProviderRefusal }

export type BinanceClient = {
  /** @throws ProviderTrouble if the outcome is unknown */
  ask(path: string, body: unknown): Promise<Answer>
}

export const PATHS = {
  create: '/binancepay/openapi/v3/order',
  query: '/binancepay/openapi/v2/order/query',
  close: '/binancepay/openapi/order/close',
  refund: '/binancepay/openapi/order/refund',
  refundQuery: '/binancepay/openapi/order/refund/query',
  certificates: '/binancepay/openapi/certificates',
} as const

/** For a request and its repetition together. */
const TIMEOUT_MS = 10 * SECOND

/** With less time, a repetition is not worth the risk that its outcome is unknown. */
const MIN_REPEAT_MS = 2 * SECOND

const OUT_OF_TIME = '400003'
export const DUPLICATE = '400201'
export const NOT_FOUND = '400202'
export const NO_ATTEMPTS = '400302'

/**
 * Codes that mean "not done" (Binance Pay, common rules, and "result code" of api-order-close and api-order-refund).
 * 400000, "unknown", is left out: it leaves the outcome open.
 */
const REFUSALS: ReadonlyMap<string, RefusalReason> = new Map([
  ['400001', 'request'],
  ['400002', 'credentials'],
  [OUT_OF_TIME, 'clock'],
  ['400004', 'credentials'],
  ['400005', 'credentials'],
  ['400006', 'request'],
  ['400007', 'request'],
  ['400008', 'request'],
  ['400100', 'request'],
  ['400101', 'request'],
  ['400102', 'request'],
  ['400103', 'request'],
  ['400104', 'request'],
  [DUPLICATE, 'request'],
  [NOT_FOUND, 'state'],
  ['400203', 'account'],
  // paid, or a payment is on its way: it cannot be closed
  ['400204', 'state'],
  ['400206', 'account'],
  ['400301', 'request'],
  [NO_ATTEMPTS, 'state'],
  ['400303', 'amount'],
  // the merchant's balance there does not cover the refund
  ['400304', 'account'],
  ['400606', 'account'],
])

function retryAfterOf({ headers }: ProviderAnswer): { retryAfterMs?: number } {
  const seconds = /^\d{1,5}$/.exec(headers['retry-after'] ?? '')
  return seconds ? { retryAfterMs: Number(seconds[0]) * 1000 } : {}
}

function parse(answer: ProviderAnswer): unknown {
  try {
    return parseJsonExact(answer.text)
  } catch (cause) {
    throw new ProviderTrouble(`Binance answered HTTP ${answer.status} without JSON`, { cause, ...retryAfterOf(answer) })
  }
}

/**
 * The envelope `{status, code, data, errorMessage}`. Its code counts even with HTTP 200; an answer from a failing
 * server decides nothing.
 */
export function readAnswer(answer: ProviderAnswer): Answer {
  const envelope = parse(answer)
  const code = textAt(envelope, 'code') ?? ''
  const providerStatus = `Binance ${code || 'without code'}: ${textAt(envelope, 'errorMessage') ?? `HTTP ${answer.status}`}`
  const isSuccess = textAt(envelope, 'status') === 'SUCCESS' && code === '000000' && answer.status === 200
  if (isSuccess) return { outcome: 'done', data: (envelope as { data?: unknown }).data }
  const reason = REFUSALS.get(code)
  const answered = textAt(envelope, 'status') === 'FAIL' && answer.status < 500 && answer.status !== 429
  if (reason === undefined || !answered)
    throw new ProviderTrouble(providerStatus, { cause: answer, answered, ...retryAfterOf(answer) })
  return { outcome: 'refused', code, refusal: new ProviderRefusal(reason, providerStatus, answer) }
}

export function openClient(options: {
  baseUrl: string
  apiKey: string
  apiSecret: string
  http: ProviderHttp
  clock: Clock
}): BinanceClient {
  const { baseUrl, apiKey, apiSecret, http, clock } = options
  const send = async (path: string, body: string, timeoutMs: number): Promise<Answer> => {
    const stamp = { timestamp: String(clock()), nonce: makeNonce() }
    const headers = {
      'content-type': 'application/json',
      'BinancePay-Timestamp': stamp.timestamp,
      'BinancePay-Nonce': stamp.nonce,
      'BinancePay-Certificate-SN': apiKey,
      'BinancePay-Signature': signRequest(apiSecret, stamp, body),
    }
    return readAnswer(await http({ method: 'POST', url: baseUrl + path, headers, body, timeoutMs }))
  }
  return {
    async ask(path, content) {
      const body = JSON.stringify(content)
      const endsAt = clock() + TIMEOUT_MS
      const answer = await send(path, body, TIMEOUT_MS)
      // what is signed is good for a second, which a new connection can use up; the next request finds one open
      const restMs = endsAt - clock()
      const isLate = answer.outcome === 'refused' && answer.code === OUT_OF_TIME && restMs >= MIN_REPEAT_MS
      return isLate ? send(path, body, restMs) : answer
    },
  }
}
