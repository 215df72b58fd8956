import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db, openDb, type Queryable, type Sql, sql } from '../src/db/db.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { insertOrders, type NewOrder } from '../src/orders/order-insert-queries.ts'
import { findOrderByCode } from '../src/orders/order-queries.ts'
import type { Load, LoadResult } from './http-load.ts'
import { KNOWN_ORDERS, type Limit, openLimit } from './limit.ts'
import { startService } from './service.ts'

/** Twelve digits, as the limit's numbers have. */
const readCode = (index: number): string => `readread0000${index.toString(16).padStart(12, '0')}`

const {
  BENCH_ONLY = 'create,read',
  BENCH_CALLERS = '1,16,64',
  BENCH_ROUNDS = '5',
  BENCH_SECONDS = '3',
  BENCH_NODE_OPTIONS = '',
} = process.env
const callersOf = BENCH_CALLERS.split(',').map(Number)
const rounds = Number(BENCH_ROUNDS)
const seconds = Number(BENCH_SECONDS)

type Service = { port: number; headers: string; child: ChildProcess; stop(): Promise<void> }

/** The API alone, on the same server as the limit. */
async function startApi(dataDir: string, connectionString: string): Promise<Service> {
  const { facts, ...service } = await startService(dataDir, {
    env: {
      ...{ DATABASE_URL: connectionString, ROLES: 'api', LOG_LEVEL: 'warn' },
      // a chain that is named and never asked: no sandbox starts beside the measurement
      ...{ CHAIN_31337_RPC_URL: 'http://127.0.0.1:9', CHAIN_MAX_LAG_SECONDS: '86400' },
      CHAIN_31337_USDC: `0x${'0'.repeat(40)}`,
    },
    nodeOptions: BENCH_NODE_OPTIONS.split(' ').filter(Boolean),
  })
  const headers = `host: localhost\r\nx-api-key: ${facts.apiKey}\r\nx-api-secret: ${facts.apiSecret}\r\n`
  return { ...service, headers }
}

/** The statement that a query function runs, without running it. */
async function capture(query: (q: Queryable) => Promise<unknown>): Promise<Sql> {
  let captured: Sql | undefined
  const keep = async (statement: Sql): Promise<never[]> => {
    captured = statement
    return []
  }
  const q: Queryable = {
    many: keep,
    maybe: async (statement) => (await keep(statement))[0],
    one: () => Promise.reject(),
    run: () => Promise.reject(),
  } as Queryable
  await query(q)
  if (!captured) throw new Error('no statement was run')
  return captured
}

/** One order as the service would insert it, its id, code and shortCode left open for the limit. */
async function orderTemplate(db: Db): Promise<{ statement: Sql; template: string }> {
  const place = await db.one<{ companyId: string; version: bigint; collectorId: string; identifier: string }>(sql`
    select c.id as company_id, c.version, k.id as collector_id, k.identifier
    from companies c join collectors k on k.company_id = c.id limit 1`)
  const now = new Date()
  const order: NewOrder['order'] = {
    companyId: place.companyId,
    ...{ id: '000000000000@', code: 'aaaaaaaaaaaa#', shortCode: '#', status: 'INITIAL', alias: null },
    ...{ from: { asset: 'EUR', units: 5000n }, to: { asset: 'USDC', units: 54_000_000n }, rate: 1_080_000_000_000n },
    ...{ quoteId: 'f'.repeat(24), paymentChannel: null, paymentId: null },
    ...{
      collectorId: place.collectorId,
      merchantIdentifier: place.identifier,
      websiteUrl: null,
      buttonSessionId: null,
    },
    ...{ webhookUrl: 'http://127.0.0.1:4000/', cancelUrl: null, returnUrl: null, goods: { goodsName: 'Tea' } },
    ...{ anonymous: false, createdBy: 'f'.repeat(24), requestId: 'f'.repeat(24) },
    ...{ createdAt: now, updatedAt: now, expiresAt: new Date(now.getTime() + 300_000), paidAt: null },
    ...{ paidUnits: 0n, refundedUnits: 0n, version: 1 },
  }
  const one: NewOrder = { order, companyVersion: place.version, actor: 'apiKey:bench', idempotency: null }
  const statement = await capture((q) => insertOrders(q, [one]))
  return { statement, template: String(statement.values[0]) }
}

/** Orders whose codes both sides know. */
async function makeKnownOrders(db: Db): Promise<void> {
  await db.run(sql`
    insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate, quote_id,
      collector_id, merchant_identifier, created_at, updated_at, expires_at)
    select company_id, 'readread0000' || lpad(to_hex(n), 12, '0'), 'readread0000' || lpad(to_hex(n), 12, '0'), 'r' || n, 'PAID',
      from_asset, from_units, to_asset, to_units, rate, quote_id, collector_id, merchant_identifier, created_at, updated_at,
      expires_at
    from (select * from orders limit 1) o, generate_series(0, ${KNOWN_ORDERS - 1}::int) n`)
  await db.run(sql`analyze orders`)
}

const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

