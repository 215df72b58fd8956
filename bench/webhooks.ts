import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDb, sql } from '../src/db/db.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { openVault } from '../src/kernel/vault.ts'
import { profileHere, wantsFlame, writeFlame } from './flame.ts'
import { type Goal, printGoals } from './goals.ts'
import { cpuUs, databaseCpuUs } from './processor-time.ts'
import { type Contender, openComptoir, openGraphileWorker, openPgBoss, type Place } from './webhooks-contenders.ts'

const BACKLOG = 20_000
const CHUNK = 500
const STEADY_PER_SECOND = 500
const STEADY_SECONDS = 10

/** CPU time per delivery, in µs: this process with the sender, the database, the receiver. */
type Spent = { senderUs: number; databaseUs: number; receiverUs: number }
type Throughput = Spent & { perSecond: number }
type Figures = Throughput & { name: string; p50Ms: number; p99Ms: number }

/** The last outcomes are written after the last arrival. */
const LAST_OUTCOMES_MS = 300

async function ask<Reply>(receiver: ChildProcess, message: string): Promise<Reply> {
  const reply = once(receiver, 'message')
  receiver.send(message)
  return (await reply)[0] as Reply
}

const countOf = async (receiver: ChildProcess): Promise<number> =>
  (await ask<{ count: number }>(receiver, 'count')).count

