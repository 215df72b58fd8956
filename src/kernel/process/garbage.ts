import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collect = (options: { type: 'minor' } | { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

let collector: Collect | undefined

/** V8's own `gc`, which a process has only with a flag. */
function openCollector(): Collect {
  if (collector) return collector
  setFlagsFromString('--expose-gc')
  collector = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  return collector
}

/**
 * Gives back what only the start needed (parsed sources, schemas, types that were taken off): some forty megabytes that
 * V8 would otherwise keep until the heap is full. It takes about a tenth of a second, so it is for once, when the first
 * rush is over.
 */
export function collectStartGarbage(): void {
  openCollector()({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** Bytes that may be thrown away before they are collected. */
const MAX_THROWN = 4 << 20

/**
 * Collects young objects each time that so many bytes went through. V8 counts a buffer as the few bytes of its object,
 * and lets a stream leave some forty megabytes behind before it looks. A collection takes one to four milliseconds.
 * @returns to be told of each buffer's bytes
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
