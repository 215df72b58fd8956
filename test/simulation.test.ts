import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Agent, Pool } from 'undici'
import { Journal } from '../simulation/many/journal.ts'
import { readOptions, USAGE } from '../simulation/options.ts'
import { Network } from '../simulation/virtual/network.ts'
import { runIn, Scheduler } from '../simulation/virtual/scheduler.ts'

/*
 * A small sample. The long run: npm run simulate -- --orders 1000000 --seed 7 --processes auto
 */
const SEED = process.env.SEED ?? String(randomInt(1_000_000_000))

/** The runs of this file begin with copies of one database. */
const prepared = mkdtempSync(join(tmpdir(), 'comptoir-prepared-'))
after(() => rmSync(prepared, { recursive: true, force: true }))

type Outcome = { code: number; words: string; fingerprint: string | undefined }

async function simulate(...options: string[]): Promise<Outcome> {
  const main = join(import.meta.dirname, '../simulation/main.ts')
  const child = spawn(process.execPath, [main, '--nodes', '2', '--rate', '3', '--prepared', prepared, ...options])
  let words = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (words += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  return { code, words, fingerprint: /^fingerprint (\w+)$/m.exec(words)?.[1] }
}

test('an option that is unknown or no number is refused with a sentence, and --help lists them', async () => {
  assert.throws(() => readOptions(['--orders', 'ten']), /^Error: --orders is a whole number from 1 on, not "ten"\.$/)
  assert.throws(() => readOptions(['--orders', '0']), /not "0"/)
  assert.throws(() => readOptions(['--processes', 'many']), /not "many"/)
  assert.throws(() => readOptions(['--journal', 'a.journal', '--each']), /--each is for one world/)
  assert.match(USAGE, /--seed N/)
  const { code, words } = await simulate('--order', '3')
  assert.deepEqual([code, words.split('\n')[1]], [2, 'See: npm run simulate -- --help'])
})

test('a world whose words are read slowly ends with all of them', async () => {
  const words = `console.log('x'.repeat(1_000_000)); await (await import('./simulation/exit.ts')).exitWhenRead(3)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', words], { cwd: join(import.meta.dirname, '..') })
  child.stdout.pause()
  const ended = once(child, 'exit')
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const [read, [code]] = await Promise.all([child.stdout.toArray(), ended])
  assert.deepEqual([Buffer.concat(read).length, code], [1_000_001, 3])
})

type Journaled = { world: number; fingerprint: string }

const worldsIn = (journal: string): Journaled[] =>
  journal.split('\n').flatMap((line) => (line.includes('"fingerprint"') ? [JSON.parse(line) as Journaled] : []))

test('two worlds are the same to the last byte beside each other, one by one, and after an interruption', async (t) => {
  t.diagnostic(`SEED=${SEED}`)
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-journal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'run.journal')
  const run = ['--orders', '2', '--world', '1', '--short', '--seed', SEED, '--journal', file]
  const first = await simulate(...run, '--processes', '2')
  assert.equal(first.code, 0, first.words)
  const whole = readFileSync(file, 'utf8')
  assert.deepEqual(new Set(worldsIn(whole).map(({ world }) => world)), new Set([1, 2]))

  // a power cut in the middle of a line: one world is left
  const lines = whole.split('\n')
  const [ended] = worldsIn(whole)
  const last = lines.findLastIndex((line) => line.includes('"fingerprint"'))
  writeFileSync(file, [...lines.slice(0, last), lines[last]?.slice(0, 30)].join('\n'))
  const second = await simulate(...run, '--processes', '1')
  assert.equal(second.code, 0, second.words)
  assert.match(second.words, /^1 of 2 worlds have ended well before$/m)
  assert.doesNotMatch(second.words, new RegExp(`^world ${ended?.world} `, 'm'))
  assert.match(second.words, /^2 orders, 1 of them now/m)
  assert.ok(first.fingerprint)
  assert.equal(first.fingerprint, second.fingerprint)
  const byNumber = (text: string): Journaled[] => worldsIn(text).sort((one, other) => one.world - other.world)
  const same = (one: Journaled): [number, string] => [one.world, one.fingerprint]
  assert.deepEqual(byNumber(readFileSync(file, 'utf8')).map(same), byNumber(whole).map(same))
})

test('a journal takes no other settings or source, no second run at once, and no other file', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-journal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'run.journal')
  const head = { simulation: 1 as const, settings: '--orders 2', source: { hash: 'a', version: 'v1' } }
  const left = mkdtempSync(join(folder, 'left-'))
  new Journal(file, { head, folder: left })
  const later = { ...head, source: { hash: 'b', version: 'v2' } }
  assert.throws(
    () => new Journal(file, { head: later, folder }),
    /another version of the source: v1.*This is v2.*\nCheck that version out/,
  )
  assert.throws(
    () => new Journal(file, { head: { ...head, settings: '--orders 3' }, folder }),
    /belongs to another run: --orders 2\. You asked for: --orders 3\./,
  )
  assert.throws(() => new Journal(file, { head, folder }), new RegExp(`in use by process ${process.pid}`))
  // killed since
  const words = readFileSync(file, 'utf8')
  writeFileSync(file, words.replace(/"mark":"\d+/, '"mark":"1'))
  assert.equal(new Journal(file, { head, folder: join(folder, 'next') }).ended.size, 0)
  assert.equal(existsSync(left), false, 'what the killed run kept is removed')
  writeFileSync(join(folder, 'notes.txt'), 'my notes')
  assert.throws(() => new Journal(join(folder, 'notes.txt'), { head, folder }), /no journal of a simulation/)
})

test('a planted fault is found, its order is named, and its world can be repeated alone', async () => {
  // without faults: with them, a single order may find no rate and never be made
  const one = ['--orders', '1', '--world', '1', '--nodes', '1', '--short', '--calm', '--plant', 'event-without-webhook']
  const { code, words } = await simulate(...one, '--seed', SEED)
  assert.equal(code, 1, words)
  assert.match(words, /the order \w+ of \w+: event \d, order\.(pending|cancelled), has no delivery/)
  assert.match(
    words,
    /^world 1 FAILED: seed \d+\. It alone: npm run simulate -- --orders 1 --seed \d+ .*--plant event/m,
  )
})

test('what a provider has begun goes on when the node that asked it dies', async (t) => {
  const [realFetch, agent, pool] = [globalThis.fetch, Agent.prototype.dispatch, Pool.prototype.dispatch]
  t.after(() => {
    globalThis.fetch = realFetch
    Agent.prototype.dispatch = agent
    Pool.prototype.dispatch = pool
  })
  const scheduler = new Scheduler(1, 0)
  const network = new Network({ scheduler, fault: () => null })
  network.install()
  let isRefunded = false
  network.listen('provider.example', async () => {
    scheduler.after(1000, () => {
      isRefunded = true
    })
    return { status: 200, headers: {}, body: '' }
  })
  const node = { name: 'node', alive: true }
  await runIn(node, () => {
    void fetch('http://provider.example/refund')
    scheduler.after(500, () => void Object.assign(node, { alive: false }), null)
    return scheduler.run(() => false)
  })
  assert.equal(isRefunded, true)
})
