import { setTimeout as delay } from 'node:timers/promises'

const PAUSE_MS = 250
/** Far more than a node can be sent in one pause. */
const MAX_SECRETS = 2000

/**
 * Look-ups that share a statement, one at a time with a pause after each: however many callers come, they cost four
 * statements a second, and each is answered. A lone caller waits for nothing.
 * @param find finds the rows of many secrets, by their hash
 */
export function openSharedLookUps<Row>(
  find: (secretHashes: string[]) => Promise<ReadonlyMap<string, Row>>,
): (secretHash: string) => Promise<Row | undefined> {
  const waiting = new Map<string, PromiseWithResolvers<Row | undefined>>()
  let isRunning = false
  const runNext = async (): Promise<void> => {
    const batch = [...waiting].slice(0, MAX_SECRETS)
    for (const [secretHash] of batch) waiting.delete(secretHash)
    try {
      const rows = await find(batch.map(([secretHash]) => secretHash))
      for (const [secretHash, { resolve }] of batch) resolve(rows.get(secretHash))
    } catch (error) {
      for (const [, { reject }] of batch) reject(error)
    }
  }
  const run = async (): Promise<void> => {
    isRunning = true
    while (waiting.size > 0) {
      await runNext()
      await delay(PAUSE_MS)
    }
    isRunning = false
  }
  return (secretHash) => {
    const answer = waiting.get(secretHash) ?? Promise.withResolvers<Row | undefined>()
    waiting.set(secretHash, answer)
    if (!isRunning) void run()
    return answer.promise
  }
}
