import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ROOT } from '../steps.ts'
import { RELEASED } from './files.ts'

/*
 * npm run release      release/comptoir-<version>.tar.gz, its list of parts (CycloneDX) and SHA256SUMS
 * The archive holds what is committed, with the time of the commit: made twice, it is the same byte by byte.
 */
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 })

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const name = `comptoir-${version}`
const folder = join(ROOT, 'release')
mkdirSync(folder, { recursive: true })

function makeArchive(): string {
  const changed = git('status', '--porcelain', '--', ...RELEASED).trim()
  if (changed !== '') console.log(`Not committed, and so not in the archive:\n${changed}`)
  const tar = execFileSync('git', ['archive', '--format=tar', `--prefix=${name}/`, 'HEAD', '--', ...RELEASED], {
    cwd: ROOT,
    maxBuffer: 1 << 29,
  })
  const file = `${name}.tar.gz`
  writeFileSync(join(folder, file), gzipSync(tar, { level: 9 }))
  return file
}

/** Every package of the running service with its version, licence and hash. Source: CycloneDX 1.5, printed by npm. */
function makeBillOfMaterials(): string {
  const args = ['sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx', '--sbom-type=application']
  const file = `${name}.cdx.json`
  writeFileSync(join(folder, file), execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 }))
  return file
}

const files = [makeArchive(), makeBillOfMaterials()]
const sums = files.map((file) => {
  const hash = createHash('sha256')
    .update(readFileSync(join(folder, file)))
    .digest('hex')
  return `${hash}  ${file}`
})
writeFileSync(join(folder, 'SHA256SUMS'), `${sums.join('\n')}\n`)
console.log([`In ${folder}:`, ...sums, 'Sign SHA256SUMS with your release key before you publish it.'].join('\n'))
