import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { mint } from '../sandbox/chain/token.ts'
import { sql } from '../src/db/db.ts'
import { monthsBefore } from '../src/http/calendar.ts'
import { newId } from '../src/kernel/ids.ts'
import { bookRefund, bookRefundDropped, bookRefundSettled } from '../src/ledger/ledger-service.ts'
import { listMonths } from '../src/ledger/overview/fee-queries.ts'
import { logIn, registerManager, waitForMail } from './harness/accounts.ts'
import { type Listed, type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import { createPaid, newAddress, payoutEnv, type RefundData, refundReaches, revert } from './harness/refunds.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'
import { chainEnv, openShop, type Payable, type Shop, TEST_XPUB } from './harness/shop.ts'

/*
 * Money that leaves the chain after it counted: booked as a loss, nothing of it is paid out, the operator is told, a
 * person decides who bears it, and when it comes back everything is as before.
 */

let shop: Shop
let desk: MoneyDesk

before(async () => {
  shop = await openShop({
    env: async (chain) => ({ ...(await payoutEnv(chain)), OPERATOR_EMAIL: 'ops@operator.example' }),
  })
  desk = await openMoneyDesk(shop)
  // no reorganisation takes the wallets' money away
  await shop.chain.mine(10)
  await shop.host.db.run(sql`update companies set settlement_address = ${newAddress()}, settlement_network = 31337
    where id = ${shop.merchant.companyId}`)
})
after(() => shop?.stop())

const PRICE = 54_000_000n
type Settlement = { _id: string; amount: string; status: string; message: string | null }

const settle = () => desk.admin.post<Settlement>('settlements', { companyId: shop.merchant.companyId })
test('who bears a loss is named by one of two words, and a refusal names them', async () => {
  const { status, text } = await desk.admin.post(`mispayments/${'0'.repeat(24)}/bear`, { by: 'x' })
  assert.equal(status, 422)
  assert.match(text, /must be one of: operator, company/)
})

const bear = (record: Listed, by: string) => desk.admin.post(`mispayments/${record._id}/bear`, { by })

/** Paid and final, then four blocks are replaced by empty ones. */
async function loseMoney(more = 0n): Promise<{ order: Payable; raw: string; record: Listed }> {
  const order = await shop.createAwaiting()
  const txHash = await desk.payFinally(order, PRICE + more)
  await shop.reaches(order.code, 'PAID')
  const raw = await shop.chain.rawTransaction(txHash)
  await shop.chain.reorg(4)
  return { order, raw, record: await desk.openRecord(order, 'orphaned', PRICE) }
}

/** The order's refund, once its message is as wanted. */
async function readRefund(code: string, wanted: RegExp): Promise<RefundData> {
  const look = async () => (await desk.admin.get<{ refunds: RefundData[] }>(`refunds?code=${code}`)).data.refunds[0]
  const refund = await eventually(look, (seen) => wanted.test(seen?.message ?? ''))
  assert.ok(refund)
  return refund
}

/** What the overview of months says of this month. */
async function readMonth(): Promise<{ losses: number; net: number }> {
  type Fees = { months: { losses: string; net: string }[] }
  const { data } = await desk.admin.get<Fees>(`ledger/fees?companyId=${shop.merchant.companyId}`)
  return { losses: Number(data.months[0]?.losses), net: Number(data.months[0]?.net) }
}

const comeBack = async (raw: string): Promise<void> => {
  await shop.chain.resend(raw)
  await shop.chain.mine(3)
}
const resolved = (order: Payable) =>
  desk.until(order, ({ mispayments }) =>
    mispayments.every(({ kind, status }) => kind !== 'orphaned' || status === 'resolved'),
  )

const booksOf = async ({ orderId }: Payable): Promise<Record<string, string>> => {
  const rows = await shop.host.db.many<{ account: string; units: string }>(sql`
    select e.account, sum(e.units) as units from ledger_entries e
    join ledger_journals j on j.company_id = e.company_id and j.id = e.journal_id
    where j.order_id = ${orderId} group by e.account having sum(e.units) <> 0`)
  return Object.fromEntries(rows.map((row) => [row.account, row.units]))
}

test('money that left the chain is paid out neither by a settlement nor by a refund, and the operator hears of it', async () => {
  const { order, raw } = await loseMoney()
  assert.equal((await shop.story(order.orderId)).status, 'PAID')
  assert.deepEqual(await booksOf(order), { company_payable: '-54000000', suspense: '54000000' })
  await desk.checkBooks()
  const settled = await settle()
  assert.deepEqual([settled.status, settled.error.code], [409, 'OBJECT_CONFLICT'])
  const to = newAddress()
  const refused = await revert(shop, order.code, { address: to })
  assert.deepEqual([refused.status, refused.error.code], [409, 'PAYMENT_ORPHANED'])
  await shop.chain.mine(5)
  assert.equal(await shop.chain.balanceOf(to), 0n)
  const { refunds } = await shop.host.db.one<{ refunds: bigint }>(
    sql`select count(*) as refunds from refunds where order_id = ${order.orderId}`,
  )
  assert.equal(refunds, 0n)
  const mail = await waitForMail(shop.host.baseUrl, 'ops@operator.example', new RegExp(order.code))
  assert.match(mail.text, new RegExp(order.code))
  const { companyId } = shop.merchant
  assert.ok(mail.text.includes(`${shop.host.baseUrl}/app/mispayments?company=${companyId}&status=open`), mail.text)
  assert.ok(shop.host.logLines.some((line) => line.includes('final money left its chain')))
  const metrics = await (await fetch(`${shop.host.baseUrl}/metrics`)).text()
  assert.match(metrics, /^comptoir_orphaned_units 54000000$/m)
  await comeBack(raw)
  await resolved(order)
  assert.deepEqual(await booksOf(order), { company_payable: '-54000000', payer_clearing: '54000000' })
  await desk.checkBooks()
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal(await shop.chain.balanceOf(to), PRICE)
})

test('it is kept back from what other orders brought, and nothing else is', async () => {
  await createPaid(shop)
  await createPaid(shop)
  const { order, raw } = await loseMoney()
  const made = await settle()
  assert.equal(made.data.amount, '108.000000')
  assert.equal((await desk.admin.post(`settlements/${made.data._id}/cancel`)).status, 200)
  await comeBack(raw)
  await resolved(order)
  const all = await settle()
  assert.equal(all.data.amount, '162.000000')
  assert.equal((await desk.admin.post(`settlements/${all.data._id}/cancel`)).status, 200)
})

test('a settlement that was made before the loss is not approved, and an approved one not sent', async () => {
  const order = await shop.createAwaiting()
  const txHash = await desk.payFinally(order, PRICE)
  await shop.reaches(order.code, 'PAID')
  const raw = await shop.chain.rawTransaction(txHash)
  const made = await settle()
  assert.equal(made.status, 200)
  await shop.chain.reorg(4)
  await desk.openRecord(order, 'orphaned', PRICE)
  const refused = await desk.admin.post(`settlements/${made.data._id}/approve`)
  assert.deepEqual([refused.status, refused.error.code], [409, 'OBJECT_CONFLICT'])
  await shop.host.db.run(sql`
    update settlements set status = 'approved', next_check_at = now() where id = ${made.data._id}`)
  const look = async () =>
    (await desk.admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === made.data._id)
  await eventually(look, (seen) => /waits: .*short of 54\.000000 USDC/.test(seen?.message ?? ''))
  const { payouts } = await shop.host.db.one<{ payouts: bigint }>(
    sql`select count(*) as payouts from chain_payouts where id = ${made.data._id}`,
  )
  assert.equal(payouts, 0n)
  assert.equal((await desk.admin.post(`settlements/${made.data._id}/cancel`)).status, 200)
  await comeBack(raw)
  await resolved(order)
  await desk.checkBooks()
})

test('a refund that was undone and can never be sent again is an alarm and a difference until it is explained', async () => {
  const { db } = shop.host
  const order = await createPaid(shop)
  const to = newAddress()
  await revert(shop, order.code, { amount: '10', address: to })
  const { _id } = await refundReaches(shop, order.orderId, 'settled')
  // what is known once a reorganisation undid it, and the issuer has blocked the payer since
  await db.run(sql`update chain_payouts set status = 'failed', reopened_at = now() where id = ${_id}`)
  const { companyId } = shop.merchant
  const refused = await shop.host.call('POST', `revert/${order.code}`, { as: shop.merchant, body: { amount: '1' } })
  assert.equal(refused.error.code, 'BOOKS_DIFFER')
  assert.match(refused.error.message, new RegExp(`refund ${_id} .*: what its transaction 0x.* paid is 10.0`))
  const { data: differences } = await desk.admin.get<{ _id: string; subject: string }[]>(
    `ledger/differences?companyId=${companyId}&status=open`,
  )
  const [difference] = differences.filter(({ subject }) => subject === `refund ${_id}`)
  const path = `ledger/differences/${difference?._id}/explain`
  assert.equal((await desk.admin.post(path, { reason: 'the issuer blocked the payer' })).status, 200)
  assert.equal(
    (await shop.host.call('POST', `revert/${order.code}`, { as: shop.merchant, body: { amount: '1' } })).status,
    200,
  )
  // the last test compares the books once more
  await db.run(sql`update chain_payouts set reopened_at = null where id = ${_id}`)
})

test('a refund that was decided before the loss is not sent', async () => {
  const order = await createPaid(shop)
  await shop.host.db.run(sql`update companies set refund_approval = true where id = ${shop.merchant.companyId}`)
  const to = newAddress()
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  await shop.host.db.run(sql`update companies set refund_approval = false where id = ${shop.merchant.companyId}`)
  await shop.chain.reorg(6)
  await desk.openRecord(order, 'orphaned', PRICE)
  const [refund] = (await desk.admin.get<{ refunds: { _id: string }[] }>(`refunds?code=${order.code}`)).data.refunds
  assert.equal((await desk.admin.post(`refunds/${refund?._id}/approve`)).status, 200)
  const look = async () =>
    (await desk.admin.get<{ message: string | null; status: string }>(`refunds/${refund?._id}`)).data
  const waiting = await eventually(look, ({ message }) => /waits: .*left the chain/.test(message ?? ''))
  assert.equal(waiting.status, 'ready')
  await shop.chain.mine(5)
  assert.equal(await shop.chain.balanceOf(to), 0n)
  const record = (await desk.recordsOf(order)).find(({ kind }) => kind === 'orphaned')
  assert.ok(record)
  await bear(record, 'company')
  await shop.host.db.run(sql`update refunds set next_check_at = now() where id = ${refund?._id ?? ''}`)
  await refundReaches(shop, order.orderId, 'settled')
  await desk.checkBooks()
})

test('a refund that waits for the wallet to be funded is checked again before it is sent, and can be rejected', async () => {
  const { db } = shop.host
  const { chain } = shop
  const { from } = await db.one<{ from: string }>(
    sql`select from_address as from from chain_payouts where kind = 'payout' limit 1`,
  )
  const purse = await chain.balanceOf(from)
  await chain.call('anvil_impersonateAccount', from)
  await chain.call('anvil_setBalance', from, '0x8ac7230489e80000')
  await chain.pay({ from, to: newAddress(), units: purse })
  const [other, order] = [await createPaid(shop), await shop.createAwaiting()]
  await desk.payFinally(order, PRICE)
  await shop.reaches(order.code, 'PAID')
  const to = newAddress()
  const startShort = async ({ code }: Payable) => {
    assert.equal((await revert(shop, code, { address: to })).status, 200)
    return readRefund(code, /^The wallet .* Fund it\.$/)
  }
  const short = await startShort(order)
  const unwanted = await startShort(other)
  assert.deepEqual([short.status, unwanted.status], ['submitted', 'submitted'])
  assert.equal((await desk.admin.post(`refunds/${unwanted._id}/reject`, { reason: 'no' })).status, 200)
  assert.equal((await shop.story(other.orderId)).status, 'PAID')
  await chain.reorg(4)
  const record = await desk.openRecord(order, 'orphaned', PRICE)
  await mint(chain.call, from, purse)
  const pollNow = () => db.run(sql`update refunds set next_check_at = now() where id = ${short._id}`)
  await pollNow()
  assert.equal((await readRefund(order.code, /^waits: .* left the chain$/)).status, 'ready')
  await chain.mine(5)
  assert.equal(await chain.balanceOf(to), 0n)
  await bear(record, 'company')
  await pollNow()
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal(await chain.balanceOf(to), PRICE)
  await desk.checkBooks()
})

test('the operator bears it: the company is owed the price, the loss is the operator’s; back again, nobody bears it', async () => {
  const { order, raw, record } = await loseMoney(6_000_000n)
  for (const what of ['accept', 'ignore', 'refund']) {
    const answer = await desk.admin.post(`mispayments/${record._id}/${what}`, { reason: 'x', address: newAddress() })
    assert.equal(answer.error.code, 'OBJECT_CONFLICT', what)
    assert.match(answer.error.message, /bear/)
  }
  const answers = await Promise.all([bear(record, 'operator'), bear(record, 'operator'), bear(record, 'company')])
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409])
  const [decided] = (await desk.recordsOf(order)).filter(({ kind }) => kind === 'orphaned')
  assert.equal(decided?.status, 'borne')
  await desk.checkBooks()
  await comeBack(raw)
  await resolved(order)
  assert.deepEqual(await booksOf(order), {
    company_payable: '-54000000',
    payer_clearing: '60000000',
    suspense: '-6000000',
  })
  assert.equal((await shop.story(order.orderId)).paidUnits, '60000000')
  await desk.checkBooks()
})

