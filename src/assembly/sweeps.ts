import type { Sweep } from '../chain/sweep/sweep-queries.ts'
import { type SweepDeps, sweepPolls } from '../chain/sweep/sweep-send.ts'
import type { Tx } from '../db/db.ts'
import type { PollSpec } from '../db/polling.ts'
import { OPERATOR } from '../ledger/difference-queries.ts'
import { bookSweep, bookSweepFee } from '../ledger/ledger-service.ts'

/** A deposit was swept: the company's money is in our wallet, and the operator paid for gas. */
export async function bookSweepDone(
  tx: Tx,
  { companyId, id, chainId, units }: Sweep,
  { feeWei: wei, at }: { feeWei: bigint | null; at: Date },
): Promise<void> {
  const booking = { companyId, causeId: id, orderId: null, at }
  await bookSweep(tx, booking, units)
  if (wei !== null) await bookSweepFee(tx, { ...booking, companyId: OPERATOR }, { wei, chainId })
}

/** Polls sweeps and books them when they are done. */
export const bookedSweepPolls = (deps: Omit<SweepDeps, 'book'>): PollSpec =>
  sweepPolls({ ...deps, book: bookSweepDone })
