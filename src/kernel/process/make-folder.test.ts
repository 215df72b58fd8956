import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from './make-folder.ts'

test('a folder is made with those above it, once, and a file or a lost link in its place is refused', () => {
  const root = mkdtempSync(join(tmpdir(), 'comptoir-folder-'))
  try {
    const deep = join(root, 'a/b/c')
    for (let times = 0; times < 2; times += 1) makeFolder(`${deep}/`, 0o700)
    for (const folder of [deep, join(root, 'a')]) assert.equal(statSync(folder).mode & 0o777, 0o700)
    makeFolder('.')
    makeFolder('/')
    writeFileSync(join(root, 'file'), '')
    symlinkSync(join(root, 'gone'), join(root, 'lost'))
    for (const [path, code] of [
      ['file', 'EEXIST'],
      ['file/x', 'ENOTDIR'],
      ['lost', 'ENOENT'],
      ['lost/x', 'ENOENT'],
    ] as const)
      assert.throws(() => makeFolder(join(root, path)), { code }, path)
  } finally {
    rmSync(root, { recursive: true })
  }
})
