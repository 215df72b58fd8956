import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withChildrenCpuUs } from './processor-time.ts'

/** The facts that the sandbox writes about itself. */
export type Facts = {
  baseUrl: string
  providersUrl: string
  manager: { email: string; password: string }
  superAdmin: { email: string; password: string }
  mailboxUrl: string
  apiKey: string
  apiSecret: string
}

export type BenchService = { child: ChildProcess; port: number; facts: Facts; stop(): Promise<void> }

const LIMITS = ['ACCOUNT', 'ADDRESS', 'PUBLIC', 'COMPANY'].map((name) => [`LIMIT_${name}_PER_MINUTE`, '0'])

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}

/** The service as a separate process, without rate limits. */
export async function startService(
  dataDir: string,
  { env = {}, nodeOptions = [] }: { env?: Record<string, string>; nodeOptions?: readonly string[] } = {},
): Promise<BenchService> {
  const port = await freePort()
  const main = join(import.meta.dirname, '../src/main.ts')
  const child = spawn(process.execPath, [...nodeOptions, main, 'serve'], {
    env: {
      ...process.env,
      ...Object.fromEntries(LIMITS),
      DATA_DIR: dataDir,
      PORT: String(port),
      LOG_LEVEL: 'fatal',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const chunk of child.stdout) if (String(chunk).includes('Comptoir is ready')) break
  child.stdout.resume()
  const facts = JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8')) as Facts
  return {
    child,
    port,
    facts,
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

const BACKGROUND_MS = 11_000
const LOOK_MS = 1000
/** Per second. */
const IDLE_US = 50_000
const LONGEST_MS = 90_000

/**
 * Ten seconds after its start a service compiles in the background what no request needed yet. Resolves when these have
 * done so, or after a minute and a half.
 */
export async function untilIdle(services: readonly Pick<BenchService, 'child'>[]): Promise<void> {
  const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
  const endMs = performance.now() + LONGEST_MS
  await wait(BACKGROUND_MS)
  const spent = (): number => services.reduce((sum, { child }) => sum + withChildrenCpuUs(child.pid), 0)
  for (let before = spent(); performance.now() < endMs; before = spent()) {
    await wait(LOOK_MS)
    if (!(spent() - before > IDLE_US * services.length)) return
  }
}

/** Runs something with a fresh sandbox, and cleans up afterwards. */
export async function withService(work: (facts: Facts) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  const service = await startService(dataDir)
  try {
    await work(service.facts)
  } finally {
    await service.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** The quantile of a list at that share; 0 for an empty list. */
export const quantile = (list: readonly number[], share: number): number =>
  [...list].sort((left, right) => left - right)[Math.min(list.length - 1, Math.floor(list.length * share))] ?? 0
