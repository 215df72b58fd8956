import type { Socket } from 'node:net'
import type pg from 'pg'
import {
  BEGUN,
  boundName,
  executeFrames,
  type Frame,
  PARSE_COMPLETE,
  parsedName,
  queryFrame,
  runFrames,
  splitFrames,
} from './wire.ts'

/** Statements that each session has prepared: they are sent before a client's, in one message. */
export const BEGIN = 'simulation_begin'
export const SET_TIME = 'simulation_at'

/** `I`: idle, `T`: in a transaction, `E`: in one that failed. */
export type Status = 'I' | 'T' | 'E'

type Waiting = { left: number; frames: Frame[]; resolve(frames: Frame[]): void }

const setTime = (text: string): string => `set simulation.at = '${text}'`

/** One session of the real server, used by whichever virtual connection holds it. */
export class Backend {
  status: Status = 'I'
  readonly pid: number
  readonly #socket: Socket
  readonly #prepared = new Set<string>()
  #rest: Buffer = Buffer.alloc(0)
  #waiting: Waiting | null = null
  #atMs = ''
  /** A transaction that has begun but has no statement yet. */
  #begun: { atMs: number } | null = null

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

  /** `begin` alone changes nothing, so it is sent with the next statement, which saves a round trip. */
  begin(atMs: number): Frame[] {
    this.status = 'T'
    this.#begun = { atMs }
    return BEGUN
  }

  /** Sends a client's frames, with the statements that this session does not know yet, at this virtual time. */
  async send(frames: readonly Frame[], known: Map<string, Buffer>, atMs: number): Promise<Frame[]> {
    const out: Buffer[] = []
    // a simple query ends what is sent before it, and is answered separately
    const isSimple = frames[0]?.type === 'Q'
    const first = isSimple ? this.#start(atMs) : this.#startTogether(atMs)
    if (first) out.push(first)
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
    const answer = await this.#exchange(Buffer.concat(out), first && isSimple ? 2 : 1)
    if (first && isSimple) answer.splice(0, answer.findIndex(({ type }) => type === 'Z') + 1)
    else if (first) this.#endTogether(answer)
    if (answer[0]?.type === '1' && name !== '') this.#prepared.add(name)
    if (isAdded && answer[0]?.type === '1') answer.shift()
    if (isParsed) answer.unshift({ type: '1', bytes: PARSE_COMPLETE })
    return answer
  }

  /** Rolls the transaction back, if there is one. */
  async rollback(): Promise<void> {
    if (this.#begun) this.status = 'I'
    else await this.query('rollback')
    this.#begun = null
  }

  /** Inside a transaction: runs this statement instead of the client's. */
  async replace(text: string, atMs: number): Promise<Frame[]> {
    const first = this.#start(atMs)
    const answer = await this.#exchange(Buffer.concat([first ?? Buffer.alloc(0), queryFrame(text)]), first ? 2 : 1)
    return first ? answer.slice(answer.findIndex(({ type }) => type === 'Z') + 1) : answer
  }

  query(text: string): Promise<Frame[]> {
    return this.#exchange(queryFrame(text), 1)
  }

  /** What is sent before a statement: the time, if it changed, and the transaction. */
  #before(atMs: number): { text: string; isBegun: boolean } | null {
    const begun = this.#begun
    if (this.status !== 'I' && !begun) return null
    this.#begun = null
    const text = ((begun?.atMs ?? atMs) / 1000).toFixed(6)
    if (!begun && text === this.#atMs) return null
    // a rollback reverts a time that was set within the transaction
    this.#atMs = begun ? '' : text
    return { text, isBegun: begun !== null }
  }

  #start(atMs: number): Buffer | null {
    const before = this.#before(atMs)
    return before && queryFrame(`${setTime(before.text)}${before.isBegun ? '; begin' : ''}`)
  }

  /** The same as messages of the extended protocol, followed by the client's, whose Sync answers all. */
  #startTogether(atMs: number): Buffer | null {
    const before = this.#before(atMs)
    if (!before) return null
    if (!before.isBegun) return executeFrames(SET_TIME, before.text)
    // a query, which takes a snapshot, would be too early: `set transaction` may follow
    return Buffer.concat([executeFrames(BEGIN), runFrames(setTime(before.text))])
  }

  /** Removes the answers to the preceding statements from the client's. */
  #endTogether(answer: Frame[]): void {
    // CommandComplete of the time, after that of `begin`
    const isBegun = answer[1]?.type === 'C'
    const lastOfOurs = answer.findIndex(({ type }, index) => type === 'C' && index > (isBegun ? 1 : 0))
    answer.splice(0, lastOfOurs + 1)
    // a failing statement outside a transaction reverts the time with it
    if (!isBegun && answer.some(({ type }) => type === 'E')) this.#atMs = ''
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
