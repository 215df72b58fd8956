import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from './harness/free-port.ts'

const COUNT = Number(process.env.PORTS ?? 300)
const MODULE = join(import.meta.dirname, 'harness/free-port.ts')
const TAKE = `
  const { freePort } = await import(${JSON.stringify(MODULE)})
  const ports = []
  for (let taken = 0; taken < ${COUNT}; taken += 1) ports.push(await freePort())
  console.log(JSON.stringify(ports))
  process.stdin.on('end', () => process.exit()).resume()`

test('processes that take ports at the same time get different ones, and nothing else can have them', async () => {
  const run = promisify(execFile)
  const others = [1, 2, 3].map(() => run(process.execPath, ['--input-type=module', '-e', TAKE]))
  const holders = others.map(async (other) => {
    assert.ok(other.child.stdout && other.child.stdin)
    const [text] = (await once(other.child.stdout.setEncoding('utf8'), 'data')) as [string]
    return { ports: JSON.parse(text) as number[], end: () => other.child.stdin?.end() }
  })
  const taken = await Promise.all(holders)
  const own: number[] = []
  while (own.length < COUNT) own.push(await freePort())
  const all = [...own, ...taken.flatMap(({ ports }) => ports)]
  assert.equal(new Set(all).size, 4 * COUNT)
  // what asks the kernel for any port gets none of them
  const listeners = Array.from({ length: 200 }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(listeners.map((listener) => once(listener, 'listening')))
  const chosen = listeners.map((listener) => (listener.address() as { port: number }).port)
  assert.deepEqual(
    chosen.filter((port) => all.includes(port)),
    [],
  )
  for (const listener of listeners) listener.close()
  for (const { end } of taken) end()
  await Promise.all(others)
})
