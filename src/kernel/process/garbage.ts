import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collect = (options: { type: 'minor' } | { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

let collector: Collect | undefined

/** V8's own `gc`, which is otherwise available only with a flag. */
function openCollector(): Collect {
  if (collector) return collector
  setFlagsFromString('--expose-gc')
  collector = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  return collector
}

/**
 * Frees what only the start needed (parsed sources, schemas, stripped types): about forty megabytes that V8 would
 * otherwise keep until the heap is full. It takes about a tenth of a second, so call it once, after the initial rush.
 */
export function collectStartGarbage(): void {
  openCollector()({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** Bytes of garbage allowed before a collection. */
const MAX_THROWN = 4 << 20

/**
 * Collects young objects each time this many bytes have passed through. V8 counts a buffer only as the few bytes of its
 * object, and lets a stream leave about forty megabytes behind before it collects. A collection takes one to four
 * milliseconds.
 * @returns call it with each buffer's bytes
 */
export function collectWhatPasses(): (bytes: number) => void {
  let thrown = 0
  return (bytes) => {
    thrown += bytes
    if (thrown < MAX_THROWN) return
    thrown = 0
    openCollector()({ type: 'minor' })
  }
}
