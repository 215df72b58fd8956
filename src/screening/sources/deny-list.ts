import { readFileSync, statSync } from 'node:fs'
import { readDenyList } from '../../config/deny-list.ts'
import { type Clock, SECOND } from '../../kernel/clock.ts'
import { clean, type ScreeningSource } from '../screening.ts'

/** Entries that are gone count until the file has rested so long: it may be half written. */
const RESTED_MS = 2 * SECOND

/** `fault`: why the file cannot be used now; its last content stays in force. */
export type DenyListState = { entries: number; fault: string | null }

export type DenyList = ScreeningSource & {
  /** Reads the file again if it changed. */
  look(): DenyListState
}

/** What tells one version of a file from another, also when it was replaced within a millisecond. */
const versionOf = (file: string): string => {
  const { mtimeNs, size, ino } = statSync(file, { bigint: true })
  return `${mtimeNs}:${size}:${ino}`
}

/**
 * The operator's own list. New entries count at once. A list that vanishes or becomes unreadable keeps its last
 * content; so does a line that is not an address, because it may be meant to block.
 * @throws Error when the file cannot be read at the start
 */
export function openDenyList(file: string, clock: Clock): DenyList {
  let version = versionOf(file)
  let entries = readDenyList(readFileSync(file, 'utf8'))
  /** Read, but not yet in force without the old ones. */
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
  return {
    id: 'deny_list',
    look,
    async screen({ address }) {
      const { fault: wrong } = look()
      const evidence = { file, entries: entries.size, ...(wrong === null ? {} : { keptBecause: wrong }) }
      if (!entries.has(address)) return clean(evidence)
      return { verdict: 'blocked', level: null, reasons: ['on the deny list of the operator'], evidence }
    },
  }
}
