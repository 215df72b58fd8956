import { createServer, type ServerResponse } from 'node:http'
import { request } from 'undici'
import { answersOf } from './known-answers.ts'

type Question = { id: unknown; method: string; params: unknown[] }
type NodeAnswer = { id: unknown; result?: unknown }
type Log = { blockHash: string; blockNumber: string; transactionHash: string; topics: string[]; data: string }
type Filter = {
  address?: string | string[]
  topics?: (string | null | string[])[]
  fromBlock?: string
  toBlock?: string
}

/** What is wrong with the node behind the proxy; all may be switched while it runs. */
export type Faults = {
  /** Answers this HTTP status to everything. */
  status: number | null
  /** Takes questions and never answers. */
  hangs: boolean
  /** Takes questions that contain this and never answers. */
  hangsOn: string | null
  /** Takes too long for more questions at once. */
  hangsAbove: number | null
  /** Shows no log at all. */
  hidesLogs: boolean
  /** Hides so many answers of eth_getLogs that would have held something, then is honest again. */
  hidesOnce: number
  /** Adds a transfer that never happened to what it shows of these receivers (topics). */
  inventsFor: string | null
  /** Knows no block above this one. */
  knowsUpTo: bigint | null
  /** Passes everything on to another node. */
  otherUrl: string | null
  /** Refuses ranges of more blocks, more questions at once, more values in one position of a filter. */
  maxSpan: bigint | null
  maxBatch: number | null
  maxTopics: number
  /** The HTTP status of answers that hold one of its refusals. */
  refusalStatus: number
  /** The code of its refusals. */
  refusalCode: number | string
  /** Refuses eth_getLogs that names no contract, as some providers do. */
  wantsContract: boolean
  /** Breaks on ranges of more blocks: with 502 for the whole request, or because they hold too many logs. */
  breaksAbove: { span: bigint; how: 'status' | 'results' } | null
  /** Does not know this method. */
  lacks: string | null
  /** Refuses these questions, also in a batch. */
  refuses: ((question: Question) => boolean) | null
  /** Refuses a batch as a whole, with one error, because of one of its questions. */
  refusesWhole: boolean
  /** Refuses with 429 what exceeds so many calls in a second. */
  maxPerSecond: number | null
  /** Answers a question itself; undefined: the node does. */
  forges: ((question: Question) => unknown) | null
  /** Changes an answer. */
  alter: ((question: Question, result: unknown) => unknown) | null
}

export type RpcProxy = {
  url: string
  faults: Faults
  /** Questions by method, and bytes of bodies. */
  counts: Map<string, number>
  /** HTTP requests; a batch is one. */
  requests(): number
  bytes: { sent: number; received: number }
  /** Requests and calls that exceeded one of the limits. */
  refused(): number
  /** Bodies that were taken and not answered. */
  held: string[]
  /** Refuses them, as if a proxy in between had waited for long enough. */
  refuseHeld(): void
  heal(): void
  stop(): Promise<void>
}

const HONEST: Faults = {
  status: null,
  hangs: false,
  hangsOn: null,
  hangsAbove: null,
  hidesLogs: false,
  hidesOnce: 0,
  inventsFor: null,
  knowsUpTo: null,
  otherUrl: null,
  maxSpan: null,
  maxBatch: null,
  // geth's and Erigon's own limit, which the local chain does not have
  maxTopics: 1000,
  refusalStatus: 200,
  refusalCode: -32602,
  wantsContract: false,
  breaksAbove: null,
  lacks: null,
  refuses: null,
  refusesWhole: false,
  maxPerSecond: null,
  forges: null,
  alter: null,
}

/** How many blocks an eth_getLogs asks for; 0: it names no range. */
function spanOf({ method, params }: Question): bigint {
  if (method !== 'eth_getLogs') return 0n
  const { fromBlock, toBlock } = params[0] as Filter
  const isRange = fromBlock?.startsWith('0x') && toBlock?.startsWith('0x')
  return isRange ? BigInt(toBlock as string) - BigInt(fromBlock as string) + 1n : 0n
}

