import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
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

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })

const readFrom = (file: string): Content => createReadStream(file, { highWaterMark: 1 << 18 })

/** Backups as files of a folder; it is made when it does not exist. */
export const folderStore = (folder: string): BackupStore => ({
  place: folder,
  pathOf: (name) => join(folder, name),
  list: async () => (await namesIn(folder)).filter(isBackupName).sort(),
  async put(name, content, { verify }) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = join(folder, name)
    const draft = `${file}.part`
    try {
      await rm(draft, { force: true })
      const bytes = await writeDurably(draft, content)
      await verify(readFrom(draft))
      await rename(draft, file)
      await syncFolder(folder)
      return bytes
    } catch (error) {
      await rm(draft, { force: true })
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
        throw new BackupFault(`There is no room left in ${folder}. Nothing of this backup was kept.`)
      throw error
    }
  },
  async get(name) {
    const file = join(folder, name)
    const { size } = await stat(file)
    return { bytes: size, content: readFrom(file) }
  },
  remove: (name) => rm(join(folder, name), { force: true }),
  async clean() {
    const drafts = (await namesIn(folder)).filter((name) => /^comptoir-.*\.backup\.part$/.test(name))
    for (const name of drafts) await rm(join(folder, name), { force: true })
  },
})
