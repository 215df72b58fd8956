import { AppError } from '../kernel/errors.ts'
import { askForAll } from './shares.ts'

type Waiting<In, Out> = { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }

export type BatchOptions<In, Out> = {
  /** Handles many items at once; returns results in their order. */
  runMany(items: In[]): Promise<Out[]>
  /** Maximum items per batch. */
  max: number
  /** Batches in flight at once. */
  concurrency: number
  /** Allows one more in flight once this many items wait. */
  oneMoreFrom?: number
}

const isAway = (error: unknown): boolean => error instanceof AppError && error.code === 'DATABASE_UNAVAILABLE'

/**
 * Groups concurrent calls into one statement. When idle, a batch starts as soon as every request that has already
 * arrived was read, so that a lone caller waits for nothing. While batches are in flight, further calls collect. If a
 * batch fails, its members run one by one, so that one bad item cannot fail the others. Without the database none is to
 * blame, and each would wait for it in turn: all fail, and for each its caller finds out whether it was done.
 */
export function createBatcher<In, Out>({
  runMany,
  max,
  concurrency,
  oneMoreFrom = Number.POSITIVE_INFINITY,
}: BatchOptions<In, Out>): (item: In) => Promise<Out> {
  const waiting: Waiting<In, Out>[] = []
  let running = 0

  const runAlone = async ({ item, resolve, reject }: Waiting<In, Out>): Promise<void> => {
    try {
      const [out] = await runMany([item])
      resolve(out as Out)
    } catch (error) {
      reject(error)
    }
  }
  const run = async (batch: Waiting<In, Out>[]): Promise<void> => {
    const [only] = batch
    if (batch.length === 1 && only) return runAlone(only)
    try {
      const outs = await runMany(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) resolve(outs[index] as Out)
    } catch (error) {
      if (isAway(error)) for (const { reject } of batch) reject(error)
      else for (const member of batch) await runAlone(member)
    }
  }
  const mayStart = (): boolean =>
    waiting.length > 0 && running < (waiting.length >= oneMoreFrom ? concurrency + 1 : concurrency)
  const flush = (): void => {
    while (mayStart()) {
      const batch = waiting.splice(0, max)
      running += 1
      void run(batch).finally(() => {
        running -= 1
        flush()
      })
    }
  }
  return (item) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (waiting.length === 1 || waiting.length === oneMoreFrom) setImmediate(askForAll, flush)
    })
}
