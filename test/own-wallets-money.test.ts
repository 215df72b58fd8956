import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { listTakers } from '../src/chain/deposits/reservation-queries.ts'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { findSettleable, sumOpenFees } from '../src/ledger/payable-queries.ts'
import { listTransferDifferences } from '../src/ledger/transfer-verify-queries.ts'
import { insertUnmatched } from '../src/payments/unmatched/unmatched-queries.ts'
import { logIn, logInSuperAdmin, registerManager } from './harness/accounts.ts'
import { newTestXpub } from './harness/chain.ts'
import { payOnBase, placeAsBefore } from './harness/earlier-orders.ts'
import { newAddress, payoutEnv, signAs } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { FINAL_AFTER, type Instructions, type OrderData, openShop, type Shop } from './harness/shop.ts'

let shop: Shop
before(async () => {
  shop = await openShop({ env: payoutEnv })
})
after(() => shop?.stop())

/** A company of its own, with its own wallet. */
async function openCompany(settings: Record<string, string>) {
  const person = await registerManager(shop.host.baseUrl)
  const manager = await logIn(shop.host.baseUrl, person.email)
  const { data } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const saved = await manager.call('PUT', 'channel-accounts/crypto', { settings })
  assert.equal(saved.status, 200, saved.text)
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: data.collectors[0]?.identifier ?? '' }
  const place = async (userAddress?: string) => {
    const { code, _id: orderId } = (await manager.post<{ order: OrderData }>('confirm_conversion/request', body)).data
      .order
    const choice = { paymentChannel: 'crypto', ...(userAddress && { userAddress }) }
    const accepted = await manager.post<Instructions>(`confirm_conversion/accept/${code}`, choice)
    assert.equal(accepted.data?.status, 'AWAITING', accepted.text)
    const { toAddress, tokenAmount } = accepted.data
    return { code, orderId, toAddress, units: BigInt(tokenAmount.replace('.', '')) }
  }
  const pay = async (to: string, units: bigint): Promise<string> => {
    const txHash = await shop.chain.pay({ to, units })
    await shop.chain.mine(FINAL_AFTER - 1)
    return txHash
  }
  const sell = async () => {
    const order = await place()
    const txHash = await pay(order.toAddress, order.units)
    await shop.reaches(order.code, 'PAID')
    return { ...order, txHash }
  }
  const till = body.merchantIdentifier
  return { manager, companyId: person.companyId ?? '', till, place, pay, sell }
}
const heldBy = async (orderId: string): Promise<Record<string, string>> => {
  const rows = await shop.host.db.many<{ account: string; units: string }>(sql`
    select e.account, sum(e.units) as units from ledger_entries e
    join ledger_journals j on j.company_id = e.company_id and j.id = e.journal_id
    where j.order_id = ${orderId} group by e.account having sum(e.units) <> 0`)
  return Object.fromEntries(rows.map((row) => [row.account, row.units]))
}

