import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { processMark } from '../../src/db/embedded/process.ts'
import type { Source } from './source.ts'

/** The result of a world. CPU time in seconds. */
export type WorldResult = {
  world: number
  seed: number
  orders: number
  fingerprint: string
  seconds: number
  ownSeconds: number
  serverSeconds: number
  figures: Record<string, number>
}

/**
 * What must be equal for a run to be resumed: its options as they are written, without those that do not affect
 * results.
 */
export type JournalHead = { simulation: 1; settings: string; source: Source }

type Session = { pid: number; mark: string; folder: string }
type Line = JournalHead | { session: Session } | WorldResult

const KIND = '"simulation":1'

/** Lines of a journal. The last one may have been truncated by a power cut; it is dropped. */
function readLines(file: string): Line[] {
  const text = readFileSync(file, 'utf8')
  if (!text.startsWith(`{${KIND}`)) throw new Error(`${file} is no journal of a simulation. Name another file.`)
  const end = text.lastIndexOf('\n') + 1
  if (end < text.length) truncateSync(file, Buffer.byteLength(text.slice(0, end)))
  return text
    .slice(0, end)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

function mustFit(file: string, found: JournalHead, wanted: JournalHead): void {
  if (found.settings !== wanted.settings)
    throw new Error(
      `The journal ${file} belongs to another run: ${found.settings}. You asked for: ${wanted.settings}.\n` +
        'Repeat that run to go on with it, or name another file to begin this one.',
    )
  if (found.source.hash !== wanted.source.hash)
    throw new Error(
      `The journal ${file} was begun with another version of the source: ${describe(found.source)}. ` +
        `This is ${describe(wanted.source)}.\n` +
        'Check that version out to go on, or name another file to begin again with this one.',
    )
}

const describe = ({ version, hash }: Source): string => `${version} (contents ${hash})`

/** A file with the worlds of a run that ended well, so that an interruption costs only those in progress. */
export class Journal {
  readonly #file: string
  readonly ended = new Map<number, WorldResult>()

  /**
   * Starts a journal, or resumes one and removes what its killed run left in its folder.
   * @throws Error with a sentence: other settings, another version of the source, or it is in use
   */
  constructor(file: string, { head, folder }: { head: JournalHead; folder: string }) {
    this.#file = file
    if (existsSync(file)) this.#goOn(head)
    else {
      // written completely or not at all
      writeFileSync(`${file}.new`, `${JSON.stringify(head)}\n`)
      renameSync(`${file}.new`, file)
    }
    this.#write({ session: { pid: process.pid, mark: processMark(process.pid) ?? '', folder } })
  }

  #goOn(head: JournalHead): void {
    const [found, ...lines] = readLines(this.#file)
    mustFit(this.#file, found as JournalHead, head)
    for (const line of lines)
      if ('fingerprint' in line) this.ended.set(line.world, line)
      else if ('session' in line) this.#takeOver(line.session)
  }

  #takeOver({ pid, mark, folder }: Session): void {
    if (mark !== '' && processMark(pid) === mark)
      throw new Error(`The journal ${this.#file} is in use by process ${pid}. Wait for it, or stop it first.`)
    rmSync(folder, { recursive: true, force: true })
  }

  add(result: WorldResult): void {
    this.ended.set(result.world, result)
    this.#write(result)
  }

  #write(line: Line): void {
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`, { flush: true })
  }
}
