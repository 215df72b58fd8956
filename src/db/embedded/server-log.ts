import { closeSync, constants, fchownSync, fstatSync, openSync, renameSync, statSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { SECOND } from '../../kernel/clock.ts'
import type { ClusterPaths } from './cluster.ts'

const LOG_BYTES = 10_000_000
/** What many failing statements write in this time fits the disk. */
const LOOK_MS = 10 * SECOND

type LogPlace = Pick<ClusterPaths, 'logFile' | 'account'>

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR, O_WRONLY } = constants

const flagsFor = ({ account }: LogPlace, flags: number): number => (account === undefined ? flags : flags | O_NOFOLLOW)

const linked = (file: string): Error => new Error(`${file} is a link to another file. Remove it.`)

/**
 * For root the file becomes the account's, which may be another one at the next start. The account could have put a
 * link to a file of root there. @throws Error for a link
 */
export function openLog(place: LogPlace): number {
  const { logFile, account } = place
  const output = openSync(logFile, flagsFor(place, O_WRONLY | O_CREAT | O_APPEND), 0o600)
  if (account === undefined) return output
  if (fstatSync(output).nlink > 1) {
    closeSync(output)
    throw linked(logFile)
  }
  fchownSync(output, account.uid, account.gid)
  return output
}

export const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** While no server writes it. */
export function moveLog(logFile: string): void {
  if (sizeOf(logFile) > LOG_BYTES) renameSync(logFile, `${logFile}.1`)
}

async function copyEnd(from: FileHandle, to: FileHandle, size: number): Promise<void> {
  const piece = Buffer.alloc(1 << 20)
  for (let at = Math.max(0, size - LOG_BYTES); at < size; ) {
    const { bytesRead } = await from.read(piece, 0, Math.min(piece.length, size - at), at)
    if (bytesRead === 0) return
    await to.writeFile(piece.subarray(0, bytesRead))
    at += bytesRead
  }
}

/**
 * The running server keeps its file open and appends to it: the end of it is copied, and it begins again. What is
 * written between the two is lost. On a full disk there is no copy.
 */
async function cutLog(place: LogPlace): Promise<void> {
  const { logFile, account } = place
  if (sizeOf(logFile) <= LOG_BYTES) return
  const log = await open(logFile, flagsFor(place, O_RDWR))
  try {
    const { size, nlink } = await log.stat()
    if (account !== undefined && nlink > 1) throw linked(logFile)
    const older = `${logFile}.1`
    await rm(older, { force: true })
    // a link that the account puts there is not followed
    const copy = await open(older, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    try {
      await copyEnd(log, copy, size)
      if (account !== undefined) await copy.chown(account.uid, account.gid)
    } catch {
      await rm(older, { force: true })
    } finally {
      await copy.close()
    }
    await log.truncate()
  } finally {
    await log.close()
  }
}

/** Keeps the log of a running server short. @param say is told once why it cannot */
export function watchLog(place: LogPlace, say: (line: string) => void): { stop(): void } {
  let busy = false
  let told = false
  const look = async (): Promise<void> => {
    if (busy) return
    busy = true
    try {
      await cutLog(place)
    } catch (error) {
      if (!told) say(`PostgreSQL’s log cannot be shortened: ${(error as Error).message}`)
      told = true
    } finally {
      busy = false
    }
  }
  const timer = setInterval(() => void look(), LOOK_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