test('a refund that a company sent from its own wallet is no debt to the operator, and stops nothing', async () => {
  const { manager, companyId, sell } = await openCompany({ MODE: 'xpub', XPUB: newTestXpub() })
  const order = await sell()
  assert.deepEqual(await heldBy(order.orderId), { own_account: '54000000', company_payable: '-54000000' })
  const to = newAddress()
  const query = new URLSearchParams({ code: order.code, address: to })
  const { message } = (await manager.get<{ message: string }>(`refunds/address-message?${query}`)).data
  const body = { address: to, addressProof: { signature: await signAs(to, message) } }
  const reverted = await manager.post(`confirm_conversion/revert/${order.code}`, body)
  assert.equal(reverted.status, 200, reverted.text)
  const refund = await eventually(
    async () =>
      (await manager.get<{ refunds: { _id: string; status: string; message: string | null }[] }>('refunds')).data
        .refunds[0],
    (one) => one?.status === 'ready' && one.message !== null,
  )
  assert.equal(await findSettleable(shop.host.db, companyId), 0n, 'nor while it waits')
  // the company's people send it from their own wallet, and enter the transaction
  const txHash = await shop.chain.pay({ to, units: 54_000_000n })
  await shop.chain.mine(FINAL_AFTER)
  const named = await manager.post<{ status: string }>(`refunds/${refund?._id}/transaction`, { txHash })
  assert.deepEqual([named.status, named.data?.status], [200, 'settled'], named.text)
  await shop.reaches(order.code, 'FULL_REFUNDED')
  const verdict = await verifyLedger(shop.host.db)
  const owed = String(await findSettleable(shop.host.db, companyId))
  const next = await sell()
  const refused = await manager.post(`confirm_conversion/revert/${next.code}`, { amount: '1', address: to })
  assert.deepEqual(
    {
      books: await heldBy(order.orderId),
      owed,
      verify: verdict.difference === null ? 'no difference' : describeVerdict(verdict),
      nextRefund: `${refused.status} ${refused.error?.code ?? ''}`,
    },
    { books: {}, owed: '0', verify: 'no difference', nextRefund: '200 ' },
  )
})
test('the fee on a payment to the own wallet covers nothing: not once that payment is refunded either', async () => {
  const wallet = { MODE: 'xpub', XPUB: newTestXpub() }
  const { manager, companyId, sell } = await openCompany(wallet)
  const { db } = shop.host
  await db.run(sql`
    update companies set fee_bps = 100, settlement_address = ${newAddress()}, settlement_network = ${shop.chain.chainId},
      version = version + 1 where id = ${companyId}`)
  assert.equal((await manager.call('DELETE', 'channel-accounts/crypto')).status, 200)
  const settled = await sell()
  const admin = await logInSuperAdmin(shop.host)
  const { data: made } = await admin.post<{ _id: string; amount: string }>('settlements', { companyId })
  assert.equal(made.amount, '53.460000')
  assert.equal((await admin.post(`settlements/${made._id}/approve`)).status, 200)
  const look = async () => {
    await shop.chain.mine()
    return (await admin.get<{ status: string }>(`settlements/${made._id}`)).data
  }
  await eventually(look, ({ status }) => status === 'paid')
  const coverOf = async (): Promise<bigint> =>
    (await findSettleable(db, companyId)) + (await sumOpenFees(db, companyId))
  assert.equal(await coverOf(), 0n)

  assert.equal((await manager.call('PUT', 'channel-accounts/crypto', { settings: wallet })).status, 200)
  const own = await sell()
  assert.deepEqual([await findSettleable(db, companyId), await coverOf()], [-540_000n, 0n])
  assert.equal((await manager.post(`confirm_conversion/revert/${own.code}`, { address: newAddress() })).status, 200)
  assert.deepEqual([await findSettleable(db, companyId), await coverOf()], [-540_000n, 0n])
  const refused = await manager.post(`confirm_conversion/revert/${settled.code}`, { address: newAddress() })
  assert.equal(refused.error.code, 'REFUND_NOT_COVERED', refused.text)
  const left = refused.error.details?.find(({ path }) => path === 'left')
  assert.equal(left?.message, '0.540000', 'the fee that the operator kept of this order')
})

test('two orders paid at one static address: refunds go on, and the export names the right transaction of each', async () => {
  const { manager, companyId, place, sell } = await openCompany({ MODE: 'static', ADDRESSES: newAddress() })
  const [first, second, third] = [await sell(), await sell(), await place()]
  const csv = (await manager.get<string>('confirm_conversion/download?format=csv')).text
  const [names = '', ...lines] = csv.trim().split('\r\n')
  const place_ = names.split(',').indexOf('transactionHash')
  const hashOf = (code: string): string | undefined => {
    const hash = lines.find((line) => line.includes(code))?.split(',')[place_]
    return hash === first.txHash ? 'of the first' : hash === second.txHash ? 'of the second' : hash
  }
  const refund = await manager.post(`confirm_conversion/revert/${first.code}`, { amount: '1', address: newAddress() })
  const differences = await shop.host.db.many<{ booked: string; expected: string }>(
    sql`select booked, expected from ledger_differences where company_id = ${companyId}`,
  )
  assert.deepEqual(
    {
      export: { first: hashOf(first.code), second: hashOf(second.code), unpaid: hashOf(third.code) },
      refund: `${refund.status} ${refund.error?.code ?? ''}`,
      differences: differences.map(({ booked, expected }) => `${booked}, right is ${expected}`),
    },
    { export: { first: 'of the first', second: 'of the second', unpaid: '' }, refund: '200 ', differences: [] },
  )
})

