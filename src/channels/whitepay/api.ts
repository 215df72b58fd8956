import { parseJsonExact, textAt } from '../../kernel/json.ts'
import { ProviderRefusal, ProviderTrouble, type RefusalReason } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderHttp } from '../provider-http.ts'

export type WhitepayCall = {
  method: 'GET' | 'POST'
  /** Path after the base URL, with its query. */
  path: string
  body?: Record<string, string>
  /** The refusal reason that a 404 stands for. */
  missing?: RefusalReason
}

/** Makes a call with the account's token; numbers in the answer stay text. @throws ProviderRefusal, ProviderTrouble */
export type WhitepayApi = (call: WhitepayCall) => Promise<unknown>

const MEANING: Readonly<Record<number, RefusalReason>> = { 400: 'request', 401: 'credentials', 403: 'credentials' }
const EXISTS = /taken|exist|already|unique|duplicate/i

function read(answer: ProviderAnswer): unknown {
  try {
    return parseJsonExact(answer.text)
  } catch (error) {
    throw new ProviderTrouble(`Whitepay answered ${answer.status} with something that is no JSON`, { cause: error })
  }
}

/** `{message, errors: {field: [text]}}`: the text of one field, or undefined. */
function faultOf(body: unknown, field: string): string | undefined {
  return textAt(body, 'errors', field, 0) ?? textAt(body, 'errors', field)
}

/** The first fault that Whitepay names, with its field: its `message` only says that something is invalid. */
function firstFault(body: unknown): string | undefined {
  const { errors } = (body ?? {}) as { errors?: unknown }
  if (typeof errors !== 'object' || errors === null) return undefined
  const faults = Object.keys(errors).flatMap((field) => {
    const fault = faultOf(body, field)
    return fault === undefined ? [] : [`${field}: ${fault}`]
  })
  return faults[0]
}

function refuseInvalid(body: unknown, answer: ProviderAnswer): never {
  const ofReference = faultOf(body, 'external_order_id')
  if (ofReference !== undefined && EXISTS.test(ofReference))
    throw new ProviderTrouble(`Whitepay has this external_order_id already: ${ofReference}`, { cause: answer })
  const ofAmount = faultOf(body, 'amount')
  const providerStatus = ofAmount ?? firstFault(body) ?? textAt(body, 'message') ?? 'invalid data'
  throw new ProviderRefusal(ofAmount === undefined ? 'request' : 'amount', `Whitepay: ${providerStatus}`, answer)
}

function refuse(answer: ProviderAnswer, missing: RefusalReason): never {
  const { status, headers } = answer
  const retryAfterMs = Number(headers['retry-after']) * 1000
  if (status === 429)
    throw new ProviderTrouble('Whitepay asks to be called less often', retryAfterMs > 0 ? { retryAfterMs } : {})
  const reason = status === 404 ? missing : MEANING[status]
  if (status !== 422 && reason === undefined)
    throw new ProviderTrouble(`Whitepay answered ${status}`, { cause: answer })
  const body = read(answer)
  if (status === 422) refuseInvalid(body, answer)
  throw new ProviderRefusal(reason ?? 'request', `Whitepay: ${textAt(body, 'message') ?? status}`, answer)
}

export function openWhitepayApi(http: ProviderHttp, { base, token }: { base: string; token: string }): WhitepayApi {
  return async ({ method, path, body, missing = 'state' }) => {
    const answer = await http({
      method,
      url: base + path,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    if (answer.status !== 200 && answer.status !== 201) refuse(answer, missing)
    return read(answer)
  }
}