test('the company bears it: it is owed nothing for the order, which a person of the company may say', async () => {
  const { order, record } = await loseMoney()
  const boss = await registerManager(shop.host.baseUrl)
  const stranger = await logIn(shop.host.baseUrl, boss.email)
  assert.equal((await stranger.post(`mispayments/${record._id}/bear`, { by: 'company' })).status, 404)
  await shop.host.db.run(sql`update users set company_id = ${shop.merchant.companyId} where id = ${boss.userId}`)
  const manager = await logIn(shop.host.baseUrl, boss.email)
  const operator = await manager.post(`mispayments/${record._id}/bear`, { by: 'operator' })
  assert.deepEqual([operator.status, operator.error.code], [403, 'FORBIDDEN'])
  assert.equal((await manager.post(`mispayments/${record._id}/bear`, { by: 'nobody' })).status, 422)
  const before = await readMonth()
  assert.equal((await manager.post(`mispayments/${record._id}/bear`, { by: 'company' })).status, 200)
  assert.deepEqual(await booksOf(order), {})
  const { losses, net } = await readMonth()
  assert.deepEqual([losses - before.losses, net - before.net], [54, -54], 'the month says what the company lost')
  await desk.checkBooks()
})

test('a decided part that leaves the chain is a loss, too; an undecided one is simply gone', async () => {
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 20_000_000n)
  await desk.openRecord(order, 'under', 20_000_000n)
  await shop.chain.reorg(4)
  const gone = await desk.until(order, ({ payments }) => payments[0]?.receivedUnits === '0')
  assert.deepEqual(
    gone.mispayments.map(({ kind, status }) => `${kind} ${status}`),
    ['under resolved'],
  )
  await desk.checkBooks()
  const other = await shop.createAwaiting()
  await desk.payFinally(other, 20_000_000n)
  await desk.ignore(await desk.openRecord(other, 'under', 20_000_000n))
  await shop.chain.reorg(4)
  await desk.openRecord(other, 'orphaned', 20_000_000n)
  await desk.checkBooks()
})

