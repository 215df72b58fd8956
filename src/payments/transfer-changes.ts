import { listChangedTransfers } from '../chain/transfer-queries.ts'
import type { Db } from '../db/db.ts'
import { AppError } from '../kernel/errors.ts'

const BATCH = 500

type Follower = {
  /** The last change that was processed. */
  findCursor(): Promise<bigint>
  process(transferIds: readonly string[]): Promise<unknown>
  updateCursor(change: bigint): Promise<unknown>
}
type Change = { id: string; change: bigint }

/** What takes too long is halved, so that the chain goes on however slow each transfer is. */
async function inHalves<Item>(
  items: readonly Item[],
  work: (part: readonly Item[]) => Promise<unknown>,
): Promise<void> {
  try {
    await work(items)
  } catch (error) {
    const isSlow = error instanceof AppError && error.code === 'BUSY'
    if (!isSlow || items.length === 1) throw error
    const half = Math.ceil(items.length / 2)
    await inHalves(items.slice(0, half), work)
    await inHalves(items.slice(half), work)
  }
}

/** The same for many, `size` at a time, in order. */
export async function inPages<Item>(
  items: readonly Item[],
  size: number,
  work: (part: readonly Item[]) => Promise<unknown>,
): Promise<void> {
  for (let start = 0; start < items.length; start += size) await inHalves(items.slice(start, start + size), work)
}

async function processAll(follower: Follower, changed: readonly Change[]): Promise<void> {
  await follower.process(changed.map(({ id }) => id))
  const last = changed.at(-1)
  if (last) await follower.updateCursor(last.change)
}

/**
 * Processes what the scanner of one chain saw since the follower's cursor, which moves only afterwards: a crash repeats
 * work and loses none.
 * @returns whether there may be more
 */
export async function followTransfers(db: Db, chainId: number, follower: Follower): Promise<boolean> {
  const afterChange = await follower.findCursor()
  const changed = await listChangedTransfers(db, { chainId, afterChange, limit: BATCH })
  await inPages(changed, BATCH, (part) => processAll(follower, part))
  return changed.length === BATCH
}