/**
 * CPU time that a process has used, in µs (proc_pid_stat(5): utime and stime in hundredths); NaN where /proc is
 * missing.
 */
function cpuUs(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10_000
  } catch {
    return Number.NaN
  }
}

type Round = LoadResult & { cpuUs: number }

type Figures = { what: string; callers: number; service: Round[]; limit: number[] }

type Contest = { what: string; requests: string[]; statement: Sql; template: string }

/** Service and limit in turns, so that both have the same neighbours on the machine. */
async function compare(contest: Contest, generator: ChildProcess, service: Service, limit: Limit): Promise<Figures[]> {
  const results: Figures[] = callersOf.map((callers) => ({ what: contest.what, callers, service: [], limit: [] }))
  for (let round = 0; round <= rounds; round += 1) {
    for (const figures of results) {
      const { callers } = figures
      const load: Load = { port: service.port, callers, seconds: round === 0 ? 1 : seconds, requests: contest.requests }
      const answered = once(generator, 'message')
      const usedUs = cpuUs(service.child.pid)
      generator.send(load)
      const [measured] = (await answered) as [LoadResult]
      const spentUs = cpuUs(service.child.pid) - usedUs
      if (measured.failed > 0) throw new Error(`${measured.failed} requests failed`)
      const rate = await limit.perSecond({ ...contest, callers, seconds: load.seconds })
      // the first round warms up
      if (round === 0) continue
      figures.service.push({ ...measured, cpuUs: spentUs / measured.count })
      figures.limit.push(rate)
    }
  }
  return results
}

const range = (values: readonly number[]): string =>
  `${Math.round(Math.min(...values))}–${Math.round(Math.max(...values))}`

function printTable(figures: readonly Figures[], limit: Limit): void {
  const title = `${'per second'.padEnd(14)}${'callers'.padStart(8)}${'service'.padStart(10)}${'(range)'.padStart(16)}`
  process.stdout.write(
    `\n${title}${limit.name.padStart(10)}${'(range)'.padStart(16)}${'ratio'.padStart(8)}${'p50 ms'.padStart(9)}${'p99 ms'.padStart(9)}${'CPU µs'.padStart(8)}\n`,
  )
  for (const { what, callers, service, limit: rates } of figures) {
    const perSecond = service.map((round) => round.perSecond)
    const ratio = median(service.map((round, index) => round.perSecond / (rates[index] ?? 1)))
    const columns: [string | number, number][] = [
      [callers, 8],
      [Math.round(median(perSecond)), 10],
      [range(perSecond), 16],
      [Math.round(median(rates)), 10],
      [range(rates), 16],
      [ratio.toFixed(2), 8],
      [median(service.map(({ p50Ms }) => p50Ms)).toFixed(2), 9],
      [median(service.map(({ p99Ms }) => p99Ms)).toFixed(2), 9],
      [median(service.map((round) => round.cpuUs)).toFixed(0), 8],
    ]
    process.stdout.write(
      `${what.padEnd(14)}${columns.map(([value, width]) => String(value).padStart(width)).join('')}\n`,
    )
  }
}

function createRequest(service: Service): string {
  const body = JSON.stringify({
    amount: 50,
    fromAsset: 'EUR',
    merchantIdentifier: 'TILL-1',
    webhookUrl: 'http://127.0.0.1:4000/',
    goods: { goodsName: 'Tea' },
  })
  const head = `POST /api/next/confirm_conversion/request HTTP/1.1\r\n${service.headers}content-type: application/json\r\n`
  return `${head}content-length: ${body.length}\r\n\r\n${body}`
}

const readRequests = (): string[] =>
  Array.from({ length: KNOWN_ORDERS }, (_, index) => {
    const code = readCode((index * 7919) % KNOWN_ORDERS)
    return `GET /api/next/confirm_conversion/status/${code} HTTP/1.1\r\nhost: localhost\r\n\r\n`
  })

/** Creations and status reads over HTTP, beside the same SQL on the same server without a service before it. */
export async function benchOrders(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  chmodSync(folder, 0o711)
  const server = await startEmbeddedPostgres({ dataDir: folder, log: console.error })
  const generator = fork(join(import.meta.dirname, 'http-load.ts'))
  const service = await startApi(join(folder, 'service'), server.connectionString)
  const db = openDb({ connectionString: server.connectionString, max: 2 })
  try {
    const limit = openLimit(folder, server.connectionString)
    process.stdout.write(
      `${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.versions.node}, ${rounds} rounds of ${seconds} s in turns, medians\n`,
    )
    const creation = { what: 'create order', requests: [createRequest(service)], ...(await orderTemplate(db)) }
    const created = BENCH_ONLY.includes('create') ? await compare(creation, generator, service, limit) : []
    await makeKnownOrders(db)
    const statement = await capture((q) => findOrderByCode(q, ''))
    const template = 'readread0000%'
    const reading = { what: 'read status', requests: readRequests(), statement, template }
    const read = BENCH_ONLY.includes('read') ? await compare(reading, generator, service, limit) : []
    printTable([...created, ...read], limit)
  } finally {
    generator.kill()
    await db.close()
    await service.stop()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
