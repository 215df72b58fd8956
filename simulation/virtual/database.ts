import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import pg from 'pg'
import { BEGIN } from '../../src/db/wire/connection.ts'
import { Backend, BEGIN as PREPARED_BEGIN, SET_TIME } from './backend.ts'
import { LATENCY_MS, VirtualConnection } from './connection.ts'
import type { Scheduler, Scope } from './scheduler.ts'
import { boundName, type Frame, sqlOf } from './wire.ts'

/** What can go wrong between the service and its database. */
export type DatabaseFault = 'lost-before' | 'lost-after' | 'serialization' | 'stall'

export type DatabaseOptions = {
  connectionString: string
  scheduler: Scheduler
  /** Sessions of the real server: the maximum of open transactions. */
  sessions: number
  /** The server answered with this ErrorResponse. */
  refused(answer: Buffer): void
  /** The fault of this statement, if any. */
  fault(statement: { scope: Scope | null }): DatabaseFault | null
  /** Records the cost of each statement in `costs`. */
  isCounting: boolean
}

const STALL_MS = 2000
/** How long the server waits before it looks for a deadlock, which it then resolves. */
const DEADLOCK_MS = 1
/**
 * A wait this long has been checked for deadlock, however busy the machine is. The server checks once per wait: if the
 * check were still to come when another statement closes the circle, real time would decide which of the two fails.
 */
const LOOKED_MS = 20
/** A statement that takes longer is checked for waiting on a lock. */
const PATIENCE_MS = 3
/** The server answers at once, unless a session was stopped while it held what all need to look for waits. */
const HELD_MS = 200
const realNow = performance.now.bind(performance)
const realSetTimeout = globalThis.setTimeout
const realClearTimeout = globalThis.clearTimeout

/** Resolves when it is answered, or after that many milliseconds. */
async function answeredWithin(ms: number, sent: Promise<unknown>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = realSetTimeout(resolve, ms)
    const end = (): void => {
      realClearTimeout(timer)
      resolve()
    }
    sent.then(end, end)
  })
}

const FAIL = `do $$ begin raise exception 'simulated' using errcode = '%'; end $$`

