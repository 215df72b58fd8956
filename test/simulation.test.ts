import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { Agent, Pool } from 'undici'
import { Network } from '../simulation/virtual/network.ts'
import { runIn, Scheduler } from '../simulation/virtual/scheduler.ts'

/*
 * A small sample. The long run: npm run simulate -- --orders 1000000 --seed 7
 */
const SEED = process.env.SEED ?? String(randomInt(1_000_000_000))

type Outcome = { code: number; words: string; fingerprint: string | undefined }

async function simulate(...options: string[]): Promise<Outcome> {
  const main = join(import.meta.dirname, '../simulation/main.ts')
  const child = spawn(process.execPath, [main, '--nodes', '2', '--rate', '3', ...options])
  let words = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (words += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  return { code, words, fingerprint: /fingerprint (\w+)/.exec(words)?.[1] }
}

test('an option that is unknown or no number is refused with a sentence, and --help lists them', async () => {
  const answers = await Promise.all(
    [
      ['--order', '3'],
      ['--orders', 'ten'],
      ['--orders', '0'],
    ].map((of) => simulate(...of)),
  )
  assert.deepEqual(
    answers.map(({ code, words }) => [code, words.split('\n')[1]]),
    answers.map(() => [2, 'See: npm run simulate -- --help']),
  )
  assert.match(answers[1]?.words ?? '', /^--orders is a whole number from 1 on, not "ten"\.$/m)
  const { code, words } = await simulate('--help')
  assert.equal(code, 0)
  assert.match(words, /--seed N/)
})

test('two runs with one seed are the same to the last byte, and nothing is lost or doubled', async (t) => {
  t.diagnostic(`SEED=${SEED}`)
  const [first, second] = await Promise.all([0, 1].map(() => simulate('--orders', '3', '--short', '--seed', SEED)))
  assert.equal(first?.code, 0, first?.words)
  assert.equal(second?.code, 0, second?.words)
  assert.ok(first?.fingerprint)
  assert.equal(first.fingerprint, second?.fingerprint)
})

test('a planted fault is found, and its order is named', async () => {
  const { code, words } = await simulate('--orders', '3', '--short', '--seed', SEED, '--plant', 'event-without-webhook')
  assert.equal(code, 1, words)
  assert.match(words, /the order \w+ of \w+: event \d, order\.(pending|cancelled), has no delivery/)
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
