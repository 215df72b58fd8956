import { Pool } from 'undici'
import { toStorableText } from '../../db/storable.ts'
import { canAnswer } from './answer-shapes.ts'
import { whyUnreached } from './unreached.ts'

/** Whole numbers travel as 0x-hex. */
export type Hex = `0x${string}`

export type RpcCall = { method: string; params: readonly unknown[] }

/** A node of a chain. Answers are returned unchanged: hex text for numbers, null for unknown. */
export interface Rpc {
  /** @throws RpcError */
  call<Result>(method: string, ...params: unknown[]): Promise<Result>
  /** A batch of calls, answered in order. @throws RpcError if any of them fails */
  batch<Result>(calls: readonly RpcCall[]): Promise<Result[]>
  /** Where it stands for several nodes: those that are proven, at least one. @throws RpcError if none is */
  nodes?(): Promise<Rpc[]>
  /** Where it stands for several nodes: what the first one says that answers so that it can be read. */
  first?<Answer>(question: (node: Rpc) => Promise<Answer>): Promise<Answer>
  /** Where it stands for several nodes: each of them, proven or not. */
  all?(): readonly Rpc[]
  close(): Promise<void>
}

/**
 * Asks one node after another until one gives an answer that `question` can read: what is read after a call has
 * returned is too late for the next node. A contract's refusal is an answer.
 */
export const askFirst = <Answer>(rpc: Rpc, question: (node: Rpc) => Promise<Answer>): Promise<Answer> =>
  rpc.first ? rpc.first(question) : question(rpc)

/**
 * What each proven node says. One that does not answer does not count.
 * @returns at least one answer @throws RpcError if none answers
 */
export async function askNodes<Answer>(rpc: Rpc, ask: (node: Rpc) => Promise<Answer>): Promise<Answer[]> {
  const nodes = (await rpc.nodes?.()) ?? [rpc]
  const results = await Promise.allSettled(nodes.map(ask))
  const answers: Answer[] = []
  const errors: unknown[] = []
  for (const result of results)
    if (result.status === 'fulfilled') answers.push(result.value)
    else errors.push(result.reason)
  const unexpected = errors.find((error) => !(error instanceof RpcError))
  if (unexpected !== undefined) throw unexpected
  if (answers.length === 0) throw errors[0]
  return answers
}

/** Whether any node answers at all, whatever it says: a refusal, an HTTP status or nonsense is an answer. */
export async function isReached(rpc: Rpc): Promise<boolean> {
  const ask = async (node: Rpc): Promise<boolean> => {
    try {
      await node.call('eth_chainId')
      return true
    } catch (error) {
      if (error instanceof RpcError) return !error.unanswered
      throw error
    }
  }
  return (await Promise.all((rpc.all?.() ?? [rpc]).map(ask))).includes(true)
}

/**
 * `definite`: the node read the request and refused it. `unknown`: no usable answer (timeout, broken connection,
 * overload, internal error of the node); a submitted transaction may still have been accepted.
 */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly kind: 'unknown' | 'definite'
  readonly code: number | null
  /** The node refused a batch of several calls as a whole: a smaller one may be accepted. */
  wholeBatch = false
  /** One call of a batch, or its only one, failed; the node did answer the request. */
  inBatch = false
  /** The node refused because of its rate limit. */
  tooOften = false
  /** Nothing came back, not even an HTTP status. */
  unanswered = false
  /** How long the node asked us to wait. */
  retryAfterMs: number | null = null
  /** The number of the endpoint that was asked, where there are several. */
  endpoint: number | null = null
  constructor(kind: 'unknown' | 'definite', message: string, code: number | null = null, cause?: unknown) {
    super(toStorableText(message), { cause }) // may quote a contract: `custom error 0xec442f05: \0\0…`
    this.kind = kind
    this.code = code
  }

  /** It answered, and will not answer this: "query returned more than 10000 results" has a code of its own. */
  get refused(): boolean {
    return this.kind === 'definite' || (this.inBatch && !this.tooOften)
  }
}

export const isRpcError = (error: unknown): error is RpcError => error instanceof RpcError

/**
 * The one number that a contract returned, or wrote into a log.
 * @throws RpcError `unknown` if it is not a number: the node finds no contract there, or invents an answer
 */
