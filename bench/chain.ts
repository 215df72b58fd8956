import { subscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { askLogs } from '../src/chain/endpoints/ask-logs.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { startScanner } from '../src/chain/scanner.ts'
import { type LogFilter, type RpcBlock, readTransfers, toBlock, tokensOf } from '../src/chain/transfer-logs.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { startTestChain, type TestChain } from '../test/harness/chain.ts'
import { openSale, type Sale } from './chain-orders.ts'
import { quantile } from './service.ts'

/*
 * What watching a chain costs: CPU of this process (the node and PostgreSQL are others) and bytes on the wire, for one
 * new block, with up to 10 000 open orders; what is watched beyond them are orders that are over.
 * BENCH_WATCHED: most addresses (1000000); BENCH_ROUNDS: blocks of each row (30).
 */

const MOST = Number(process.env.BENCH_WATCHED ?? 1_000_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 30)
const WARM_UP = 10
const OPEN_ORDERS = 10_000
const OURS = 3
/** Addresses inserted at a time. */
const PART = 50_000

/** Bytes of every HTTP connection that was opened since the start. */
function countBytes(): () => number {
  const sockets: Socket[] = []
  subscribe('undici:client:connected', (message) => void sockets.push((message as { socket: Socket }).socket))
  return () => sockets.reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0)
}

type World = { db: Db; chain: TestChain; sale: Sale; bytes(): number }

