import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pino } from 'pino'
import { mnemonicToAccount } from 'viem/accounts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { DEFAULT_ACCOUNT, openAccount, signBatch, signerOfAccount } from '../src/chain/sweep/sweep-batch.ts'
import { makeBatch, planSweep } from '../src/chain/sweep/sweep-plan.ts'
import { storeBatch } from '../src/chain/sweep/sweep-send.ts'
import { TRANSFER_TOPIC, toTopic } from '../src/chain/transfer-logs.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { CRASH_POINTS, type CrashPoint } from '../src/kernel/crash-point.ts'
import { openVault } from '../src/kernel/vault.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type OrderStatus, TRANSITIONS, type Trigger } from '../src/orders/order-states.ts'
import { logInSuperAdmin } from './harness/accounts.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { newAddress, payoutEnv } from './harness/refunds.ts'
import { type Served, startServed } from './harness/served.ts'
import {
  type Answer,
  type CallOptions,
  callService,
  eventually,
  insertMerchant,
  type Merchant,
  TEST_MASTER_KEY,
} from './harness/service.ts'
import { chainEnv, type Instructions, type OrderData } from './harness/shop.ts'

/** A phrase of BIP-39's published test vectors: nothing of worth may ever come to its addresses. */
const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const PRICE_UNITS = 54_000_000n
const DESTINATION = `0x${'aa'.repeat(20)}`

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

