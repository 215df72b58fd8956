import { randomBytes } from 'node:crypto'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ownedBuckets } from '../outbox/buckets.ts'
import {
  DEAD_AFTER_MS,
  deleteNode,
  hasDeadNodes,
  insertNode,
  type KnownNode,
  takeOverDeadNodes,
  updateHeartbeat,
} from './sender-queries.ts'

const HEARTBEAT_MS = 1000
const WATCH_MS = 500

export type NodeEvents = {
  /** This node, or another one, left deliveries behind that are due now. */
  tookOver: (takeover: { instances: string[]; deliveries: number }) => void
  /** The node now owns other buckets. */
  bucketsChanged: () => void
  /** Ours minus the database's clock. */
  clockSkew: (skewMs: number) => void
  failed: (error: unknown) => void
}

/**
 * On the same machine the process table tells whether the process lives; on another one only its heartbeat does. Our
 * own pid counts as dead.
 */
function isAlive(machine: string, { host, pid, isHeard }: KnownNode): boolean {
  if (host !== machine) return isHeard
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}

/**
 * This process among the senders: a heartbeat row under a stable name. After a restart under the same name, leases left
 * behind are due at once. The other nodes take over the leases of a silent node.
 */
export class SenderNode {
  readonly #db: Db
  readonly #clock: Clock
  readonly #events: NodeEvents
  readonly #machine: string
  #name: string
  #instance = ''
  #buckets: readonly number[] = []
  #timers: NodeJS.Timeout[] = []
  #isBusy = false

  constructor(db: Db, clock: Clock, { name, machine }: { name: string; machine: string }, events: NodeEvents) {
    this.#db = db
    this.#clock = clock
    this.#name = name
    this.#machine = machine
    this.#events = events
  }

  /** Owner of the leases: the node's name plus this run of it. */
  get instance(): string {
    return this.#instance
  }

  /** This node's buckets among the living nodes; none before the first heartbeat. */
  get buckets(): readonly number[] {
    return this.#buckets
  }

  async start(): Promise<void> {
    await this.#enter()
    await this.#guard(() => this.#beat())
    this.#timers = [
      setInterval(() => void this.#guard(() => this.#beat()), HEARTBEAT_MS),
      setInterval(() => void this.#watch(), WATCH_MS),
    ]
  }

  /** Keeps the row, so that a name in use by a living process is never taken from it. */
  async #enter(): Promise<void> {
    const random = randomBytes(6).toString('hex')
    const instance = `${this.#name}#${random}`
    const node = { name: this.#name, instance, host: this.#machine, pid: process.pid }
    const isEntered = await this.#db.tx((tx) => insertNode(tx, node, (known) => isAlive(this.#machine, known)))
    if (isEntered) {
      this.#instance = instance
      return
    }
    this.#name = `${this.#name}-${random.slice(0, 4)}`
    await this.#enter()
  }

  async #beat(): Promise<void> {
    const sentAtMs = this.#clock()
    const beat = await updateHeartbeat(this.#db, this.#instance)
    if (beat) {
      const buckets = ownedBuckets(this.#name, beat.living)
      const isChanged = buckets.join() !== this.#buckets.join()
      this.#buckets = buckets
      if (isChanged) this.#events.bucketsChanged()
      this.#events.clockSkew((sentAtMs + this.#clock()) / 2 - beat.nowMs)
    } else await this.#enter()
  }

  async #watch(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    await this.#guard(async () => {
      if (!(await hasDeadNodes(this.#db, this.#instance, DEAD_AFTER_MS))) return
      const takeover = await this.#db.tx((tx) => takeOverDeadNodes(tx, this.#instance, DEAD_AFTER_MS))
      if (takeover.instances.length > 0) this.#events.tookOver(takeover)
    })
    this.#isBusy = false
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#events.failed(error)
    }
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#guard(() => this.#db.tx((tx) => deleteNode(tx, this.#instance)))
  }
}
