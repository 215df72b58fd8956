import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, constants, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HOUR } from '../../kernel/clock.ts'
import { ownAt } from '../../kernel/json.ts'
import { makeFolder } from '../../kernel/process/make-folder.ts'
import { type Account, canWriteIn } from '../embedded/system-user.ts'
import { BackupFault } from './sealed.ts'
import { type BackupStore, type Content, isBackupName } from './store.ts'

async function writeDurably(file: string, source: Content): Promise<number> {
  const handle = await open(file, 'wx', 0o600)
  let bytes = 0
  try {
    for await (const piece of source) {
      await handle.writeFile(piece)
      bytes += piece.length
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  return bytes
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
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

/** A disk's refusal as a sentence; any other error unchanged. @param lost what that means for the operator */
export function diskFault(error: unknown, folder: string, lost: string): unknown {
  const { code = '', path } = error as NodeJS.ErrnoException
  const why = ownAt(WHY, code)
  const place = path === undefined || path.startsWith(folder) ? folder : path
  return why === undefined ? error : new BackupFault(`${place} cannot be used: ${why}. ${lost}`, { cause: error })
}

/**
 * Checks the nearest existing folder, without writing.
 * @param account the service's, where root asks for it
 * @throws BackupFault when a backup could not be written
 */
export async function refuseUnwritable(folder: string, account?: Account): Promise<void> {
  try {
    await access(folder, constants.W_OK)
    await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(folder) !== folder)
      return refuseUnwritable(dirname(folder), account)
    throw diskFault(error, folder, 'No backup can be written there.')
  }
  if (!canWriteIn(account, folder))
    throw new BackupFault(
      `${folder} cannot be used: user number ${account?.uid}, whom the data belong to, may not write there. ` +
        'No backup can be written there.',
    )
}

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw diskFault(error, folder, 'Its backups could not be listed.')
  })

const readFrom = (file: string): Content => createReadStream(file, { highWaterMark: 1 << 18 })

/** A backup that is still being written grows all the time; a draft this old belongs to no process. */
const DRAFT_MS = HOUR

/** Backups as files in a folder, which is created if it does not exist. */
export const folderStore = (folder: string): BackupStore => ({
  place: folder,
  pathOf: (name) => join(folder, name),
  list: async () => (await namesIn(folder)).filter(isBackupName).sort(),
  async put(name, content, { verify }) {
    const file = join(folder, name)
    // two processes may back up in the same second
    const draft = `${file}.${randomBytes(4).toString('hex')}.part`
    try {
      makeFolder(folder, 0o700)
      const bytes = await writeDurably(draft, content)
      await verify(readFrom(draft))
      await rename(draft, file)
      await syncFolder(folder)
      return bytes
    } catch (error) {
      await rm(draft, { force: true }).catch(() => {})
      throw diskFault(error, folder, 'Nothing of this backup was kept.')
    }
  },
  async get(name) {
    const file = join(folder, name)
    const { size } = await stat(file)
    return { bytes: size, content: readFrom(file) }
  },
  remove: (name) => rm(join(folder, name), { force: true }),
  async clean(nowMs) {
    const drafts = (await namesIn(folder)).filter((name) => /^comptoir-.*\.backup\..*part$/.test(name))
    for (const name of drafts) {
      const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: nowMs }))
      if (mtimeMs < nowMs - DRAFT_MS) await rm(join(folder, name), { force: true })
    }
  },
})
