import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import type { Load, LoadResult } from './http-load.ts'
import { type BenchService, startService } from './service.ts'

/*
 * Whether nodes add up: creations by 64 callers against 1, 2 and 4 API processes on one database, and who spent the
 * machine's time. On a machine of few cores the load generator and PostgreSQL take theirs, so the last column says what
 * one processor second of the service's own yields: it stays level while nodes add up.
 */
const { BENCH_NODES = '1,2,4', BENCH_ROUNDS = '3', BENCH_SECONDS = '5', BENCH_CALLERS = '64' } = process.env
const counts = BENCH_NODES.split(',').map(Number)
const callers = Number(BENCH_CALLERS.split(',').at(-1))

type Figures = {
  perSecond: number
  p50Ms: number
  failed: number
  service: number
  database: number
  generator: number
}

/** Clock ticks of a process, by itself. Source: proc_pid_stat(5), fields 14 and 15. */
function ticksOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}

const TICKS_A_SECOND = 100

const parentOf = (pid: number): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return 0
  }
}

const secondsOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + ticksOf(pid), 0) / TICKS_A_SECOND

/** The server and its backends. */
function databasePids(cluster: string): number[] {
  const server = Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0])
  const all = globSync('/proc/[0-9]*').map((path) => Number(path.slice('/proc/'.length)))
  return [server, ...all.filter((pid) => parentOf(pid) === server)]
}

function createRequest({ facts: { apiKey, apiSecret } }: BenchService): string {
  const body = JSON.stringify({
    ...{ amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1', webhookUrl: 'http://127.0.0.1:4000/' },
    goods: { goodsName: 'Tea' },
  })
  const headers = `host: localhost\r\nx-api-key: ${apiKey}\r\nx-api-secret: ${apiSecret}\r\ncontent-type: application/json\r\n`
  const head = `POST /api/next/confirm_conversion/request HTTP/1.1\r\n${headers}content-length: ${body.length}\r\n\r\n`
  return head + body
}

async function drive(generator: ChildProcess, load: Load): Promise<LoadResult> {
  generator.send(load)
  const [result] = (await once(generator, 'message')) as [LoadResult]
  return result
}

async function measure(nodes: readonly BenchService[], cluster: string): Promise<Figures> {
  const generators = nodes.map(() => fork(join(import.meta.dirname, 'http-load.ts')))
  const pidsOf = (children: readonly ChildProcess[]): number[] => children.map(({ pid = 0 }) => pid)
  const groups = { service: pidsOf(nodes.map(({ child }) => child)), generator: pidsOf(generators) }
  const load = (seconds: number): Promise<LoadResult[]> =>
    Promise.all(
      nodes.map((node, index) => {
        const share = { callers: Math.ceil(callers / nodes.length), seconds, requests: [createRequest(node)] }
        return drive(generators[index] as ChildProcess, { port: node.port, ...share })
      }),
    )
  try {
    await load(2) // connections, plans and caches
    const before = [groups.service, databasePids(cluster), groups.generator].map(secondsOf)
    const results = await load(Number(BENCH_SECONDS))
    const after = [groups.service, databasePids(cluster), groups.generator].map(secondsOf)
    const [service = 0, database = 0, generator = 0] = after.map((seconds, index) => seconds - (before[index] ?? 0))
    const sum = (pick: (result: LoadResult) => number): number => results.reduce((all, one) => all + pick(one), 0)
    const p50Ms = sum((one) => one.p50Ms) / results.length
    return {
      perSecond: sum((one) => one.perSecond),
      p50Ms,
      failed: sum((one) => one.failed),
      service,
      database,
      generator,
    }
  } finally {
    for (const generator of generators) generator.kill()
  }
}

const middle = (rows: readonly Figures[]): Figures =>
  [...rows].sort((left, right) => left.perSecond - right.perSecond)[Math.floor(rows.length / 2)] as Figures

function printRow(count: number, row: Figures, first: number): void {
  const { perSecond, p50Ms, failed, service, database, generator } = row
  const all = service + database + generator
  const share = (seconds: number): string => `${Math.round((seconds / all) * 100)} %`.padStart(6)
  const yields = Math.round((perSecond * Number(BENCH_SECONDS)) / service)
  process.stdout.write(
    `${String(count).padStart(5)}  ${perSecond.toFixed(0).padStart(9)}  ${(perSecond / first).toFixed(2).padStart(6)}  ` +
      `${p50Ms.toFixed(1).padStart(7)}  ${share(service)}  ${share(database)}  ${share(generator)}  ` +
      `${(all / Number(BENCH_SECONDS)).toFixed(2).padStart(5)}  ${String(yields).padStart(7)}${failed > 0 ? `  ${failed} failed` : ''}\n`,
  )
}

/** `npm run bench -- nodes` */
export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  chmodSync(folder, 0o711)
  const server = await startEmbeddedPostgres({ dataDir: folder, log: console.error })
  const env = {
    ...{ DATABASE_URL: server.connectionString, ROLES: 'api', LOG_LEVEL: 'warn' },
    ...{ MASTER_KEY: Buffer.alloc(32, 5).toString('base64'), CHAIN_MAX_LAG_SECONDS: '86400' },
    // a chain that is named and never asked: no sandbox starts beside the measurement
    ...{ CHAIN_31337_RPC_URL: 'http://127.0.0.1:9', CHAIN_31337_USDC: `0x${'0'.repeat(40)}` },
  }
  const nodes: BenchService[] = []
  try {
    for (let index = 0; index < Math.max(...counts); index += 1)
      nodes.push(await startService(join(folder, `node-${index}`), { env }))
    const model = cpus()[0]?.model.trim()
    process.stdout.write(
      `Creations by ${callers} callers, ${availableParallelism()} × ${model}; medians of ${BENCH_ROUNDS} turns of ${BENCH_SECONDS} s.\n` +
        'nodes  created/s  times 1  p50 ms  service  database  load   cores  orders per CPU second of the service\n',
    )
    const rows = new Map(counts.map((count) => [count, [] as Figures[]]))
    for (let round = 0; round < Number(BENCH_ROUNDS); round += 1)
      for (const count of counts) rows.get(count)?.push(await measure(nodes.slice(0, count), join(folder, 'postgres')))
    const first = middle(rows.get(counts[0] ?? 1) ?? []).perSecond
    for (const [count, list] of rows) printRow(count, middle(list), first)
  } finally {
    await Promise.all(nodes.map((node) => node.stop()))
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
