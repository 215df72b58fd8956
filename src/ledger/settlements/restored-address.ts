import type { Queryable } from '../../db/db.ts'
import { findRestoredTarget, type Settlement } from './settlement-queries.ts'

const UNCONFIRMED =
  'the company has not confirmed its settlement address since the database was restored: it saves it again, with a fresh ' +
  'second factor'

/** It may have left since the backup, by hand as well: then only its transaction keeps it from being paid twice. */
const OTHER_ADDRESS =
  'since the database was restored the company has another settlement address. If it was sent already, name its ' +
  'transaction; otherwise cancel it'

/** Why it waits: the address is the one of a backup, which may be older than the company's last word. */
export async function findUnconfirmed(q: Queryable, settlement: Settlement): Promise<string | null> {
  const { isUnconfirmed, isOther } = await findRestoredTarget(q, settlement)
  if (isUnconfirmed) return UNCONFIRMED
  return isOther ? OTHER_ADDRESS : null
}
