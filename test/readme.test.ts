import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { eventuallyListens, sendBadUploads } from './harness/bad-uploads.ts'
import { freePort } from './harness/free-port.ts'
import { waitFor } from './harness/receiver.ts'
import { startServed } from './harness/served.ts'

const ROOT = join(import.meta.dirname, '..')
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
const blocks = (language: string): string[] =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text = '']) => text)

test('the README names commands and documents that exist, and shows the receiver as it is', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const commands = [...readme.matchAll(/npm (?:run )?(\w+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'ci')
  assert.deepEqual(
    commands.filter((name) => !(name in scripts)),
    [],
  )
  const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path = '']) => path)
  assert.deepEqual(
    links.filter((path) => !existsSync(join(ROOT, path))),
    [],
  )
  assert.deepEqual(blocks('js'), [readFileSync(join(ROOT, 'examples/receiver.mjs'), 'utf8')])
})

/** Runs a program in a folder; its output so far, and its end. */
function run(command: string, args: string[], cwd: string) {
  const path = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`
  const child = spawn(command, args, { cwd, env: { ...process.env, PATH: path }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
  }
  return { child, output: () => output, ended: once(child, 'exit') }
}

test('what the README says works: one command, five calls to PAID, a receiver that prints a verified webhook', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-readme-'))
  chmodSync(folder, 0o755)
  const [port, receiverPort] = [await freePort(), await freePort()]
  const own = (text: string): string => text.replaceAll('4000', String(receiverPort))
  mkdirSync(join(folder, 'examples'))
  writeFileSync(join(folder, 'examples/receiver.mjs'), own(blocks('js')[0] ?? ''))
  const [start = '', calls = ''] = blocks('sh')
  assert.equal(start.trim(), 'npm ci && npm start')
  const served = startServed({ PORT: String(port) }, { cwd: folder })
  t.after(async () => {
    await served.end('SIGTERM')
    rmSync(folder, { recursive: true, force: true })
  })
  await served.ready()
  const receiver = run(process.execPath, ['examples/receiver.mjs'], folder)
  t.after(() => receiver.child.kill())
  // it does not say that it listens
  await eventuallyListens(receiverPort)
  await sendBadUploads(receiverPort)
  const shell = run('sh', ['-ec', own(calls)], folder)
  const timer = setTimeout(() => shell.child.kill(), 60_000)
  const [code] = await shell.ended
  clearTimeout(timer)
  assert.equal(code, 0, `${shell.output()}\n${served.words()}`)
  assert.match(shell.output(), /"txHash":"0x[0-9a-f]{64}".*\n?PAID\n(delivered|pending)\n$/)
  await waitFor('the verified webhook', () => /^verified order\.paid \{.*"status":"PAID"/m.test(receiver.output()))
})
