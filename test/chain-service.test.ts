import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseTransaction } from 'viem/utils'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { listTransferDifferences } from '../src/ledger/transfer-verify-queries.ts'
import { openServiceWorld, type ServiceWorld } from './harness/chain-service-world.ts'
import { tellLie } from './harness/lying-endpoints.ts'
import { type Random, randomBelow } from './harness/random.ts'
import { newAddress } from './harness/refunds.ts'
import type { Instructions, OrderData } from './harness/shop.ts'

/*
 * The whole service on a chain that misbehaves, from the transfer to PAID, books and webhooks: reorganisations,
 * transfers that are mined again or spent elsewhere, endpoints that lie in turn, a node that restarts, workers that are
 * restarted or killed. Repeat a run with its SEED; STEPS for more than the default (CONTRIBUTING.md).
 */

const STEPS = Number(process.env.STEPS ?? 60)
const SEED = Number(process.env.SEED ?? 20261122)
assert.ok(STEPS > 0, 'STEPS must be a number above 0')

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** Orders that are still paid and compared; older ones are left alone until the end. */
const WINDOW = 40
/** The worker is a process of its own for some of so many steps, and killed at their end. */
const KILL_EVERY = 250
const KILL = { from: 25, to: 40 }
/** How long news may take on a machine that has more to do than this. */
const CALM_MS = STEPS > 200 ? 180_000 : 30_000

let world: ServiceWorld
before(async () => {
  world = await openServiceWorld()
})
after(() => world?.stop())

type Sale = { code: string; orderId: string; to: string; due: bigint; cancelled: boolean; fromBlock: bigint }
type Signed = { raw: `0x${string}`; from: string }
type Row = {
  code: string
  status: string
  received: string
  lost: string
  paidTimes: bigint
  paidDeliveries: bigint
  repeated: bigint
}

const pauseMs = (delayMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs))

/** Half a percent of the price, at most one unit: what may be missing. */
const enoughFor = (due: bigint): bigint => due - (due / 200n < 1_000_000n ? due / 200n : 1_000_000n)

/** Makes things happen, and compares what the service knows with the chain itself. */
class Story {
  readonly random: Random
  readonly stranger = newAddress()
  readonly counts = {
    orders: 0,
    transfers: 0,
    reorganisations: 0,
    doubleSpends: 0,
    lies: 0,
    restarts: 0,
    kills: 0,
    compared: 0,
  }
  sales: Sale[] = []
  accounts: string[] = []
  /** What the payers had at the beginning. */
  funds = 0n
  signed: Signed[] = []
  lied = false

