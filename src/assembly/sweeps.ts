import type { Sweep } from '../chain/sweep/sweep-queries.ts'
import { recheckSweeps, type SweepRecheckDeps } from '../chain/sweep/sweep-recheck.ts'
import { type SweepDeps, sweepPolls } from '../chain/sweep/sweep-send.ts'
import type { Tx } from '../db/db.ts'
import type { PollSpec } from '../db/polling.ts'
import { OPERATOR } from '../ledger/difference-queries.ts'
import { bookSweep, bookSweepFee, bookSweepFeeUndone, bookSweepUndone } from '../ledger/ledger-service.ts'

/** One that was undone is booked again under a cause of its own: its first booking and the reversal stay. */
const bookingOf = ({ companyId, id, undone }: Sweep, at: Date) => ({
  ...{ companyId, orderId: null, at },
  causeId: undone === 0 ? id : `${id}#${undone}`,
})

/** A deposit was swept: the company's money is in our wallet, and the operator paid for gas. */
export async function bookSweepDone(
  tx: Tx,
  sweep: Sweep,
  { feeWei: wei, at }: { feeWei: bigint | null; at: Date },
): Promise<void> {
  const booking = bookingOf(sweep, at)
  await bookSweep(tx, booking, sweep.units)
  if (wei !== null) await bookSweepFee(tx, { ...booking, companyId: OPERATOR }, { wei, chainId: sweep.chainId })
}

/** A reorganisation undid it, and what its transaction cost. */
async function bookUndone(tx: Tx, sweep: Sweep, at: Date): Promise<void> {
  const { feeWei: wei, units, chainId } = sweep
  const booking = bookingOf(sweep, at)
  await bookSweepUndone(tx, booking, units)
  if (wei !== null) await bookSweepFeeUndone(tx, { ...booking, companyId: OPERATOR }, { wei, chainId })
}

/** Polls sweeps and books them when they are done. */
export const bookedSweepPolls = (deps: Omit<SweepDeps, 'book'>): PollSpec =>
  sweepPolls({ ...deps, book: bookSweepDone })

/** Takes sweeps out of the books that a deep reorganisation undid, and has them sent again. */
export const recheckBookedSweeps = (deps: Omit<SweepRecheckDeps, 'bookUndone'>): Promise<void> =>
  recheckSweeps({ ...deps, bookUndone })
