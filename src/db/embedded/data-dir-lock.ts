import { mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processMark, processScope } from './process.ts'

const PATIENCE_MS = 2000
const POLL_MS = 50
const HEARTBEAT_MS = 1000
const SILENT_MS = 10_000

type Holder = { pid: number; mark: string; scope: string }

export type DataDirLock = { release(): void }

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/**
 * Makes this process the only owner of a data directory: `comptoir.lock` holds its process id and start time. The lock
 * of a dead process is taken over. A process of another container cannot be looked up, so its lock counts as long as it
 * is touched.
 * @throws Error naming the owner, after waiting 2 s for one that is about to end (11 s for another container's)
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  const file = join(dataDir, 'comptoir.lock')
  const own = { pid: process.pid, mark: processMark(process.pid) ?? '', scope: processScope() } satisfies Holder
  const ownText = JSON.stringify(own)
  const startedAt = Date.now()
  while (!tryCreate(file, ownText)) {
    const text = readText(file)
    if (text === undefined) continue
    const holder = parse(text)
    const patienceMs = holder?.scope === own.scope ? PATIENCE_MS : SILENT_MS + HEARTBEAT_MS
    if (isStale(file, holder, own.scope)) removeStale(file, text)
    else if (Date.now() - startedAt > patienceMs) throw new Error(refusal(dataDir, holder))
    await sleep(POLL_MS)
  }
  const heartbeat = setInterval(() => touch(file), HEARTBEAT_MS).unref()
  const release = (): void => {
    clearInterval(heartbeat)
    if (readText(file) === ownText) unlinkSync(file)
  }
  return { release }
}

function refusal(dataDir: string, holder: Holder | undefined): string {
  return `Comptoir already runs on ${dataDir} as process ${holder?.pid}. Stop it first, or choose another DATA_DIR.`
}

function tryCreate(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw unusable(file, error)
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unusable(file, error)
  }
}

const ownName = (): string => {
  try {
    return userInfo().username
  } catch {
    // a container's user without an entry in /etc/passwd
    return String(process.getuid?.())
  }
}

/** Undefined: it is not there, or in a folder that is closed to us. */
function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid
  } catch {
    return undefined
  }
}

/** A command of root's may have made the folder of the service, or a file in it. */
function unusable(file: string, error: unknown): Error {
  const folder = dirname(file)
  const other = [file, folder].map(ownerOf).find((uid) => uid !== undefined && uid !== process.getuid?.())
  if (codeOf(error) !== 'EACCES' || other === undefined)
    return new Error(`Comptoir cannot write ${file}: ${(error as Error).message}`, { cause: error })
  const whose = other === 0 ? 'root' : `user number ${other}`
  return new Error(
    `Comptoir runs as ${ownName()}, and ${folder}, or what is in it, belongs to ${whose}, as after a command that was ` +
      `run as that user. If it is the service’s: sudo chown -R ${ownName()}: ${folder}`,
    { cause: error },
  )
}

function parse(text: string): Holder | undefined {
  try {
    return JSON.parse(text) as Holder
  } catch {
    return undefined
  }
}

const silentMs = (file: string): number => Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)

/** Unreadable text is either being written right now, or was cut off by a crash long ago. */
function isStale(file: string, holder: Holder | undefined, ownScope: string): boolean {
  if (holder?.scope === ownScope) return processMark(holder.pid) !== holder.mark
  return silentMs(file) > (holder === undefined ? PATIENCE_MS : SILENT_MS)
}

/**
 * Two starts may find the same dead owner: the folder ensures that only one of them removes the lock, and only that
 * very lock.
 */
function removeStale(file: string, text: string): void {
  const guard = `${file}.takeover`
  try {
    mkdirSync(guard)
  } catch {
    if (silentMs(guard) > SILENT_MS) rmdirSync(guard)
    return
  }
  try {
    if (readText(file) === text) unlinkSync(file)
  } finally {
    rmdirSync(guard)
  }
}

function touch(file: string): void {
  const now = new Date()
  try {
    utimesSync(file, now, now)
  } catch {
    // the data directory was removed meanwhile; the next read fails with the reason
  }
}