test('a reorganisation of 600 blocks, deeper than what is remembered, is a loss like any other', async () => {
  const { chain, host } = shop
  const readUpTo = async () => (await host.db.one<{ number: bigint }>(sql`select number from chain_heads`)).number
  const order = await shop.createAwaiting()
  const snapshot = await chain.call<string>('evm_snapshot')
  const txHash = await desk.payFinally(order, PRICE)
  await shop.reaches(order.code, 'PAID')
  const raw = await chain.rawTransaction(txHash)
  // few at a time, so that the reader remembers each of the newest
  for (const _ of Array.from({ length: 10 })) {
    await chain.mine(60)
    const top = await chain.blockNumber()
    await eventually(readUpTo, (number) => number >= top)
  }
  await chain.call('evm_revert', snapshot)
  await chain.call('evm_increaseTime', 5)
  await chain.mine(620)
  const record = await desk.openRecord(order, 'orphaned', PRICE)
  assert.ok(host.logLines.some((line) => line.includes('left the chain in a very deep reorganisation')))
  await desk.checkBooks()
  assert.equal((await bear(record, 'operator')).status, 200)
  await comeBack(raw)
  await resolved(order)
  await desk.checkBooks()
})

const OTHER_TOKEN = `0x${'d'.repeat(40)}`
const depositOf = async ({ orderId }: Payable): Promise<string> =>
  (await shop.host.db.one<{ at: string }>(sql`select deposit_address as at from payments where order_id = ${orderId}`))
    .at