export function toWord(data: Hex | string): bigint {
  if (/^0x[0-9a-f]{64}$/i.test(data)) return BigInt(data)
  throw new RpcError('unknown', `the node shows ${data.slice(0, 70)} where a contract gives a number`)
}

/** The contract stopped the call itself: EIP-1474's 3, and what nodes that do not use it say. */
export const isReverted = ({ code, message }: RpcError): boolean => code === 3 || /revert|invalid opcode/i.test(message)

/**
 * Addresses or topics in one position of an eth_getLogs filter. geth and Erigon refuse more by default
 * (--rpc.logquerylimit, go-ethereum pull 32327); anvil accepts any number, so we enforce it.
 */
export const MAX_FILTER_VALUES = 1000

/**
 * Asked too often: limit exceeded (EIP-1474); the HTTP status, which several providers put here; "request limit
 * reached" (QuickNode), "over rate limit" (Base), "Too Many Requests".
 */
const RATE_CODES: ReadonlySet<number | null> = new Set([-32005, 429, -32007, -32016, -32029])
const RATE_WORDS = /rate.?limit|too many requests/i
/** Internal error, resource unavailable (EIP-1474): the same call may succeed later. */
const PASSING_CODES: ReadonlySet<number | null> = new Set([-32603, -32002, ...RATE_CODES])
/**
 * The same codes, for a single query that is too large: "query returned more than 10000 results"; or takes too long, as
 * Nethermind's -32016 says.
 */
const TOO_MUCH = /result|range|size|block|time.?out|timed out/i
/**
 * That a node does not keep a block: 4444 (EIP-4444), and what nodes say. Some send HTTP 5xx with it. Only about blocks
 * and their logs: no gateway says this of a node that is down.
 */
const ABSENT_CODE = 4444
const ABSENT_WORDS =
  /pruned|pruning|unknown block|(block|header|history)s? (\w+ )?(not found|not available|unavailable|expired)/i
const isAboutBlocks = (method: string): boolean => /^eth_get(Logs|Block)/.test(method)
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** `isFailing`: with HTTP 5xx, by which a gateway may speak for a node that took the request. */
type Answer = { parsed: unknown; isFailing?: boolean }

export type RpcOptions = { url: string; timeoutMs?: number }

/** Opens a client for one node. The URL may hold a secret and never appears in a message. */
export function createRpc({ url, timeoutMs = 10_000 }: RpcOptions): Rpc {
  const { origin, pathname, search, username, password } = new URL(url)
  const pool = new Pool(origin, { connections: 4, maxResponseSize: MAX_ANSWER_BYTES })
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (username !== '') {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    headers.authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  }

  const post = async (body: unknown, what: string): Promise<Answer> => {
    const fail = (reason: string, cause?: unknown) => new RpcError('unknown', `${what}: ${reason}`, null, cause)
    const request = { path: pathname + search, method: 'POST' as const, headers, body: JSON.stringify(body) }
    let answer: { status: number; text: string; retryAfter: unknown }
    try {
      const response = await pool.request({ ...request, signal: AbortSignal.timeout(timeoutMs) })
      const retryAfter = response.headers['retry-after']
      answer = { status: response.statusCode, text: await response.body.text(), retryAfter }
    } catch (error) {
      const late = (error as Error).name === 'TimeoutError'
      throw asUnanswered(fail(late ? `no answer within ${timeoutMs} ms` : (whyUnreached(error) ?? 'no answer'), error))
    }
    if (answer.status === 413) throw asRefusal(fail('HTTP 413: the request is too large'), body)
    let parsed: unknown
    try {
      parsed = JSON.parse(answer.text)
    } catch (error) {
      const refused = fail(`HTTP ${answer.status} without JSON`, error)
      throw askedToWait(answer.status === 429 ? asTooOften(refused) : refused, answer.retryAfter)
    }
    if (answer.status === 429) {
      const { message, code } = refusalOf({ parsed }, what)
      throw askedToWait(asTooOften(new RpcError('unknown', message, code)), answer.retryAfter)
    }
    return { parsed, isFailing: answer.status >= 500 }
  }

  return {
    async call<Result>(method: string, ...params: unknown[]): Promise<Result> {
      checkFilter({ method, params })
      return readAnswer<Result>(await post({ jsonrpc: '2.0', id: 1, method, params }, method), { method, params })
    },
    async batch<Result>(calls: readonly RpcCall[]): Promise<Result[]> {
      if (calls.length === 0) return []
      for (const call of calls) checkFilter(call)
      const what = `${calls[0]?.method} and ${calls.length - 1} more`
      const body = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))
      const answer = await post(body, what)
      if (!Array.isArray(answer.parsed)) throw asRefusal(refusalOf(answer, what), body)
      const byId = new Map(answer.parsed.map((one: { id?: unknown }) => [one?.id, one]))
      try {
        return calls.map((call, id) => readAnswer<Result>({ ...answer, parsed: byId.get(id) }, call))
      } catch (error) {
        if (error instanceof RpcError) error.inBatch = true
        throw error
      }
    },
    close: () => pool.close(),
  }
}

