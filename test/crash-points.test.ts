import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { CRASH_POINTS, type CrashPoint } from '../src/kernel/crash-point.ts'
import { openVault } from '../src/kernel/vault.ts'
import { type OrderStatus, TRANSITIONS, type Trigger } from '../src/orders/order-states.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { type Served, startServed } from './harness/served.ts'
import {
  type Answer,
  type CallOptions,
  callService,
  eventually,
  freePort,
  insertMerchant,
  type Merchant,
  TEST_MASTER_KEY,
} from './harness/service.ts'
import { chainEnv, type Instructions, type OrderData } from './harness/shop.ts'

const DESTINATION = '0x00000000000000000000000000000000000000aa'

let chain: TestChain
let dataDir: string

before(async () => {
  chain = await startTestChain()
  dataDir = mkdtempSync(join(tmpdir(), 'comptoir-crash-'))
})
after(async () => {
  await chain.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** Where one life takes place: its own database and wallet, because any node on a database may do another's work. */
type World = { database: TestDatabase; db: Db; merchant: Merchant; xpub: string }

async function openWorld(): Promise<World> {
  const database = await createTestDatabase()
  const db = openDb({ connectionString: database.connectionString })
  return { database, db, merchant: await insertMerchant(db, openVault(TEST_MASTER_KEY)), xpub: newTestXpub() }
}

/** A service that dies once at the point and is started again without it, as an operator's supervisor would. */
class Life {
  readonly port: number
  readonly baseUrl: string
  served: Served
  readonly world: World
  deaths = 0
  constructor(world: World, port: number, point: CrashPoint) {
    this.world = world
    this.port = port
    this.baseUrl = `http://127.0.0.1:${port}`
    this.served = this.#start({ CRASH_POINT: point })
  }
  #start(more: Record<string, string>): Served {
    return startServed({
      DATABASE_URL: this.world.database.connectionString,
      DATA_DIR: join(dataDir, String(this.port)),
      MASTER_KEY: TEST_MASTER_KEY.toString('base64'),
      PORT: String(this.port),
      BASE_URL: this.baseUrl,
      LOG_LEVEL: 'warn',
      LIMIT_PUBLIC_PER_MINUTE: '0',
      LIMIT_COMPANY_PER_MINUTE: '0',
      ...chainEnv(chain),
      CHAIN_31337_XPUB: this.world.xpub,
      ...more,
    })
  }
  async revive(): Promise<void> {
    if (this.served.child.exitCode === null && this.served.child.signalCode === null) return
    assert.equal(this.served.child.signalCode, 'SIGKILL', this.served.words())
    this.deaths += 1
    this.served = this.#start({})
    await this.served.ready()
  }
  /** The same request until it is answered: what a careful client does. */
  async insist<Data>(method: string, path: string, options: CallOptions): Promise<Answer<Data>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await callService<Data>(this.baseUrl, method, path, { as: this.world.merchant, ...options })
      } catch (error) {
        if (attempt >= 20) throw error
        await new Promise((resolve) => setTimeout(resolve, 200))
        await this.revive()
      }
    }
  }
}

type EventRow = { trigger: string; fromStatus: string | null; toStatus: string }

async function checkStory(db: Db, code: string, key: string): Promise<void> {
  const events = await db.many<EventRow>(sql`
    select e.trigger, e.from_status, e.to_status from order_events e join orders o on o.id = e.order_id
    where o.code = ${code} order by e.seq`)
  for (const [index, event] of events.entries()) {
    if (index === 0) continue
    assert.equal(event.fromStatus, events[index - 1]?.toStatus)
    assert.ok(
      (TRANSITIONS[event.trigger as Trigger].from as readonly string[]).includes(event.fromStatus as OrderStatus),
    )
  }
  assert.equal(events.filter(({ trigger }) => trigger === 'pay').length, 1)
  assert.equal(events.filter(({ trigger }) => trigger === 'revert').length, 1)
  const { orders } = await db.one<{ orders: bigint }>(sql`select count(*) as orders from orders where alias = ${key}`)
  assert.equal(orders, 1n, 'one Idempotency-Key, one order')
  const books = await db.one<{ held: string; reserved: string; refunds: bigint; deliveries: bigint }>(sql`
    select
      (select sum(e.units) from ledger_entries e join ledger_journals j on j.id = e.journal_id
        where j.order_id = o.id and e.account in ('payer_clearing', 'wallet')) as held,
      (select -sum(e.units) from ledger_entries e join ledger_journals j on j.id = e.journal_id
        where j.order_id = o.id and e.account = 'refunds') as reserved,
      (select count(*) from refunds r where r.order_id = o.id) as refunds,
      (select count(*) - count(distinct event) from deliveries d where d.order_id = o.id) as deliveries
    from orders o where o.code = ${code}`)
  assert.deepEqual(books, { held: '54000000', reserved: '54000000', refunds: 1n, deliveries: 0n })
}

async function liveThrough(point: CrashPoint): Promise<number> {
  const world = await openWorld()
  const life = new Life(world, await freePort(), point)
  const key = `crash ${point}`
  const as = (step: string): Record<string, string> => ({ 'idempotency-key': `${key} ${step}` })
  try {
    await life.served.ready()
    const body = {
      amount: 50,
      fromAsset: 'EUR',
      merchantIdentifier: 'TILL-1',
      alias: key,
      webhookUrl: 'http://127.0.0.1:8099/',
    }
    const created = await life.insist<{ code: string }>('POST', 'request', { body, headers: as('create') })
    assert.equal(created.status, 200, created.text)
    const { code } = created.data
    const choice = { paymentChannel: 'crypto', userAddress: DESTINATION }
    const accept = (): Promise<Answer<Instructions>> =>
      life.insist('POST', `accept/${code}`, { body: choice, headers: as('accept') })
    const accepted = await eventually(accept, ({ status }) => status === 200, 90_000)
    await chain.pay({ to: accepted.data.toAddress, units: 54_000_000n })
    await chain.mine(4)
    await eventually(
      () => life.insist('POST', `confirm/${code}`, {}),
      ({ status }) => status === 200,
      60_000,
    )
    await eventually(
      () => life.insist('POST', `revert/${code}`, { body: { address: DESTINATION }, headers: as('revert') }),
      ({ status }) => status === 200,
      90_000,
    )
    await eventually(
      async () => {
        await life.revive()
        return life.insist<OrderData>('GET', `status/${code}`, {})
      },
      ({ data }) => data.status === 'REFUNDING' && (life.deaths > 0 || !point.startsWith('refund:')),
      60_000,
    )
    await checkStory(world.db, code, key)
    return life.deaths
  } finally {
    await life.served.end()
    await world.db.close()
    await world.database.drop()
  }
}

describe('a process that dies', { concurrency: 4 }, () => {
  for (const point of CRASH_POINTS) {
    test(`at ${point} leaves an order from which everything goes on`, async () => {
      assert.equal(await liveThrough(point), 1)
    })
  }
})
