import assert from 'node:assert/strict'
import { constants } from 'node:buffer'
import { execFile } from 'node:child_process'
import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import { promisify } from 'node:util'
import { Registry } from 'prom-client'
import { openAnchor, readAnchors } from '../src/audit/anchor.ts'
import { openAudit } from '../src/audit/audit.ts'
import { lostUntilNow, noteRestore } from '../src/commands/backup/note-restore.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { markRestored } from '../src/db/restored-queries.ts'
import { systemContext } from '../src/http/request-context.ts'
import { HOUR, MINUTE } from '../src/kernel/clock.ts'
import { openVault } from '../src/kernel/vault.ts'
import { auditKeysOf, openServerKeys } from '../src/keys/server-key-service.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { newFolder } from './harness/installation.ts'
import { TEST_MASTER_KEY } from './harness/service.ts'
import { silence } from './harness/silent-mount.ts'

/* What was noted outside the database, after a restore: honest, and otherwise. */

const place = newFolder()
const file = join(place.path, 'anchor')
const vault = openVault(TEST_MASTER_KEY)
let database: TestDatabase
let db: Db
let nowMs: number
const clock = () => nowMs
const at = () => new Date(nowMs)

beforeEach(async () => {
  nowMs = Date.parse('2030-01-31T12:00:00Z')
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 2 })
  await db.run(sql`insert into installation (mode, key_mark) values ('sandbox', 'x')`)
  await openServerKeys({ db, vault, clock }).prepare()
})
afterEach(async () => {
  await db.close()
  await database.drop()
  rmSync(file, { force: true })
})
after(() => place.remove())

const openLog = () => openAudit({ db, clock, keys: auditKeysOf(openServerKeys({ db, vault, clock })) })
const verify = () => openLog().verify(readAnchors(file))
/** As a worker does; one that just started. */
const startNoting = () => openAnchor({ db, clock, log: { info: () => {} }, metrics: new Registry(), file })

const write = () => db.tx((tx) => openLog().write(tx, systemContext('operator'), { action: 'test.work' }))

/** An entry a minute, each noted. */
async function work(count: number, anchor = startNoting()): Promise<void> {
  for (let entry = 0; entry < count; entry += 1) {
    nowMs += MINUTE
    await write()
    await anchor.note()
  }
}

/** The database is as it was when it had so many entries. */
const cutTo = (entries: number): Promise<unknown> =>
  db.tx(async (tx) => {
    await tx.run(sql`alter table audit_log disable trigger all`)
    await tx.run(sql`delete from audit_log where seq > ${entries}`)
    await tx.run(sql`update audit_head set (seq, hash) = (select seq, hash from audit_log order by seq desc limit 1)`)
    await tx.run(sql`alter table audit_log enable trigger all`)
  })

async function restoreTo(entries: number, backupMadeAt: Date): Promise<void> {
  nowMs += HOUR
  await cutTo(entries)
  await noteRestored(backupMadeAt)
}

async function noteRestored(backupMadeAt: Date, restoredAt = at()): Promise<void> {
  const times = { backupMadeAt, restoredAt }
  await db.tx(async (tx) => {
    await markRestored(tx, times)
    await noteRestore({ db, vault, clock }, tx, times)
  })
  nowMs += MINUTE
}

test('what a restore lost is counted, at once and after the restored database went on, and nothing was cut off', async () => {
  await work(3)
  const backupMadeAt = at()
  await work(4)
  const lost = { entries: 4, backupMadeAt, restoredAt: new Date(nowMs + HOUR) }
  await restoreTo(3, backupMadeAt)
  assert.deepEqual(await verify(), { entries: 4, lost: [lost], fault: null }, 'before the first start')
  await startNoting().note()
  await work(6)
  assert.deepEqual(await verify(), { entries: 10, lost: [lost], fault: null })
  const second = at()
  await work(2)
  await restoreTo(10, second)
  await work(5)
  const verdict = await verify()
  assert.deepEqual([verdict.fault, verdict.lost.map(({ entries }) => entries)], [null, [4, 2]])
})

