import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'

/** The load generator's task: as many requests as `callers` can send sequentially. */
export type Load = {
  port: number
  callers: number
  seconds: number
  /**
   * Complete requests as bytes on the wire; each caller takes the next one. `{key}` is replaced with a fresh key in
   * each.
   */
  requests: string[]
}

export type LoadResult = { count: number; perSecond: number; p50Ms: number; p99Ms: number; failed: number }

const HEADER_END = '\r\n\r\n'
const [TWO, NOUGHT] = [0x32, 0x30]

/** Length of the first complete response; 0 while it is incomplete. Every response here has a content length. */
function answerLength(bytes: Buffer): number {
  const end = bytes.indexOf(HEADER_END)
  if (end < 0) return 0
  const [, length = '0'] = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, end)) ?? []
  return end + HEADER_END.length + Number(length)
}

const is200 = (bytes: Buffer): boolean => bytes[9] === TWO && bytes[10] === NOUGHT && bytes[11] === NOUGHT

/** As lean as possible, because it shares the machine with what it measures. */
class Caller {
  readonly #socket: Socket
  #rest: Buffer | undefined
  #usualLength = 0
  #answered: (ok: boolean) => void = () => {}

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', (chunk: Buffer) => {
      const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
      // almost every response is as long as the previous one, which avoids parsing
      const length = bytes.length === this.#usualLength ? bytes.length : answerLength(bytes)
      const isWhole = length > 0 && bytes.length >= length
      this.#rest = isWhole ? undefined : bytes
      if (!isWhole) return
      this.#usualLength = length
      this.#answered(is200(bytes))
    })
  }

  send(request: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#answered = resolve
      this.#socket.write(request, 'latin1')
    })
  }

  end(): void {
    this.#socket.destroy()
  }
}

async function run({ port, callers, seconds, requests }: Load): Promise<LoadResult> {
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  const tookMs: number[] = []
  let [next, failed] = [0, 0]
  const session = randomUUID()
  const parts = requests.map((request) => request.split('{key}'))
  const call = async (): Promise<void> => {
    const caller = new Caller(port)
    for (let nowMs = performance.now(); nowMs < endMs; ) {
      const [head = '', rest] = parts[next % parts.length] ?? []
      const request = rest === undefined ? head : `${head}${session}-${next}${rest}`
      next += 1
      if (!(await caller.send(request))) failed += 1
      const doneMs = performance.now()
      tookMs.push(doneMs - nowMs)
      nowMs = doneMs
    }
    caller.end()
  }
  await Promise.all(Array.from({ length: callers }, call))
  const spanSeconds = (performance.now() - startMs) / 1000
  tookMs.sort((left, right) => left - right)
  const at = (share: number): number => tookMs[Math.floor(tookMs.length * share)] ?? 0
  return { count: tookMs.length, perSecond: tookMs.length / spanSeconds, p50Ms: at(0.5), p99Ms: at(0.99), failed }
}

process.on('message', (load: Load) => {
  void run(load).then((result) => process.send?.(result))
})
