import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { openVault } from '../src/kernel/vault.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { type Receiver, startReceiver } from './harness/receiver.ts'
import { scaled } from './harness/scale.ts'
import { startServed } from './harness/served.ts'
import {
  type Answer,
  callService,
  eventually,
  insertMerchant,
  type Merchant,
  TEST_MASTER_KEY,
} from './harness/service.ts'
import { chainEnv, type Instructions, type OrderData } from './harness/shop.ts'

const ORDERS = scaled(150)
const KILLS = scaled(5)
const ORDER_EVERY_MS = 45
/** From the start of the process: sometimes before it listens, sometimes in the middle of its work. */
const LIFE_MS = { from: 200, to: 2400 }

/** mulberry32: the same seed, the same moments. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

type Fate = 'paid' | 'short' | 'cancelled'
type Sale = { code: string; key: string | null; fate: Fate; toAddress: string; due: bigint }

type Scene = {
  /** One transfer is handed in at a time: two at once would take the same nonce of the payer. */
  pay(to: string, units: bigint): Promise<void>

  baseUrl: string
  merchant: Merchant
  chain: TestChain
  receiver: Receiver
  statuses: Map<number, number>
}

/** Repeats a request until the service answers it; a customer's server does the same. */
async function insist<Data>(
  scene: Scene,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<Answer<Data>> {
  for (;;) {
    const options = { as: scene.merchant, ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) }
    const answer = await callService<Data>(scene.baseUrl, 'POST', path, options).catch(() => undefined)
    if (answer) scene.statuses.set(answer.status, (scene.statuses.get(answer.status) ?? 0) + 1)
    if (answer && answer.status < 500) return answer
    await pause(40)
  }
}

/** One sale, from the order to the money; every step is repeated until it was acknowledged. */
async function sell(scene: Scene, index: number): Promise<Sale> {
  const fate: Fate = index % 15 === 7 ? 'cancelled' : index % 10 === 3 ? 'short' : 'paid'
  const key = index % 2 === 0 ? `sale-${index}` : null
  const { merchantIdentifier } = scene.merchant
  const webhookUrl = `${scene.receiver.url}/${index % 7}`
  const body = { amount: ((500 + index) / 100).toFixed(2), fromAsset: 'EUR', merchantIdentifier, webhookUrl }
  const created = await insist<{ order: OrderData }>(
    scene,
    'request',
    body,
    key === null ? {} : { 'idempotency-key': key },
  )
  assert.equal(created.status, 200, created.text)
  const { code } = created.data.order
  const accepted = await insist<Instructions>(scene, `accept/${code}`, { paymentChannel: 'crypto' })
  assert.equal(accepted.status, 200, accepted.text)
  const { toAddress, tokenAmount } = accepted.data
  const due = BigInt(tokenAmount.replace('.', ''))
  if (fate === 'cancelled') assert.equal((await insist(scene, `cancel/${code}`)).status, 200)
  else await scene.pay(toAddress, fate === 'short' ? due / 2n : due)
  return { code, key, fate, toAddress, due }
}

function payerOf(chain: TestChain): Scene['pay'] {
  let last: Promise<unknown> = Promise.resolve()
  return async (to, units) => {
    last = last.then(() => chain.send({ to, units }))
    await last
  }
}

/** Starts the service, kills it after a while, and starts it again; the last one is left running. */
async function serveAndKill(
  env: Record<string, string>,
  random: () => number,
): Promise<ReturnType<typeof startServed>> {
  for (let kill = 0; kill < KILLS; kill += 1) {
    const served = startServed(env)
    await pause(LIFE_MS.from + random() * (LIFE_MS.to - LIFE_MS.from))
    assert.equal(served.child.exitCode, null, `it ended by itself:\n${served.words()}`)
    await served.end('SIGKILL')
  }
  return startServed(env)
}

type Row = {
  code: string
  status: string
  paidTimes: bigint
  deliveries: bigint
  deliveryId: string | null
  delivered: boolean | null
}

const listRows = (db: Db): Promise<Row[]> =>
  db.many<Row>(sql`
    select o.code, o.status,
      (select count(*) from order_events e where e.order_id = o.id and e.to_status = 'PAID') as paid_times,
      (select count(*) from deliveries d where d.order_id = o.id) as deliveries,
      (select max(d.id) from deliveries d where d.order_id = o.id) as delivery_id,
      (select bool_and(d.status = 'delivered') from delivery_states d where d.order_id = o.id) as delivered
    from orders o`)