test('an old node that noted heads until the restored one started has not been cut off', async () => {
  await work(3)
  const backupMadeAt = at()
  await work(2)
  const before = readFileSync(file, 'utf8')
  await restoreTo(3, backupMadeAt)
  const late = `${at().toISOString()} 6 ${'a'.repeat(64)}\n${at().toISOString().slice(0, 9)}`
  writeFileSync(file, before + late)
  nowMs += MINUTE
  await work(1)
  const { lost, fault } = await verify()
  assert.deepEqual([fault, lost.map(({ entries }) => entries)], [null, [3]])
})

test('a line in the file and a mark in the database excuse no cut', async () => {
  await work(6)
  await cutTo(3)
  nowMs += MINUTE
  await db.tx((tx) => markRestored(tx, { backupMadeAt: new Date(0), restoredAt: at() }))
  await startNoting().note()
  await work(1)
  const lines = readFileSync(file, 'utf8')
  assert.match((await verify()).fault?.reason ?? '', /differs from its anchor/)
  writeFileSync(file, `${lines}${lines.split('\n')[2]}\n`)
  assert.notEqual((await verify()).fault, null)
})

test('a restore excuses neither what was noted before its backup nor what was cut off after it', async () => {
  await work(6)
  await restoreTo(3, at())
  await work(1)
  assert.equal((await verify()).fault?.seq, 4n, 'this backup had it')
  rmSync(file)
  await work(1)
  await restoreTo(6, at())
  await work(3)
  await cutTo(8)
  assert.match((await verify()).fault?.reason ?? '', /cut off/)
})

test('a restore that is noted again in a newer file excuses no cut: it lost only what was noted before its entry', async () => {
  await work(3)
  const backupMadeAt = at()
  await work(2)
  await restoreTo(3, backupMadeAt)
  const anchor = startNoting()
  await anchor.note()
  await work(2, anchor)
  assert.equal((await verify()).fault, null)
  rmSync(file) // rotated
  nowMs += 9000 * HOUR
  await work(20, anchor)
  assert.equal((await verify()).fault, null)
  await cutTo(6)
  const lines = readFileSync(file, 'utf8')
  await work(1)
  assert.match((await verify()).fault?.reason ?? '', /cut|differs/)
  // without the line of the restore that the newer file began with
  writeFileSync(file, lines.split('\n').slice(1).join('\n'))
  await work(1)
  assert.match((await verify()).fault?.reason ?? '', /cut|differs/)
})

test('a restore that is written again, after its entry was cut off, excuses nothing', async () => {
  await work(3)
  const backupMadeAt = at()
  await work(2)
  await restoreTo(3, backupMadeAt)
  const restoredAt = new Date(nowMs - MINUTE)
  await work(2) // at once: within what a node of the lost database may note
  assert.equal((await verify()).fault, null)
  const honest = readFileSync(file, 'utf8')
  const again = async (): Promise<void> => {
    await cutTo(3)
    await noteRestored(backupMadeAt, restoredAt)
    await work(1)
  }
  await again()
  assert.match((await verify()).fault?.reason ?? '', /cut|differs/, 'the file knows it by its first entry')
  // a file that begins after it
  writeFileSync(file, '')
  nowMs += 10 * MINUTE
  await work(4)
  await again()
  assert.match((await verify()).fault?.reason ?? '', /cut|differs/)
  // who controls the database has no way to the file: neither the hash nor the time of a restore brings lines along
  writeFileSync(file, honest)
  await db.run(sql`update audit_head set hash = hash || ${`\n${honest.split('\n')[0]}`}`)
  await assert.rejects(startNoting().note(), /no hash that can be noted/)
  assert.equal(readFileSync(file, 'utf8').split('\n').length, honest.split('\n').length + 1)
})

test('zeros that a power failure left in the file are a truncated line, and the heads around them count', async () => {
  const anchor = startNoting()
  await work(3, anchor)
  const backupMadeAt = at()
  appendFileSync(file, '\0'.repeat(4096))
  await work(2)
  appendFileSync(file, `${at().toISOString()} 5 ${'a'.repeat(20)}${'\0'.repeat(90)}`)
  assert.deepEqual(await verify(), { entries: 5, lost: [], fault: null })
  await restoreTo(3, backupMadeAt)
  await work(2)
  const { fault, lost } = await verify()
  assert.deepEqual([fault, lost.map(({ entries }) => entries)], [null, [2]])
  const whole = readFileSync(file, 'utf8')
  const [line = '', next = ''] = whole.split('\n')
  const zeros = '\0'.repeat(40)
  for (const [damaged, heads] of [
    [`${line}\n${zeros}${next.slice(40)}\n${line}\n`, 2], // the block that was not written has the beginning of a line
    [`${line}\n${next.slice(0, 15)}${zeros}${next.slice(70)}\n`, 1],
    [`${line.slice(0, 30)}${zeros}\n${zeros}${next}${zeros}${line}\n`, 2],
  ] as const) {
    writeFileSync(file, damaged)
    assert.equal(readAnchors(file).count, heads, damaged)
  }
  writeFileSync(file, `${whole}no line of ours\n`)
  assert.throws(() => readAnchors(file), /line \d+: expected "time seq hash"/)
})

