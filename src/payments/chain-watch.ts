import { listChangedTransfers } from '../chain/transfer-queries.ts'
import { pollTransfers } from './payment-jobs.ts'
import { findChainCursor, updateChainCursor } from './payment-queries.ts'
import type { PaymentDeps } from './payment-service.ts'

const BATCH = 500

/**
 * Passes what the scanner of one chain saw to the payments that wait for it. The cursor moves only after the payments
 * were polled, so a crash repeats work and loses none.
 * @returns whether there may be more
 */
export async function followChain(deps: PaymentDeps, chainId: number): Promise<boolean> {
  const afterChange = await findChainCursor(deps.db, chainId)
  const changed = await listChangedTransfers(deps.db, { chainId, afterChange, limit: BATCH })
  const last = changed.at(-1)
  if (!last) return false
  await pollTransfers(
    deps,
    changed.map(({ id }) => id),
  )
  await updateChainCursor(deps.db, chainId, last.change)
  return changed.length === BATCH
}
