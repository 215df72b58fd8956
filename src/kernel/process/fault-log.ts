import type { FastifyBaseLogger } from 'fastify'
import { MINUTE, SECOND } from '../clock.ts'
import { AppError } from '../errors.ts'

type Log = Pick<FastifyBaseLogger, 'warn' | 'info'>

/** Why it failed, to be given back once it works again. */
export type Cause = string

/** What fails again and again, and what tries it, is logged once a minute for each cause. */
export type FaultLog = {
  /** @param task what was tried @param words for a cause that is its own */
  failed(error: unknown, task: string, words: string): Cause
  /** What failed for this cause works again. */
  works(cause: Cause): void
}

/** One cause for everything that needs the database: all of it fails, and works again, together. */
const DATABASE = 'database'
const isAway = (error: unknown): boolean => error instanceof AppError && error.code === 'DATABASE_UNAVAILABLE'

type Fault = { sinceMs: number; saidAtMs: number; unsaid: number; isOver: boolean; isSaid: boolean }

function openFaultLog(log: Log): FaultLog {
  const faults = new Map<Cause, Fault>()
  const begin = (cause: Cause, nowMs: number): Fault => {
    const known = faults.get(cause)
    if (known && !known.isOver) return known
    // a cause may name what changes
    for (const [name, { isOver, saidAtMs }] of faults) if (isOver && nowMs - saidAtMs >= MINUTE) faults.delete(name)
    // one that comes back within the minute is the same line
    const saidAtMs = known?.saidAtMs ?? Number.NEGATIVE_INFINITY
    const fault = { sinceMs: nowMs, saidAtMs, unsaid: 0, isOver: false, isSaid: false }
    faults.set(cause, fault)
    return fault
  }
  return {
    failed(error, task, words) {
      const away = isAway(error)
      const cause = away ? DATABASE : `${task}: ${(error as Error)?.message}`
      const nowMs = performance.now()
      const fault = begin(cause, nowMs)
      if (nowMs - fault.saidAtMs < MINUTE) {
        fault.unsaid += 1
        return cause
      }
      const unsaid = fault.unsaid === 0 ? {} : { unsaid: fault.unsaid }
      const text = away ? 'the database does not answer; what needs it is tried again until it does' : words
      log.warn({ err: error, job: task, ...unsaid }, text)
      Object.assign(fault, { saidAtMs: nowMs, unsaid: 0, isSaid: true })
      return cause
    },
    works(cause) {
      const fault = faults.get(cause)
      if (!fault || fault.isOver) return
      fault.isOver = true
      if (!fault.isSaid) return
      const seconds = Math.round((performance.now() - fault.sinceMs) / SECOND)
      const text = cause === DATABASE ? 'the database answers again' : 'works again'
      log.info({ seconds, unsaid: fault.unsaid, ...(cause !== DATABASE && { cause }) }, text)
    },
  }
}

const logs = new WeakMap<Log, FaultLog>()

/** The one of this log: those who share it share their causes. */
export function faultLogOf(log: Log): FaultLog {
  const known = logs.get(log) ?? openFaultLog(log)
  logs.set(log, known)
  return known
}
