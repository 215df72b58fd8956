import { createHmac } from 'node:crypto'
import type { Db, Tx } from '../db/db.ts'
import { CLOCKS_DIFFER_MS, type Clock, DAY, MINUTE, SECOND } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import type { Vault } from '../kernel/vault.ts'
import {
  deleteAllLoginFailures,
  deleteLoginFailures,
  findLoginFailures,
  insertLoginFailure,
  shortenLock,
} from './lock-out-queries.ts'

const MOST_WRONG = 10
const LOCK_MS = 30 * MINUTE

export type LockOuts = {
  /** @throws ACCOUNT_LOCKED while the address is locked, registered or not */
  check(emailKey: string, browser: string | null): Promise<void>
  /** Counts a wrong password. @returns true when it locks the address */
  count(tx: Tx, emailKey: string, browser: string | null): Promise<boolean>
  /** @param browser absent: the address everywhere, as after a reset of its password */
  clear(tx: Tx, emailKey: string, browser?: string | null): Promise<void>
}

/**
 * Ten wrong passwords in a row lock an address for half an hour, on all nodes; a password reset unlocks it. A browser
 * that is known for the address is locked only by its own wrong passwords.
 */
export function openLockOuts({ db, clock, vault }: { db: Db; clock: Clock; vault: Vault }): LockOuts {
  const key = vault.derive('lock-out')
  const accountKeyOf = (emailKey: string, browser: string | null): string => {
    const account = createHmac('sha256', key).update(emailKey).digest('hex')
    return browser === null ? account : `${account}:${browser}`
  }
  return {
    async check(emailKey, browser) {
      const accountKey = accountKeyOf(emailKey, browser)
      const nowMs = clock()
      const [now, latest] = [new Date(nowMs), new Date(nowMs + LOCK_MS + CLOCKS_DIFFER_MS)]
      let failures = await findLoginFailures(db, accountKey, now)
      // begun by a clock that was ahead: it would last as much longer
      if (failures?.lockedUntil && failures.lockedUntil > latest)
        failures = await shortenLock(db, accountKey, { now, latest, until: new Date(nowMs + LOCK_MS) })
      const leftMs = (failures?.lockedUntil?.getTime() ?? 0) - nowMs
      if (leftMs > 0) throw new AppError('ACCOUNT_LOCKED', { retryAfter: leftMs / SECOND })
    },
    async count(tx, emailKey, browser) {
      const at = new Date(clock())
      const { wrong, lockedUntil } = await insertLoginFailure(tx, accountKeyOf(emailKey, browser), {
        at,
        most: MOST_WRONG,
        lockUntil: new Date(at.getTime() + LOCK_MS),
        forgetBefore: new Date(at.getTime() - DAY),
      })
      return lockedUntil !== null && wrong === MOST_WRONG
    },
    clear: (tx, emailKey, browser) =>
      browser === undefined
        ? deleteAllLoginFailures(tx, accountKeyOf(emailKey, null))
        : deleteLoginFailures(tx, accountKeyOf(emailKey, browser)),
  }
}