/** One more unit, final: the payment is judged anew. */
async function sendUnit(order: Payable): Promise<void> {
  await desk.payFinally({ ...order, toAddress: await depositOf(order) }, 1n)
}

/** As an earlier version or other settings recorded it. */
const insertTransfer = async (
  order: Payable,
  one: { chainId: number; token: string; units: bigint },
): Promise<void> => {
  await shop.host.db.run(sql`
    insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token,
      symbol, from_address, to_address, units, status, change)
    values (${order.orderId}, ${one.chainId}, ${order.orderId}, 0, 0, 1000000, 'x', now(), ${one.token},
      'USDC', ${OTHER_TOKEN}, ${await depositOf(order)}, ${one.units}, 'seen', 0)`)
}

const recordsOf = async ({ orderId }: Payable): Promise<string[]> =>
  (await shop.story(orderId)).mispayments.map(({ kind, units }) => `${kind} ${units}`)

test('a chain that is not set up any more holds up no order, and hides no money on another chain', async () => {
  const { db } = shop.host
  await db.run(sql`insert into chain_heads (chain_id, number, hash) values (8453, 1000000, '0x1')`)
  const [paid, other, open] = [await createPaid(shop), await createPaid(shop), await shop.createAwaiting()]
  await db.run(sql`update payments set network = 8453 where order_id = ${paid.orderId}`)
  // the test chain's clock is late after a reorganisation
  await db.run(sql`
    update chain_transfers set chain_id = 8453, change = 0, block_at = now() where to_address = ${await depositOf(paid)}`)
  await insertTransfer(open, { chainId: 8453, token: OTHER_TOKEN, units: 1n })
  await desk.payFinally(open, PRICE)
  await shop.reaches(open.code, 'PAID')
  await sendUnit(paid)
  await desk.toldOf(paid, PRICE + 1n)
  assert.deepEqual(await recordsOf(paid), ['over 1'])
  assert.equal((await revert(shop, other.code, { address: newAddress() })).status, 200)
})