test('undecided and ignored money in a company’s own wallet takes nothing from what the operator owes it', async () => {
  const { manager, companyId, place, pay } = await openCompany({ MODE: 'xpub', XPUB: newTestXpub() })
  const order = await place()
  await pay(order.toAddress, 20_000_000n)
  const record = await eventually(
    async () =>
      (await manager.get<{ mispayments: { _id: string }[] }>(`mispayments?code=${order.code}`)).data.mispayments[0],
    (one) => one !== undefined,
  )
  const open = await findSettleable(shop.host.db, companyId)
  const ignored = await manager.post(`mispayments/${record?._id}/ignore`, { reason: 'a gift' })
  assert.equal(ignored.status, 200, ignored.text)
  assert.deepEqual({ open, ignored: await findSettleable(shop.host.db, companyId) }, { open: 0n, ignored: 0n })
})

/** The orders that take the transfer. */
async function takersOf(txHash: string): Promise<string[]> {
  const [transfer] = await shop.host.db.many<{ id: string }>(
    sql`select id from chain_transfers where tx_hash = ${txHash}`,
  )
  return (await listTakers(shop.host.db, [transfer?.id ?? ''])).map(({ reference }) => reference.slice(0, 24))
}

/** Two hours ago, and its attempt closed half an hour later: the address is free again. */
async function makeOld({ orderId, toAddress }: { orderId: string; toAddress: string }): Promise<void> {
  await shop.host.db.run(sql`update deposit_reservations set from_at = from_at - interval '2 hours'
    where address = ${toAddress.toLowerCase()}`)
  await shop.host.db.run(sql`update payments set status = 'closed', closed_at = now() - interval '90 minutes'
    where order_id = ${orderId}`)
}

const change = async ({ manager }: Awaited<ReturnType<typeof openCompany>>, MODE: string, ADDRESSES: string) => {
  const saved = await manager.call('PUT', 'channel-accounts/crypto', { settings: { MODE, ADDRESSES } })
  assert.equal(saved.status, 200, saved.text)
}

test('an address that becomes one of a pool: what comes then counts for the order that has it, not also for an old one', async () => {
  const address = newAddress()
  const company = await openCompany({ MODE: 'static', ADDRESSES: address })
  await makeOld(await company.place())
  await makeOld(await company.place(shop.chain.payer))
  await change(company, 'pool', address)
  const next = await company.place()
  const whole = await company.pay(next.toAddress, next.units)
  await shop.reaches(next.code, 'PAID')
  const other = await company.pay(next.toAddress, 7_000_000n)
  await eventually(
    () => takersOf(other),
    (found) => found.length > 0,
  )
  assert.deepEqual([await takersOf(whole), await takersOf(other)], [[next.orderId], [next.orderId]])
})

