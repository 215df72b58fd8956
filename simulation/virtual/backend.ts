import type { Socket } from 'node:net'
import type pg from 'pg'
import { boundName, type Frame, PARSE_COMPLETE, parsedName, queryFrame, splitFrames } from './wire.ts'

/** `I`: idle, `T`: in a transaction, `E`: in one that failed. */
export type Status = 'I' | 'T' | 'E'

type Waiting = { left: number; frames: Frame[]; resolve(frames: Frame[]): void }

/** One session of the real server, for whichever virtual connection holds it. */
export class Backend {
  status: Status = 'I'
  readonly pid: number
  readonly #socket: Socket
  readonly #prepared = new Set<string>()
  #rest: Buffer = Buffer.alloc(0)
  #waiting: Waiting | null = null
  #atMs = ''

  constructor(client: pg.Client) {
    const inside = client as unknown as { connection: { stream: Socket }; processID: number }
    this.pid = inside.processID
    this.#socket = inside.connection.stream
    this.#socket.removeAllListeners('data')
    this.#socket.removeAllListeners('end')
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk))
  }

  get isBusy(): boolean {
    return this.#waiting !== null
  }

  /** Sends what a client sent, with the statements that this session does not know yet, at this virtual time. */
  async send(frames: readonly Frame[], known: Map<string, Buffer>, atMs: number): Promise<Frame[]> {
    const out: Buffer[] = []
    const clock = this.status === 'I' ? this.#clock(atMs) : null
    if (clock) out.push(clock)
    let [isParsed, isAdded, name] = [false, false, '']
    for (const one of frames) {
      if (one.type === 'P') {
        name = parsedName(one)
        if (name !== '') known.set(name, Buffer.from(one.bytes))
        if (this.#prepared.has(name)) {
          isParsed = true
          continue
        }
      } else if (one.type === 'B') {
        const bound = boundName(one)
        if (bound !== '' && bound !== name && !this.#prepared.has(bound)) {
          name = bound
          isAdded = true
          out.push(known.get(bound) ?? Buffer.alloc(0))
        }
      }
      out.push(one.bytes)
    }
    const answer = await this.#exchange(Buffer.concat(out), clock ? 2 : 1)
    if (clock) answer.splice(0, answer.findIndex(({ type }) => type === 'Z') + 1)
    if (answer[0]?.type === '1' && name !== '') this.#prepared.add(name)
    if (isAdded && answer[0]?.type === '1') answer.shift()
    if (isParsed) answer.unshift({ type: '1', bytes: PARSE_COMPLETE })
    return answer
  }

  query(text: string): Promise<Frame[]> {
    return this.#exchange(queryFrame(text), 1)
  }

  #clock(atMs: number): Buffer | null {
    const text = (atMs / 1000).toFixed(6)
    if (text === this.#atMs) return null
    this.#atMs = text
    return queryFrame(`set simulation.at = '${text}'`)
  }

  #exchange(bytes: Buffer, answers: number): Promise<Frame[]> {
    return new Promise((resolve) => {
      this.#waiting = { left: answers, frames: [], resolve }
      this.#socket.write(bytes)
    })
  }

  #read(chunk: Buffer): void {
    const { frames, rest } = splitFrames(this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]))
    this.#rest = rest
    const waiting = this.#waiting
    if (!waiting) return
    for (const one of frames) {
      waiting.frames.push(one)
      if (one.type !== 'Z') continue
      this.status = String.fromCharCode(one.bytes[5] ?? 0) as Status
      waiting.left -= 1
    }
    if (waiting.left > 0) return
    this.#waiting = null
    waiting.resolve(waiting.frames)
  }
}