/** A node's HTTP side with faults to switch, in front of a local chain. */
export async function startRpcProxy(targetUrl: string): Promise<RpcProxy> {
  const faults: Faults = { ...HONEST }
  const counts = new Map<string, number>()
  const bytes = { sent: 0, received: 0 }

  const held: string[] = []
  const unanswered: ServerResponse[] = []
  let requests = 0
  let refusals = 0
  const refusal = (id: unknown, message: string): object => {
    refusals += 1
    return { jsonrpc: '2.0', id, error: { code: faults.refusalCode, message } }
  }
  const asked: number[] = []
  const isTooOften = (calls: number): boolean => {
    if (faults.maxPerSecond === null) return false
    const now = performance.now()
    const recent = asked.filter((at) => at > now - 1000)
    if (recent.length + calls > faults.maxPerSecond) return true
    asked.splice(0, asked.length, ...recent, ...Array.from({ length: calls }, () => now))
    return false
  }

  const refuse = (question: Question): object | undefined => {
    const { id, method, params } = question
    if (faults.refuses?.(question)) return refusal(id, 'not this one')
    if (method === faults.lacks) return refusal(id, `the method ${method} does not exist`)
    if (method !== 'eth_getLogs') return undefined
    const { address, topics = [] } = params[0] as Filter
    if (faults.wantsContract && address === undefined) return refusal(id, 'name a contract')
    if (topics.some((values) => Array.isArray(values) && values.length > faults.maxTopics))
      return refusal(id, `at most ${faults.maxTopics} topics`)
    const span = spanOf(question)
    if (faults.breaksAbove && span > faults.breaksAbove.span) {
      refusals += 1
      return { jsonrpc: '2.0', id, error: { code: -32005, message: 'query returned more than 10000 results' } }
    }
    if (faults.maxSpan !== null && span > faults.maxSpan) return refusal(id, 'block range is too wide')
    return undefined
  }

  const invent = (logs: Log[], block: { hash: string; number: string }): Log[] => {
    const [first] = logs
    const topic = faults.inventsFor as string
    const sender = `0x${'5'.repeat(64)}`
    const made = {
      ...(first ?? {}),
      blockHash: block.hash,
      blockNumber: block.number,
      transactionHash: `0x${'e'.repeat(64)}`,
      logIndex: '0x7f',
      removed: false,
      topics: ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', sender, topic],
      data: `0x${1_000_000_000n.toString(16).padStart(64, '0')}`,
    }
    return [...logs, made]
  }

  async function distort(question: Question, result: unknown): Promise<unknown> {
    const { method, params } = question
    if (faults.alter) return faults.alter(question, result)
    if (method === 'eth_getLogs') {
      const logs = result as Log[]
      if (faults.hidesLogs) return []
      if (faults.hidesOnce > 0 && logs.length > 0) {
        faults.hidesOnce -= 1
        return []
      }
      const { blockHash, address } = params[0] as { blockHash?: string; address?: string[] }
      if (faults.inventsFor !== null && blockHash !== undefined) {
        const block = await call<{ hash: string; number: string }>('eth_getBlockByHash', blockHash, false)
        return invent(logs, block).map((log) => ({ ...log, address: address?.[0] }))
      }
    }
    if (faults.knowsUpTo !== null && method.startsWith('eth_getBlockBy')) {
      const block = result as { number: string } | null
      if (block === null || BigInt(block.number) <= faults.knowsUpTo) return block
      if (params[0] !== 'latest') return null
      return call('eth_getBlockByNumber', `0x${faults.knowsUpTo.toString(16)}`, false)
    }
    return result
  }

  const call = async <Result>(method: string, ...params: unknown[]): Promise<Result> => {
    const [answer] = await forward([{ id: 1, method, params }])
    return answer?.result as Result
  }

  const askNode = async (url: string, questions: readonly Question[]): Promise<NodeAnswer[]> => {
    if (questions.length === 0) return []
    const body = JSON.stringify(questions.map((question) => ({ jsonrpc: '2.0', ...question })))
    const answer = await request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return (await answer.body.json()) as NodeAnswer[]
  }

  async function forward(questions: readonly Question[]): Promise<NodeAnswer[]> {
    const url = faults.otherUrl ?? targetUrl
    const known = answersOf(url)
    const turn = known?.turn ?? 0
    const texts = questions.map((question) => known?.find(question))
    const open = questions.filter((_, index) => texts[index] === undefined)
    const answers = await askNode(url, open)
    const byId = new Map(answers.map((one) => [one.id, one]))
    for (const question of open) {
      const answer = byId.get(question.id)
      if (answer && 'result' in answer) known?.keep(question, answer.result, turn)
    }
    return questions.flatMap(({ id }, index) => {
      const text = texts[index]
      if (text !== undefined) return [{ jsonrpc: '2.0', id, result: JSON.parse(text) as unknown }]
      return byId.get(id) ?? []
    })
  }

  async function answer(body: string): Promise<string> {
    const parsed = JSON.parse(body) as Question | Question[]
    const questions = Array.isArray(parsed) ? parsed : [parsed]
    for (const { method } of questions) counts.set(method, (counts.get(method) ?? 0) + 1)
    if (faults.maxBatch !== null && questions.length > faults.maxBatch)
      return JSON.stringify(refusal(null, 'batch is too large'))
    const refused = questions.map(refuse)
    const first = refused.find((one) => one !== undefined)
    if (faults.refusesWhole && first) return JSON.stringify({ ...first, id: null })
    const passed = questions.filter((_, index) => refused[index] === undefined)
    const answers = passed.length === 0 ? [] : await forward(passed)
    const byId = new Map(answers.map((one) => [one.id, one]))
    const all = questions.map(async (question, index) => {
      const forged = faults.forges?.(question)
      if (forged !== undefined) return { jsonrpc: '2.0', id: question.id, result: forged }
      const honest = refused[index] ?? byId.get(question.id)
      if (!honest || !('result' in honest)) return honest
      return { ...honest, result: await distort(question, honest.result) }
    })
    const distorted = await Promise.all(all)
    return JSON.stringify(Array.isArray(parsed) ? distorted : distorted[0])
  }

  const refuseWith = (response: ServerResponse, status: number): void =>
    void response.writeHead(status).end('<html>not now</html>')

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const body = Buffer.concat(chunks).toString('utf8')
      bytes.sent += body.length
      requests += 1
      if (faults.hangs || (faults.hangsOn !== null && body.includes(faults.hangsOn))) {
        held.push(body)
        unanswered.push(response)
        return
      }
      if (faults.status !== null) return refuseWith(response, faults.status)
      try {
        const parsed: unknown = JSON.parse(body)
        if (faults.hangsAbove !== null && Array.isArray(parsed) && parsed.length > faults.hangsAbove) return
        const most = (Array.isArray(parsed) ? parsed : [parsed]).map(spanOf)
        const { breaksAbove } = faults
        if (breaksAbove?.how === 'status' && most.some((span) => span > breaksAbove.span))
          return refuseWith(response, 502)
        if (isTooOften(Array.isArray(parsed) ? parsed.length : 1))
          return void response.writeHead(429).end(JSON.stringify(refusal(null, 'too many requests')))
        const before = refusals
        const text = await answer(body)
        bytes.received += text.length
        response
          .writeHead(refusals === before ? 200 : faults.refusalStatus, { 'content-type': 'application/json' })
          .end(text)
      } catch {
        response.destroy()
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    faults,
    counts,
    requests: () => requests,
    bytes,
    refused: () => refusals,
    held,
    refuseHeld() {
      held.length = 0
      for (const response of unanswered.splice(0)) refuseWith(response, 504)
    },
    heal: () => void Object.assign(faults, HONEST),
    stop: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