/** Lets stopped processes go on once this one has died, however it died: their server could not end without them. */
function continueAtDeath(pids: readonly number[]): void {
  const wait = 'cat >/dev/null; kill -CONT "$@" 2>/dev/null'
  const keeper = spawn('sh', ['-c', wait, 'sh', ...pids.map(String)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  keeper.unref()
  ;(keeper.stdin as Socket).unref()
}

const lost = (): Error => Object.assign(new Error('Connection terminated: read ECONNRESET'), { code: 'ECONNRESET' })

/** proc_pid_stat(5): user and system time in ticks of 10 ms, after the command's name in parentheses. */
function cpuSecondsOf(pid: number): number {
  try {
    const [, , , , , , , , , , , user, system] =
      readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(user) + Number(system)) / 100
  } catch {
    return 0
  }
}

type Job = { connection: VirtualConnection; frames: Frame[]; resume(): void }
/** A statement's wait for locks: when it began, and the sessions (process ids) that hold them or are ahead of it. */
type Wait = { since: string; others: readonly string[] }
type Blocked = { backend: Backend; answer: Promise<Frame[]>; wait: Wait; done(frames: Frame[]): void }

/**
 * The real PostgreSQL behind virtual connections. Statements reach it one after another, in the order that the
 * scheduler draws, and their `now()` is the virtual clock. Transactions overlap as with many nodes, and one that waits
 * for a lock lets the others proceed.
 */
export class VirtualDatabase {
  readonly scheduler: Scheduler
  readonly #options: DatabaseOptions
  readonly #connections = new Set<VirtualConnection>()
  readonly #known = new Map<string, Buffer>()
  readonly #pids: number[] = []
  #idle: Backend[] = []
  #queue: Job[] = []
  #blocked: Blocked[] = []
  #monitor: Backend | null = null
  statements = 0
  /** Those of no node, which no death ends and no fault meets: the office's, and what a program's start asks. */
  ownerless = 0
  lockWaits = 0
  /** By statement text: how often it ran, and the total of real milliseconds. */
  readonly costs = new Map<string, { times: number; ms: number }>()

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.scheduler = options.scheduler
  }

  /** Opens the sessions, with the process's real timers; later pools of `pg` use them. */
  async open(): Promise<void> {
    const { connectionString, sessions } = this.#options
    const connect = async (address = connectionString): Promise<Backend> => {
      const client = new pg.Client({ connectionString: address })
      client.on('error', () => {})
      await client.connect()
      await client.query(
        `set timezone = 'UTC'; set deadlock_timeout = '${DEADLOCK_MS}ms';
         set max_parallel_workers_per_gather = 0; set synchronize_seqscans = off; set jit = off`,
      )
      await client.query({ name: PREPARED_BEGIN, text: BEGIN })
      await client.query('rollback')
      await client.query({ name: SET_TIME, text: "select set_config('simulation.at', $1, false)", values: ['0'] })
      const backend = new Backend(client)
      this.#pids.push(backend.pid)
      return backend
    }
    for (let number = 0; number < sessions; number += 1) this.#idle.push(await connect())
    continueAtDeath(this.#pids)
    // its snapshots, which it takes when the machine is slow, keep no versions of rows that statements clear away
    const elsewhere = new URL(connectionString)
    elsewhere.pathname = '/postgres'
    this.#monitor = await connect(elsewhere.href)
    const stream = (): VirtualConnection => {
      const connection = new VirtualConnection(this)
      this.#connections.add(connection)
      return connection
    }
    const { Pool } = pg
    pg.Pool = class extends Pool {
      constructor(config?: pg.PoolConfig) {
        super({ ...config, stream } as unknown as pg.PoolConfig)
      }
    } as unknown as typeof Pool
  }

  /** For a failed run: which connection has which session, since when, and what waits. */
  describe(): string[] {
    const held = [...this.#connections].filter(({ backend }) => backend !== null)
    const words = held.map(({ backend, scope, lastFrames, heldAtMs }) => {
      const session = `session ${backend?.pid} (${backend?.status}${backend?.isBusy ? ', busy' : ''})`
      return `${session} of ${scope?.name ?? 'the office'} since ${new Date(heldAtMs).toISOString()}: ${this.#textOf(lastFrames)}`
    })
    return [`${this.#idle.length} sessions are free, ${this.#queue.length} statements wait for one`, ...words]
  }

  /** CPU time of all sessions; 0 if the system does not report it. */
  cpuSeconds(): number {
    return this.#pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0)
  }

  /** A client sent a statement. */
  accept(connection: VirtualConnection, frames: Frame[]): void {
    const fault = this.#options.fault({ scope: connection.scope })
    const delayMs = LATENCY_MS + this.scheduler.random.next() * LATENCY_MS + (fault === 'stall' ? STALL_MS : 0)
    this.scheduler.after(delayMs, () => this.#start(connection, frames, fault), null)
  }

  #start(connection: VirtualConnection, frames: Frame[], fault: DatabaseFault | null): void | Promise<void> {
    if (!connection.isOpen || connection.scope?.alive === false) return this.#resumeNext()
    if (fault === 'lost-before') return connection.close(lost())
    if (connection.backend) return this.#work(connection, frames, fault)
    const backend = this.#idle.shift()
    const resume = (): void => void this.scheduler.after(0, () => this.#start(connection, frames, fault), null)
    if (!backend) return void this.#queue.push({ connection, frames, resume })
    connection.backend = backend
    connection.heldAtMs = this.scheduler.nowMs
    return this.#work(connection, frames, fault)
  }

  async #work(connection: VirtualConnection, frames: Frame[], fault: DatabaseFault | null): Promise<void> {
    const { backend } = connection
    if (!backend) return
    this.statements += 1
    if (connection.scope === null) this.ownerless += 1
    connection.lastFrames = frames
    for (const { bytes } of frames) this.scheduler.note(bytes)
    const [first] = frames
    if (first?.type === 'Q' && backend.status === 'I' && sqlOf(first) === BEGIN) {
      const answer = backend.begin(this.scheduler.nowMs)
      return this.#finish(connection, backend, { answer, fault })
    }
    const isFailing = fault === 'serialization' && backend.status === 'T'
    const code = this.scheduler.random.chance(0.5) ? '40001' : '40P01'
    const sent = isFailing
      ? backend.replace(FAIL.replace('%', code), this.scheduler.nowMs)
      : backend.send(frames, this.#known, this.scheduler.nowMs)
    const finish = (answer: Frame[]): void => this.#finish(connection, backend, { answer, fault })
    const startedAt = realNow()
    const wait = await this.#waitOrAnswer(backend, sent, null)
    if (this.#options.isCounting) this.#noteCost(frames, realNow() - startedAt)
    if (wait !== null) {
      this.lockWaits += 1
      this.#blocked.push({ backend, answer: sent, wait: await this.#hold(backend, wait), done: finish })
      return
    }
    finish(await sent)
    await this.#unblock(backend)
  }

  #textOf([first]: readonly Frame[]): string {
    if (!first) return ''
    if (first.type !== 'B') return sqlOf(first)
    const known = this.#known.get(boundName(first))
    return known ? sqlOf({ type: 'P', bytes: known }) : ''
  }

  #noteCost(frames: readonly Frame[], ms: number): void {
    const text = this.#textOf(frames)
    const cost = this.costs.get(text) ?? { times: 0, ms: 0 }
    cost.times += 1
    cost.ms += ms
    this.costs.set(text, cost)
  }

  #finish(
    connection: VirtualConnection,
    backend: Backend,
    { answer, fault }: { answer: Frame[]; fault: DatabaseFault | null },
  ): void {
    const isDead = !connection.isOpen || connection.scope?.alive === false
    for (const one of answer) if (one.type === 'E') this.#options.refused(one.bytes)
    if (backend.status === 'I') this.#release(connection, backend)
    else if (isDead) this.scheduler.after(LATENCY_MS, () => this.#rollback(connection, backend), null)
    if (isDead) return
    if (fault === 'lost-after') {
      connection.close(lost())
      return
    }
    const bytes = Buffer.concat(answer.map((one) => one.bytes))
    this.scheduler.after(LATENCY_MS, () => void (connection.isOpen && connection.emit('data', bytes)), connection.scope)
  }

  #release(connection: VirtualConnection, backend: Backend): void {
    if (connection.backend === backend) connection.backend = null
    this.#idle.push(backend)
    this.#idle.sort((left, right) => left.pid - right.pid)
    this.#resumeNext()
  }

  #resumeNext(): void {
    if (this.#idle.length > 0) this.#queue.shift()?.resume()
  }

  /**
   * @param known the wait found before, which the server has checked
   * @returns null when it answered; otherwise the wait for another transaction's lock, which is no deadlock
   */
  async #waitOrAnswer(backend: Backend, sent: Promise<unknown>, known: Wait | null): Promise<Wait | null> {
    for (let patienceMs = known === null ? PATIENCE_MS : 0; backend.isBusy; patienceMs = 1) {
      if (patienceMs > 0) await answeredWithin(patienceMs, sent)
      const wait = backend.isBusy ? await this.#waitOf(backend) : null
      if (wait === null) continue
      if (wait.since === known?.since) return wait
      await answeredWithin(LOOKED_MS, sent)
      // the first look may have met the statement between two waits, with the sessions of one and the time of the other
      const looked = backend.isBusy ? await this.#waitOf(backend) : null
      if (looked?.since === wait.since && backend.isBusy) return looked
    }
    return null
  }

  /**
   * Stops a session's process while it waits: when what it waits for ends, those who follow the row to its new version
   * race for it, and the machine would decide who overtakes whom. They go on one after another instead.
   */
  async #hold(backend: Backend, wait: Wait): Promise<Wait> {
    for (;;) {
      process.kill(backend.pid, 'SIGSTOP')
      const held = this.#waitOf(backend)
      let isAnswered = false
      const noted = held.then(() => {
        isAnswered = true
      })
      await answeredWithin(HELD_MS, noted)
      if (isAnswered) return (await held) ?? wait
      process.kill(backend.pid, 'SIGCONT')
      await held
    }
  }

  /** The wait for a transaction that can proceed. The server itself resolves a deadlock, with an error in one. */
  async #waitOf({ pid }: Backend): Promise<Wait | null> {
    const waits = new Map<string, Wait>()
    const pids = this.#pids.join(', ')
    const frames =
      (await this.#monitor?.query(`select concat_ws(':', pid, array_to_string(pg_blocking_pids(pid), ','),
        (select extract(epoch from max(waitstart)) from pg_locks where pg_locks.pid = backend.pid and not granted))
      from unnest(array[${pids}]) as backend (pid) where cardinality(pg_blocking_pids(pid)) > 0`)) ?? []
    for (const { type, bytes } of frames) {
      if (type !== 'D') continue
      const [waiting = '', others = '', since = ''] = bytes.toString('utf8', 11).split(':')
      waits.set(waiting, { others: others.split(','), since })
    }
    const own = waits.get(String(pid))
    // the server records when a wait began only a moment later
    if (!own || own.since === '') return null
    const seen = new Set<string>()
    let next = own.others
    while (next.length > 0) {
      if (next.includes(String(pid))) return null
      for (const other of next) seen.add(other)
      next = next.flatMap((other) => waits.get(other)?.others ?? []).filter((other) => !seen.has(other))
    }
    return own
  }

  /**
   * Resumes statements whose lock is free by now, in the order in which they began to wait. Only the sessions that just
   * worked can have freed one, and within its transaction a session keeps its locks. Once one is freed, all waits may
   * have changed: who follows a row to its new version may overtake who waited longer.
   */
  async #unblock(...worked: readonly Backend[]): Promise<void> {
    const freed = worked.filter(({ status }) => status !== 'T').map(({ pid }) => String(pid))
    if (!this.#blocked.some(({ wait }) => wait.others.some((pid) => freed.includes(pid)))) return this.#mustWait()
    for (const blocked of [...this.#blocked]) {
      if (!(await this.#answersNow(blocked))) continue
      this.#blocked = this.#blocked.filter((one) => one !== blocked)
      blocked.done(await blocked.answer)
      return this.#unblock(...worked, blocked.backend)
    }
  }

  /** A statement that is answered before it is looked at would be forgotten. */
  #mustWait(): void {
    if (this.#blocked.some(({ backend }) => !backend.isBusy))
      this.scheduler.fail(new Error('a wait for a lock ended without anybody noticing'))
  }

  async #answersNow(blocked: Blocked): Promise<boolean> {
    const { backend, answer } = blocked
    process.kill(backend.pid, 'SIGCONT')
    const wait = await this.#waitOrAnswer(backend, answer, blocked.wait)
    if (wait !== null) blocked.wait = await this.#hold(backend, wait)
    return wait === null
  }

  /** The client is gone. Its server process reacts to that a moment later. */
  forget(connection: VirtualConnection): void {
    this.#connections.delete(connection)
    const { backend } = connection
    if (!backend || backend.isBusy) return
    this.scheduler.after(LATENCY_MS, () => this.#rollback(connection, backend), null)
  }

  async #rollback(connection: VirtualConnection, backend: Backend): Promise<void> {
    if (connection.backend !== backend) return
    await backend.rollback()
    this.#release(connection, backend)
    await this.#unblock(backend)
  }

  /** Lets those that wait for a lock end with the server. */
  close(): void {
    for (const { backend } of this.#blocked) process.kill(backend.pid, 'SIGCONT')
  }

  /** All connections of a node that was killed. */
  cut(scope: Scope): void {
    for (const connection of this.#connections) if (connection.scope === scope) connection.close()
    this.#queue = this.#queue.filter((job) => job.connection.scope !== scope)
  }
}
