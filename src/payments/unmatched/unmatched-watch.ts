import { listChangedTransfers, type UsdcContracts } from '../../chain/transfer-queries.ts'
import type { Db } from '../../db/db.ts'
import { AppError } from '../../kernel/errors.ts'
import { findUnmatchedCursor, insertUnmatched, updateUnmatchedCursor } from './unmatched-queries.ts'

const BATCH = 500

type Deps = { db: Db; dustUnits: bigint; usdc: UsdcContracts }
type Change = { id: string; change: bigint }

/** A batch that takes too long is halved, so that the chain goes on however slow each transfer is. */
async function record(deps: Deps, chainId: number, changed: readonly Change[]): Promise<void> {
  const { db, ...rules } = deps
  const last = changed.at(-1)
  if (!last) return
  const ids = changed.map(({ id }) => id)
  try {
    await insertUnmatched(db, ids, rules)
  } catch (error) {
    const isSlow = error instanceof AppError && error.code === 'BUSY'
    if (!isSlow || changed.length === 1) throw error
    const half = Math.ceil(changed.length / 2)
    await record(deps, chainId, changed.slice(0, half))
    return record(deps, chainId, changed.slice(half))
  }
  await updateUnmatchedCursor(db, chainId, last.change)
}

/**
 * Records what came to an address and matches no order. It has its own cursor: after an upgrade it reads everything
 * that arrived before.
 * @returns whether there may be more
 */
export async function followUnmatched(deps: Deps, chainId: number): Promise<boolean> {
  const afterChange = await findUnmatchedCursor(deps.db, chainId)
  const changed = await listChangedTransfers(deps.db, { chainId, afterChange, limit: BATCH })
  await record(deps, chainId, changed)
  return changed.length === BATCH
}
