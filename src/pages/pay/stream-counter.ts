import { AppError } from '../../kernel/errors.ts'

const MAX_STREAMS_OF_ORDER = 20
const MAX_STREAMS_OF_ADDRESS = 200

export type StreamCounter = {
  /** Counts one more stream. @returns releases its slot @throws TOO_MANY_REQUESTS */
  enter(address: string, code: string): () => void
}

/**
 * Counts open streams by address, and by address and order, so that no single address fills the node
 * (docs/security.md).
 */
export function openStreamCounter(): StreamCounter {
  const open = new Map<string, number>()
  const add = (key: string, by: 1 | -1): void => {
    const count = (open.get(key) ?? 0) + by
    if (count > 0) open.set(key, count)
    else open.delete(key)
  }
  return {
    enter(address, code) {
      const place = `${address} ${code}`
      const isFull =
        (open.get(place) ?? 0) >= MAX_STREAMS_OF_ORDER || (open.get(address) ?? 0) >= MAX_STREAMS_OF_ADDRESS
      if (isFull) throw new AppError('TOO_MANY_REQUESTS', { retryAfter: 15 })
      add(place, 1)
      add(address, 1)
      let left = false
      return () => {
        if (left) return
        left = true
        add(place, -1)
        add(address, -1)
      }
    },
  }
}
