import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
/** Everything that a fingerprint depends on: the service, its surroundings, and the packages of both. */
const PLACES = ['{src,migrations,sandbox,simulation,test/harness}/**', 'package-lock.json']

/** `hash` distinguishes versions, even between commits; `version` is a readable name. */
export type Source = { hash: string; version: string }

export function describeSource(): Source {
  const hash = createHash('sha256').update(process.version)
  const files = PLACES.flatMap((place) => globSync(place, { cwd: ROOT })).sort()
  for (const file of files)
    if (statSync(join(ROOT, file)).isFile()) hash.update(`\n${file}\n`).update(readFileSync(join(ROOT, file)))
  const git = spawnSync('git', ['describe', '--always', '--tags', '--dirty'], { cwd: ROOT, encoding: 'utf8' })
  const version = git.status === 0 ? git.stdout.trim() : 'not from git'
  return { hash: hash.digest('hex').slice(0, 16), version }
}