test('a price that is dust on a chain is offered through no wallet, nor by x402; the next one up is paid', async () => {
  const company = await openCompany({ MODE: 'static', ADDRESSES: newAddress() })
  const { manager, till } = company
  const request = async (amount: number): Promise<OrderData> => {
    const body = { amount, fromAsset: 'XPF', merchantIdentifier: till }
    return (await manager.post<{ order: OrderData }>('confirm_conversion/request', body)).data.order
  }
  const own = await request(1)
  const operators = await shop.create({ amount: 1, fromAsset: 'XPF' })
  assert.deepEqual([own.toAmount, operators.toAmount], ['0.009050', '0.009050'])
  for (const answer of [
    await manager.post(`confirm_conversion/accept/${own.code}`, { paymentChannel: 'crypto' }),
    await shop.accept(operators.code),
  ]) {
    assert.deepEqual([answer.status, answer.error.code], [400, 'CHANNEL_NOT_AVAILABLE'], answer.text)
    assert.match(answer.error.message, /it takes no less than 0\.010000 USDC/)
  }
  for (const { code } of [own, operators]) {
    const answer = await fetch(`${shop.host.baseUrl}/pay/x402/${code}`, { headers: { accept: 'application/json' } })
    assert.equal(answer.status, 400, await answer.text())
    assert.equal((await shop.host.call<OrderData>('GET', `status/${code}`)).data.status, 'INITIAL')
  }
  const least = await shop.createAwaiting({ amount: 2, fromAsset: 'XPF' })
  await company.pay(least.toAddress, least.units)
  await shop.reaches(least.code, 'PAID')
})

type Listed = { transfers: { _id: string; txHash: string; candidates: { code: string; namesSender: boolean }[] }[] }

test('who names another’s address as the sender gets none of his money: a person decides which order it pays', async () => {
  const company = await openCompany({ MODE: 'static', ADDRESSES: newAddress() })
  const honest = await company.place()
  const [first, second] = [await company.place(shop.chain.payer), await company.place(shop.chain.payer)]
  const txHash = await company.pay(honest.toAddress, 50_000_000n)
  const listed = async () =>
    (await company.manager.get<Listed>('unmatched-transfers')).data.transfers.find((one) => one.txHash === txHash)
  const found = await eventually(listed, (one) => one !== undefined, 30_000)
  assert.deepEqual(await takersOf(txHash), [])
  // one order that names the sender comes first, and no number of them hides the one whose amount is closest
  const candidates = found?.candidates.map(({ code, namesSender }) => [code, namesSender])
  assert.deepEqual(candidates, [
    [first.code, true],
    [honest.code, false],
    [second.code, true],
  ])
  const matched = await company.manager.post(`unmatched-transfers/${found?._id}/match`, { code: honest.code })
  assert.equal(matched.status, 200, matched.text)
  await company.pay(honest.toAddress, 4_000_000n)
  for (const { orderId } of [first, second])
    assert.equal((await shop.story(orderId)).payments[0]?.receivedUnits ?? '0', '0')
  assert.equal((await shop.story(honest.orderId)).payments[0]?.receivedUnits, '50000000')
})

test('what a named sender paid before the upgrade stays paid, whoever names the same one since', async () => {
  const company = await openCompany({ MODE: 'static', ADDRESSES: newAddress() })
  const order = await company.place(shop.chain.payer)
  await shop.host.db.run(sql`update deposit_reservations set sender_until = now() + interval '1 hour'
    where address = ${order.toAddress.toLowerCase()}`)
  const part = await company.pay(order.toAddress, 20_000_000n)
  await eventually(
    () => takersOf(part),
    (found) => found.length > 0,
  )
  await company.place(shop.chain.payer)
  await shop.host.db.run(sql`update deposit_reservations set sender_until = (
      select block_at from chain_transfers where tx_hash = ${part})
    where address = ${order.toAddress.toLowerCase()} and sender_until is not null`)
  assert.deepEqual(await takersOf(part), [order.orderId])
  // a block's time is in whole seconds: the rest has to come after the part's
  const seenMs = Date.now()
  await eventually(
    async () => Date.now() - seenMs,
    (passedMs) => passedMs > 1000,
  )
  const rest = await company.pay(order.toAddress, order.units - 20_000_000n)
  const isListed = async () =>
    (await company.manager.get<Listed>('unmatched-transfers')).data.transfers.some((one) => one.txHash === rest)
  await eventually(isListed, (found) => found, 30_000)
  assert.deepEqual(await takersOf(rest), [])
})