test('what an earlier version recorded is USDC by its contract, whatever its name', async () => {
  const [paid, other, open] = [await createPaid(shop), await createPaid(shop), await shop.createAwaiting()]
  await shop.host.db.run(sql`
    update chain_transfers set symbol = 'USDC.e', is_usdc = null where to_address = ${await depositOf(paid)}`)
  await sendUnit(paid)
  await desk.toldOf(paid, PRICE + 1n)
  assert.deepEqual(await recordsOf(paid), ['over 1'])
  await insertTransfer(open, { chainId: 31337, token: OTHER_TOKEN, units: PRICE })
  await sendUnit(open)
  await desk.until(open, ({ mispayments }) => mispayments.length > 1)
  assert.deepEqual((await recordsOf(open)).sort(), ['under 1', `wrong_token ${PRICE}`])
  assert.equal((await shop.story(open.orderId)).status, 'AWAITING')
  assert.equal((await revert(shop, other.code, { address: newAddress() })).status, 200)
})

/** Anyone with the link: "I have paid", with a reference that is no transaction. The channel is asked again. */
async function sayPaid({ baseUrl }: TestService, { code }: Payable): Promise<void> {
  const page = await (await fetch(`${baseUrl}/pay?code=${code}`)).text()
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const answer = await fetch(`${baseUrl}/pay/transaction`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: baseUrl, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ code, token, reference: 'PAY-123' }),
  })
  assert.equal(answer.status, 303)
}

