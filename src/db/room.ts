import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts'
import { raw } from './sql.ts'

/** Source: PostgreSQL, Appendix A: disk_full. */
const DISK_FULL = '53100'

/** Source: the same, insufficient_privilege. */
const MAY_NOT = '42501'

/** Whether the server refused a statement because its disk is full. */
export function isDiskFull(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: { code?: string } }
  return code === DISK_FULL || cause?.code === DISK_FULL
}

/** Whether the database has room to write, as far as this process has seen. */
export type Room = {
  isFull(): boolean
  /** A statement failed. */
  note(error: unknown): void
  /** Calls each time that the disk was found full, and was not before. */
  onFull(tell: () => void): void
  /** Tries it: small changes fit into pages that the database has, so that none of them proves anything. */
  probe(): Promise<void>
}

/** So that a probe for each question about readiness costs nothing. */
const GAP_MS = 5 * SECOND

/** New blocks on the database's own disk, gone with the transaction. */
export const WRITE_MEGABYTE = [
  raw(`set local temp_tablespaces = ''`),
  raw(
    `create temporary table comptoir_room on commit drop as
     select repeat(md5(n::text), 32) as text from generate_series(1, 1000) n`,
  ),
]

/**
 * @param write runs WRITE_MEGABYTE in one transaction, whose failure is noted
 * @param clock never goes back
 */
export function openRoom(write: () => Promise<unknown>, clock: Clock = () => performance.now()): Room {
  const listeners: (() => void)[] = []
  let full = false
  let probedAtMs = Number.NEGATIVE_INFINITY
  let probing = Promise.resolve()
  let notedAtMs = Number.NEGATIVE_INFINITY
  /** A role that may make no temporary tables finds out by what it writes next. */
  const isBlind = (error: unknown): boolean =>
    (error as { code?: string }).code === MAY_NOT && clock() - notedAtMs > MINUTE
  const look = async (): Promise<void> => {
    // a server that does not answer is no sign of room
    if (await write().then(() => true, isBlind)) full = false
  }
  return {
    isFull: () => full,
    note(error) {
      if (full || !isDiskFull(error)) return
      full = true
      notedAtMs = clock()
      for (const tell of listeners) tell()
    },
    onFull: (tell) => void listeners.push(tell),
    probe() {
      if (clock() - probedAtMs < GAP_MS) return probing
      probedAtMs = clock()
      probing = look()
      return probing
    },
  }
}