async function waitForCount(receiver: ChildProcess, count: number): Promise<void> {
  const endMs = performance.now() + 60_000
  while ((await countOf(receiver)) < count) {
    if (performance.now() > endMs) throw new Error(`only ${await countOf(receiver)} of ${count} arrived in a minute`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** A backlog in the table, then the start: deliveries/s between the first and the last arrival. */
async function measureThroughput(contender: Contender, bench: Bench, backlog = BACKLOG): Promise<Throughput> {
  await fill(contender, bench, backlog)
  return measureDraining(contender, bench, backlog)
}

async function fill(contender: Contender, { receiver }: Bench, backlog: number): Promise<void> {
  receiver.send('reset')
  for (let done = 0; done < backlog; done += CHUNK) await contender.enqueue(CHUNK)
}

async function measureDraining(
  contender: Contender,
  { receiver, dataDir }: Bench,
  backlog: number,
): Promise<Throughput> {
  const spent = (): number[] => [cpuUs(process.pid), databaseCpuUs(dataDir), cpuUs(receiver.pid)]
  const before = spent()
  await contender.start()
  await waitForCount(receiver, backlog)
  await new Promise((resolve) => setTimeout(resolve, LAST_OUTCOMES_MS))
  const [senderUs = 0, databaseUs = 0, receiverUs = 0] = spent().map((us, at) => (us - (before[at] ?? 0)) / backlog)
  const { arrivals } = await ask<{ arrivals: [string, number][] }>(receiver, 'report')
  const times = arrivals.map(([, atMs]) => atMs).sort((left, right) => left - right)
  const spanMs = (times.at(-1) ?? 0) - (times[0] ?? 0)
  return { perSecond: arrivals.length / (spanMs / 1000), senderUs, databaseUs, receiverUs }
}

/** A steady stream in transactions of five: from commit to arrival. */
async function measureDelay(contender: Contender, receiver: ChildProcess): Promise<{ p50Ms: number; p99Ms: number }> {
  receiver.send('reset')
  const committedAt = new Map<string, number>()
  const startMs = performance.now()
  const size = 5
  const total = STEADY_PER_SECOND * STEADY_SECONDS
  for (let sent = 0; sent < total; sent += size) {
    const planMs = startMs + (sent / STEADY_PER_SECOND) * 1000
    const waitMs = planMs - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    const ids = await contender.enqueue(size)
    const atMs = performance.timeOrigin + performance.now()
    for (const id of ids) committedAt.set(id, atMs)
  }
  await waitForCount(receiver, total)
  const { arrivals } = await ask<{ arrivals: [string, number][] }>(receiver, 'report')
  const delays = arrivals.map(([id, atMs]) => Math.max(0, atMs - (committedAt.get(id) ?? atMs)))
  delays.sort((left, right) => left - right)
  const at = (part: number): number => delays[Math.floor(delays.length * part)] ?? Number.NaN
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}

async function measure(open: (place: Place) => Promise<Contender>, bench: Bench): Promise<Figures> {
  const contender = await open(bench.place)
  try {
    const throughput = await measureThroughput(contender, bench)
    await new Promise((resolve) => setTimeout(resolve, 1000))
    return { name: contender.name, ...throughput, ...(await measureDelay(contender, bench.receiver)) }
  } finally {
    await contender.stop()
  }
}

const DEAD = 64
const ROUNDS = 3
/** Long enough that opening 512 connections at the start does not dominate. */
const ISOLATION_BACKLOG = 60_000

/** A server that accepts connections and never answers. */
async function openDeadServer(): Promise<{ url: string; close(): void }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => void sockets.add(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = (): void => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}/dead`, close }
}

/** Throughput to living receivers, alternately alone and next to 64 dead ones with 30 queued deliveries each. */
async function measureIsolation(bench: Bench): Promise<void> {
  const { place } = bench
  const [alone, beside]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    const dead = await openDeadServer()
    for (const rates of [alone, beside]) {
      const contender = await openComptoir(place)
      if (rates === beside) await contender.enqueueDead?.(DEAD, 30, dead.url)
      rates.push((await measureThroughput(contender, bench, ISOLATION_BACKLOG)).perSecond)
      if (rates === beside) dead.close()
      await contender.stop()
    }
    await place.db.run(sql`truncate delivery_due`)
  }
  const middle = (rates: number[]): number => rates.sort((left, right) => left - right)[1] ?? 0
  const ratio = middle(beside) / middle(alone)
  console.log(`\n${ISOLATION_BACKLOG} deliveries to living receivers, median of ${ROUNDS} rounds in turn:`)
  console.log(
    `alone ${middle(alone).toFixed(0)}/s, beside ${DEAD} dead receivers ${middle(beside).toFixed(0)}/s: ${(ratio * 100).toFixed(0)} %`,
  )
}

function print(rows: Figures[]): void {
  console.log(`\nWebhooks: ${BACKLOG} waiting deliveries, then ${STEADY_PER_SECOND}/s for ${STEADY_SECONDS} s.`)
  console.log(
    'Database (embedded, durable), sender and receiver on this machine; same HTTP client, signature, body and log for all.',
  )
  console.log(
    'Comptoir also keeps the state of each delivery, lanes for each receiver, and gaps of 2, 4, 8 and 16 s.\n',
  )
  const heads = ['deliveries/s', 'p50 ms', 'p99 ms', 'sender µs', 'database µs', 'receiver µs', 'all µs']
  console.log(`${'sender'.padEnd(24)}${heads.map((head) => head.padStart(13)).join('')}`)
  for (const { name, perSecond, p50Ms, p99Ms, senderUs, databaseUs, receiverUs } of rows) {
    const spent = [senderUs, databaseUs, receiverUs, senderUs + databaseUs + receiverUs]
    const cells = [perSecond.toFixed(0), p50Ms.toFixed(1), p99Ms.toFixed(1), ...spent.map((us) => us.toFixed(0))]
    console.log(name.padEnd(24) + cells.map((cell) => cell.padStart(13)).join(''))
  }
}

function goalsOf([ours, single, ...others]: Figures[]): Goal[] {
  const perSecond = ours?.perSecond ?? 0
  const best = Math.max(...others.map((other) => other.perSecond))
  return [
    { what: 'deliveries/s to many receivers', figure: perSecond, goal: 8000 },
    { what: 'of the better library', figure: perSecond / best, goal: 1.5 },
    { what: 'deliveries/s to one fast receiver', figure: single?.perSecond ?? 0, goal: 2000 },
  ]
}

type Bench = { place: Place; receiver: ChildProcess; dataDir: string }

/** A database and a receiver for a measurement. */
async function withPlace(work: (bench: Bench) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  const receiver = fork(fileURLToPath(new URL('webhooks-receiver.ts', import.meta.url)))
  const [{ port }] = (await once(receiver, 'message')) as [{ port: number }]
  const server = await startEmbeddedPostgres({ dataDir, log: () => {} })
  const { connectionString } = server
  await migrate(connectionString)
  const db = openDb({ connectionString })
  const place = { db, vault: openVault(randomBytes(32)), connectionString, receiverUrl: `http://127.0.0.1:${port}` }
  try {
    await work({ place, receiver, dataDir })
  } finally {
    await db.close()
    await server.stop()
    receiver.disconnect()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const CONTENDERS: [string, (place: Place) => Promise<Contender>][] = [
  ['many', (place) => openComptoir(place)],
  ['one', (place) => openComptoir(place, 1)],
  ['graphile-worker', openGraphileWorker],
  ['pg-boss', openPgBoss],
]
const { BENCH_SENDERS = CONTENDERS.map(([name]) => name).join() } = process.env

/** Profiles our sender, to many receivers and to one; the deliveries are enqueued before. */
const paint = (): Promise<void> =>
  withPlace(async (bench) => {
    for (const [name, receivers] of [
      ['many', 256],
      ['one', 1],
    ] as const) {
      const contender = await openComptoir(bench.place, receivers)
      await fill(contender, bench, BACKLOG)
      const profile = await profileHere(() => measureDraining(contender, bench, BACKLOG))
      await contender.stop()
      writeFlame(`webhooks-${name}`, `${contender.name}: processor time of the sender`, profile)
    }
  })

/** Deliveries per second and delay from commit to arrival: our sender, graphile-worker and pg-boss, one by one. */
export const run = (): Promise<void> => (wantsFlame ? paint() : compareSenders())

/** Each on its own server, so that the vacuum work left by one is not counted against the next. */
async function compareSenders(): Promise<void> {
  const rows: Figures[] = []
  for (const [, open] of CONTENDERS.filter(([name]) => BENCH_SENDERS.split(',').includes(name)))
    await withPlace(async (bench) => void rows.push(await measure(open, bench)))
  print(rows)
  if (rows.length === CONTENDERS.length) printGoals(goalsOf(rows))
}

/** How much throughput 64 dead receivers take from the living ones. */
export const runIsolation = (): Promise<void> => withPlace(measureIsolation)

if (process.argv[1] === fileURLToPath(import.meta.url)) await run()
