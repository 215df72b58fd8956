import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { startNoProviders } from '../test/harness/no-providers.ts'
import type { Load, LoadResult } from './http-load.ts'
import { type BenchService, startService, untilIdle } from './service.ts'

/*
 * Whether nodes add up: creations by 64 callers against 1, 2 and 4 API processes on one database, and against one
 * service with PROCESSES=1 and 2, which shares its port among processes. Also who used the machine's CPU time: with few
 * cores, the load generators and PostgreSQL take their share. The last columns show the yield per CPU second of the
 * service itself; where nodes add up, that stays level.
 */
const { BENCH_NODES = '1,2,4', BENCH_PROCESSES = '1,2', BENCH_ROUNDS = '3' } = process.env
const { BENCH_SECONDS = '5', BENCH_CALLERS = '64' } = process.env
const numbersOf = (list: string): number[] => list.split(',').filter(Boolean).map(Number)
const counts = numbersOf(BENCH_NODES)
const processes = numbersOf(BENCH_PROCESSES)
const callers = Number(BENCH_CALLERS.split(',').at(-1))

type Figures = {
  perSecond: number
  p50Ms: number
  failed: number
  service: number
  database: number
  generator: number
}

/** Clock ticks of a single process. Source: proc_pid_stat(5), fields 14 and 15. */
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

/** A process and its descendants. */
function withChildren(parent: number): number[] {
  const all = globSync('/proc/[0-9]*').map((path) => Number(path.slice('/proc/'.length)))
  return [parent, ...all.filter((pid) => parentOf(pid) === parent)]
}

/** The server and its backends. */
const databasePids = (cluster: string): number[] =>
  withChildren(Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]))

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
  const services = pidsOf(nodes.map(({ child }) => child)).flatMap(withChildren)
  const groups = { service: services, generator: pidsOf(generators) }
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

function printRow(name: string, row: Figures, first: Figures): void {
  const { perSecond, p50Ms, failed, service, database, generator } = row
  const all = service + database + generator
  const share = (seconds: number): string => `${Math.round((seconds / all) * 100)} %`
  const yieldOf = (one: Figures): number => (one.perSecond * Number(BENCH_SECONDS)) / one.service
  const cells = [
    perSecond.toFixed(0),
    (perSecond / first.perSecond).toFixed(2),
    p50Ms.toFixed(1),
    ...[service, database, generator].map(share),
    (all / Number(BENCH_SECONDS)).toFixed(2),
    yieldOf(row).toFixed(0),
    (yieldOf(row) / yieldOf(first)).toFixed(2),
  ]
  const note = failed > 0 ? `  ${failed} failed` : ''
  process.stdout.write(`${name.padEnd(16)}${cells.map((cell) => cell.padStart(10)).join('')}${note}\n`)
}

const HEADS = ['created/s', 'ratio', 'p50 ms', 'service', 'database', 'load', 'cores', 'per CPU s', 'ratio']

type Contender = { name: string; nodes: readonly BenchService[] }

/** Alternates, so that each has the same neighbours on the machine; ratios are relative to the first. */
async function compare(contenders: readonly Contender[], cluster: string): Promise<void> {
  const rows = contenders.map(() => [] as Figures[])
  for (let round = 0; round < Number(BENCH_ROUNDS); round += 1)
    for (const [index, { nodes }] of contenders.entries()) rows[index]?.push(await measure(nodes, cluster))
  process.stdout.write(`\n${''.padEnd(16)}${HEADS.map((head) => head.padStart(10)).join('')}\n`)
  const first = middle(rows[0] ?? [])
  for (const [index, { name }] of contenders.entries()) printRow(name, middle(rows[index] ?? []), first)
}

/** `npm run bench -- nodes` */
export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  chmodSync(folder, 0o711)
  const server = await startEmbeddedPostgres({ dataDir: folder, log: console.error })
  const providers = await startNoProviders()
  const env = {
    ...{ DATABASE_URL: server.connectionString, ROLES: 'api', LOG_LEVEL: 'warn' },
    ...{ MASTER_KEY: Buffer.alloc(32, 5).toString('base64'), CHAIN_MAX_LAG_SECONDS: '86400' },
    // a chain that is configured and never queried, and no providers: no sandbox starts next to the measurement
    SANDBOX_PROVIDERS_URL: providers.url,
    ...{ CHAIN_31337_RPC_URL: 'http://127.0.0.1:9', CHAIN_31337_USDC: `0x${'0'.repeat(40)}` },
  }
  const started: BenchService[] = []
  const start = async (name: string, more = {}): Promise<BenchService> => {
    const service = await startService(join(folder, name), { env: { ...env, ...more } })
    started.push(service)
    return service
  }
  try {
    const model = cpus()[0]?.model.trim()
    process.stdout.write(
      `Creations by ${callers} callers, ${availableParallelism()} × ${model}; medians of ${BENCH_ROUNDS} turns of ${BENCH_SECONDS} s.\n`,
    )
    const nodes: BenchService[] = []
    for (let index = 0; index < Math.max(0, ...counts); index += 1) nodes.push(await start(`node-${index}`))
    await untilIdle(nodes)
    const cluster = join(folder, 'postgres')
    if (counts.length > 0)
      await compare(
        counts.map((count) => ({ name: `${count} node${count === 1 ? '' : 's'}`, nodes: nodes.slice(0, count) })),
        cluster,
      )
    for (const node of started.splice(0)) await node.stop()
    const whole: Contender[] = []
    for (const count of processes)
      whole.push({ name: `PROCESSES=${count}`, nodes: [await start(`all-${count}`, { PROCESSES: String(count) })] })
    await untilIdle(started)
    if (whole.length > 0) await compare(whole, cluster)
  } finally {
    await Promise.all(started.map((node) => node.stop()))
    await providers.stop()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
