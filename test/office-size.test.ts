import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { brotliCompressSync } from 'node:zlib'

/* What a browser loads of the back office, as built: the first screen, and what each further screen adds. */

const DIST = join(import.meta.dirname, '../web/office/dist')
const ASSETS = join(DIST, 'assets')
const html = readFileSync(join(DIST, 'index.html'), 'utf8')
const files = globSync('*', { cwd: ASSETS })

const sizes = new Map<string, number>()
function sizeOf(file: string): number {
  const known = sizes.get(file) ?? brotliCompressSync(readFileSync(join(ASSETS, file))).length
  sizes.set(file, known)
  return known
}
const total = (list: Iterable<string>): number => [...list].reduce((sum, file) => sum + sizeOf(file), 0)

const read = (file: string): string => readFileSync(join(ASSETS, file), 'utf8')
const named = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name = '']) => name)
const imports = (file: string): string[] => named(read(file), /(?:from|import)\s*["'`]\.\/([\w.-]+\.js)["'`]/g)
const dynamic = (file: string): string[] => named(read(file), /import\(["'`]\.\/([\w.-]+\.js)["'`]\)/g)

/** A file with everything that it imports at once. */
function closureOf(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known
  known.add(file)
  for (const next of file.endsWith('.js') ? imports(file) : []) closureOf(next, known)
  return known
}

const KB = 1000
const entries = named(html, /assets\/([\w.-]+)/g)
const first = new Set(entries.flatMap((file) => [...closureOf(file)]))
const screens = [...new Set([...first].filter((file) => file.endsWith('.js')).flatMap(dynamic))]
const languages = screens.filter((file) => /^(en|fr|de|es|it)-/.test(file))

test('the first screen, with the login or the home page and a language, is at most 150 kB brotli', () => {
  assert.ok(entries.length >= 2 && screens.length > 20, 'the built files are found')
  assert.equal(languages.length, 5)
  const language = Math.max(...languages.map(sizeOf))
  for (const name of ['Login', 'Home']) {
    const screen = screens.find((file) => file.startsWith(`${name}-`)) ?? ''
    const loaded = new Set([...first, ...closureOf(screen)])
    const bytes = total(loaded) + language + brotliCompressSync(html).length
    assert.ok(bytes <= 150 * KB, `${name}: ${bytes} bytes`)
  }
})

test('each further screen adds at most 30 kB brotli', () => {
  const large = screens.flatMap((screen) => {
    const added = [...closureOf(screen)].filter((file) => !first.has(file))
    return total(added) > 30 * KB ? [`${screen}: ${total(added)}`] : []
  })
  assert.deepEqual(large, [])
  assert.ok(files.length > screens.length)
})