/** One error for a whole request: of several calls, it may be their number or rate; of one, it is that call. */
function asRefusal(error: RpcError, body: unknown): RpcError {
  const isBatch = Array.isArray(body) && body.length > 1
  error.wholeBatch = isBatch && !error.tooOften
  error.inBatch = !isBatch
  return error
}

function asUnanswered(error: RpcError): RpcError {
  error.unanswered = true
  return error
}

function asTooOften(error: RpcError): RpcError {
  error.tooOften = true
  return error
}

/** @param header `Retry-After` in seconds; dates are not used by nodes */
function askedToWait(error: RpcError, header: unknown): RpcError {
  const seconds = Number(header)
  if (seconds > 0) error.retryAfterMs = seconds * 1000
  return error
}

/** A batch that gets a single answer was refused. */
function refusalOf(answer: Answer, what: string): RpcError {
  try {
    readAnswer(answer, { method: what, params: [] })
    return new RpcError('unknown', `${what}: a single answer to a batch`)
  } catch (error) {
    return error as RpcError
  }
}

function readAnswer<Result>({ parsed: answer, isFailing = false }: Answer, call: RpcCall): Result {
  const { method } = call
  if (typeof answer === 'object' && answer !== null) {
    if ('error' in answer && typeof answer.error === 'object' && answer.error !== null) {
      const { code, message } = answer.error as { code?: unknown; message?: unknown }
      const number = typeof code === 'number' ? code : null
      throw refusalFor(method, { words: String(message), code: number, isFailing })
    }
    if ('result' in answer) {
      if (canAnswer(call, answer.result)) return answer.result as Result
      throw new RpcError('unknown', `${method}: the node's answer does not fit the question`)
    }
  }
  throw new RpcError('unknown', `${method}: the node's answer has neither result nor error`)
}

type Refusal = { words: string; code: number | null; isFailing: boolean }

/** `words` may be a contract's own, which says why it stopped the call: then the node did run it. */
function refusalFor(method: string, { words, code, isFailing }: Refusal): RpcError {
  const said = new RpcError('definite', `${method}: ${words}`, code)
  const byContract = isReverted(said)
  const isRate = RATE_CODES.has(code) || (RATE_WORDS.test(words) && !byContract)
  const isAbsent = isAboutBlocks(method) && (code === ABSENT_CODE || ABSENT_WORDS.test(words))
  const isPassing = PASSING_CODES.has(code) || (isFailing && !byContract && !isAbsent)
  if (code !== null && !isRate && !isPassing) return said
  const passing = new RpcError('unknown', `${method}: ${words}`, code)
  return isRate && !TOO_MUCH.test(words) ? asTooOften(passing) : passing
}

function checkFilter({ method, params }: RpcCall): void {
  if (method !== 'eth_getLogs') return
  const { address, topics } = (params[0] ?? {}) as { address?: unknown; topics?: unknown[] }
  for (const values of [address, ...(topics ?? [])]) {
    if (Array.isArray(values) && values.length > MAX_FILTER_VALUES) {
      throw new RangeError(
        `eth_getLogs takes at most ${MAX_FILTER_VALUES} values in one position, not ${values.length}`,
      )
    }
  }
}
