import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'

const BIN = join(import.meta.dirname, '..', 'bin', 'comptoir.cjs')

/** Runs a command. @param reads false: whoever reads its output has seen enough before the first line */
async function run(args: string[], { reads }: { reads: boolean }): Promise<{ code: number | null; err: string }> {
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  if (reads) child.stdout.resume()
  else child.stdout.destroy()
  const [text, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'close')])
  return { code, err: Buffer.concat(text).toString() }
}

for (const args of [['--help'], ['orders', '--help']])
  test(`comptoir ${args.join(' ')}: a reader that leaves early ends it without a word`, async () => {
    assert.deepEqual(await run(args, { reads: false }), { code: 0, err: '' })
  })

test('a script that a release does not hold is refused with one sentence', async () => {
  const { code, err } = await run(['--run', 'scripts/not-here.ts'], { reads: true })
  assert.deepEqual([code, err.trim().split('\n').length], [1, 1])
  assert.match(err, /needs a checkout/)
})
