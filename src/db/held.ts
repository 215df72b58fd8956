import { AsyncLocalStorage } from 'node:async_hooks'

/** Whether the current call chain holds a connection with an open transaction. */
const holding = new AsyncLocalStorage<{ open: boolean } | undefined>()

/**
 * Code that waits for a second connection while holding one can deadlock the pool: if every holder waits, no connection
 * is ever returned. So it is an immediate error in every mode, rather than a hang under load.
 * @throws Error inside a transaction
 */
export function assertHoldsNone(): void {
  if (!holding.getStore()?.open) return
  throw new Error('this asks the pool while it holds a transaction: give it the tx, or read it before')
}

/** Runs `work` as the holder of a transaction; whatever it leaves running afterwards may use the pool again. */
export async function whileHolding<Result>(work: () => Promise<Result>): Promise<Result> {
  const held = { open: true }
  try {
    return await holding.run(held, work)
  } finally {
    held.open = false
  }
}

/** For work that a transaction starts but does not await: it may use the pool. */
export const withoutHolding = <Result>(work: () => Result): Result => holding.run(undefined, work)