test('an address that a pool gives up: what an old payer sends to it is listed, and counts for no static order', async () => {
  const address = newAddress()
  const company = await openCompany({ MODE: 'pool', ADDRESSES: address })
  await makeOld(await company.place(shop.chain.payer))
  await change(company, 'static', address)
  const next = await company.place()
  const txHash = await company.pay(next.toAddress, 7_000_000n)
  const listed = () => company.manager.get<{ transfers: { txHash: string }[] }>('unmatched-transfers')
  const { data } = await eventually(listed, ({ data }) => data.transfers.length > 0)
  assert.deepEqual(
    data.transfers.map((one) => one.txHash),
    [txHash],
  )
  assert.deepEqual(await takersOf(txHash), [])
})

test('an open order of a pool shares its address with static ones: each is paid by its own amount', async () => {
  const address = newAddress()
  const company = await openCompany({ MODE: 'pool', ADDRESSES: address })
  const first = await company.place()
  await change(company, 'static', address)
  const second = await company.place()
  assert.notEqual(second.units, first.units)
  await company.pay(address, first.units)
  await shop.reaches(first.code, 'PAID')
  await company.pay(address, second.units)
  await shop.reaches(second.code, 'PAID')
  assert.deepEqual(
    [(await heldBy(first.orderId)).own_account, (await heldBy(second.orderId)).own_account],
    [String(first.units), String(second.units)],
  )
})

/** Of the payment, as the books have it, and as they must be by the transfers. */
async function receives({ companyId }: { companyId: string }, orderId: string, units: bigint): Promise<void> {
  await eventually(
    async () => (await shop.story(orderId)).payments[0]?.receivedUnits,
    (received) => received === String(units),
  )
  assert.deepEqual(await listTransferDifferences(shop.host.db, companyId, 10, {}), [])
}

const listAsUnmatched = (ids: readonly string[]) => insertUnmatched(shop.host.db, ids, { dustUnits: 0n, usdc: {} })

test('an order that a node of the version before placed takes money on the networks that its wallet names', async () => {
  const settings = { MODE: 'pool', ADDRESSES: newAddress() }
  const company = await openCompany(settings)
  const order = await company.place()
  await placeAsBefore(shop.host.db, order)
  const onBase = await payOnBase(shop.host.db, order, order.units)
  assert.equal(await listAsUnmatched([onBase]), 0, 'it has its order')
  await company.pay(order.toAddress, 1n)
  await shop.reaches(order.code, 'PAID')
  const narrower = { settings: { ...settings, NETWORKS: '31337' } }
  assert.equal((await company.manager.call('PUT', 'channel-accounts/crypto', narrower)).status, 200)
  await company.pay(order.toAddress, 1n)
  await receives(company, order.orderId, order.units + 2n)
})

test('a match by hand brings no money of another network into an order that a node of the version before placed', async () => {
  const { db } = shop.host
  const company = await openCompany({ MODE: 'static', ADDRESSES: newAddress(), NETWORKS: '31337' })
  const order = await company.place()
  const onBase = await payOnBase(db, order, order.units)
  const matched = await payOnBase(db, order, order.units + 3n)
  assert.equal(await listAsUnmatched([matched]), 1)
  const { manager } = company
  assert.equal((await manager.post(`unmatched-transfers/${matched}/match`, { code: order.code })).status, 200)
  await shop.reaches(order.code, 'PAID')
  await placeAsBefore(db, order)
  await db.run(sql`update payments set next_check_at = now() where order_id = ${order.orderId}`)
  await eventually(
    () => listAsUnmatched([onBase]),
    (count) => count === 1,
  )
  await receives(company, order.orderId, order.units + 3n)
})

const pollNow = ({ orderId }: { orderId: string }) =>
  shop.host.db.run(sql`update payments set next_check_at = now(), lease_until = null where order_id = ${orderId}`)