test('a worker that runs on while its database is restored notes the restore, which excuses no later cut', async () => {
  const anchor = startNoting()
  await work(3, anchor)
  const backupMadeAt = at()
  await work(2, anchor)
  await restoreTo(3, backupMadeAt) // entry 4
  for (let entry = 0; entry < 3; entry += 1) await write()
  await work(20, anchor)
  const { fault, lost } = await verify()
  assert.deepEqual([fault, lost.map(({ entries }) => entries)], [null, [2]])
  nowMs += 1000 * HOUR
  await cutTo(7)
  await work(1, anchor)
  assert.match((await verify()).fault?.reason ?? '', /cut|differs/)
})

test('a worker whose database was restored to as many entries as it noted last notes the new head', async () => {
  const anchor = startNoting()
  await work(3, anchor)
  const backupMadeAt = at()
  await work(1, anchor)
  await restoreTo(3, backupMadeAt) // entry 4, again
  await anchor.note()
  assert.deepEqual(
    [...readAnchors(file).heads()].map(({ seq }) => seq),
    [1n, 2n, 3n, 4n, 4n, 4n],
    'the restore, and the head that it is',
  )
  await work(2, anchor)
  const { fault, lost } = await verify()
  assert.deepEqual([fault, lost.map(({ entries }) => entries)], [null, [1]])
})

test('an older backup, the service, and then the newer one: what was noted in between is lost, and the log whole', async () => {
  await work(3)
  const older = at()
  await work(7)
  const newer = at()
  await db.pool.query('create table newer as table audit_log')
  await work(2)
  await restoreTo(3, older)
  await work(2)
  assert.equal((await verify()).fault, null)
  nowMs += HOUR
  await cutTo(3)
  await db.run(sql`insert into audit_log select * from newer where seq > 3`)
  await cutTo(10)
  await noteRestored(newer)
  await work(3)
  const { fault, lost } = await verify()
  assert.deepEqual(
    [fault, lost.map(({ entries }) => entries)],
    [null, [5]],
    '11 and 12, and 4 to 6 of the first restore',
  )
})

test('a restore by a machine whose clock is behind lost what the file holds by then, and no more', async () => {
  await work(3)
  const backupMadeAt = at()
  await work(20)
  const before = readFileSync(file, 'utf8')
  for (const hasFile of [true, false]) {
    writeFileSync(file, before)
    const lostUntil = hasFile ? [...readAnchors(file).heads()].at(-1)?.at : undefined
    nowMs -= 10 * MINUTE
    await cutTo(3)
    const times = { backupMadeAt, restoredAt: at(), lostUntil }
    await db.tx((tx) => noteRestore({ db, vault, clock }, tx, times))
    nowMs += 2 * HOUR // its clock is set right
    await work(3)
    assert.equal((await verify()).fault === null, hasFile)
    nowMs -= 2 * HOUR - 7 * MINUTE
  }
  writeFileSync(file, `2999-01-31T12:00:00.000Z 1 ${'a'.repeat(64)}\n2031${before.slice(4, 95)}\n`)
  assert.equal(lostUntilNow(file, assert.fail).getFullYear(), 2999)
  assert.ok(lostUntilNow(join(file, 'none'), assert.fail).getTime() <= Date.now())
  const said: string[] = []
  assert.ok(lostUntilNow(place.path, (line) => said.push(line)).getTime() <= Date.now())
  assert.match(said.join(), /AUDIT_ANCHOR_FILE cannot be read/)
})

