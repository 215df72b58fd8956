import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { PLANTS } from './plants.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

test('each planted fault still finds its place in the source, once', () => {
  const edits = PLANTS.flatMap(({ name, edits }) => edits.map((edit) => ({ name, ...edit })))
  const lost = edits.filter(({ file, find }) => read(file).split(find).length !== 2)
  assert.deepEqual(
    lost.map(({ name, file, find }) => `${name}: ${file}: ${find}`),
    [],
  )
})

test('each planted fault leaves source that loads: a syntax error would be found by any story', () => {
  const refused = PLANTS.flatMap(({ name, edits }) => {
    const planted = new Map<string, string>()
    for (const { file, find, replace } of edits)
      planted.set(
        file,
        (planted.get(file) ?? read(file)).replace(find, () => replace),
      )
    return [...planted].flatMap(([file, source]) => {
      try {
        // `transform` parses what follows the types too
        stripTypeScriptTypes(source, { mode: 'transform' })
        return []
      } catch (error) {
        return [`${name}: ${file}: ${error instanceof Error ? error.message : error}`]
      }
    })
  })
  assert.deepEqual(refused, [])
})
