import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db, openDb, type Queryable, type Sql, sql } from '../src/db/db.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { insertOrders, type NewOrder } from '../src/orders/order-insert-queries.ts'
import { findOrderByCode } from '../src/orders/order-queries.ts'
import { startNoProviders } from '../test/harness/no-providers.ts'
import { profileThere, wantsFlame, writeFlame } from './flame.ts'
import { type Goal, printGoals } from './goals.ts'
import type { Load, LoadResult } from './http-load.ts'
import { LIMIT_CREATE, LIMIT_DATABASE, LIMIT_READ, makeLimitDatabase } from './independent-limit.ts'
import { KNOWN_ORDERS, type Limit, type LimitWork, openLimit } from './limit.ts'
import { childrenCpuUs, cpuUs, databaseCpuUs, withChildrenCpuUs } from './processor-time.ts'
import { freePort, startService, untilIdle } from './service.ts'

/** Twelve digits, like the limit's numbers. */
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

type Service = { port: number; inspectPort: number; headers: string; child: ChildProcess; stop(): Promise<void> }

/** The API alone, on the same server as the limit. */
async function startApi(dataDir: string, connectionString: string): Promise<Service> {
  const inspectPort = wantsFlame ? await freePort() : 0
  const providers = await startNoProviders()
  const { facts, ...service } = await startService(dataDir, {
    env: {
      ...{ DATABASE_URL: connectionString, ROLES: 'api', LOG_LEVEL: 'warn' },
      // a chain that is configured and never queried, and no providers: no sandbox starts next to the measurement
      SANDBOX_PROVIDERS_URL: providers.url,
      ...{ CHAIN_31337_RPC_URL: 'http://127.0.0.1:9', CHAIN_MAX_LAG_SECONDS: '86400' },
      CHAIN_31337_USDC: `0x${'0'.repeat(40)}`,
    },
    nodeOptions: [
      ...BENCH_NODE_OPTIONS.split(' ').filter(Boolean),
      ...(wantsFlame ? [`--inspect=127.0.0.1:${inspectPort}`] : []),
    ],
  })
  const headers = `host: localhost\r\nx-api-key: ${facts.apiKey}\r\nx-api-secret: ${facts.apiSecret}\r\n`
  const stop = async (): Promise<void> => {
    await service.stop()
    await providers.stop()
  }
  return { ...service, inspectPort, headers, stop }
}

/** The statement of a query function, without running it. */
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

/** A separator, in which two hyphens would look like a comment. */
const quoted = (separator = ''): string => `E'${separator.replaceAll('-', '\\x2d')}'`

/** One order as the service would insert it, with placeholders for the limit in id, code and shortCode. */
async function orderTemplate(db: Db): Promise<Work> {
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
    ...{
      webhookUrl: 'http://127.0.0.1:4000/',
      cancelUrl: null,
      returnUrl: null,
      goods: { goodsName: 'Tea' },
      metadata: null,
    },
    ...{ anonymous: false, createdBy: 'f'.repeat(24), requestId: 'f'.repeat(24) },
    ...{ createdAt: now, updatedAt: now, expiresAt: new Date(now.getTime() + 300_000), paidAt: null },
    ...{ paidUnits: 0n, refundedUnits: 0n, version: 1 },
  }
  const one: NewOrder = {
    order,
    ...{ companyVersion: place.version, tillWebhookUrl: null, atTill: null },
    actor: 'apiKey:bench',
    soldBy: null,
    idempotency: null,
  }
  const { text, values } = await capture((q) => insertOrders(q, [one], { wait: false }))
  const [betweenFields, template, betweenOrders] = values.map(String)
  const own = text.replaceAll('$1', quoted(betweenFields)).replaceAll('$3', quoted(betweenOrders))
  return workOf({ text: own.replaceAll('$2', '$1') }, template ?? '')
}

/** Orders whose codes both sides know. */
async function makeKnownOrders(db: Db): Promise<void> {
  await db.run(sql`
    insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate,
      quote_id,
      collector_id, merchant_identifier, created_at, updated_at, expires_at)
    select company_id, 'readread0000' || lpad(to_hex(n), 12, '0'), 'readread0000' || lpad(to_hex(n), 12, '0'),
      'r' || n, 'PAID', from_asset, from_units, to_asset, to_units, rate, quote_id, collector_id, merchant_identifier,
      created_at, updated_at,
      expires_at
    from (select * from orders limit 1) o, generate_series(0, ${KNOWN_ORDERS - 1}::int) n`)
  await db.run(sql`analyze orders`)
}

const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

/** µs of CPU time per request: the service's, the database's, the load generator's. */
type Round = LoadResult & { serviceUs: number; databaseUs: number; generatorUs: number }
/** `allUs`: pgbench and the database together. */
type LimitRound = { perSecond: number; allUs: number }

