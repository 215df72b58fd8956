import { readFileSync, statSync } from 'node:fs'
import { readDenyList } from '../../config/deny-list.ts'
import { type Clock, SECOND } from '../../kernel/clock.ts'
import { type Answer, clean, type ScreeningSource } from '../screening.ts'

/** Removed entries stay in force until the file has been unchanged for this long: it may be half-written. */
const RESTED_MS = 2 * SECOND

/** `fault`: why the file cannot be used now; its last content stays in force. */
export type DenyListState = { entries: number; fault: string | null }

export type DenyList = ScreeningSource & {
  /** Reads the file again if it changed. */
  look(): DenyListState
  /** The same as `screen`, at once. */
  answer(address: string): Answer
}

/** Identifies a version of a file, even if it was replaced within a millisecond. */
const versionOf = (file: string): string => {
  const { mtimeNs, size, ino } = statSync(file, { bigint: true })
  return `${mtimeNs}:${size}:${ino}`
}

/**
 * The operator's own list. New entries take effect at once. If the list vanishes, becomes unreadable or has a line that
 * is not an address, its last content stays in force too, because that line may be meant to block.
 * @throws Error when the file cannot be read at the start
 */
export function openDenyList(file: string, clock: Clock): DenyList {
  let version = versionOf(file)
  let entries = readDenyList(readFileSync(file, 'utf8'))
  /** Read, but not in force yet without the removed entries. */
  let rest: { entries: ReadonlySet<string>; since: number } | null = null
  let fault: string | null = null

  const readAgain = (): void => {
    const found = versionOf(file)
    if (found === version && fault === null) return
    const next = readDenyList(readFileSync(file, 'utf8'))
    if (found !== version) rest = { entries: next, since: clock() }
    version = found
    entries = new Set([...entries, ...next])
    fault = null
  }
  const look = (): DenyListState => {
    try {
      readAgain()
      if (rest !== null && clock() - rest.since >= RESTED_MS) {
        entries = rest.entries
        rest = null
      }
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error)
    }
    return { entries: entries.size, fault }
  }
  const answer = (address: string): Answer => {
    const { fault: wrong } = look()
    const evidence = { file, entries: entries.size, ...(wrong === null ? {} : { keptBecause: wrong }) }
    if (!entries.has(address)) return clean(evidence)
    return { verdict: 'blocked', level: null, reasons: ['on the deny list of the operator'], evidence }
  }
  return { id: 'deny_list', look, answer, screen: async ({ address }) => answer(address) }
}
