import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type Db, openDb } from '../src/db/db.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { keepTotals } from '../src/orders/order-jobs.ts'
import { startNoProviders } from '../test/harness/no-providers.ts'
import { type Goal, printGoals } from './goals.ts'
import { type BenchService, quantile, startService } from './service.ts'

const FEW = 10_000
const MANY = Number(process.env.BENCH_GROWTH_ORDERS ?? 10_000_000)
const CHUNK = 500_000
const TRIES = 200
const GOAL = 1.2

/**
 * Orders `$2` to `$3` of the demo company, with their first event; one in ten has an alias, one in twenty the price of
 * many, the others one of their own.
 */
const FILL = [
  `insert into orders (company_id, id, code, short_code, status, alias, from_asset, from_units, to_asset, to_units, rate,
     quote_id, merchant_identifier, collector_id, created_at, updated_at, expires_at, paid_at, paid_units)
   select k.company_id, lpad(to_hex(1735689600000 + n), 12, '0') || lpad(to_hex(n), 12, '0'),
     'grow' || lpad(n::text, 20, '0'), upper(lpad(to_hex(n), 8, '0')), case when n % 5 < 3 then 'PAID' else 'EXPIRED' end,
     case when n % 10 = 0 then 'INV-' || lpad(n::text, 9, '0') end, 'EUR', cents, 'USDC', cents * 10800, 1.08, 'q',
     k.identifier, k.id, at, at, at + interval '5 min', case when n % 5 < 3 then at end,
     case when n % 5 < 3 then cents * 10800 else 0 end
   from (select * from collectors where company_id = (select company_id from api_keys where public_id = $1) limit 1) k,
     generate_series($2::bigint, $3::bigint) n,
     lateral (select timestamptz '2025-01-01' + n * interval '1 ms' as at,
       case when n % 20 = 7 then 4990 else 10000 + n end::numeric as cents) as each`,
  `insert into order_events (company_id, order_id, seq, trigger, to_status, event, actor, at)
   select (select company_id from api_keys where public_id = $1),
     lpad(to_hex(1735689600000 + n), 12, '0') || lpad(to_hex(n), 12, '0'), 1, 'create', 'INITIAL', 'order.initial', 'bench',
     timestamptz '2025-01-01' + n * interval '1 ms' from generate_series($2::bigint, $3::bigint) n`,
]

async function fill(client: pg.Client, apiKey: string, from: number, to: number): Promise<void> {
  for (let start = from; start < to; start += CHUNK) {
    const end = Math.min(to, start + CHUNK) - 1
    for (const statement of FILL) await client.query(statement, [apiKey, start, end])
    process.stderr.write(`${end + 1} orders\n`)
  }
  await client.query('vacuum analyze orders')
  await client.query('analyze')
  await client.query('checkpoint')
}

type Call = { method: string; path: string; body?: string }

const callsOf = (stored: number): Record<string, (turn: number) => Call> => ({
  create: () => ({
    method: 'POST',
    path: '/request',
    body: JSON.stringify({ amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }),
  }),
  read: (turn) => ({ method: 'GET', path: `/status/grow${String((turn * 7919) % stored).padStart(20, '0')}` }),
  list: () => ({ method: 'GET', path: '?limit=20' }),
  search: (turn) => {
    const alias = String(((turn * 7919) % (stored / 10)) * 10).padStart(9, '0')
    return { method: 'GET', path: `?limit=20&search=INV-${alias}` }
  },
  amount: (turn) => {
    const cents = 10_000 + ((turn * 7919) % (stored / 20)) * 20
    return { method: 'GET', path: `?limit=20&search=${(cents / 100).toFixed(2)}` }
  },
})

/** Median of sequential calls, in milliseconds. */
async function measure({ facts }: BenchService, call: (turn: number) => Call): Promise<number> {
  const headers = { 'x-api-key': facts.apiKey, 'x-api-secret': facts.apiSecret, 'content-type': 'application/json' }
  const tookMs: number[] = []
  const endAt = performance.now() + 60_000
  for (let turn = 0; turn < TRIES && performance.now() < endAt; turn += 1) {
    const { method, path, body } = call(turn)
    const startedAt = performance.now()
    const answer = await fetch(`${facts.baseUrl}/api/next/confirm_conversion${path}`, {
      ...{ method, headers },
      ...(body === undefined ? {} : { body }),
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${text}`)
    tookMs.push(performance.now() - startedAt)
  }
  return quantile(tookMs, 0.5)
}

/** @param db the service has no worker here, so its job, which runs each second, is run before each measurement */
async function measureAll(service: BenchService, db: Db, stored: number): Promise<Map<string, number>> {
  const figures = new Map<string, number>()
  for (const [name, call] of Object.entries(callsOf(stored))) {
    await keepTotals(db)
    await measure(service, (turn) => call(turn * 3 + 1)) // warms up
    figures.set(name, await measure(service, call))
  }
  return figures
}

/**
 * The cost of creating, reading, listing and searching, by reference and by amount, among ten thousand stored orders
 * and among ten million.
 */
export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  const server = await startEmbeddedPostgres({ dataDir: folder, log: console.error })
  const client = new pg.Client({ connectionString: server.connectionString })
  const db = openDb({ connectionString: server.connectionString, max: 1 })
  const providers = await startNoProviders()
  const service = await startService(join(folder, 'service'), {
    env: {
      ...{ DATABASE_URL: server.connectionString, ROLES: 'api', LOG_LEVEL: 'warn' },
      ...{ CHAIN_31337_RPC_URL: 'http://127.0.0.1:9', CHAIN_MAX_LAG_SECONDS: '86400' },
      ...{ CHAIN_31337_USDC: `0x${'0'.repeat(40)}`, SANDBOX_PROVIDERS_URL: providers.url },
    },
  })
  try {
    await client.connect()
    await client.query('set statement_timeout = 0')
    await fill(client, service.facts.apiKey, 0, FEW)
    await measureAll(service, db, FEW) // keeps compilation out of the first figure
    const few = await measureAll(service, db, FEW)
    await fill(client, service.facts.apiKey, FEW, MANY)
    const many = await measureAll(service, db, MANY)
    const goals = [...few].map(([name, ms]): Goal => {
      const then = many.get(name) ?? Number.NaN
      const what = `${name}: p50 ${ms.toFixed(2)} ms at ${FEW}, ${then.toFixed(2)} ms at ${MANY}, ratio`
      return { what, figure: then / ms, goal: GOAL, most: true }
    })
    printGoals(goals)
  } finally {
    await client.end()
    await db.close()
    await service.stop()
    await providers.stop()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
