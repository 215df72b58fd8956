import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { readProcessScope } from '../../kernel/process/process-scope.ts'
import { thisMachine } from '../../webhooks/sender/machine.ts'
import { lockDataDir } from './data-dir-lock.ts'
import { processMark, processScope } from './process.ts'
import { canReach } from './system-user.ts'

let dataDir = ''
let file = ''
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'comptoir-lock-'))
  file = join(dataDir, 'comptoir.lock')
})
afterEach(() => rmSync(dataDir, { recursive: true }))

const writeLock = (holder: { pid: number; mark: string | undefined; scope: string }): void =>
  writeFileSync(file, JSON.stringify(holder))

const owner = (): number => (JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid

const NOBODY = { uid: 65_534, gid: 65_534 }
if (process.getuid?.() === 0 && canReach(NOBODY, import.meta.dirname) && canReach(NOBODY, tmpdir()))
  test('a folder that a command of root’s made is refused with whose it is, and the command that gives it back', () => {
    const lock = (): string => {
      const code = `const { lockDataDir } = await import('${import.meta.dirname}/data-dir-lock.ts')
        await lockDataDir('${dataDir}').catch(({ message }) => console.log(message))`
      const run = ['--input-type=module', '--eval', code]
      return spawnSync(process.execPath, run, { ...NOBODY, encoding: 'utf8' }).stdout
    }
    const words = new RegExp(`runs as \\S+, and ${dataDir}, .*belongs to root.*sudo chown -R \\S+: ${dataDir}`)
    assert.match(lock(), words)
    chownSync(dataDir, NOBODY.uid, NOBODY.gid)
    writeFileSync(file, '{}', { mode: 0o600 })
    assert.match(lock(), words)
  })

test('a released lock is free', async () => {
  const first = await lockDataDir(dataDir)
  first.release()
  assert.equal(existsSync(file), false)
  const second = await lockDataDir(dataDir)
  assert.equal(owner(), process.pid)
  second.release()
})

test('a lock held by a living process is refused with its number', async () => {
  const parent = process.ppid
  writeLock({ pid: parent, mark: processMark(parent), scope: processScope() })
  await assert.rejects(lockDataDir(dataDir), new RegExp(`already runs on ${dataDir} as process ${parent}\\.`))
  assert.equal(owner(), parent)
})

test('the lock of a dead process whose number another process got is taken over', async () => {
  writeLock({ pid: process.ppid, mark: 'another start time', scope: processScope() })
  const lock = await lockDataDir(dataDir)
  assert.equal(owner(), process.pid)
  lock.release()
})

test('a lock cut off by a crash is taken over once it is old', async () => {
  writeFileSync(file, '{"pid":')
  utimesSync(file, 1, 1)
  const lock = await lockDataDir(dataDir)
  lock.release()
})

test("another container's lock counts until nobody touches it any more", async () => {
  writeLock({ pid: 1, mark: '1', scope: 'another container' })
  const silentSince = Date.now() / 1000 - 9
  utimesSync(file, silentSince, silentSince)
  const touchedAt = Date.now()
  const lock = await lockDataDir(dataDir)
  assert.ok(Date.now() - touchedAt >= 900)
  lock.release()
})

test('of eight starts that find the same dead owner, one gets the lock', async () => {
  writeLock({ pid: process.ppid, mark: 'another start time', scope: processScope() })
  const code = `
    const { lockDataDir } = await import(${JSON.stringify(join(import.meta.dirname, 'data-dir-lock.ts'))})
    const won = await lockDataDir(${JSON.stringify(dataDir)}).then(() => true, () => false)
    console.log(won ? 'won' : 'refused')
    setInterval(() => {}, 1000)`
  const args = ['--input-type=module-typescript', '-e', code]
  const starts = Array.from({ length: 8 }, () =>
    spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] }),
  )
  const words = await Promise.all(starts.map(async (child) => String((await once(child.stdout, 'data'))[0]).trim()))
  const ends = starts.map((child) => once(child, 'close'))
  for (const child of starts) child.kill('SIGKILL')
  await Promise.all(ends)
  assert.deepEqual(words.sort(), [...Array<string>(7).fill('refused'), 'won'])
})

test('without /proc a data directory is refused, because its owner could not be seen; a sender leaves that part out', {
  skip: process.platform !== 'linux',
}, () => {
  const known = readProcessScope()
  assert.equal(processScope(known), `${known.boot} ${known.pidNamespace}`)
  const unknown = readProcessScope(join(dataDir, 'no-proc'))
  assert.throws(() => processScope(unknown), /needs \/proc .+ Mount it/)
  assert.equal(thisMachine(unknown), hostname())
})
