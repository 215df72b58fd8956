const PAUSE_MS = 5000

/** When the service last answered anything, in ms since 1970. */
let answeredAt = Date.now()
/** Since when it answers nothing; null: it answers. */
let silentSince: number | null = null
let answers = 0
let isAsking = false
const listeners = new Set<() => void>()

function set(since: number | null): void {
  if (silentSince === since) return
  silentSince = since
  for (const listener of listeners) listener()
}

export const readSilence = (): number | null => silentSince

export function watchSilence(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Any answer ends the silence, whatever was asked. */
export function noteAnswer(): void {
  answeredAt = Date.now()
  answers += 1
  set(null)
}

/**
 * A question got no answer or a fault. If another question is answered, that is the fault of the first alone; otherwise
 * the service is silent, and is asked again until it answers anything.
 * @param ask whether the other question is answered
 */
export async function noteFault(ask: () => Promise<boolean>): Promise<void> {
  if (isAsking) return
  isAsking = true
  const before = answers
  // an answer to something else may come meanwhile
  while (!(await ask()) && answers === before) {
    set(silentSince ?? answeredAt)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  if (answers === before) noteAnswer()
  isAsking = false
}
