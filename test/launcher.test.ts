import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { processMark } from '../src/db/embedded/process.ts'

const ROOT = join(import.meta.dirname, '..')
const LAUNCHER = join(ROOT, 'bin/comptoir.cjs')
const folder = mkdtempSync(join(tmpdir(), 'comptoir-launcher-'))
after(() => rmSync(folder, { recursive: true }))

/** Makes a Node look like version 20 to the launcher. */
const OLD = join(folder, 'old.cjs')
writeFileSync(OLD, `Object.defineProperty(process, 'version', { value: 'v20.1.0' })`)

const asOld = (...args: string[]) => ['--require', OLD, LAUNCHER, ...args]
const WAIT = ['--run', 'test/harness/launched.ts', 'wait']

type Launched = { version: string; pid: number; how: string; rest: string[] }
type Child = ChildProcessByStdio<null, Readable, null>

async function launch(args: string[]): Promise<{ child: Child; launched: Launched }> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return { child, launched: JSON.parse(String(line)) as Launched }
}

test('a new Node goes on in its own process, with the arguments as they are', async () => {
  const { child, launched } = await launch([LAUNCHER, '--run', 'test/harness/launched.ts', 'wait', 'a b', '--c'])
  assert.deepEqual(launched, { version: process.version, pid: child.pid, how: 'wait', rest: ['a b', '--c'] })
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [7, null])
})

/** As the first process of a container; not every machine lets us make one. */
const ALONE = ['--user', '--map-root-user', '--pid', '--fork', '--kill-child']
if (spawnSync('unshare', [...ALONE, 'true']).status !== 0) {
  console.log('left out: the first process of a container; unshare (util-linux) may not make one here')
} else {
  test('as the first process of a container it hears a stop before the program listens to one', async (t) => {
    const deaf = join(folder, 'deaf.mjs')
    writeFileSync(deaf, `console.log(process.pid); setInterval(() => {}, 1000)`)
    const child = spawn('unshare', [...ALONE, process.execPath, LAUNCHER, '--run', deaf])
    t.after(() => child.kill('SIGKILL'))
    const [line] = await once(child.stdout, 'data')
    assert.equal(String(line), '1\n')
    const inside = spawnSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' }).stdout.trim()
    process.kill(Number(inside), 'SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [143, null])
  })
}

test('an old Node without a pinned one says which is needed and how to get it, in two lines', () => {
  const copy = join(folder, 'bin/comptoir.cjs')
  cpSync(dirname(LAUNCHER), join(folder, 'bin'), { recursive: true })
  const { status, stderr } = spawnSync(process.execPath, ['--require', OLD, copy, 'serve'], { encoding: 'utf8' })
  assert.equal(status, 1)
  assert.match(stderr, /^Comptoir needs Node 24\.12 or newer; this is Node 20\.1\.0 on .+\.\nRun "npm ci" here .+\n$/)
})

/** Says how the service is started, in its place. */
const TELL = join(folder, 'tell.cjs')
writeFileSync(
  TELL,
  `const { pid, execArgv, env } = process
  if (env.MALLOC_ARENA_MAX) {
    console.log(JSON.stringify({ pid, flags: execArgv, arenas: env.MALLOC_ARENA_MAX }))
    process.exit(0)
  }`,
)

test('the service is kept small, in the same process; what is set already stays', async () => {
  const start = async (more: Record<string, string>) => {
    const env = { PATH: process.env.PATH ?? '', NODE_OPTIONS: `--require ${TELL}`, ...more }
    const child = spawn(process.execPath, [LAUNCHER, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(child.stdout, 'data')
    return { child, told: JSON.parse(String(line)) }
  }
  const { child, told } = await start({})
  assert.deepEqual(told, { pid: child.pid, flags: ['--max-semi-space-size=4'], arenas: '1' })
  assert.deepEqual((await start({ MALLOC_ARENA_MAX: '8' })).told.arenas, '8')
})

if (existsSync(join(ROOT, 'node_modules/.bin/node'))) {
  test('an old Node starts the pinned one and ends with its exit code', async () => {
    const { status, stdout } = spawnSync(process.execPath, asOld('--run', 'test/harness/launched.ts', 'exit', '3'), {
      encoding: 'utf8',
    })
    assert.match((JSON.parse(stdout) as Launched).version, /^v24\./)
    assert.equal(status, 3)
  })

  test('a signal to the launcher reaches the pinned Node', async () => {
    const { child, launched } = await launch(asOld(...WAIT))
    assert.notEqual(launched.pid, child.pid)
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [7, null])
  })

  test('the pinned Node killed by a signal ends the launcher by that signal', async () => {
    const { child, launched } = await launch(asOld(...WAIT))
    process.kill(launched.pid, 'SIGKILL')
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'])
  })

  test('the pinned Node dies with a launcher that is killed', async () => {
    const { child, launched } = await launch(asOld(...WAIT))
    child.kill('SIGKILL')
    while (processMark(launched.pid) !== undefined) await sleep(10)
  })
}

if (process.platform === 'linux') {
  for (const [name, launcher] of [
    ['new', [LAUNCHER]],
    ['old', asOld()],
  ] as const) {
    test(`npm killed with -9 takes the program with it, on a ${name} Node`, async () => {
      const command = [process.execPath, ...launcher, ...WAIT].map((word) => `'${word}'`).join(' ')
      const npm = `require('child_process').spawn('sh', ['-c', ${JSON.stringify(`${command}; true`)}], { stdio: 'inherit' })`
      const child = spawn(process.execPath, ['-e', npm], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, npm_lifecycle_event: 'start' },
      })
      const [line] = await once(child.stdout, 'data')
      child.kill('SIGKILL')
      while (processMark((JSON.parse(String(line)) as Launched).pid) !== undefined) await sleep(10)
    })
  }
}
