import { randomBytes } from 'node:crypto'
import { access, constants, type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HOUR, MINUTE } from '../../kernel/clock.ts'
import { ownAt } from '../../kernel/json.ts'
import { makeFolder } from '../../kernel/process/make-folder.ts'
import { type Mount, mountOf, SilentMount } from '../../kernel/process/mount.ts'
import { type Account, canWriteIn } from '../embedded/system-user.ts'
import { BackupFault } from './sealed.ts'
import { type BackupStore, type Content, isBackupName } from './store.ts'

/** A disk that wakes up, or a network that is busy, takes this long for a piece; one that is gone takes for ever. */
const PIECE_MS = 2 * MINUTE
const PIECE_BYTES = 1 << 18
/** What is written is flushed now and then, so that no call takes as long as the whole backup. */
const FLUSH_BYTES = 1 << 25

type OpenFile = {
  handle: FileHandle
  call<Found>(work: () => Promise<Found>): Promise<Found>
  close(): Promise<void>
}

/** It is closed at once, or when the call that does not answer has its answer. */
async function openAt(mount: Mount, file: string, flags: string): Promise<OpenFile> {
  const handle = await mount.call(() => open(file, flags, 0o600), PIECE_MS)
  let last: Promise<unknown> = Promise.resolve()
  const call: OpenFile['call'] = (work) =>
    mount.call(() => {
      const answer = work()
      last = answer
      return answer
    }, PIECE_MS)
  const close = (): Promise<void> =>
    call(() => handle.close()).catch((error: unknown) => {
      if (!(error instanceof SilentMount)) throw error
      const later = (): void => void handle.close().catch(() => {})
      last.then(later, later)
    })
  return { handle, call, close }
}

async function writeDurably(mount: Mount, file: string, source: Content): Promise<number> {
  const { handle, call, close } = await openAt(mount, file, 'wx')
  let bytes = 0
  let flushed = 0
  try {
    for await (const piece of source) {
      await call(() => handle.writeFile(piece))
      bytes += piece.length
      if (bytes - flushed < FLUSH_BYTES) continue
      await call(() => handle.datasync())
      flushed = bytes
    }
    await call(() => handle.sync())
  } finally {
    await close()
  }
  return bytes
}

async function syncFolder(mount: Mount, folder: string): Promise<void> {
  const { handle, call, close } = await openAt(mount, folder, 'r')
  await call(() => handle.sync()).finally(close)
}

const WHY: Readonly<Record<string, string>> = {
  ENOSPC: 'there is no room left',
  EDQUOT: 'its quota is used up',
  EROFS: 'it is read-only for this process (under systemd, name it in ReadWritePaths)',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  ENOTDIR: 'it is not a folder',
  EEXIST: 'it is not a folder',
  ENOENT: 'it does not exist and cannot be made',
  EIO: 'the disk does not take it',
  ESTALE: 'its mount has gone',
}

/** The silence that is the reason of a fault; undefined for any other one. */
export function findSilence(error: unknown): SilentMount | undefined {
  const found = error instanceof BackupFault ? error.cause : error
  return found instanceof SilentMount ? found : undefined
}

/** A disk's refusal as a sentence; any other error unchanged. @param lost what that means for the operator */
export function diskFault(error: unknown, folder: string, lost: string): unknown {
  if (error instanceof SilentMount) return new BackupFault(`${error.message} ${lost}`, { cause: error })
  const { code = '', path } = error as NodeJS.ErrnoException
  const why = ownAt(WHY, code)
  const place = path === undefined || path.startsWith(folder) ? folder : path
  return why === undefined ? error : new BackupFault(`${place} cannot be used: ${why}. ${lost}`, { cause: error })
}

/**
 * Checks the nearest existing folder, without writing.
 * @param account the service's, where root asks for it
 * @returns whether the folder itself exists
 * @throws BackupFault when a backup could not be written
 */
export async function refuseUnwritable(folder: string, account?: Account, mount = mountOf(folder)): Promise<boolean> {
  try {
    await mount.call(() => access(folder, constants.W_OK))
    await mount.call(() => readdir(folder))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(folder) !== folder)
      return refuseUnwritable(dirname(folder), account, mount).then(() => false)
    throw diskFault(error, folder, 'No backup can be written there.')
  }
  if (!canWriteIn(account, folder))
    throw new BackupFault(
      `${folder} cannot be used: user number ${account?.uid}, whom the data belong to, may not write there. ` +
        'No backup can be written there.',
    )
  return true
}

const namesIn = (mount: Mount, folder: string): Promise<string[]> =>
  mount
    .call(() => readdir(folder), PIECE_MS)
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw diskFault(error, folder, 'Its backups could not be listed.')
    })

async function* readFrom(mount: Mount, file: string): AsyncGenerator<Buffer> {
  const { handle, call, close } = await openAt(mount, file, 'r')
  try {
    for (;;) {
      const { buffer, bytesRead } = await call(() => handle.read({ buffer: Buffer.alloc(PIECE_BYTES) }))
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await close()
  }
}

/** A backup that is still being written grows all the time; a draft this old belongs to no process. */
const DRAFT_MS = HOUR

/** The place was asked a moment ago: where nothing is yet, it answered that. */
async function makePlace(mount: Mount, folder: string): Promise<void> {
  const found = await mount
    .call(() => stat(folder))
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
  if (!found?.isDirectory()) makeFolder(folder, 0o700)
}

/** Backups as files in a folder, which is created if it does not exist. */
export function folderStore(folder: string): BackupStore {
  const mount = mountOf(folder)
  return {
    place: folder,
    pathOf: (name) => join(folder, name),
    list: async () => (await namesIn(mount, folder)).filter(isBackupName).sort(),
    async put(name, content, { verify }) {
      const file = join(folder, name)
      // two processes may back up in the same second
      const draft = `${file}.${randomBytes(4).toString('hex')}.part`
      try {
        await makePlace(mount, folder)
        const bytes = await writeDurably(mount, draft, content)
        await verify(readFrom(mount, draft))
        await mount.call(() => rename(draft, file), PIECE_MS)
        await syncFolder(mount, folder)
        return bytes
      } catch (error) {
        await mount.call(() => rm(draft, { force: true }), PIECE_MS).catch(() => {})
        throw diskFault(error, folder, 'Nothing of this backup was kept.')
      }
    },
    async get(name) {
      const file = join(folder, name)
      const { size } = await mount.call(() => stat(file))
      return { bytes: size, content: readFrom(mount, file) }
    },
    remove: (name) => mount.call(() => rm(join(folder, name), { force: true }), PIECE_MS),
    async clean(nowMs) {
      const drafts = (await namesIn(mount, folder)).filter((name) => /^comptoir-.*\.backup\..*part$/.test(name))
      for (const name of drafts) {
        const { mtimeMs } = await mount.call(() => stat(join(folder, name))).catch(() => ({ mtimeMs: nowMs }))
        if (mtimeMs < nowMs - DRAFT_MS) await mount.call(() => rm(join(folder, name), { force: true }), PIECE_MS)
      }
    },
  }
}
