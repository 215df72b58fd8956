import type { Clock } from '../../kernel/clock.ts'
import { parseJsonExact, textAt } from '../../kernel/json.ts'
import { ProviderRefusal, ProviderTrouble, type RefusalReason } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderHttp } from '../provider-http.ts'
import { type CdpKey, makeJwt } from './jwt.ts'

/** Makes a call with its own token; numbers in the answer stay text. @throws ProviderRefusal, ProviderTrouble */
export type CoinbaseApi = (call: { method: 'GET' | 'POST'; url: string; body?: object }) => Promise<unknown>

const MEANING: Readonly<Record<number, RefusalReason>> = {
  400: 'request',
  401: 'credentials',
  403: 'account',
  404: 'account',
}

function read(answer: ProviderAnswer): unknown {
  try {
    return parseJsonExact(answer.text)
  } catch (error) {
    throw new ProviderTrouble(`Coinbase answered ${answer.status} with something that is no JSON`, { cause: error })
  }
}

/** v2 uses `errorMessage`; the form of the older hosts is not documented. */
const wordsOf = (answer: ProviderAnswer): string => {
  const body = answer.text.startsWith('{') ? read(answer) : null
  return textAt(body, 'errorMessage') ?? textAt(body, 'message') ?? String(answer.status)
}

function refuse(answer: ProviderAnswer): never {
  const { status, headers } = answer
  const retryAfterMs = Number(headers['retry-after']) * 1000
  if (status === 429)
    throw new ProviderTrouble('Coinbase asks to be called less often', retryAfterMs > 0 ? { retryAfterMs } : {})
  const reason = MEANING[status]
  if (reason === undefined) throw new ProviderTrouble(`Coinbase answered ${status}`, { cause: answer })
  throw new ProviderRefusal(reason, `Coinbase: ${wordsOf(answer)}`, answer)
}

export function openCoinbaseApi(http: ProviderHttp, clock: Clock, key: CdpKey): CoinbaseApi {
  return async ({ method, url, body }) => {
    const token = makeJwt(key, { method, url, nowMs: clock() })
    const answer = await http({
      method,
      url,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    if (answer.status !== 200 && answer.status !== 201) refuse(answer)
    return read(answer)
  }
}
