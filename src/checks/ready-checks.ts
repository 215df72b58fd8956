import type { ChainHealth } from '../chain/chain-health.ts'
import type { Db } from '../db/db.ts'
import { READ_ONLY, READ_ONLY_FIX } from '../db/durable.ts'
import { readReadiness } from '../http/health/health-queries.ts'
import { bad, type CheckResult, good } from './check.ts'
import { rehearsalResult } from './rehearsal-check.ts'

const FULL = 'The disk of the database is full: no order, payment or refund can be recorded.'
const FULL_FIX = 'Make room on the disk of the PostgreSQL server. The service goes on by itself then.'

function describeAnswer(isReadOnly: boolean, isFull: boolean): Omit<CheckResult, 'name'> {
  if (isReadOnly) return bad(READ_ONLY, READ_ONLY_FIX)
  return isFull ? bad(FULL, FULL_FIX) : good('The database answers.')
}

/** What every request needs: the database, with the schema this version expects. */
export async function checkReady(db: Db, newest: string, isRehearsal = false): Promise<CheckResult[]> {
  try {
    const { isNewest, isReadOnly } = await readReadiness(db, newest)
    if (db.room.isFull()) await db.room.probe()
    const schema = isNewest
      ? good(`The schema is the newest (${newest}).`)
      : bad(`The database lacks migration ${newest}.`, 'Run: comptoir migrate')
    return [
      { name: 'database', ...describeAnswer(isReadOnly, db.room.isFull()) },
      { name: 'schema', ...schema },
      ...(isRehearsal ? [rehearsalResult()] : []),
    ]
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    return [
      { name: 'database', ...bad(`The database does not answer: ${reason}`, 'Start it, or correct DATABASE_URL.') },
    ]
  }
}

/**
 * Each configured chain: a node that lags still gets traffic, but does not offer payments from wallets on that chain.
 */
export async function listChainChecks(health: ChainHealth): Promise<CheckResult[]> {
  const checks = await health.list()
  return checks.map(({ chainId, ok, message, fix }) => ({ name: `chain ${chainId}`, ok, message, fix }))
}
