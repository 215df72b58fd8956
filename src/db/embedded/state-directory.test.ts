import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findInstallationFaults } from '../installation.ts'
import { noteElsewhere, readElsewhere } from './state-directory.ts'

/** Starts in a folder with a note, each with a database that was installed at a time. */
function startsWith(note: string, work: (start: (installedAt: string | null) => string[]) => void): void {
  const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-note-'))
  writeFileSync(join(dataDir, 'database-elsewhere'), `${note}\n`)
  const start = (at: string | null): string[] => {
    const installedAt = at === null ? null : new Date(at)
    const known = { mode: 'sandbox' as const, keyMark: 'mark', installedAt, sealed: null, sealPrefixes: [] }
    const faults = findInstallationFaults(known, {
      ...{ mode: 'sandbox', keyMark: 'mark', previousMarks: [], sealPrefixes: [], leftDatabase: null },
      elsewhere: readElsewhere(dataDir, 'postgres://any'),
    })
    if (faults.length === 0 && installedAt) noteElsewhere(dataDir, installedAt)
    return faults.map(({ message }) => message)
  }
  try {
    work(start)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const OLD_NOTE = 'Since 2026-06-01T00:00:00.000Z the orders are in the database of DATABASE_URL.'

test("with an earlier version's note, a database that began after it is refused, and the right one is noted", () => {
  startsWith(OLD_NOTE, (start) => {
    const [message, ...more] = start('2026-09-01T00:00:00.000Z')
    assert.match(message ?? '', /installed on 2026-09-01T.* have been in another one since 2026-06-01T.*Nothing/)
    assert.deepEqual(more, [])
    assert.deepEqual(start('2026-05-01T00:00:00.000Z'), [])
    assert.match(start('2026-05-02T00:00:00.000Z').join(), /belongs to another installation/)
  })
})

test('a database that began when the note was written, by a clock of its own, is the right one', () => {
  startsWith(OLD_NOTE, (start) => assert.deepEqual(start('2026-06-01T00:10:00.000Z'), []))
})

test('nothing is known of a database that does not say when it began, nor by a note without a time', () => {
  startsWith(OLD_NOTE, (start) => assert.deepEqual(start(null), []))
  startsWith('the orders are elsewhere', (start) => assert.deepEqual(start('2026-09-01T00:00:00.000Z'), []))
})
