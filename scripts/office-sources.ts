import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
export const OFFICE = join(ROOT, 'web/office')
export const SOURCES_FILE = join(OFFICE, 'dist/sources.txt')

/** Of everything that the built files follow from: the sources, and the versions of what is built in. */
export function hashSources(): string {
  const patterns = ['web/office/index.html', 'web/office/src/**/*.{ts,tsx,css}', 'sdk/examples/verify.*']
  const files = globSync(patterns, { cwd: ROOT })
  const hash = createHash('sha256')
  for (const file of files.filter((name) => !name.endsWith('.d.ts')).sort()) {
    hash
      .update(`${file.replaceAll('\\', '/')}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0')
  }
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const name of ['react', 'react-dom', '@tanstack/react-router', '@tanstack/react-query', 'vite', 'tailwindcss'])
    hash.update(`${name}@${devDependencies[name]}\n`)
  return hash.digest('hex')
}
