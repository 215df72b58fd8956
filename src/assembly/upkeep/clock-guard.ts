import { hostname, uptime } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { Gauge } from 'prom-client'
import type { Config } from '../../config/config.ts'
import { readClockSkew } from '../../db/installation.ts'
import { DAY, describeSkew, MINUTE, SECOND } from '../../kernel/clock.ts'
import type { RaiseAlarm } from '../../mail/operator-alarm.ts'
import type { ServiceBase } from '../service-base.ts'
import { openDailyAlarm } from './daily-alarm.ts'

/** As in the alert ComptoirClockOff. */
const MAX_SKEW_SECONDS = 30
/** Of slow answers in a row, before the clocks count as not compared. */
const MAX_SLOW = 3
/** The embedded database has our clock, so that only a leap shows: none that a time service makes is this long. */
const MAX_LEAP_MS = DAY
/** A comparison holds for a minute, unless the clock leaps. */
const HOLDS_MS = MINUTE
const LEAP_MS = 5 * SECOND
/** As in the alert ComptoirClockOff: for so long, a database that does not answer is nothing to wake someone for. */
const MAX_UNSURE_MS = 3 * MINUTE

type GuardDeps = Pick<ServiceBase, 'db' | 'clock' | 'metrics'> & {
  config: Pick<Config, 'databaseUrl'>
  log: Pick<FastifyBaseLogger, 'error' | 'info'>
  alarm: RaiseAlarm
  /** Since the machine started, its sleep included; no time service changes it. */
  uptimeMs?: () => number
}

/**
 * Whether this node may delete and expire by its clock: what a clock that is ahead deletes does not come back. The
 * start compares the clocks too, but a clock may leap later.
 * @returns rejects while the database does not answer, or too slowly
 */
export function openClockGuard(deps: GuardDeps): () => Promise<boolean> {
  const { config, db, clock, log, uptimeMs = () => uptime() * SECOND } = deps
  const mail = openDailyAlarm(deps, 'A clock is wrong', hostname())
  const offsetMs = (): number => clock() - uptimeMs()
  const firstOffsetMs = offsetMs()
  let isSound = true
  let checked = { atMs: Number.NEGATIVE_INFINITY, offsetMs: firstOffsetMs }
  let checking: Promise<boolean> | undefined
  let soundAtMs = uptimeMs()
  let isUnsureSaid = false
  new Gauge({
    name: 'comptoir_clock_unsure_seconds',
    help: 'Since this worker’s clock was last known to be right: from minutes on it deletes and expires nothing.',
    registers: [deps.metrics],
    collect() {
      this.set((uptimeMs() - soundAtMs) / SECOND)
    },
  })

  const readSkew = async (): Promise<number> => {
    for (let slow = 0; slow < MAX_SLOW; slow += 1) {
      const { seconds, doubtSeconds } = await readClockSkew(db.connectionString, clock)
      const ahead = Math.abs(seconds)
      if (ahead <= MAX_SKEW_SECONDS || ahead > MAX_SKEW_SECONDS + doubtSeconds) return seconds
    }
    throw new Error('The database answers too slowly to compare its clock with ours.')
  }
  const findFault = async (): Promise<string | undefined> => {
    const skew = await readSkew()
    if (Math.abs(skew) > MAX_SKEW_SECONDS) return `The database’s clock is ${describeSkew(skew)} this node’s.`
    const leapMs = offsetMs() - firstOffsetMs
    if (config.databaseUrl !== null || Math.abs(leapMs) <= MAX_LEAP_MS) return undefined
    return `This machine’s clock leapt by ${Math.round(leapMs / DAY)} days. If it is right now, restart the service.`
  }
  const sayUnsure = (error: unknown): never => {
    const isLong = uptimeMs() - soundAtMs > MAX_UNSURE_MS
    if (isLong && !isUnsureSaid)
      log.error({ err: error }, 'ALARM: nothing is deleted and no order expires: the clocks cannot be compared')
    isUnsureSaid ||= isLong
    throw error
  }
  const check = async (): Promise<boolean> => {
    const at = { atMs: uptimeMs(), offsetMs: offsetMs() }
    const fault = await findFault().catch(sayUnsure)
    isUnsureSaid = false
    if (fault === undefined) soundAtMs = at.atMs
    const wasSound = isSound
    ;[isSound, checked] = [fault === undefined, at]
    if (isSound && !wasSound) log.info('the clock is right again; deleting and expiring go on')
    if (fault === undefined) return isSound
    if (wasSound) log.error(`ALARM: nothing is deleted and no order expires: ${fault}`)
    // each time: a mail that could not be written is still due
    await mail([
      fault,
      'Until the clocks agree, this node deletes nothing and lets no order expire. Run a time service on both machines.',
    ])
    return isSound
  }
  return () => {
    const holds = uptimeMs() - checked.atMs < HOLDS_MS && Math.abs(offsetMs() - checked.offsetMs) < LEAP_MS
    if (holds) return Promise.resolve(isSound)
    checking ??= check().finally(() => {
      checking = undefined
    })
    return checking
  }
}