async function withWorld(work: (world: World) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-bench-chain-'))
  const bytes = countBytes()
  const server = await startEmbeddedPostgres({ dataDir, log: () => {} })
  const chain = await startTestChain()
  try {
    await migrate(server.connectionString)
    const db = openDb({ connectionString: server.connectionString, max: 4 })
    const sale = await openSale(server.connectionString, chain)
    await work({ db, chain, sale, bytes })
    await sale.stop()
    await db.close()
  } finally {
    await chain.stop()
    await server.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Addresses of ended orders that are still watched; addresses with the same `i` are equal in every run. */
async function watch(db: Db, from: number, to: number): Promise<void> {
  await db.run(sql`insert into deposit_keys (id, xpub) values ('bench', 'bench') on conflict do nothing`)
  for (let start = from; start < to; start += PART) await watchPart(db, start, Math.min(to, start + PART))
  await db.run(sql`analyze deposit_addresses`)
}

async function watchPart(db: Db, from: number, to: number): Promise<void> {
  await db.run(sql`
    insert into deposit_addresses (address, company_id, reference, key_id, key_index, watched_until)
    select '0x' || left(encode(sha256(i::text::bytea), 'hex'), 40), 'bench', i::text, 'bench', i, now() + interval '29 days'
    from generate_series(${from}::integer, ${to - 1}::integer) i`)
}

const stranger = (nth: number): string => `0x${nth.toString(16).padStart(40, 'c')}`

/** A block with so many transfers, a few of them to watched addresses. */
async function fill({ chain }: World, watched: readonly string[], transfers: number, round: number): Promise<void> {
  if (transfers === 0) return chain.mine()
  const payments = Array.from({ length: transfers }, (_, index) => ({
    to: index < OURS ? (watched[(round * OURS + index) % watched.length] ?? '') : stranger(round * transfers + index),
    units: 1n,
  }))
  for (const payment of payments) await chain.send(payment)
  await chain.mine()
}

type Cost = { cpuMs: number[]; bytes: number[] }

type Way = { name: string; work(): Promise<unknown> }

/** CPU and bytes of each method, on the same blocks. */
async function measure(
  world: World,
  watched: readonly string[],
  transfers: number,
  ways: readonly Way[],
): Promise<Cost[]> {
  const costs = ways.map((): Cost => ({ cpuMs: [], bytes: [] }))
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    await fill(world, watched, transfers, round + WARM_UP)
    for (const [index, { work }] of ways.entries()) {
      const [cpu, bytes] = [process.cpuUsage(), world.bytes()]
      await work()
      const { user, system } = process.cpuUsage(cpu)
      if (round < 0) continue
      costs[index]?.cpuMs.push((user + system) / 1000)
      costs[index]?.bytes.push(world.bytes() - bytes)
    }
  }
  return costs
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`
const cpuOf = ({ cpuMs }: Cost): string[] => [quantile(cpuMs, 0.5).toFixed(1), quantile(cpuMs, 0.95).toFixed(1)]
const kibOf = ({ bytes }: Cost): string => (quantile(bytes, 0.5) / 1024).toFixed(1)
const print = (text: string): void => void process.stdout.write(`${text}\n`)

const listSome = async (db: Db, limit: number): Promise<string[]> =>
  (
    await db.many<{ address: string }>(sql`select address from deposit_addresses order by key_index limit ${limit}`)
  ).map(({ address }) => address)

/** The scanner under production conditions, over more and more addresses. */
async function benchTicks(world: World, sizes: readonly number[]): Promise<void> {
  const { db, chain, sale } = world
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const rpc = createRpc({ url: chain.rpcUrl })
  const endpoints = openEndpoints(network, [rpc])
  const scanner = startScanner({
    db,
    network,
    endpoints,
    log: pino({ level: 'silent' }),
    pollMs: 0,
    onChange: () => {},
  })
  const tick: Way = { name: 'tick', work: () => scanner.tick() }
  print('\n## One tick of the reader, with a new block\n')
  const columns = ['open orders', 'watched addresses', 'transfers in the block', 'CPU ms p50', 'p95', 'KiB on the wire']
  print(row(columns))
  print(row(columns.map(() => '---:')))
  let known = 0
  for (const size of sizes) {
    const orders = Math.min(size, OPEN_ORDERS)
    await sale.open(orders)
    await watch(db, Math.max(known, orders), size)
    known = size
    const watched = await listSome(db, 1000)
    for (const transfers of [0, 20, 200]) {
      const [cost] = await measure(world, watched, transfers, [tick])
      if (cost) print(row([orders, size, transfers, ...cpuOf(cost), kibOf(cost)]))
    }
  }
  const still = { ...world, chain: { ...chain, mine: async () => {} } }
  const [idle] = await measure(still, [], 0, [tick])
  if (idle) print(row([OPEN_ORDERS, `${known}, no new block`, '–', ...cpuOf(idle), kibOf(idle)]))
  await scanner.stop()
  await rpc.close()
}

/** Everything that the service does for these orders: reading, polling, expiring, auditing. */
async function benchService({ db, chain, sale }: World): Promise<void> {
  const watched = await listSome(db, 1000)
  print('\n## The whole service, one block a second\n')
  print(row(['open orders', 'of them paid in each block', 'CPU ms a second p50', 'p95']))
  print(row(['---:', '---:', '---:', '---:']))
  await sale.start()
  for (const paid of [0, OURS]) {
    const cpuMs = await sale.run(ROUNDS, async (second) => {
      for (let nth = 0; nth < paid; nth += 1) {
        const to = watched[second * paid + nth] ?? ''
        await chain.send({ to, units: 54_000_000n })
      }
      await chain.mine()
    })
    print(row([OPEN_ORDERS, paid, ...cpuOf({ cpuMs, bytes: [] })]))
  }
}

/** Methods of finding the transfers of the newest block. */
async function benchWays(world: World, sizes: readonly number[]): Promise<void> {
  const { db, chain } = world
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const rpc = createRpc({ url: chain.rpcUrl })
  const [endpoint] = openEndpoints(network, [rpc]).all
  if (!endpoint) return
  print('\n## Ways to find the transfers of one block\n')
  print(row(['addresses', 'transfers', 'way', 'CPU ms p50', 'p95', 'KiB on the wire']))
  print(row(['---:', '---:', '---', '---:', '---:', '---:']))
  for (const size of sizes) {
    const watched = await listSome(db, size)
    const map = new Set(watched)
    const tokens = tokensOf(network)
    const at = new Date(0)
    const look = async (filter: LogFilter, inMemory: boolean): Promise<void> => {
      const block = toBlock(await rpc.call<RpcBlock>('eth_getBlockByNumber', 'latest', false))
      const [logs = []] = await askLogs(endpoint, filter, [{ blockHash: block.hash }])
      const mine = inMemory ? logs.filter(({ topics }) => map.has(`0x${topics[2]?.slice(26)}`)) : logs
      const matched = inMemory
        ? { ...filter, addresses: mine.map(({ topics }) => `0x${topics[2]?.slice(26)}`) }
        : filter
      await readTransfers(db, { chainId: chain.chainId, filter: matched }, mine, new Map([[block.hash, block]]))
    }
    const ways: Way[] = [
      {
        name: 'batches of 1000 topics',
        work: async () => look({ addresses: await listSome(db, size), tokens, at }, false),
      },
      { name: 'all, matched in the table', work: () => look({ addresses: 'all', tokens, at }, false) },
      { name: 'all, matched in a Map', work: () => look({ addresses: 'all', tokens, at }, true) },
    ]
    for (const transfers of [20, 200, 400]) {
      const costs = await measure(world, watched, transfers, ways)
      for (const [index, cost] of costs.entries())
        print(row([size, transfers, ways[index]?.name ?? '', ...cpuOf(cost), kibOf(cost)]))
    }
  }
  await rpc.close()
}

export async function run(): Promise<void> {
  await withWorld(async (world) => {
    const sizes = [1000, 10_000, 100_000, 1_000_000].filter((size) => size <= MOST)
    await benchTicks(world, sizes)
    await benchWays(
      world,
      [1000, 2000, 10_000].filter((size) => size <= MOST),
    )
    await benchService(world)
  })
}
