import crypto from 'node:crypto'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import timersPromises from 'node:timers/promises'
import { currentScope, type Scheduler, type Timer } from './scheduler.ts'

const RealDate = Date

/** A handle as Node's timers give it. */
class VirtualTimer {
  timer: Timer
  constructor(timer: Timer) {
    this.timer = timer
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
  refresh(): this {
    throw new Error('refresh of a timer is not simulated')
  }
  close(): this {
    this.timer.cancel()
    return this
  }
  [Symbol.dispose](): void {
    this.timer.cancel()
  }
}

type Callback = (...args: unknown[]) => void

function installTimers(scheduler: Scheduler): void {
  const after = (callback: Callback, delayMs: number | undefined, args: unknown[]): VirtualTimer =>
    new VirtualTimer(scheduler.after(Math.max(1, Number(delayMs) || 1), () => callback(...args)))
  const every = (callback: Callback, delayMs: number | undefined, args: unknown[]): VirtualTimer => {
    const pauseMs = Math.max(1, Number(delayMs) || 1)
    const again = (): void => {
      handle.timer = scheduler.after(pauseMs, again)
      callback(...args)
    }
    const handle = new VirtualTimer(scheduler.after(pauseMs, again))
    return handle
  }
  const clear = (handle: unknown): void => {
    if (handle instanceof VirtualTimer) handle.timer.cancel()
  }
  const immediately = (callback: Callback, ...args: unknown[]) => after(callback, 0, args)
  Object.assign(globalThis, {
    setTimeout: (callback: Callback, delayMs?: number, ...args: unknown[]) => after(callback, delayMs, args),
    setInterval: (callback: Callback, delayMs?: number, ...args: unknown[]) => every(callback, delayMs, args),
    setImmediate: immediately,
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  })
  Object.assign(timersPromises, {
    setTimeout: <Value>(delayMs?: number, value?: Value): Promise<Value | undefined> =>
      new Promise((resolve) => after(() => resolve(value), delayMs, [])),
  })
}

function installClock(scheduler: Scheduler): void {
  const startMs = scheduler.nowMs
  const nowMs = (): number => Math.floor(scheduler.nowMs)
  class VirtualDate extends RealDate {
    constructor(...args: []) {
      if (args.length === 0) super(nowMs())
      else super(...args)
    }
    static override now(): number {
      return nowMs()
    }
    static override [Symbol.hasInstance](value: unknown): boolean {
      return value instanceof RealDate
    }
  }
  globalThis.Date = VirtualDate as DateConstructor
  performance.now = () => scheduler.nowMs - startMs
  AbortSignal.timeout = (delayMs: number): AbortSignal => {
    const controller = new AbortController()
    const words = 'The operation was aborted due to timeout'
    scheduler.after(delayMs, () => controller.abort(new DOMException(words, 'TimeoutError')))
    return controller.signal
  }
}

function installRandom({ random }: Scheduler): void {
  const fill = <Target extends NodeJS.ArrayBufferView>(target: Target): Target => {
    const view = new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
    view.set(random.bytes(view.length))
    return target
  }
  const uuid = (): string => {
    const bytes = random.bytes(16)
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  }
  Object.assign(crypto, {
    randomBytes: (count: number) => random.bytes(count),
    randomUUID: uuid,
    randomFillSync: fill,
    randomInt: (least: number, limit?: number) =>
      limit === undefined ? random.below(least) : least + random.below(limit - least),
  })
  Object.assign(globalThis.crypto, { getRandomValues: fill, randomUUID: uuid })
  Math.random = () => random.next()
}

/** From here on the scheduler provides time, timers and randomness. Call it before the service is loaded. */
export function installGlobals(scheduler: Scheduler): void {
  installTimers(scheduler)
  installClock(scheduler)
  installRandom(scheduler)
  // nodes record these: each has its own machine, whichever one the simulation runs on
  Object.defineProperty(process, 'pid', { value: 1 })
  Object.assign(os, { hostname: () => currentScope()?.name ?? 'simulation' })
  const { readFileSync, readlinkSync } = fs
  Object.assign(fs, {
    readFileSync: (path: fs.PathOrFileDescriptor, encoding: BufferEncoding) =>
      path === '/proc/sys/kernel/random/boot_id' ? 'boot' : readFileSync(path, encoding),
    readlinkSync: (path: fs.PathLike) => (path === '/proc/self/ns/pid' ? 'pid:[1]' : readlinkSync(path)),
  })
  syncBuiltinESMExports()
}
