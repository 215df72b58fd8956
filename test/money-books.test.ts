import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { auditBalances } from '../src/assembly/money-checks.ts'
import { auditDeposits, auditWallets } from '../src/chain/deposits/balance-audit.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { type Db, type Queryable, type Sql, sql } from '../src/db/db.ts'
import { AppError } from '../src/kernel/errors.ts'
import { type Books, openBooks } from '../src/ledger/books.ts'
import { describeDifference, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { findMoneyFigures } from '../src/ledger/money-metrics-queries.ts'
import { waitForMail } from './harness/accounts.ts'
import { type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import { createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { startRpcProxy } from './harness/rpc-proxy.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

/*
 * The books are asked before money leaves: a difference stops the company's refunds and settlements with the reason,
 * and tells the operator, until it is gone or a SuperAdmin explains it.
 */

let shop: Shop
let desk: MoneyDesk

before(async () => {
  shop = await openShop({ env: payoutEnv })
  desk = await openMoneyDesk(shop)
  await shop.host.db.run(sql`update companies set settlement_address = ${newAddress()}, settlement_network = 31337
    where id = ${shop.merchant.companyId}`)
})
after(() => shop?.stop())

type Difference = { _id: string; status: string; source: string; subject: string; companyId: string | null }
type Settlement = { _id: string; amount: string; message: string | null }

const settle = () => desk.admin.post<Settlement>('settlements', { companyId: shop.merchant.companyId })
const differences = async (): Promise<Difference[]> =>
  (await desk.admin.get<Difference[]>('ledger/differences?status=open')).data
const figure = async (name: string): Promise<string | undefined> =>
  new RegExp(`^comptoir_${name}(?:{[^}]*})? (\\d+)$`, 'm').exec(
    await (await fetch(`${shop.host.baseUrl}/metrics`)).text(),
  )?.[1]

/** Changes rows as somebody with the database's password could: past the triggers. */
const byHand = (statement: Sql): Promise<number> =>
  shop.host.db.tx(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`)
    return tx.run(statement)
  })
const inflate = ({ orderId }: Payable, units: number) =>
  byHand(sql`update payments set received_units = received_units + ${units} where order_id = ${orderId}`)

test('a row that was changed by hand stops the company’s settlement and refund, and the operator hears of it', async () => {
  const [order, tampered] = [await createPaid(shop), await createPaid(shop)]
  await inflate(tampered, 1)
  const settled = await settle()
  assert.deepEqual([settled.status, settled.error.code], [409, 'BOOKS_DIFFER'])
  assert.match(settled.error.message, new RegExp(tampered.code))
  const to = newAddress()
  const refused = await revert(shop, order.code, { address: to })
  assert.deepEqual([refused.status, refused.error.code], [409, 'BOOKS_DIFFER'])
  assert.equal((await shop.story(order.orderId)).status, 'PAID')
  const { started } = await shop.host.db.one<{ started: bigint }>(
    sql`select (select count(*) from refunds) + (select count(*) from settlements) as started`,
  )
  assert.equal(started, 0n)
  const { email } = await shop.host.db.one<{ email: string }>(sql`select email from users where role = 'SuperAdmin'`)
  const mail = await waitForMail(shop.host.baseUrl, email, new RegExp(tampered.code))
  assert.match(mail.text, /The books of company Test & Söhne \([0-9a-f]{24}\) differ/)
  assert.ok(shop.host.logLines.some((line) => line.includes('the books differ') && line.includes(tampered.code)))
  await eventually(
    () => figure('ledger_differences'),
    (count) => Number(count) > 0,
  )
  await inflate(tampered, -1)
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  assert.deepEqual(await differences(), [])
  await eventually(
    () => figure('ledger_differences'),
    (count) => count === '0',
  )
})

test('books that no worker has ever compared are as old as the first order', async () => {
  await createPaid(shop)
  const undo = new Error('leaves the checks as they are')
  const looking = shop.host.db.tx(async (tx) => {
    await tx.run(sql`delete from book_checks`)
    const { age } = await tx.one<{ age: number }>(
      sql`select extract(epoch from now() - min(created_at))::float8 as age from orders`,
    )
    assert.equal((await findMoneyFigures(tx)).booksAgeSeconds, age)
    throw undo
  })
  await assert.rejects(looking, undo)
})

test('a company that cannot be compared keeps no other from its turn, and its age is what the metric shows', async () => {
  const { db } = shop.host
  const ids: string[] = []
  for (let turn = 0; turn < 3; turn += 1) {
    const as = await shop.host.createMerchant()
    const body = { amount: '5', fromAsset: 'EUR', merchantIdentifier: as.merchantIdentifier }
    await shop.host.call('POST', 'request', { as, body })
    ids.push(as.companyId)
  }
  const [late = '', large = '', last = ''] = ids
  const turns: string[] = []
  // the statement of the large company takes longer than the database allows
  const failing = <Q extends Queryable>(q: Q): Q => ({
    ...q,
    many: async <Row>(statement: Sql) => {
      const id = statement.text.includes('money at ') && ids.find((one) => statement.values.includes(one))
      if (id) turns.push(id)
      if (id === large) throw new AppError('BUSY')
      return q.many<Row>(statement)
    },
  })
  const limited: Db = { ...failing(db), tx: (work) => db.tx((tx) => work(failing(tx))) }
  const hoursAgo = new Map([
    [late, 4],
    [large, 5],
    [last, 3],
  ])
  for (const [id, hours] of hoursAgo)
    await db.run(sql`insert into book_checks values (${id}, now() - ${hours} * interval '1 hour')`)
  const log = pino({ level: 'silent' })
  await openBooks({ db: limited, clock: Date.now, log, alarm: async () => {}, usdc: {} }).verifyAll()
  assert.deepEqual(turns, [large, late, last], 'the longest unchecked first')
  const unchecked = await db.many<{ companyId: string }>(
    sql`select company_id from book_checks where checked_at < now() - interval '1 hour'`,
  )
  assert.deepEqual(unchecked, [{ companyId: large }])
  assert.equal(Math.floor(((await findMoneyFigures(db)).booksAgeSeconds ?? 0) / 3600), 5)
  await db.run(sql`delete from book_checks where company_id = ${large}`)
})

test('how long the oldest refund has been under way is a figure', async () => {
  const undo = new Error('leaves the refunds as they are')
  const looking = shop.host.db.tx(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`)
    await tx.run(sql`update refunds set status = 'submitted', ready_at = now() - interval '7 hours'`)
    const { refunds } = await findMoneyFigures(tx)
    assert.deepEqual(
      refunds.map(({ status, age }) => [status, Math.round(age ?? 0)]),
      [['submitted', 7 * 3600]],
    )
    throw undo
  })
  await assert.rejects(looking, undo)
})