/** `limit`: the shop's own tables; `same`: our statement, sent by pgbench. */
type Figures = { what: string; callers: number; service: Round[]; limit: LimitRound[]; same: LimitRound[] }

type Work = Pick<LimitWork, 'database' | 'text' | 'template'>
type Contest = { what: string; requests: string[]; limit: Work; same: Work }

type Contenders = { generator: ChildProcess; service: Service; limit: Limit; dataDir: string }

async function loadService(load: Load, { generator, service, dataDir }: Contenders): Promise<Round> {
  const answered = once(generator, 'message')
  const spent = (): number[] => [withChildrenCpuUs(service.child.pid), databaseCpuUs(dataDir), cpuUs(generator.pid)]
  const before = spent()
  generator.send(load)
  const [measured] = (await answered) as [LoadResult]
  if (measured.failed > 0) throw new Error(`${measured.failed} requests failed`)
  const each = spent().map((us, index) => (us - (before[index] ?? 0)) / measured.count)
  const [serviceUs = 0, databaseUs = 0, generatorUs = 0] = each
  return { ...measured, serviceUs, databaseUs, generatorUs }
}

async function loadLimit(work: LimitWork, { limit, dataDir }: Contenders): Promise<LimitRound> {
  const before = childrenCpuUs() + databaseCpuUs(dataDir)
  const perSecond = await limit.perSecond(work)
  return { perSecond, allUs: (childrenCpuUs() + databaseCpuUs(dataDir) - before) / (perSecond * work.seconds) }
}

/** Alternates between service and limits, so that all have the same neighbours on the machine. */
async function compare(contest: Contest, contenders: Contenders): Promise<Figures[]> {
  const { service } = contenders
  const results: Figures[] = callersOf.map((callers) => ({
    what: contest.what,
    callers,
    service: [],
    limit: [],
    same: [],
  }))
  for (let round = 0; round <= rounds; round += 1) {
    for (const figures of results) {
      const pace = { callers: figures.callers, seconds: round === 0 ? 1 : seconds }
      const measured = await loadService({ ...pace, port: service.port, requests: contest.requests }, contenders)
      const independent = await loadLimit({ ...contest.limit, ...pace }, contenders)
      const same = await loadLimit({ ...contest.same, ...pace }, contenders)
      // the first round is a warm-up
      if (round === 0) continue
      figures.service.push(measured)
      figures.limit.push(independent)
      figures.same.push(same)
    }
  }
  return results
}

/** Profiles the warmed-up service at each number of callers; the limits do not run. */
async function paint({ what, requests }: Contest, { generator, service, dataDir, limit }: Contenders): Promise<void> {
  for (const callers of callersOf) {
    const load = { callers, seconds, requests, port: service.port }
    await loadService(load, { generator, service, dataDir, limit })
    const profile = await profileThere(service.inspectPort, () =>
      loadService(load, { generator, service, dataDir, limit }),
    )
    writeFlame(
      `${what.replace(' ', '-')}-${callers}`,
      `${what}, ${callers} callers: processor time of the service`,
      profile,
    )
  }
}

const ratioOf = ({ service }: Figures, rates: readonly LimitRound[]): number =>
  median(service.map((round, index) => round.perSecond / (rates[index]?.perSecond ?? 1)))

const allUs = ({ serviceUs, databaseUs, generatorUs }: Round): number => serviceUs + databaseUs + generatorUs

/** The ratio if CPU were the only limit: other work on the machine hardly affects it. */
const processorRatio = ({ service, limit }: Figures): number =>
  median(service.map((round, index) => (limit[index]?.allUs ?? 0) / allUs(round)))

function printTable(figures: readonly Figures[], limit: Limit): void {
  const heads = [
    'callers',
    'service',
    limit.name,
    'ratio',
    'same SQL',
    'ratio',
    'p50 ms',
    'p99 ms',
    'service µs',
    'DB µs',
    'load µs',
    'limit µs',
    'by µs',
  ]
  process.stdout.write(`\n${'per second'.padEnd(14)}${heads.map((head) => head.padStart(11)).join('')}\n`)
  for (const row of figures) {
    const pick = (read: (round: Round) => number): number => median(row.service.map(read))
    const cells = [
      row.callers,
      pick((round) => round.perSecond).toFixed(0),
      median(row.limit.map(({ perSecond }) => perSecond)).toFixed(0),
      ratioOf(row, row.limit).toFixed(2),
      median(row.same.map(({ perSecond }) => perSecond)).toFixed(0),
      ratioOf(row, row.same).toFixed(2),
      pick(({ p50Ms }) => p50Ms).toFixed(2),
      pick(({ p99Ms }) => p99Ms).toFixed(2),
      pick(({ serviceUs }) => serviceUs).toFixed(0),
      pick(({ databaseUs }) => databaseUs).toFixed(0),
      pick(({ generatorUs }) => generatorUs).toFixed(0),
      median(row.limit.map((round) => round.allUs)).toFixed(0),
      processorRatio(row).toFixed(2),
    ]
    process.stdout.write(`${row.what.padEnd(14)}${cells.map((cell) => String(cell).padStart(11)).join('')}\n`)
  }
}

