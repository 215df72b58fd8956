import { EventEmitter } from 'node:events'
import type { Backend } from './backend.ts'
import { currentScope, type Scheduler } from './scheduler.ts'
import { type Frame, splitFrames, WELCOME } from './wire.ts'

/** One-way latency through the network and the server, in milliseconds. */
export const LATENCY_MS = 0.05

/** What is at the other end. */
export type Server = {
  readonly scheduler: Scheduler
  /** A client sent a statement. */
  accept(connection: VirtualConnection, frames: Frame[]): void
  /** The client is gone. */
  forget(connection: VirtualConnection): void
}

/** A connection of the service's pool: a stand-in for the socket of `pg`. */
export class VirtualConnection extends EventEmitter {
  readonly scope = currentScope()
  readonly #server: Server
  backend: Backend | null = null
  /** When it got its session, and its latest statement. */
  heldAtMs = 0
  lastFrames: readonly Frame[] = []
  isOpen = true
  #isWelcome = false
  #buffer: Buffer = Buffer.alloc(0)
  #batch: Frame[] = []

  constructor(server: Server) {
    super()
    this.#server = server
  }
  setNoDelay(): void {}
  setKeepAlive(): void {}
  setTimeout(): void {}
  cork(): void {}
  uncork(): void {}
  ref(): void {}
  unref(): void {}
  get writable(): boolean {
    return this.isOpen
  }
  connect(): void {
    this.#server.scheduler.after(LATENCY_MS, () => void this.emit('connect'))
  }
  write(chunk: Buffer, done?: () => void): boolean {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk])
    if (!this.#isWelcome) {
      this.#isWelcome = true
      this.#buffer = Buffer.alloc(0)
      this.#server.scheduler.after(LATENCY_MS, () => void this.emit('data', WELCOME))
      return true
    }
    const { frames, rest } = splitFrames(this.#buffer)
    this.#buffer = Buffer.from(rest)
    for (const one of frames) {
      if (one.type === 'X') this.close()
      else this.#batch.push(one)
      if (one.type !== 'S' && one.type !== 'Q') continue
      const batch = this.#batch
      this.#batch = []
      this.#server.accept(this, batch)
    }
    done?.()
    return true
  }
  end(): void {
    this.close()
  }
  destroy(error?: Error): void {
    this.close(error)
  }
  close(error?: Error): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#server.forget(this)
    const { scheduler } = this.#server
    scheduler.after(
      0,
      () => {
        if (error) this.emit('error', error)
        this.emit('close')
      },
      this.scope,
    )
  }
}
