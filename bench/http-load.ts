import { connect, type Socket } from 'node:net'

/** What the load generator is asked for: as many requests as `callers` can send one after the other. */
export type Load = {
  port: number
  callers: number
  seconds: number
  /** Whole requests as they go over the wire; each caller takes the next one. */
  requests: string[]
}

export type LoadResult = { count: number; perSecond: number; p50Ms: number; p99Ms: number; failed: number }

const HEADER_END = '\r\n\r\n'

/** Bytes of one whole answer at the start of the text; 0 while it is not complete. Every answer has a length here. */
function answerLength(text: string): number {
  const end = text.indexOf(HEADER_END)
  if (end < 0) return 0
  const [, length = '0'] = /content-length: (\d+)/i.exec(text.slice(0, end)) ?? []
  const total = end + HEADER_END.length + Number(length)
  return text.length >= total ? total : 0
}

class Caller {
  readonly #socket: Socket
  #text = ''
  #answered: (ok: boolean) => void = () => {}

  constructor(port: number) {
    // latin1: one character is one byte, as the header counts them
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1')
    this.#socket.on('data', (chunk: string) => {
      this.#text += chunk
      const length = answerLength(this.#text)
      if (length === 0) return
      const ok = this.#text.startsWith('HTTP/1.1 200')
      this.#text = this.#text.slice(length)
      this.#answered(ok)
    })
  }

  send(request: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#answered = resolve
      this.#socket.write(request)
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
  const call = async (): Promise<void> => {
    const caller = new Caller(port)
    for (let nowMs = performance.now(); nowMs < endMs; ) {
      const request = requests[next % requests.length] ?? ''
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