test('the days that an approver or the payer took are no part of it', async () => {
  const undo = new Error('leaves the refunds as they are')
  const looking = shop.host.db.tx(async (tx) => {
    const ages = async () =>
      (await findMoneyFigures(tx)).refunds.map(({ status, age }) => [status, age && Math.abs(Math.round(age))])
    await tx.run(sql`update refunds set status = 'needs_address', created_at = now() - interval '2 days'`)
    assert.deepEqual(await ages(), [['needs_address', null]])
    await tx.run(sql`update refunds set status = 'ready', updated_at = now()`)
    assert.deepEqual(await ages(), [['ready', 0]])
    await tx.run(sql`update refunds set ready_at = now() - interval '1 hour'`)
    await tx.run(sql`update refunds set status = 'submitted'`)
    assert.deepEqual(await ages(), [['submitted', 3600]])
    throw undo
  })
  await assert.rejects(looking, undo)
})

test('two attempts that count the money of one address are named, before anything that follows from them', async () => {
  const { orderId, code } = await createPaid(shop)
  const twin = sql`${orderId} || '100'`
  await byHand(sql`
    insert into payments select (jsonb_populate_record(p,
      jsonb_build_object('id', ${twin}, 'merchant_reference', ${twin}, 'number', 100))).*
    from payments p where order_id = ${orderId}`)
  const { difference } = await verifyLedger(shop.host.db)
  assert.equal(
    difference && describeDifference(difference),
    `Difference at order ${code} of company ${shop.merchant.companyId}: the deposit address of attempt 100 is that of ` +
      'attempt 1, and both count its money, but one of its own is right.',
  )
  await byHand(sql`delete from payments where order_id = ${orderId} and number = 100`)
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})