test('an earlier order keeps what has counted when its wallet names fewer networks, and takes nothing else with it', async () => {
  const { db } = shop.host
  const settings = { MODE: 'pool', ADDRESSES: [1, 2, 3].map(newAddress).join() }
  const company = await openCompany(settings)
  const [paid, foreign, unclear] = [await company.place(), await company.place(), await company.place()]
  const half = paid.units / 2n
  for (const order of [paid, foreign, unclear]) {
    await payOnBase(db, order, half)
    await pollNow(order)
    await receives(company, order.orderId, half)
    // as if it were not polled before all of the following has happened
    await db.run(sql`update payments set lease_until = now() + interval '1 hour' where order_id = ${order.orderId}`)
    await placeAsBefore(db, order)
  }
  const narrower = { settings: { ...settings, NETWORKS: '31337' } }
  assert.equal((await company.manager.call('PUT', 'channel-accounts/crypto', narrower)).status, 200)
  const last = await company.pay(paid.toAddress, half)
  await eventually(
    () => db.maybe(sql`select 1 from chain_transfers where tx_hash = ${last} and final_at is not null`),
    (found) => found !== undefined,
  )
  const never = await payOnBase(db, foreign, half, 137)
  // nor is it known which of two equal sums has counted: a manager decides
  const either = await payOnBase(db, unclear, half, 137)
  await db.run(sql`update chain_transfers set final_at = final_at - interval '1 hour' where id = ${either}`)
  await pollNow(paid)
  await shop.reaches(paid.code, 'PAID')
  await receives(company, paid.orderId, paid.units)
  for (const [order, id, units] of [
    [foreign, never, half],
    [unclear, either, 0n],
  ] as const) {
    await pollNow(order)
    await eventually(
      () => listAsUnmatched([id]),
      (count) => count === 1,
    )
    const { change } = await db.one<{ change: bigint }>(sql`select change from chain_transfers where id = ${id}`)
    assert.ok(change > 0n, 'it is announced again')
    await receives(company, order.orderId, units)
  }
})

test('an earlier order takes money on its own network alone once its company’s wallet has its address no more', async () => {
  const { db } = shop.host
  const company = await openCompany({ MODE: 'pool', ADDRESSES: newAddress(), NETWORKS: '31337' })
  const order = await company.place()
  const onBase = await payOnBase(db, order, order.units)
  const elsewhere = { settings: { MODE: 'pool', ADDRESSES: newAddress() } }
  for (const [method, body] of [
    ['PUT', elsewhere],
    ['DELETE', {}],
  ] as const) {
    assert.equal((await company.manager.call(method, 'channel-accounts/crypto', body)).status, 200)
    await placeAsBefore(db, order)
    await pollNow(order)
    await eventually(
      async () => {
        await db.run(sql`delete from unmatched_transfers where transfer_id = ${onBase}`)
        return listAsUnmatched([onBase])
      },
      (count) => count === 1,
    )
  }
  await company.pay(order.toAddress, 1n)
  await receives(company, order.orderId, 1n)
})

test('money without an order that takes long to record delays no payment', async (t) => {
  const { db } = shop.host
  const holder = new pg.Client({ connectionString: db.connectionString })
  await holder.connect()
  t.after(() => holder.end())
  const findWait = () =>
    db.maybe<{ since: Date }>(sql`
      select query_start as since from pg_stat_activity
      where wait_event_type = 'Lock' and query like '%insert into unmatched_transfers%' and datname = current_database()`)
  const isSeenMeanwhile = async (): Promise<boolean> => {
    const [first, second] = [await shop.createAwaiting(), await shop.createAwaiting()]
    await db.run(sql`update payments set next_check_at = null where order_id = ${second.orderId}`)
    await holder.query('begin')
    await holder.query('lock table unmatched_transfers in share row exclusive mode')
    await shop.chain.pay({ to: first.toAddress, units: first.units })
    const wait = await eventually(findWait, (found) => found !== undefined)
    await shop.chain.pay({ to: second.toAddress, units: second.units })
    await shop.reaches(second.code, 'WAITING_CHAIN_CONFIRMATION')
    const still = await findWait()
    await holder.query('rollback')
    return still?.since.getTime() === wait?.since.getTime()
  }
  // one wait lasts five seconds, which a busy machine may need by itself
  assert.ok((await isSeenMeanwhile()) || (await isSeenMeanwhile()))
})
