import { pollTransfers } from './payment-jobs.ts'
import { findChainCursor, updateChainCursor } from './payment-queries.ts'
import type { PaymentDeps } from './payment-service.ts'
import { followTransfers } from './transfer-changes.ts'

/**
 * Passes what the scanner of one chain saw to the payments that wait for it.
 * @returns whether there may be more
 */
export const followChain = (deps: PaymentDeps, chainId: number): Promise<boolean> =>
  followTransfers(deps.db, chainId, {
    findCursor: () => findChainCursor(deps.db, chainId),
    process: (transferIds) => pollTransfers(deps, transferIds),
    updateCursor: (change) => updateChainCursor(deps.db, chainId, change),
  })