/** A service that dies at each of its points in turn and is started again, as an operator's supervisor would. */
class Life {
  readonly port: number
  readonly baseUrl: string
  served: Served
  readonly world: World
  readonly #env: Record<string, string>
  readonly #points: readonly CrashPoint[]
  deaths = 0
  constructor(world: World, port: number, points: readonly CrashPoint[], env: Record<string, string> = {}) {
    this.world = world
    this.port = port
    this.baseUrl = `http://127.0.0.1:${port}`
    this.#env = env
    this.#points = points
    this.served = this.#start()
  }
  /** Armed with the next point, as long as one is left. */
  #start(): Served {
    const point = this.#points[this.deaths]
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
      ...this.#env,
      ...(point === undefined ? {} : { CRASH_POINT: point }),
    })
  }
  isDead = (): boolean => this.served.child.exitCode !== null || this.served.child.signalCode !== null
  async revive(): Promise<void> {
    if (!this.isDead()) return
    assert.equal(this.served.child.signalCode, 'SIGKILL', this.served.words())
    this.deaths += 1
    this.served = this.#start()
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

/** @returns how often it died */
async function liveThrough(points: readonly CrashPoint[]): Promise<number> {
  const world = await openWorld()
  const life = new Life(world, await freePort(), points)
  const key = `crash ${points[0]}`
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
      ({ data }) => data.status === 'REFUNDING' && life.deaths === points.length,
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

/** An order that is paid to an address of the world's wallet. */
async function payOrder(life: Life): Promise<string> {
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
  const { data } = await life.insist<{ code: string }>('POST', 'request', { body })
  const choice = { body: { paymentChannel: 'crypto' } }
  const accepted = await life.insist<Instructions>('POST', `accept/${data.code}`, choice)
  await chain.pay({ to: accepted.data.toAddress, units: PRICE_UNITS })
  await chain.mine(4)
  await eventually(
    () => life.insist('POST', `confirm/${data.code}`, {}),
    ({ status }) => status === 200,
    30_000,
  )
  return accepted.data.toAddress.toLowerCase()
}

/** Transfers of USDC to an address, as the chain has them. */
const countArrivals = async (to: string): Promise<number> =>
  (
    await chain.call<unknown[]>('eth_getLogs', {
      ...{ address: chain.usdcAddress, fromBlock: '0x0' },
      topics: [TRANSFER_TOPIC, null, toTopic(to)],
    })
  ).length

/** What a dead process had claimed is free, as it is a minute later. */
async function endLeases({ db }: World): Promise<void> {
  for (const table of [sql`settlements`, sql`sweeps`])
    await db.run(sql`update ${table} set lease_until = null, next_check_at = now() where next_check_at is not null`)
  await db.run(sql`update chain_payouts set lease_until = null`)
}

async function moneyOut(): Promise<void> {
  const database = await createTestDatabase()
  const db = openDb({ connectionString: database.connectionString })
  const account = openAccount(PHRASE, { path: DEFAULT_ACCOUNT, passphrase: '' })
  const world = {
    ...{ database, db, merchant: await insertMerchant(db, openVault(TEST_MASTER_KEY)) },
    xpub: mnemonicToAccount(PHRASE, { path: DEFAULT_ACCOUNT as "m/44'/60'/0'" }).getHdKey().publicExtendedKey,
  }
  const keys = await payoutEnv(chain)
  const life = new Life(world, await freePort(), ['payout:after-submit', 'sweep:after-submit'], keys)
  const rpc = createRpc({ url: chain.rpcUrl })
  try {
    await life.served.ready()
    const swept = await payOrder(life)
    const [company, home] = [newAddress(), newAddress()]
    await db.run(sql`update companies set settlement_address = ${company}, settlement_network = 31337`)
    const admin = await logInSuperAdmin({ db, baseUrl: life.baseUrl })
    const { companyId } = world.merchant
    const { data: settlement, text } = await admin.post<{ _id: string }>('settlements', { companyId })
    assert.ok(settlement, text)
    await admin.post(`settlements/${settlement._id}/approve`)
    await eventually(async () => life.isDead(), Boolean, 30_000)
    await life.revive()
    await endLeases(world)
    const statusOf = async (table: 'settlements' | 'sweeps'): Promise<string | undefined> => {
      await chain.mine()
      await db.run(sql`update ${table === 'sweeps' ? sql`sweeps` : sql`settlements`} set next_check_at = now()
        where next_check_at > now()`)
      const rows = await db.many<{ status: string }>(
        table === 'sweeps' ? sql`select status from sweeps` : sql`select status from settlements`,
      )
      assert.ok(rows.length <= 1)
      return rows[0]?.status
    }
    await eventually(
      () => statusOf('settlements'),
      (status) => status === 'paid',
      30_000,
    )
    const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
    const own = { network, rpc, agree: agreeAlone(rpc), relayerSigner: null }
    const plan = await planSweep(db, own, { minUnits: 1n, screenFromUnits: 1n, limit: 10 })
    const batch = await makeBatch([plan], { to: () => home, validSeconds: 86_400, now: new Date() })
    const deps = { db, clock: Date.now, log: pino({ level: 'silent' }), chains: [own], book: async () => {} }
    await storeBatch(deps, await signBatch(batch, signerOfAccount(account)), { sentBy: 'test', outside: false })
    await eventually(async () => life.isDead(), Boolean, 30_000)
    await life.revive()
    await endLeases(world)
    await eventually(
      () => statusOf('sweeps'),
      (status) => status === 'done',
      30_000,
    )
    assert.equal(life.deaths, 2)
    assert.deepEqual([await countArrivals(company), await countArrivals(home)], [1, 1])
    const { owed } = await db.one<{ owed: string }>(sql`select units::text as owed from settlements`)
    assert.equal(await chain.balanceOf(company), BigInt(owed))
    assert.deepEqual([await chain.balanceOf(swept), await chain.balanceOf(home)], [0n, PRICE_UNITS])
    const verdict = await verifyLedger(db)
    assert.equal(verdict.difference, null, describeVerdict(verdict))
  } finally {
    await life.served.end()
    await rpc.close()
    await db.close()
    await database.drop()
  }
}

/** One point of each step of an order in a life, in the order of the steps, until each point had its turn. */
function planLives(): CrashPoint[][] {
  const all = CRASH_POINTS.filter((point) => !point.endsWith(':after-submit'))
  const steps = Object.values(Object.groupBy(all, (point) => point.split(':')[0] ?? ''))
  const lives = Array.from({ length: Math.max(...steps.map((points = []) => points.length)) }, (_, turn) =>
    steps.flatMap((points = []) => points[turn] ?? []),
  )
  assert.deepEqual(lives.flat().sort(), all.sort())
  return lives
}

describe('a process that dies', { concurrency: 4 }, () => {
  for (const points of planLives()) {
    test(`at ${points.join(', then at ')} leaves an order from which everything goes on`, async () => {
      assert.equal(await liveThrough(points), points.length)
    })
  }

  test(
    'right after a settlement left, and again after a sweep left, has each on the chain once and the books right',
    moneyOut,
  )
})