test('another company’s money is not stopped', async () => {
  const tampered = await createPaid(shop)
  await inflate(tampered, 1)
  const other = await shop.host.createMerchant()
  await shop.host.db.run(sql`update companies set settlement_address = ${newAddress()}, settlement_network = 31337
    where id = ${other.companyId}`)
  const theirs = await desk.admin.post('settlements', { companyId: other.companyId })
  assert.deepEqual([theirs.status, theirs.error.code], [409, 'OBJECT_CONFLICT'])
  assert.match(theirs.error.message, /Nothing is owed/)
  assert.equal((await settle()).error.code, 'BOOKS_DIFFER')
  await inflate(tampered, -1)
})

test('what was decided before the difference is not sent while it lasts', async () => {
  const order = await createPaid(shop)
  const { companyId } = shop.merchant
  await shop.host.db.run(sql`update companies set refund_approval = true where id = ${companyId}`)
  const to = newAddress()
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  await shop.host.db.run(sql`update companies set refund_approval = false where id = ${companyId}`)
  const made = await settle()
  assert.equal((await desk.admin.post(`settlements/${made.data._id}/cancel`)).status, 200)
  const again = await settle()
  await inflate(order, 1)
  const [refund] = (await desk.admin.get<{ refunds: { _id: string }[] }>(`refunds?code=${order.code}`)).data.refunds
  assert.equal((await desk.admin.post(`refunds/${refund?._id}/approve`)).status, 200)
  assert.equal((await desk.admin.post(`settlements/${again.data._id}/approve`)).error.code, 'BOOKS_DIFFER')
  const message = async () => (await desk.admin.get<{ message: string | null }>(`refunds/${refund?._id}`)).data.message
  await eventually(message, (text) => /waits: the books differ/.test(text ?? ''))
  await shop.chain.mine(5)
  assert.equal(await shop.chain.balanceOf(to), 0n)
  await inflate(order, -1)
  await shop.host.db.run(sql`update refunds set next_check_at = now() where status = 'ready'`)
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal((await desk.admin.post(`settlements/${again.data._id}/cancel`)).status, 200)
})

test('transfers that the scanner wrote down are compared, too, and a SuperAdmin’s reason lets the money go', async () => {
  const order = await createPaid(shop)
  await byHand(
    sql`update chain_transfers set units = units - 1000000 where to_address = ${order.toAddress.toLowerCase()}`,
  )
  const stopped = await settle()
  assert.equal(stopped.error.code, 'BOOKS_DIFFER')
  assert.match(stopped.error.message, /by the transfers seen/)
  const [difference] = await differences()
  assert.deepEqual([difference?.source, difference?.companyId], ['transfers', shop.merchant.companyId])
  const own = await shop.host.call('POST', `/api/next/ledger/differences/${difference?._id}/explain`, {
    as: shop.merchant,
    body: { reason: 'we looked at the chain' },
  })
  assert.equal(own.error.code, 'FORBIDDEN')
  const path = `ledger/differences/${difference?._id}/explain`
  assert.equal((await desk.admin.post(path, { reason: 'no' })).status, 422)
  assert.equal((await desk.admin.post(path, { reason: 'the node was replaced, ticket 17' })).status, 200)
  assert.equal((await desk.admin.post(path, { reason: 'the node was replaced, ticket 17' })).status, 409)
  const made = await settle()
  assert.equal(made.status, 200, made.text)
  assert.equal((await desk.admin.post(`settlements/${made.data._id}/cancel`)).status, 200)
  const second = await createPaid(shop)
  await byHand(sql`update chain_transfers set units = units - 5 where to_address = ${second.toAddress.toLowerCase()}`)
  assert.equal((await settle()).error.code, 'BOOKS_DIFFER')
  await byHand(sql`update chain_transfers set units = units + 5 where to_address = ${second.toAddress.toLowerCase()}`)
})

const unanswered = async (): Promise<boolean> => false

/** A node after a reorganisation that is not read yet. */
const onOtherChain = (rpc: Rpc): Rpc => ({
  ...rpc,
  call: async <Result>(method: string, ...params: unknown[]) =>
    method === 'eth_getBlockByNumber'
      ? ({ ...(await rpc.call<object>(method, ...params)), hash: `0x${'9'.repeat(64)}` } as Result)
      : rpc.call<Result>(method, ...params),
})

