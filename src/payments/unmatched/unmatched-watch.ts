import type { FastifyBaseLogger } from 'fastify'
import type { UsdcContracts } from '../../chain/transfer-queries.ts'
import type { Db } from '../../db/db.ts'
import { followTransfers } from '../transfer-changes.ts'
import { findUnmatchedCursor, insertUnmatched, listNewEarlier, updateUnmatchedCursor } from './unmatched-queries.ts'

type Deps = { db: Db; log: FastifyBaseLogger; dustUnits: bigint; usdc: UsdcContracts }

const IN_USE =
  'ALARM: money came to an address before it was given to an order: another installation or program uses its key'

/**
 * Records what came to an address and matches no order. It has its own cursor: after an upgrade it reads everything
 * that arrived before.
 * @returns whether there may be more
 */
export const followUnmatched = ({ db, log, ...rules }: Deps, chainId: number): Promise<boolean> =>
  followTransfers(db, chainId, {
    findCursor: () => findUnmatchedCursor(db, chainId),
    async process(transferIds) {
      const earlier = await listNewEarlier(db, transferIds)
      await insertUnmatched(db, transferIds, rules)
      for (const one of earlier) log.error({ chainId, ...one }, IN_USE)
    },
    updateCursor: (change) => updateUnmatchedCursor(db, chainId, change),
  })