async function checkSale(sale: Sale, row: Row | undefined, { chain, receiver }: Scene): Promise<void> {
  assert.ok(row, `the acknowledged order ${sale.code} is gone`)
  const expected = { paid: 'PAID', short: 'AWAITING', cancelled: 'CANCELLED' }[sale.fate]
  assert.equal(row.status, expected, `${sale.code} (${sale.fate})`)
  const paid = sale.fate === 'paid' ? 1n : 0n
  assert.deepEqual([row.paidTimes, row.deliveries], [paid, paid], sale.code)
  if (row.status !== 'PAID') return
  assert.ok((await chain.balanceOf(sale.toAddress)) >= sale.due, `${sale.code} is PAID without its transfer`)
  const ids = receiver.received
    .filter(({ body }) => body.includes(sale.code))
    .map(({ headers }) => headers['service-webhook-id'])
  assert.deepEqual([...new Set(ids)], [row.deliveryId], `${sale.code}: one delivery, which arrived`)
}

test(`kill -9 at ${KILLS} random moments during ${ORDERS} sales loses nothing and does nothing twice`, async (t) => {
  const seed = Number(process.env.SEED ?? randomInt(1_000_000_000))
  t.diagnostic(`SEED=${seed}`)
  const random = randomFrom(seed)
  const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-kill-'))
  const [database, chain, receiver, port] = await Promise.all([
    createTestDatabase(),
    startTestChain(),
    startReceiver(),
    freePort(),
  ])
  receiver.answer('/3', ({ headers }, response) => {
    const id = headers['service-webhook-id']
    const first = receiver.received.filter((request) => request.headers['service-webhook-id'] === id).length === 1
    response.writeHead(first ? 500 : 204).end()
  })
  const db = openDb({ connectionString: database.connectionString, max: 2 })
  const merchant = await insertMerchant(db, openVault(TEST_MASTER_KEY))
  const scene: Scene = {
    pay: payerOf(chain),
    baseUrl: `http://127.0.0.1:${port}`,
    merchant,
    chain,
    receiver,
    statuses: new Map(),
  }
  const env = {
    ...chainEnv(chain),
    ...{ DATABASE_URL: database.connectionString, DATA_DIR: dataDir, PORT: String(port), BASE_URL: scene.baseUrl },
    ...{ MASTER_KEY: TEST_MASTER_KEY.toString('base64'), LIMIT_COMPANY_PER_MINUTE: '0', LIMIT_PUBLIC_PER_MINUTE: '0' },
    ORDER_CHAIN_EXPIRY_MINUTES: '60',
  }
  let mining = true
  const miner = (async () => {
    for (; mining; await pause(300)) await chain.mine()
  })()
  const selling = Promise.all(
    Array.from({ length: ORDERS }, (_, index) => pause(index * ORDER_EVERY_MS).then(() => sell(scene, index))),
  )
  const served = await serveAndKill(env, random)
  t.after(async () => {
    mining = false
    await miner
    await served.end()
    await Promise.all([chain.stop(), receiver.close(), db.close()])
    await database.drop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  await served.ready()
  const sales = await selling
  const due = new Set(sales.filter(({ fate }) => fate === 'paid').map(({ code }) => code))
  const listOpen = async () => {
    // it reads every sale, for up to a minute
    await pause(500)
    return (await listRows(db)).filter(({ code, delivered }) => due.has(code) && delivered !== true)
  }
  // a payment that was being polled when its node died is free after its lease, a minute
  await eventually(listOpen, (open) => open.length === 0, 100_000)
  const rows = await listRows(db)
  for (const sale of sales)
    await checkSale(
      sale,
      rows.find(({ code }) => code === sale.code),
      scene,
    )
  const unasked = rows.filter(({ code, status }) => !due.has(code) && status === 'PAID')
  assert.deepEqual(unasked, [])
  const keyed = sales.filter(({ key }) => key !== null)
  const { made } = await db.one<{ made: bigint }>(
    sql`select count(*) as made from idempotency_keys where response is not null`,
  )
  assert.equal(made, BigInt(keyed.length))
  assert.equal(scene.statuses.get(500), undefined)
  const extra = receiver.received.length - due.size
  t.diagnostic(
    `${rows.length} orders for ${sales.length} sales; ${due.size} paid; ${extra} webhooks came again; answers ${JSON.stringify([...scene.statuses])}`,
  )
})