test('balances of deposit addresses and payout wallets are compared with the chain itself', async () => {
  const { chain, host } = shop
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const rpc = createRpc({ url: chain.rpcUrl })
  const scene = { db: host.db, network, endpoints: openEndpoints(network, [rpc]) }
  const order = await createPaid(shop)
  const address = order.toAddress.toLowerCase()
  const audit = async () =>
    (await auditDeposits(scene)).faults.filter(({ subject }) => subject === `address ${address}`)
  assert.deepEqual(await audit(), [])
  await byHand(sql`update chain_transfers set units = units + 1 where to_address = ${address}`)
  const faults = await audit()
  assert.deepEqual(
    faults.map(({ companyId, subject, booked, expected }) => [companyId, subject, booked, expected]),
    [[shop.merchant.companyId, `address ${address}`, '54000001', '54000000']],
  )
  // the balances are another chain's, and payouts must not stop for an hour
  const meanwhile = await auditDeposits({ ...scene, endpoints: openEndpoints(network, [onOtherChain(rpc)]) })
  assert.deepEqual(
    meanwhile.faults.filter(({ subject }) => subject === `address ${address}`),
    [],
  )
  await byHand(sql`update chain_transfers set units = units - 1 where to_address = ${address}`)
  // the owner of the key moves the money on: nothing is missing
  await chain.call('anvil_impersonateAccount', order.toAddress)
  await chain.call('anvil_setBalance', order.toAddress, '0x8ac7230489e80000')
  await chain.pay({ from: order.toAddress, to: newAddress(), units: 20_000_000n })
  await eventually(audit, (found) => found.length === 0)
  const { wallet } = await host.db.one<{ wallet: string }>(
    sql`select min(from_address) as wallet from chain_payouts where kind = 'payout'`,
  )
  assert.deepEqual((await auditWallets(scene, unanswered)).faults, [])
  await revert(shop, order.code, { amount: '1', address: newAddress() })
  await refundReaches(shop, order.orderId, 'settled')
  assert.deepEqual((await auditWallets(scene, unanswered)).faults, [])
  await chain.call('anvil_impersonateAccount', wallet)
  await chain.call('anvil_setBalance', wallet, '0x8ac7230489e80000')
  // anyone can send nothing in the wallet's name: that stops nobody's payouts
  await chain.forge({ from: wallet, to: newAddress() })
  const theft = await chain.pay({ from: wallet, to: newAddress(), units: 7_000_000n })
  const { faults: found } = await eventually(
    () => auditWallets(scene, unanswered),
    ({ faults: seen }) => seen.length > 0,
  )
  assert.deepEqual(
    found.map(({ companyId, expected, what }) => [companyId, expected, what.includes(theft)]),
    [['', '7000000', true]],
  )
  await rpc.close()
})

test('a difference of a balance outlasts the watch of its address, and ends once the address is right', async () => {
  const { chain, host } = shop
  const { db } = host
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const rpc = createRpc({ url: chain.rpcUrl })
  const log = pino({ level: 'silent' })
  const books = openBooks({ db, clock: Date.now, log, alarm: async () => {}, usdc: {} })
  const address = (await createPaid(shop)).toAddress.toLowerCase()
  const add = (units: number) =>
    byHand(sql`update chain_transfers set units = units + ${units} where to_address = ${address}`)
  const audit = async (node = rpc) => {
    const chains = [{ network, endpoints: openEndpoints(network, [node]) }]
    await auditBalances({ db, log, clock: Date.now, chains, books }, new Map())
    const { status } = await db.one<{ status: string }>(
      sql`select status from ledger_differences where source = 'balances' and subject = ${`address ${address}`}`,
    )
    return status
  }
  await add(1)
  assert.equal(await audit(), 'open')
  await db.run(sql`update deposit_addresses set watched_until = now() where address = ${address}`)
  assert.equal(await audit(), 'open')
  assert.equal(await audit(onOtherChain(rpc)), 'open', 'what was not compared has not ended')
  await add(-1)
  assert.equal(await audit(), 'gone')
  await rpc.close()
})

/** Makes the owner of an address send some of its money away. */
async function takeFrom(address: string, units: bigint): Promise<string> {
  await shop.chain.call('anvil_impersonateAccount', address)
  await shop.chain.call('anvil_setBalance', address, '0x8ac7230489e80000')
  return shop.chain.pay({ from: address, to: newAddress(), units })
}

