import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { createZstdCompress } from 'node:zlib'
import { packFiles } from '../src/db/backup/archive.ts'
import { restoreFiles } from '../src/db/backup/restore-backup.ts'
import { readRestoreMark } from '../src/db/backup/restore-mark.ts'
import { seal } from '../src/db/backup/sealed.ts'
import { HOUR } from '../src/kernel/clock.ts'
import { openVault } from '../src/kernel/vault.ts'
import { newFolder } from './harness/installation.ts'

/* When a restore was: what was signed before may wait in a pool for so long. */

const places = newFolder()
after(() => places.remove())
const vault = openVault(randomBytes(32))

async function* items() {
  yield { folder: 'global' }
  const control = Buffer.from('a control file')
  yield { path: 'global/pg_control', bytes: control.length, content: Readable.from([control]) }
}

test('a restore counts from its end: while its files came, the machine before may have paid', async () => {
  const beganMs = Date.parse('2030-01-31T12:00:00Z')
  const madeAt = new Date(beganMs - HOUR).toISOString()
  const facts = { madeAt, mode: 'live', schema: '0001', life: null } as const
  let nowMs = beganMs
  async function* slowly() {
    yield* seal(Readable.from(packFiles(items())).pipe(createZstdCompress()), { vault, facts })
    nowMs += 3 * HOUR
  }
  const dataDir = mkdtempSync(join(places.path, 'slow-'))
  const done = await restoreFiles({
    ...{ dataDir, vault, vaults: [vault], clock: () => nowMs, isRehearsal: false, lostUntil: () => new Date(nowMs) },
    backup: { name: 'a.backup', bytes: 1, content: slowly() },
    onProgress: () => {},
  })
  const mark = await readRestoreMark(join(dataDir, 'postgres'), vault)
  assert.deepEqual([mark.restoredAt, done.restoredAt], [new Date(nowMs), new Date(nowMs)])
  assert.equal(nowMs, beganMs + 3 * HOUR)
})
