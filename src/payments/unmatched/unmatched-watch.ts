import { listChangedTransfers, type UsdcContracts } from '../../chain/transfer-queries.ts'
import type { Db } from '../../db/db.ts'
import { findUnmatchedCursor, insertUnmatched, updateUnmatchedCursor } from './unmatched-queries.ts'

const BATCH = 500

/**
 * Records what came to an address and matches no order. It has its own cursor: after an upgrade it reads everything
 * that arrived before.
 * @returns whether there may be more
 */
export async function followUnmatched(
  { db, ...rules }: { db: Db; dustUnits: bigint; usdc: UsdcContracts },
  chainId: number,
): Promise<boolean> {
  const afterChange = await findUnmatchedCursor(db, chainId)
  const changed = await listChangedTransfers(db, { chainId, afterChange, limit: BATCH })
  const last = changed.at(-1)
  if (!last) return false
  await insertUnmatched(
    db,
    changed.map(({ id }) => id),
    rules,
  )
  await updateUnmatchedCursor(db, chainId, last.change)
  return changed.length === BATCH
}