  constructor(random: Random) {
    this.random = random
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.random(items.length)] as Item
  }

  get open(): Sale[] {
    return this.sales.slice(-WINDOW)
  }

  async begin(): Promise<void> {
    const { chain } = world
    this.accounts = (await chain.call<string[]>('eth_accounts')).slice(2, 8)
    for (const to of this.accounts) await chain.pay({ to, units: 100_000_000_000n })
    await chain.mine(20)
    this.funds = await this.heldByPayers()
  }

  async heldByPayers(): Promise<bigint> {
    const balances = await Promise.all([...this.accounts, this.stranger].map((one) => world.chain.balanceOf(one)))
    return balances.reduce((sum, units) => sum + units, 0n)
  }

  async sell(): Promise<void> {
    const { front, merchant, receiver, chain } = world
    const amount = (5 + this.random(5000) / 100).toFixed(2)
    const { merchantIdentifier } = merchant
    const body = { amount, fromAsset: 'EUR', merchantIdentifier, webhookUrl: `${receiver.url}/${this.random(5)}` }
    const created = await front.call<{ order: OrderData }>('POST', 'request', { as: merchant, body })
    assert.equal(created.status, 200, created.text)
    const { code, _id: orderId } = created.data.order
    const fromBlock = await chain.blockNumber()
    const chosen = { paymentChannel: 'crypto', network: chain.chainId }
    const accepted = await front.call<Instructions>('POST', `accept/${code}`, { as: merchant, body: chosen })
    // a chain whose endpoints contradict each other is not offered, one that all serve as another is not there
    if (accepted.status === 400 || accepted.error?.code === 'CHANNEL_UNAVAILABLE') return
    assert.equal(accepted.status, 200, accepted.text)
    const due = BigInt(accepted.data.tokenAmount.replace('.', ''))
    this.sales.push({ code, orderId, to: accepted.data.toAddress.toLowerCase(), due, cancelled: false, fromBlock })
    this.counts.orders += 1
  }

  async send(to: string, units: bigint): Promise<void> {
    const { chain } = world
    const from = this.pick(this.accounts)
    // the node may refuse, or keep it waiting for an earlier one that a reorganisation took away
    const txHash = await chain.send({ from, to, units }).catch(() => undefined)
    if (txHash === undefined) return
    this.counts.transfers += 1
    const raw = (await chain.rawTransaction(txHash)) as `0x${string}`
    this.signed = [...this.signed.slice(-30), { raw, from }]
  }

  async pay(): Promise<void> {
    if (this.open.length < 8 || this.random(3) === 0) await this.sell()
    if (this.open.length === 0) return
    const { to, due } = this.pick(this.open)
    const dice = this.random(10)
    if (dice < 5) return this.send(to, due)
    if (dice === 5) return this.send(to, due / 2n)
    if (dice === 6) return this.send(to, due + BigInt(1 + this.random(5_000_000)))
    if (dice === 7) return this.send(to, BigInt(1 + this.random(20_000)))
    if (dice === 8) return this.send(to, enoughFor(due))
    await this.send(to, due / 3n)
    await this.send(to, due - due / 3n)
  }

  /** Blocks leave the chain; some of their transfers come back later, some never, some are spent elsewhere. */
  async lose(replace: (depth: number) => Promise<void>): Promise<void> {
    const { chain } = world
    this.counts.reorganisations += 1
    await replace(1 + this.random(8)).catch(() => undefined)
    for (const { raw, from } of this.signed.slice(-12)) {
      const dice = this.random(6)
      if (dice < 3) await chain.resend(raw).catch(() => undefined)
      if (dice === 3) await this.spendAgain(raw, from)
    }
  }

  /** Another transfer takes the place (account nonce) of this one. */
  async spendAgain(raw: `0x${string}`, from: string): Promise<void> {
    const { nonce, to: token, data } = parseTransaction(raw)
    const other = `0x${data?.slice(2, 34)}${this.stranger.slice(2).toLowerCase()}${data?.slice(74)}`
    const transaction = { from, to: token, data: other, gas: '0x186a0', nonce: `0x${(nonce ?? 0).toString(16)}` }
    const sent = await world.chain.call('eth_sendTransaction', transaction).then(
      () => true,
      () => false,
    )
    if (sent) this.counts.doubleSpends += 1
  }

  async cancel(): Promise<void> {
    const sale = this.pick(this.open)
    if (!sale) return
    const { status } = await world.front.call('POST', `cancel/${sale.code}`, { as: world.merchant })
    if (status === 200) sale.cancelled = true
  }

  /** The node dies with its pool, and comes back. */
  async restartNode(): Promise<void> {
    for (const { faults } of world.proxies) faults.status = 503
    await pauseMs(30)
    await world.chain.call('anvil_dropAllTransactions')
    for (const proxy of world.proxies) proxy.heal()
    this.lied = true
  }

  async lie(): Promise<void> {
    if (this.random(3) > 0) return
    const victim = this.sales.length > 0 ? this.pick(this.open).to : null
    await tellLie(world, this.random, victim && `0x${victim.slice(2).padStart(64, '0')}`)
    this.lied = true
    this.counts.lies += 1
  }

  async step(): Promise<void> {
    const { chain } = world
    await this.lie()
    const dice = this.random(24)
    if (dice < 9) {
      for (let count = this.random(3); count >= 0; count -= 1) await this.pay()
      if (this.random(3) > 0) await chain.mine()
    } else if (dice < 13) await chain.mine(1 + this.random(3))
    else if (dice < 18) await this.lose((depth) => chain.reorg(depth))
    else if (dice < 21)
      await this.lose(async (depth) => {
        await chain.rollback(depth)
        await chain.mine(depth + 1)
      })
    else if (dice === 21) await this.cancel()
    else if (dice === 22 && this.random(2) === 0) await this.restartNode()
    else if (dice === 23 && this.random(3) === 0) {
      await world.restartWorker()
      this.counts.restarts += 1
    }
    await pauseMs(this.random(25))
  }

  /** Everything that is in the pool is mined and final, the endpoints are honest, and all news has arrived. */
  async compare(sales: readonly Sale[], more: () => Promise<void> = async () => {}): Promise<void> {
    for (const proxy of world.proxies) proxy.heal()
    await world.chain.mine(3)
    const until = Date.now() + CALM_MS
    for (let round = 0; ; round += 1) {
      try {
        await this.isCaughtUp()
        await this.check(sales)
        await more()
        break
      } catch (error) {
        if (Date.now() > until) throw error
        // who lied is not believed for a minute
        if (this.lied && round % 40 === 3) world.time.aheadMs += 61_000
        await pauseMs(25)
      }
    }
    this.lied = false
    this.counts.compared += 1
  }

  async isCaughtUp(): Promise<void> {
    const newest = await world.chain.call<{ hash: string }>('eth_getBlockByNumber', 'latest', false)
    const seen = await world.db.one<{ hash: string | null; news: bigint }>(sql`
      select h.hash, (select count(*) from chain_transfers t where t.change > coalesce((
        select after_change from payment_chain_cursors where chain_id = h.chain_id), 0)) as news
      from chain_heads h`)
    assert.deepEqual(seen, { hash: newest.hash, news: 0n })
  }

  async onChain(sales: readonly Sale[]): Promise<Map<string, bigint>> {
    const from = sales.reduce(
      (least, { fromBlock }) => (fromBlock < least ? fromBlock : least),
      sales[0]?.fromBlock ?? 0n,
    )
    // a reorganisation may have shortened the chain since
    const fromBlock = `0x${(from > 10n ? from - 10n : 0n).toString(16)}`
    const filter = { address: world.chain.usdcAddress, topics: [TRANSFER], fromBlock, toBlock: 'latest' }
    const logs = await world.chain.call<{ topics: string[]; data: string }[]>('eth_getLogs', filter)
    const sums = new Map(sales.map(({ to }) => [to, 0n]))
    for (const { topics, data } of logs) {
      const to = `0x${topics[2]?.slice(26)}`
      const known = sums.get(to)
      if (known !== undefined) sums.set(to, known + BigInt(data))
    }
    return sums
  }

  async check(sales: readonly Sale[]): Promise<void> {
    const chain = await this.onChain(sales)
    const rows = await world.db.many<Row>(sql`
      select o.code, o.status,
        (select coalesce(sum(p.received_units), 0) from payments p where p.order_id = o.id)::text as received,
        (select coalesce(sum(m.units), 0) from mispayments m
          where m.order_id = o.id and m.kind = 'orphaned' and m.status = 'open')::text as lost,
        (select count(*) from order_events e where e.order_id = o.id and e.to_status = 'PAID') as paid_times,
        (select count(*) from deliveries d where d.order_id = o.id and d.event = 'order.paid') as paid_deliveries,
        (select count(*) - count(distinct d.event) from deliveries d where d.order_id = o.id) as repeated
      from orders o where o.id = any(${sales.map(({ orderId }) => orderId)})`)
    const byCode = new Map(rows.map((row) => [row.code, row]))
    for (const sale of sales) this.checkSale(sale, byCode.get(sale.code), chain.get(sale.to) ?? 0n)
    await this.checkTotals()
  }

  checkSale({ code, due, cancelled }: Sale, row: Row | undefined, units: bigint): void {
    assert.ok(row, `the order ${code} is gone`)
    assert.equal(BigInt(row.received) - BigInt(row.lost), units, `${code} (${row.status}): received`)
    const paid = row.status === 'PAID' ? 1n : 0n
    assert.deepEqual([row.paidTimes, row.paidDeliveries, row.repeated], [paid, paid, 0n], `${code}: PAID, webhooks`)
    const isEnough = units >= enoughFor(due)
    if (cancelled) assert.equal(row.status, 'CANCELLED', code)
    else if (isEnough) assert.equal(row.status, 'PAID', `${code}: ${units} of ${due} are there`)
    else if (BigInt(row.lost) === 0n) assert.equal(row.status, 'AWAITING', `${code}: ${units} of ${due} are there`)
  }

  /** The books' money equals what left the payers' wallets, to the unit. */
  async checkTotals(): Promise<void> {
    const { units } = await world.db.one<{ units: string }>(
      sql`select coalesce(sum(units), 0)::text as units from ledger_entries where account = 'payer_clearing'`,
    )
    assert.equal(BigInt(units), this.funds - (await this.heldByPayers()), 'money in the books')
  }

  async checkBooks(): Promise<void> {
    const verdict = await verifyLedger(world.db)
    assert.equal(verdict.difference, null, describeVerdict(verdict))
    assert.deepEqual(await listTransferDifferences(world.db, world.merchant.companyId, 10, {}), [])
  }

  /** Each webhook arrived, with one id, and PAID ones say PAID. */
  async checkDelivered(): Promise<void> {
    const waiting = await world.db.many(
      sql`select order_id, event, status from delivery_states where status <> 'delivered'`,
    )
    assert.deepEqual(waiting, [])
    const ids = new Map<string, Set<string>>()
    for (const { headers, body } of world.receiver.received) {
      const { event, code, status } = JSON.parse(body) as { event: string; code: string; status: string }
      if (event === 'order.paid') assert.equal(status, 'PAID', code)
      const key = `${code} ${event}`
      ids.set(key, (ids.get(key) ?? new Set()).add(headers['service-webhook-id'] ?? ''))
    }
    for (const [key, set] of ids) assert.equal(set.size, 1, key)
    const { deliveries } = await world.db.one<{ deliveries: bigint }>(
      sql`select count(*) as deliveries from deliveries`,
    )
    assert.equal(BigInt(ids.size), deliveries)
  }
}

