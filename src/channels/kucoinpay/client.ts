import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import { numberLiteral, parseJsonExact, textAt } from '../../kernel/json.ts'
import { ProviderRefusal, ProviderTrouble, type RefusalReason } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderHttp } from '../provider-http.ts'
import { signedText, signText } from './signature.ts'
import type { SignedNames } from './signed-names.ts'

/** A definite answer. Everything else is thrown as ProviderTrouble. */
export type Answer = { outcome: 'done'; data: unknown } | { outcome: 'refused'; code: string; refusal: ProviderRefusal }

const PATHS = {
  create: '/api/v1/order/create',
  info: '/api/v1/order/info',
  close: '/api/v1/order/close',
  refund: '/api/v1/refund/create',
  refundInfo: '/api/v1/refund/info',
} as const
export type ApiCall = keyof typeof PATHS

/** A field that is sent as a number, while its text is signed. */
export type Literal = { literal: string }
/** Empty texts are left out: integrators sign them differently. */
export type Body = Readonly<Record<string, string | Literal | null | readonly object[]>>

export type KucoinClient = {
  /** @throws ProviderTrouble if the outcome is unknown */
  ask(call: ApiCall, body: Body): Promise<Answer>
}

export const REPEATED = '480010'
export const REFUND_RUNS = '480015'
export const FINISHED = '480019'

/**
 * Codes that definitely mean "not done". The others in KuCoin's table (internal, rate limit, timeout, no quote) decide
 * nothing. The table is in WARDAH-MANZOOR/kuCoin-pay, src/constants/errorCodes.ts: 480033 and 480034 are limits of the
 * amount, 480035, 480037 and 480038 are about the payer's account.
 */
const REFUSALS: ReadonlyMap<string, RefusalReason> = new Map([
  ['4001', 'request'],
  ['480002', 'credentials'],
  ['480003', 'credentials'],
  ['480004', 'credentials'],
  ['480007', 'account'],
  ['480008', 'account'],
  ['480009', 'request'],
  [REPEATED, 'request'],
  ['480011', 'amount'],
  ['480012', 'amount'],
  ['480013', 'request'],
  ['480014', 'account'],
  [REFUND_RUNS, 'state'],
  ['480017', 'amount'],
  [FINISHED, 'state'],
  ['480021', 'account'],
  ['480024', 'state'],
  ['480026', 'amount'],
  ['480027', 'account'],
  ['480028', 'state'],
  ['480029', 'account'],
  ['480030', 'account'],
  ['480031', 'state'],
  ['480033', 'amount'],
  ['480034', 'amount'],
  ['480035', 'state'],
  ['480036', 'credentials'],
  ['480037', 'state'],
  ['480038', 'state'],
  ['480039', 'credentials'],
])

const isLiteral = (value: unknown): value is Literal =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'literal')

/** Builds the signed texts and the JSON that is sent from the same values. */
export function writeBody(body: Body): { json: string; texts: Record<string, string> } {
  const present = Object.entries(body).filter(([, value]) => value !== null && value !== '')
  const texts = present.flatMap(([name, value]): [string, string][] => {
    if (typeof value === 'string') return [[name, value]]
    return isLiteral(value) ? [[name, value.literal]] : []
  })
  const sent = present.map(([name, value]) => [name, isLiteral(value) ? numberLiteral(value.literal) : value])
  return { json: JSON.stringify(Object.fromEntries(sent)), texts: Object.fromEntries(texts) }
}

function parse({ status, text }: ProviderAnswer): unknown {
  try {
    return parseJsonExact(text)
  } catch (cause) {
    throw new ProviderTrouble(`KuCoin Pay answered HTTP ${status} without JSON`, { cause })
  }
}

/** The envelope `{success, code, msg, retry, data}`. `success` decides, or a code that is a known refusal. */
export function readAnswer(answer: ProviderAnswer): Answer {
  const envelope = parse(answer) as { success?: unknown; data?: unknown } | null
  const code = textAt(envelope, 'code') ?? ''
  if (envelope?.success === true && answer.status === 200) return { outcome: 'done', data: envelope.data }
  const words = `KuCoin Pay ${code || 'without code'}: ${textAt(envelope, 'msg') ?? `HTTP ${answer.status}`}`
  const reason = REFUSALS.get(code)
  const answered = envelope?.success === false && answer.status < 500 && answer.status !== 429
  if (reason === undefined || !answered) throw new ProviderTrouble(words, { cause: answer, answered })
  return { outcome: 'refused', code, refusal: new ProviderRefusal(reason, words, answer) }
}

export function openClient(options: {
  baseUrl: string
  apiKey: string
  privateKey: KeyObject
  version: string
  names: SignedNames
  http: ProviderHttp
  clock: Clock
}): KucoinClient {
  const { baseUrl, apiKey, privateKey, version, names, http, clock } = options
  return {
    async ask(call, content) {
      const timestamp = String(clock())
      const { json, texts } = writeBody(content)
      const headers = {
        'content-type': 'application/json',
        'PAY-API-KEY': apiKey,
        'PAY-API-SIGN': signText(privateKey, signedText(names[call], { ...texts, apiKey, timestamp })),
        'PAY-API-VERSION': version,
        'PAY-API-TIMESTAMP': timestamp,
      }
      return readAnswer(await http({ method: 'POST', url: baseUrl + PATHS[call], headers, body: json }))
    },
  }
}
