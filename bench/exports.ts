import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startTestServer } from '../scripts/test/server.ts'
import { printGoals } from './goals.ts'
import { cpuUs, databaseCpuUs } from './processor-time.ts'

const ORDERS = Number(process.env.BENCH_EXPORT_ORDERS ?? 1_000_000)
const ROUNDS = 2
const LAUNCHER = join(import.meta.dirname, '../bin/comptoir.cjs')

type Facts = { baseUrl: string; apiKey: string; apiSecret: string }

/** Three of five orders are paid with a fee, half of them on chain; texts have realistic lengths. */
const FILL = `
  set session_replication_role = replica;
  with company as (select company_id from api_keys where public_id = $1)
  insert into orders (company_id, id, code, short_code, status, alias, from_asset, from_units, to_asset, to_units, rate,
    quote_id, payment_channel, payment_id, merchant_identifier, webhook_url, return_url, goods, created_at, updated_at,
    expires_at, paid_at, paid_units)
  select company_id, lpad(to_hex(1735689600000 + n * 20), 12, '0') || lpad(to_hex(n), 12, '0'),
    md5('code' || n), upper(substr(md5('short' || n), 1, 8)) || n, case when n % 5 < 3 then 'PAID' else 'EXPIRED' end,
    'INV-2025-' || n, 'EUR', 100 + n % 9000000, 'USDC', (100 + n % 9000000)::numeric * 10800, 1.08, 'q',
    case when n % 5 < 3 then case when n % 2 = 0 then 'crypto' else 'binance' end end,
    case when n % 5 < 3 then 'p' || n end, 'TILL-' || n % 40, 'https://shop.example/hooks/payments',
    'https://shop.example/thanks?order=' || n, jsonb_build_object('goodsName', 'Thé vert, boîte de ' || n % 50,
    'goodsType', '01', 'goodsCategory', '1000'), at, at, at + interval '5 min',
    case when n % 5 < 3 then at + interval '90 s' end, case when n % 5 < 3 then (100 + n % 9000000)::numeric * 10800 else 0 end
  from company, generate_series(1, $2::integer) n,
    lateral (select timestamptz '2025-01-01' + n * interval '20 ms' as at) as times`

const FILL_REST = [
  `insert into payments (company_id, id, order_id, number, channel, status, merchant_reference, network, token_address,
     deposit_address, due_asset, due_units, opened_at, updated_at)
   select company_id, payment_id, id, 1, payment_channel, 'paid', 'm' || id, 1, '0xtoken',
     case when payment_channel = 'crypto' then '0x' || substr(md5(id) || md5(id || 'x'), 1, 40) end, 'USDC', to_units,
     created_at, created_at from orders where payment_id is not null`,
  `insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token, symbol,
     from_address, to_address, units, status, final_at, change)
   select id, 1, '0x' || md5(id || 'a') || md5(id || 'b'), 0, 0, 1, 'b', opened_at, '0xtoken', 'USDC', '0xpayer',
     deposit_address, due_units, 'seen', opened_at, 1 from payments where deposit_address is not null`,
  `insert into ledger_journals (company_id, id, kind, cause_id, order_id, at)
   select company_id, 'j' || id, 'payment', payment_id, id, paid_at from orders where paid_at is not null`,
  `insert into ledger_entries (company_id, journal_id, account, asset, units)
   select company_id, 'j' || id, account, 'USDC', units
   from orders, lateral (values ('payer_clearing', paid_units), ('fees', -div(paid_units, 100)),
     ('company_payable', div(paid_units, 100) - paid_units)) as leg (account, units) where paid_at is not null`,
  'analyze',
]

async function fill(databaseUrl: string, apiKey: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const [setting = '', insert = ''] = FILL.split(';')
    await client.query(setting)
    await client.query(insert, [apiKey, ORDERS])
    for (const statement of FILL_REST) await client.query(statement)
  } finally {
    await client.end()
  }
}

async function createDatabase(adminUrl: string, template: string): Promise<string> {
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  await admin.query(`create database bench_exports template ${template}`)
  await admin.end()
  const url = new URL(adminUrl)
  url.pathname = '/bench_exports'
  return url.href
}