test(`after ${STEPS} random steps (seed ${SEED}) orders, books and webhooks say what the chain says, to the unit`, async (t) => {
  const random = randomBelow(SEED)
  const story = new Story(random)
  await story.begin()
  for (let step = 0; step < STEPS; step += 1) {
    const phase = step % KILL_EVERY
    if (phase === KILL.from) await world.moveWorkerOut()
    await story.step()
    if (phase === KILL.to || (phase > KILL.from && phase < KILL.to && step === STEPS - 1)) {
      await world.killWorker()
      story.counts.kills += 1
    }
    const isOut = phase >= KILL.from && phase < KILL.to
    if (!isOut && random(6) === 0)
      await story.compare(story.open, random(20) === 0 ? () => story.checkBooks() : undefined).catch((error) => {
        const words = [`at step ${step} of seed ${SEED}: ${(error as Error).message}`, ...world.complaints()]
        throw new Error(words.join('\n'), { cause: error })
      })
  }
  await story.compare(story.sales, async () => {
    await story.checkBooks()
    await story.checkDelivered()
  })
  t.diagnostic(JSON.stringify(story.counts))
  const { counts } = story
  const isWild = counts.reorganisations > STEPS / 10 && counts.lies > STEPS / 6 && counts.compared > STEPS / 12
  assert.ok(isWild && counts.transfers > STEPS / 3 && counts.kills > 0, `too tame: ${JSON.stringify(counts)}`)
})