const GOALS: Record<string, Record<number, number>> = {
  'create order': { 16: 0.6, 64: 0.8 },
  'read status': { 16: 0.4, 64: 0.4 },
}

function goalsOf(figures: readonly Figures[]): Goal[] {
  const ratios = figures.flatMap((row) => {
    const goal = GOALS[row.what]?.[row.callers]
    const what = `${row.what}, ${row.callers} callers, share of the limit`
    return goal === undefined ? [] : [{ what, goal, figure: ratioOf(row, row.limit) }]
  })
  const alone = figures.find(({ what, callers }) => what === 'create order' && callers === 1)
  const p50 = alone && median(alone.service.map(({ p50Ms }) => p50Ms))
  return [
    ...ratios,
    ...(p50 === undefined ? [] : [{ what: 'create order alone, p50 ms', most: true, goal: 1, figure: p50 }]),
  ]
}

/** Each has its own Idempotency-Key, so that the service writes a key as the limit does. */
function createRequests(service: Service): string[] {
  const body = JSON.stringify({
    amount: 50,
    fromAsset: 'EUR',
    merchantIdentifier: 'TILL-1',
    webhookUrl: 'http://127.0.0.1:4000/',
    goods: { goodsName: 'Tea' },
  })
  const path = '/api/next/confirm_conversion/request'
  const head = `POST ${path} HTTP/1.1\r\n${service.headers}content-type: application/json\r\n`
  return [`${head}content-length: ${body.length}\r\nidempotency-key: {key}\r\n\r\n${body}`]
}

const readRequests = (): string[] =>
  Array.from({ length: KNOWN_ORDERS }, (_, index) => {
    const code = readCode((index * 7919) % KNOWN_ORDERS)
    return `GET /api/next/confirm_conversion/status/${code} HTTP/1.1\r\nhost: localhost\r\n\r\n`
  })

/** Our own statement as work for the limit: its only parameter is the template. */
const workOf = ({ text }: Pick<Sql, 'text'>, template: string): Work => ({
  text: text.replaceAll('$1', `replace(replace(replace({template}, '@', {growing}), '#', {random}), '%', {known})`),
  template,
})

/**
 * Creations and status reads over HTTP, compared with an independent shop's statement and our own on the same server,
 * without a service in front.
 */
export async function benchOrders(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  chmodSync(folder, 0o711)
  const server = await startEmbeddedPostgres({ dataDir: folder, log: console.error })
  const generator = fork(join(import.meta.dirname, 'http-load.ts'))
  const service = await startApi(join(folder, 'service'), server.connectionString)
  const db = openDb({ connectionString: server.connectionString, max: 2 })
  try {
    const limit = openLimit(folder, server.connectionString)
    await makeLimitDatabase(server.connectionString)
    await untilIdle([service])
    process.stdout.write(
      `${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.versions.node}, ${rounds} rounds of ${seconds} s in turns, medians\n`,
    )
    const contenders = { generator, service, limit, dataDir: folder }
    const own = await orderTemplate(db)
    const creation = {
      ...{ what: 'create order', requests: createRequests(service), same: own },
      limit: { database: LIMIT_DATABASE, text: LIMIT_CREATE },
    }
    const measure = async (contest: Contest): Promise<Figures[]> => {
      if (!wantsFlame) return compare(contest, contenders)
      await paint(contest, contenders)
      return []
    }
    const created = BENCH_ONLY.includes('create') ? await measure(creation) : []
    // the known orders are copies of a created one
    await loadService({ callers: 1, seconds: 0.1, port: service.port, requests: creation.requests }, contenders)
    await makeKnownOrders(db)
    const statement = await capture((q) => findOrderByCode(q, ''))
    const reading = {
      ...{ what: 'read status', requests: readRequests(), same: workOf(statement, 'readread0000%') },
      limit: { database: LIMIT_DATABASE, text: LIMIT_READ },
    }
    const read = BENCH_ONLY.includes('read') ? await measure(reading) : []
    if (wantsFlame) return
    printTable([...created, ...read], limit)
    printGoals(goalsOf([...created, ...read]))
  } finally {
    generator.kill()
    await db.close()
    await service.stop()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