test('a file that does not answer holds up nothing else, and shows how long it lacks the head; then it gets it', async () => {
  const metrics = new Registry()
  const anchor = openAnchor({ db, clock, log: { info: () => {} }, metrics, file })
  const late = async () => Number(/^comptoir_audit_anchor_late_seconds (\d+)$/m.exec(await metrics.metrics())?.[1])
  await work(1, anchor)
  assert.equal(await late(), 0)
  const comeBack = await silence(file)
  for (let turn = 0; turn < 3; turn += 1) {
    await write()
    await assert.rejects(anchor.note(), /anchor has not answered since/)
    nowMs += MINUTE
  }
  assert.deepEqual([await late(), readAnchors(file).count], [180, 1])
  await comeBack()
  await anchor.note()
  assert.deepEqual([await late(), readAnchors(file).count], [0, 2])
  assert.equal((await verify()).fault, null)
})

test('a database restored by its own tools may run, and be noted, before its restore is marked', async () => {
  for (const notes of [true, false]) {
    const anchor = startNoting()
    const { entries } = await openLog().verify()
    await work(3, anchor)
    const backupMadeAt = at()
    await work(4, anchor)
    nowMs += HOUR
    await cutTo(entries + 3)
    await write()
    if (notes) await work(1)
    await noteRestored(backupMadeAt)
    await work(3)
    const { fault, lost } = await verify()
    assert.deepEqual([fault, lost.at(-1)?.entries], [null, 4])
  }
})

test('a file that is longer than a string may be is read, and its end without the rest', async () => {
  await work(2)
  const [first = '', second = ''] = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, `${first}\n`)
  // what a power failure may leave, and as sparse as it is there
  truncateSync(file, constants.MAX_STRING_LENGTH + 100)
  appendFileSync(file, `\n${second}\n`)
  assert.deepEqual(
    [...readAnchors(file).heads()].map(({ seq }) => seq),
    [1n, 2n],
  )
  assert.deepEqual((await verify()).fault, null)
  truncateSync(file, 2 ** 31 + 100)
  appendFileSync(file, `\n${second}\n`)
  assert.equal(lostUntilNow(file, assert.fail).getTime() >= nowMs, true)
})

/** Prints what the check says of a chain of so many entries, each of which is as the file has it. */
const CHECK_OF_MANY = `
  const [anchorModule, checkModule, file, count] = process.argv.slice(1)
  const { readAnchors } = await import(anchorModule)
  const { AnchorCheck } = await import(checkModule)
  const hashOf = (seq) => seq.toString(16).padStart(64, '0')
  const check = new AnchorCheck(readAnchors(file), async (seqs) => seqs.map((seq) => ({ seq, hash: hashOf(seq) })))
  for (let seq = 1n; seq <= BigInt(count); seq += 1n) await check.pass({ seq, hash: hashOf(seq), actor: '', action: '' })
  console.log(JSON.stringify(await check.end(), (_, value) => (typeof value === 'bigint' ? Number(value) : value)))
`

async function checkMany(count: number): Promise<unknown> {
  const url = (name: string): string => new URL(`../src/audit/${name}.ts`, import.meta.url).href
  const args = ['--max-old-space-size=64', '--input-type=module', '--eval', CHECK_OF_MANY]
  const parameters = [url('anchor'), url('anchor-check'), file, String(count)]
  const { stdout } = await promisify(execFile)(process.execPath, [...args, ...parameters])
  return JSON.parse(stdout)
}

test('another installation’s file is compared in little memory, too, and none of it is excused', async () => {
  const line = (seq: number): string => `2030-01-31T12:00:00.000Z ${seq} ${seq.toString(16).padStart(64, 'f')}\n`
  writeFileSync(file, Array.from({ length: 500_000 }, (_, index) => line(index + 3)).join(''))
  const reason = 'it differs from its anchor outside the database'
  assert.deepEqual(await checkMany(500_000), { lost: [], fault: { seq: 3, reason } })
})

test('a file that was noted in for years is compared in little memory, also where it goes back', async () => {
  const count = 500_000
  const line = (seq: number): string => `2030-01-31T12:00:00.000Z ${seq} ${seq.toString(16).padStart(64, '0')}\n`
  const lines = Array.from({ length: count }, (_, index) => line(index + 1))
  writeFileSync(file, lines.join(''))
  appendFileSync(file, lines.slice(0, count / 2).join(''))
  assert.deepEqual(await checkMany(count), { lost: [], fault: null })
})
