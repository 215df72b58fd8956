/** A transaction open longer than this may commit rows behind the senders' moving lower bound. */
export const LATE_COMMIT_MS = 1000

const listeners = new Set<() => void>()

/** Called by each sender of this process: `listener` runs after a slow transaction committed deliveries. */
export function onLateCommit(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function reportLateCommit(): void {
  for (const listener of listeners) listener()
}
