import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PLANTS } from './plants.ts'

const ROOT = join(import.meta.dirname, '../..')

test('each planted fault still finds its place in the source, once', () => {
  const edits = PLANTS.flatMap(({ name, edits }) => edits.map((edit) => ({ name, ...edit })))
  const lost = edits.filter(({ file, find }) => readFileSync(join(ROOT, file), 'utf8').split(find).length !== 2)
  assert.deepEqual(
    lost.map(({ name, file, find }) => `${name}: ${file}: ${find}`),
    [],
  )
})