/** Started like `npm start`: through the launcher, which continues in the same process. */
async function startService(databaseUrl: string, dataDir: string): Promise<{ child: ChildProcess; facts: Facts }> {
  const env = { PATH: process.env.PATH ?? '', DATABASE_URL: databaseUrl, DATA_DIR: dataDir, PORT: '0' }
  const child = spawn(process.execPath, [LAUNCHER, 'serve'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const file = join(dataDir, 'sandbox.json')
  for (let turn = 0; turn < 600; turn += 1) {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`)
    if (existsSync(file)) return { child, facts: JSON.parse(readFileSync(file, 'utf8')) as Facts }
    await sleep(100)
  }
  throw new Error('the service did not start within a minute')
}

/** Peak and current resident memory of a process in MB (Linux): the operating system's figure, not only the heap. */
function readMemory(pid: number): { peak: number; now: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mb = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024
  return { peak: Math.round(mb('VmHWM')), now: Math.round(mb('VmRSS')) }
}

/** CPU seconds used so far: by the service with all its threads, and by PostgreSQL. */
const readCpuSeconds = (pid: number, databaseUrl: string) => {
  const socketDir = new URL(databaseUrl).searchParams.get('host') ?? ''
  return { service: cpuUs(pid) / 1e6, database: databaseCpuUs(dirname(socketDir)) / 1e6 }
}

const resetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

async function download(facts: Facts, format: string): Promise<number> {
  const headers = { 'x-api-key': facts.apiKey, 'x-api-secret': facts.apiSecret }
  const [answer] = (await once(
    get(`${facts.baseUrl}/api/next/confirm_conversion/download?format=${format}`, { headers }),
    'response',
  )) as [IncomingMessage]
  if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`)
  let bytes = 0
  for await (const chunk of answer) bytes += (chunk as Buffer).length
  return bytes
}

/** The joined rows of the file, without its formatting. */
const JOINED = `
  select o.id, o.company_id, o.code, o.short_code, o.alias, o.status, o.from_units, o.from_asset, o.to_units, o.to_asset,
    o.rate, o.refunded_units, coalesce(fee.units, 0), o.payment_channel, transfer.tx_hash, o.merchant_identifier,
    o.website_url, o.goods->>'goodsName', o.goods->>'goodsType', o.goods->>'goodsCategory', o.goods->>'goodsDetail',
    o.goods->>'goodsQuantity', o.anonymous, o.created_at, o.updated_at, o.expires_at, o.paid_at, o.webhook_url,
    o.return_url, o.cancel_url, coalesce(p.price_units, o.paid_units), o.paid_units - coalesce(p.price_units, o.paid_units)
  from orders o left join payments p on p.company_id = o.company_id and p.id = o.payment_id`
const ORDERED = 'order by o.company_id desc, o.id desc'

/** Two ways to join: order by order, as the service does, and all at once, which no page can do. */
const COPIES = {
  'COPY of the same query': `${JOINED}
    left join lateral (
      select -sum(e.units) as units
      from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
      where o.paid_at is not null and j.company_id = o.company_id and j.order_id = o.id and e.account = 'fees'
    ) fee on true
    left join lateral (
      select t.tx_hash from chain_transfers t
      where t.to_address = p.deposit_address and t.status = 'seen' and t.symbol = p.due_asset
        and (t.final_at is not null or p.price_units is null)
      order by t.block_at, t.log_index limit 1
    ) transfer on true ${ORDERED}`,
  'COPY with hash joins': `${JOINED}
    left join (
      select j.company_id, j.order_id, -sum(e.units) as units
      from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
      where e.account = 'fees' group by 1, 2
    ) fee on fee.company_id = o.company_id and fee.order_id = o.id
    left join (
      select distinct on (p.company_id, p.order_id) p.company_id, p.order_id, t.tx_hash
      from payments p join chain_transfers t on t.to_address = p.deposit_address
      where t.status = 'seen' and t.symbol = p.due_asset
      order by 1, 2, t.block_at, t.log_index
    ) transfer on transfer.company_id = o.company_id and transfer.order_id = o.id ${ORDERED}`,
} as const

/** Seconds in which PostgreSQL writes all rows as CSV; the reader discards them. */
async function copy(databaseUrl: string, query: string): Promise<number> {
  const options = '-c statement_timeout=0 -c max_parallel_workers_per_gather=0 -c jit=off'
  const client = new pg.Client({ connectionString: databaseUrl, options })
  await client.connect()
  try {
    const startedAt = performance.now()
    await new Promise<void>((resolve, reject) => {
      const statement = new pg.Query(`copy (${query}) to stdout (format csv)`)
      // the driver has no API for it: it passes each line to the running statement
      Object.assign(statement, { handleCopyData: () => {} })
      statement.on('end', () => resolve())
      statement.on('error', reject)
      client.query(statement)
    })
    return (performance.now() - startedAt) / 1000
  } finally {
    await client.end()
  }
}

type Measured = { seconds: number; peakMb: number }

async function measure(
  pid: number,
  { facts, databaseUrl }: { facts: Facts; databaseUrl: string },
  format: string,
): Promise<Measured> {
  resetPeak(pid)
  const before = readMemory(pid)
  const cpuBefore = readCpuSeconds(pid, databaseUrl)
  const startedAt = performance.now()
  const bytes = await download(facts, format)
  const seconds = (performance.now() - startedAt) / 1000
  const { peak } = readMemory(pid)
  const cpu = readCpuSeconds(pid, databaseUrl)
  console.log(
    `${format.padEnd(5)} ${ORDERS} orders  ${seconds.toFixed(1)} s (processor time: service ` +
      `${(cpu.service - cpuBefore.service).toFixed(1)} s, PostgreSQL ${(cpu.database - cpuBefore.database).toFixed(1)} s)  ${Math.round(bytes / 1e6)} MB file  ` +
      `service: ${before.now} MB before, VmHWM ${peak} MB at its peak (${peak - before.now} MB more)`,
  )
  return { seconds, peakMb: peak }
}

/** Alternates, so that a temporarily busy machine affects both. */
async function compare(pid: number, facts: Facts, databaseUrl: string): Promise<void> {
  const copied: number[] = []
  const csv: Measured[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, query] of Object.entries(COPIES)) {
      const cpuBefore = readCpuSeconds(pid, databaseUrl).database
      const seconds = await copy(databaseUrl, query)
      const cpu = readCpuSeconds(pid, databaseUrl).database - cpuBefore
      console.log(`${name.padEnd(24)} ${seconds.toFixed(1)} s (processor time: PostgreSQL ${cpu.toFixed(1)} s)`)
      if (query === COPIES['COPY of the same query']) copied.push(seconds)
    }
    csv.push(await measure(pid, { facts, databaseUrl }, 'csv'))
  }
  const xlsx = await measure(pid, { facts, databaseUrl }, 'xlsx')
  const sum = (values: number[]): number => values.reduce((all, value) => all + value, 0)
  const ratio = sum(copied) / sum(csv.map(({ seconds }) => seconds))
  const peak = Math.max(xlsx.peakMb, ...csv.map(({ peakMb }) => peakMb))
  printGoals([
    { what: 'CSV: speed beside COPY of the same query', figure: ratio, goal: 0.6 },
    { what: `XLSX of ${ORDERS} orders, s`, figure: xlsx.seconds, goal: 30, most: true },
    { what: 'the service at its peak, MB', figure: peak, goal: 200, most: true },
  ])
}

/** Downloads a million orders in both formats from a service in a separate process: time and peak resident memory. */
export async function run(): Promise<void> {
  const server = await startTestServer()
  const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  let child: ChildProcess | undefined
  try {
    const databaseUrl = await createDatabase(server.env.TEST_DATABASE_URL, server.env.TEST_TEMPLATE)
    const service = await startService(databaseUrl, dataDir)
    child = service.child
    const startedAt = performance.now()
    await fill(databaseUrl, service.facts.apiKey)
    console.log(`      ${ORDERS} orders inserted in ${Math.round((performance.now() - startedAt) / 1000)} s`)
    await compare(child.pid ?? 0, service.facts, databaseUrl)
  } finally {
    child?.kill('SIGTERM')
    if (child && child.exitCode === null) await once(child, 'exit')
    await server.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