test('a chain that could not be compared is tried again soon, and one that was only after an hour', async () => {
  const { chain, host } = shop
  const proxy = await startRpcProxy(chain.rpcUrl)
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const rpc = createRpc({ url: proxy.url })
  const chains = [{ network, endpoints: openEndpoints(network, [rpc]) }]
  const lines: number[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).level) })
  let noted = 0
  const noteBalances = async (): Promise<void> => {
    noted += 1
  }
  const listOpenBalances = async () => []
  const books = { isBalanceExplained: async () => true, listOpenBalances, noteBalances } as unknown as Books
  let nowMs = Date.now()
  const rounds = new Map()
  const audit = () => auditBalances({ db: host.db, log, clock: () => nowMs, chains, books }, rounds)
  // what a node answers that keeps no state of that block
  proxy.faults.refuses = ({ method }) => method === 'eth_call'
  await audit()
  await audit()
  assert.deepEqual([noted, lines], [0, [40, 50]], 'once is a warning: it happens after a longer stop')
  proxy.heal()
  await audit()
  assert.equal(noted, 1)
  nowMs += 59 * 60_000
  await audit()
  assert.equal(noted, 1)
  nowMs += 60_000
  await audit()
  assert.equal(noted, 2)
  // the clock leaps ahead for a while
  nowMs += 2 * 3_600_000
  await audit()
  nowMs -= 2 * 3_600_000
  await audit()
  assert.equal(noted, 4)
  await Promise.all([rpc.close(), proxy.stop()])
})

test('a node that takes short ranges, a chain that is down and an explained transfer hide no later theft', async () => {
  const { chain, host } = shop
  const { db } = host
  const proxy = await startRpcProxy(chain.rpcUrl)
  proxy.faults.maxSpan = 8n
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const other = networkFor({ chainId: 8453 })
  const [rpc, nowhere] = [createRpc({ url: proxy.url }), createRpc({ url: 'http://127.0.0.1:1' })]
  await db.run(sql`insert into chain_heads (chain_id, number, hash) values (8453, 1, '0x1')`)
  const log = pino({ level: 'silent' })
  const books = openBooks({ db, clock: Date.now, log, alarm: async () => {}, usdc: {} })
  const chains = [
    { network: other, endpoints: openEndpoints(other, [nowhere]) },
    { network, endpoints: openEndpoints(network, [rpc]) },
  ]
  // what an owner took from a deposit long ago is not missing
  const order = await createPaid(shop)
  await takeFrom(order.toAddress, 5_000_000n)
  await chain.mine(40)
  const stolen = async (): Promise<string[]> => {
    const newest = await chain.blockNumber()
    const readUpTo = () => db.one<{ number: bigint }>(sql`select number from chain_heads where chain_id = 31337`)
    await eventually(readUpTo, ({ number }) => number >= newest)
    await auditBalances({ db, log, clock: Date.now, chains, books }, new Map())
    const open = await differences()
    assert.ok(open.every(({ subject }) => subject !== `address ${order.toAddress.toLowerCase()}`))
    return open.filter(({ subject }) => subject.startsWith('wallet ')).map(({ _id }) => _id)
  }
  const { wallet } = await db.one<{ wallet: string }>(
    sql`select min(from_address) as wallet from chain_payouts where kind = 'payout'`,
  )
  // the transfer that the test before this one left
  const [first = '', ...more] = await eventually(stolen, ({ length }) => length > 0)
  assert.deepEqual(more, [])
  const explain = (id: string) =>
    desk.admin.post(`ledger/differences/${id}/explain`, { reason: 'moved by us, ticket 18' })
  assert.equal((await explain(first)).status, 200)
  assert.deepEqual(await stolen(), [])
  await chain.mine(40)
  await takeFrom(wallet, 3_000_000n)
  const [second = ''] = await eventually(stolen, ({ length }) => length > 0)
  assert.equal((await explain(second)).status, 200)
  // a person sends two refunds from this wallet in one transaction, and names it for one after the other
  const sent = await db.many<{ id: string; units: string }>(sql`
    select id, units::text from refunds where status = 'settled' order by units limit 2`)
  const txHash = await takeFrom(
    wallet,
    sent.reduce((sum, { units }) => sum + BigInt(units), 0n),
  )
  for (const { id } of sent) {
    await eventually(stolen, ({ length }) => length === 1)
    await db.run(sql`update refunds set by_hand = true, tx_hash = ${txHash} where id = ${id}`)
    await db.run(sql`insert into claimed_transfers values (31337, ${txHash}, ${newAddress().toLowerCase()}, ${id})`)
  }
  assert.equal(sent.length, 2)
  assert.deepEqual(await stolen(), [])
  await db.run(sql`delete from chain_heads where chain_id = 8453`)
  await Promise.all([rpc.close(), nowhere.close(), proxy.stop()])
})
