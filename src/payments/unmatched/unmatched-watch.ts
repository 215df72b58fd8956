import type { UsdcContracts } from '../../chain/transfer-queries.ts'
import type { Db } from '../../db/db.ts'
import { followTransfers } from '../transfer-changes.ts'
import { findUnmatchedCursor, insertUnmatched, updateUnmatchedCursor } from './unmatched-queries.ts'

type Deps = { db: Db; dustUnits: bigint; usdc: UsdcContracts }

/**
 * Records what came to an address and matches no order. It has its own cursor: after an upgrade it reads everything
 * that arrived before.
 * @returns whether there may be more
 */
export const followUnmatched = ({ db, ...rules }: Deps, chainId: number): Promise<boolean> =>
  followTransfers(db, chainId, {
    findCursor: () => findUnmatchedCursor(db, chainId),
    process: (transferIds) => insertUnmatched(db, transferIds, rules),
    updateCursor: (change) => updateUnmatchedCursor(db, chainId, change),
  })