for (const [change, settings] of Object.entries({
  'its chain is taken out of the settings': async () => ({
    CHAIN_8453_RPC_URL: 'http://127.0.0.1:1',
    CHAIN_8453_XPUB: TEST_XPUB,
  }),
  'CHAIN_<id>_USDC names another contract': async () => ({
    ...chainEnv(shop.chain),
    CHAIN_31337_USDC: await shop.chain.deployOtherToken(),
  }),
}))
  test(`money that was recorded stays what it is when ${change}`, async () => {
    const { connectionString } = shop.host
    const paid = await createPaid(shop)
    const [short, elsewhere] = [await shop.createAwaiting(), await shop.createAwaiting()]
    for (const order of [short, elsewhere]) {
      await desk.payFinally(order, 10_000_000n)
      await desk.openRecord(order, 'under', 10_000_000n)
      await shop.host.call('POST', `expire/${order.code}`, { as: shop.merchant })
      await desk.until(order, ({ payments }) => payments[0]?.status === 'closed')
    }
    await shop.host.db.run(sql`
      update payments set network = 1, token_address = ${OTHER_TOKEN} where order_id = ${elsewhere.orderId}`)
    const read = () => Promise.all([paid, short, elsewhere].map(({ orderId }) => shop.story(orderId)))
    const before = await read()
    const other = await startTestService({ connectionString, env: await settings() })
    try {
      for (const order of [short, elsewhere]) await sayPaid(other, order)
      assert.deepEqual(await read(), before)
      // refused for the amount alone: the books are right
      const body = { amount: '1000', address: newAddress() }
      const refused = await other.call('POST', `revert/${paid.code}`, { as: shop.merchant, body })
      assert.deepEqual([refused.status, refused.error.code], [400, 'REFUND_TOO_LARGE'], refused.text)
    } finally {
      await other.stop()
    }
  })

test('a refund counts in the month in which its money left, without what was above the price', async () => {
  const { db } = shop.host
  const companyId = newId()
  const [left, dropped, waiting, beside] = [newId(), newId(), newId(), newId()]
  const booking = (causeId: string, at: string) => ({ companyId, causeId, orderId: null, at: new Date(at) })
  await db.tx(async (tx) => {
    await bookRefund(tx, booking(left, '2026-10-31T12:00:00Z'), { units: 30n, excess: 4n })
    await bookRefund(tx, booking(dropped, '2026-10-31T12:00:00Z'), { units: 7n, excess: 0n })
    await bookRefund(tx, booking(waiting, '2026-10-31T12:00:00Z'), { units: 9n, excess: 0n })
    await bookRefund(tx, booking(beside, '2026-10-31T12:00:00Z'), { units: 5n, excess: 5n })
    await bookRefundSettled(tx, booking(left, '2026-11-01T12:00:00Z'), 30n, 'wallet')
    await bookRefundDropped(tx, booking(dropped, '2026-11-01T12:00:00Z'), { units: 7n, excess: 0n })
    await bookRefundSettled(tx, booking(beside, '2026-11-01T12:00:00Z'), 5n, 'wallet')
  })
  const months = await listMonths(db, companyId, monthsBefore(Date.parse('2026-11-23T12:00:00Z'), 2, 'UTC'))
  assert.deepEqual(
    months.map(({ month, refundedUnits }) => [month, refundedUnits]),
    [['2026-11', 26n]],
  )
})
