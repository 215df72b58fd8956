import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import pino from 'pino'
import {
  openWatchPayout,
  type PayoutRequest,
  type Payouts,
  type WatchPayout,
  withdrawPayout,
} from '../src/chain/payout/payout.ts'
import { sql } from '../src/db/db.ts'
import { idFrom, newId } from '../src/kernel/ids.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { findHold } from '../web/office/src/frame/holds.ts'
import { type Client, logInSuperAdmin } from './harness/accounts.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createPaid, listRefunds, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { isMined, openKeyless, openRestoredShop, type RestoredShop } from './harness/restored.ts'
import type { RpcProxy } from './harness/rpc-proxy.ts'
import { eventually, startTestService } from './harness/service.ts'
import { chainEnv, type Shop } from './harness/shop.ts'

/*
 * What left the wallet before a restore, and only the lost database knows. The token remembers it: nothing is paid
 * twice.
 */

type Settlement = {
  _id: string
  status: string
  amount: string
  paidAmount: string | null
  paidTo: string | null
  txHash: string | null
  message: string | null
}

let world: RestoredShop
let shop: Shop
let node: RpcProxy
/** Another chain, 31338, with the same keys. */
let otherChain: TestChain
let admin: Client
let restored: Payouts

before(async () => {
  world = await openRestoredShop(async (keys) => {
    otherChain = await startTestChain()
    await otherChain.call('anvil_setChainId', 31338)
    const there = { ...chainEnv(otherChain), ...keys }
    return Object.fromEntries(Object.entries(there).map(([key, value]) => [toOtherChain(key), value]))
  })
  ;({ shop, node, admin, restored } = world)
})
after(async () => {
  await world?.stop()
  await otherChain?.stop()
})

const toOtherChain = (setting: string): string => setting.replace('31337', '31338')

const withdraw = (asked: PayoutRequest, isPaid: boolean): Promise<boolean> =>
  withdrawPayout(
    shop.host.db,
    { ...asked, chainId: shop.chain.chainId },
    { by: isPaid ? 'canBeNamed' : 'canBeTakenBack', providerStatus: 'withdrawn' },
    new Date(),
  )

test('a database restored from before the payout cannot pay it again', async () => {
  const asked = { id: newId(), to: newAddress(), units: 1_500_000n }
  const txHash = await world.leave(asked)
  const again = await restored.send(asked)
  assert.deepEqual([again.outcome, again.txHash], ['settled', txHash])
  assert.equal(await shop.chain.balanceOf(asked.to), asked.units)
})

test('what had left with another amount, or to another address, is said, and cannot be taken back', async () => {
  const { db } = shop.host
  const asked = { id: newId(), to: newAddress(), units: 1_500_000n }
  const txHash = await world.leave(asked)
  const others = [
    { ...asked, units: asked.units + 5_000_000n },
    { ...asked, units: asked.units - 500_000n },
    { ...asked, to: newAddress() },
  ]
  for (const other of others) {
    const { outcome, providerStatus } = await restored.send(other)
    assert.equal(outcome, 'pending')
    const to = asked.to.toLowerCase()
    const done = `Transaction ${txHash} has used its authorization, and brought 1.500000 USDC to ${to} instead of `
    assert.equal(providerStatus.slice(0, done.length), done)
    assert.equal(await withdraw(other, false), false)
    assert.equal(await shop.chain.balanceOf(asked.to), asked.units)
    assert.equal(await withdraw(other, true), true, 'a person who found the transaction can name it')
    assert.equal(await withdraw(other, false), false, 'nor after that')
    await db.run(sql`delete from chain_payouts where id = ${asked.id}`)
  }
})

/** Owed is what an order brought; its payout goes to a new address. @returns that address */
async function owe(): Promise<string> {
  const to = newAddress()
  await createPaid(shop)
  await shop.host.db.run(sql`
    update companies set settlement_address = ${to}, settlement_network = 31337 where id = ${shop.merchant.companyId}`)
  return to
}

let settled = 0

/** What the company’s newest settlement asks for, or the nth after it. */
const settlementIn = (nth: number, to: string, units: bigint): PayoutRequest => ({
  ...{ to, units },
  id: idFrom('settlement', shop.merchant.companyId, settled + nth),
})

async function create(): Promise<Settlement & { units: bigint }> {
  const { data } = await admin.post<Settlement>('settlements', { companyId: shop.merchant.companyId })
  settled += 1
  return { ...data, units: BigInt(data.amount.replace('.', '')) }
}

const approve = ({ _id }: Settlement) => admin.post(`settlements/${_id}/approve`)
const name = ({ _id }: Settlement, txHash: string | null) =>
  admin.post<Settlement>(`settlements/${_id}/paid`, { txHash })

const settlementReaches = (id: string, isRight: (settlement: Settlement) => boolean): Promise<Settlement> =>
  eventually(async () => {
    await shop.chain.mine()
    return (await admin.get<Settlement>(`settlements/${id}`)).data
  }, isRight)

const isPaid = ({ status }: Settlement): boolean => status === 'paid'

async function booksAreRight(): Promise<void> {
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
}

test('a refund whose number was shifted by one that was rejected before the restore waits, and is not paid twice', async () => {
  const order = await createPaid(shop)
  const payer = newAddress()
  const id = idFrom('refund', shop.merchant.companyId, order.orderId, 2)
  const txHash = await world.leave({ id, to: payer, units: 10_000_000n })
  await revert(shop, order.code, { amount: '10', address: payer })
  const shifted = await refundReaches(shop, order.orderId, 'ready')
  const { message } = await world.refundWaits(order.orderId)
  assert.deepEqual([message?.includes(`${txHash} brought 10.000000 USDC`), findHold(message)], [true, 'another'])
  const named = await world.nameRefund(shifted, txHash)
  assert.match(
    JSON.stringify(named.error),
    /is the payout of another refund .* Reject or cancel this one, and ask again/,
  )
  assert.equal((await admin.post(`refunds/${shifted._id}/reject`, { reason: 'it left under the next' })).status, 200)
  await revert(shop, order.code, { amount: '10', address: payer })
  const found = await refundReaches(shop, order.orderId, 'settled')
  assert.deepEqual([found.txHash, await shop.chain.balanceOf(payer)], [txHash, 10_000_000n])
  await booksAreRight()
})

test('a settlement whose number was shifted by one that was cancelled before the restore waits, and is not paid twice', async () => {
  const to = await owe()
  const first = await create()
  const { units } = first
  const txHash = await world.leave(settlementIn(1, to, units))
  await approve(first)
  const shifted = await settlementReaches(first._id, ({ message }) =>
    /before the database was restored/.test(message ?? ''),
  )
  assert.match(shifted.message ?? '', new RegExp(`^waits: a later one left .* ${txHash} `))
  assert.match(JSON.stringify((await name(first, txHash)).error), /is the payout of another refund or settlement/)
  assert.equal((await admin.post<Settlement>(`settlements/${first._id}/cancel`)).data.status, 'cancelled')
  const again = await create()
  await approve(again)
  const found = await settlementReaches(again._id, isPaid)
  assert.deepEqual([found.txHash, await shop.chain.balanceOf(to)], [txHash, units])
  await booksAreRight()
})

const isHeld = ({ message }: Settlement): boolean => findHold(message) === 'otherwise'

/** Since when it counts in the day's sum; null: it does not. */
async function releasedAtOf({ _id }: Settlement): Promise<Date | null> {
  const { at } = await shop.host.db.one<{ at: Date | null }>(
    sql`select released_at as at from settlements where id = ${_id}`,
  )
  return at
}

const watchKeyless = (t: TestContext): WatchPayout =>
  openWatchPayout({ ...openKeyless(t, shop), db: shop.host.db, clock: Date.now, log: pino({ level: 'silent' }) })

test('a settlement that had left and is not final is followed without the keys, and counts in the day’s sum', async (t) => {
  const to = await owe()
  const made = await create()
  await world.leaveUnfinal(settlementIn(0, to, made.units))
  await approve(made)
  await eventually(async () => (await admin.get<Settlement>(`settlements/${made._id}`)).data, isMined)
  const seen = await watchKeyless(t)(made._id)
  assert.deepEqual([seen?.outcome, isMined({ message: seen?.providerStatus ?? null })], ['pending', true])
  assert.ok(await releasedAtOf(made))
  await settlementReaches(made._id, isPaid)
})

test('a settlement that had left as asked counts in the day’s sum, also if its transaction is found late', async (t) => {
  const to = await owe()
  const made = await create()
  const txHash = await world.leave(settlementIn(0, to, made.units))
  t.after(() => node.heal())
  // a node without old logs
  node.faults.refuses = ({ method }) => method === 'eth_getLogs'
  await approve(made)
  await settlementReaches(made._id, ({ message }) => /Look it up/.test(message ?? ''))
  node.heal()
  await shop.host.db.run(sql`update settlements set next_check_at = now() where id = ${made._id}`)
  assert.equal((await settlementReaches(made._id, isPaid)).txHash, txHash)
  assert.ok(await releasedAtOf(made))
})

test('a settlement that had left with less is paid with what left, and the rest is owed again, also where it left next', async (t) => {
  const to = await owe()
  const made = await create()
  const rest = made.units - 5_000_000n
  const [own, next] = [await world.leave(settlementIn(0, to, 5_000_000n)), await world.leave(settlementIn(1, to, rest))]
  await approve(made)
  await settlementReaches(made._id, isHeld)
  assert.equal(await releasedAtOf(made), null, 'it takes nothing of the day’s limit')
  const seen = await watchKeyless(t)(made._id)
  assert.equal(findHold(seen?.providerStatus ?? null), 'otherwise', 'a node without the keys says so as well')
  assert.equal((await admin.post(`settlements/${made._id}/cancel`)).error.code, 'OBJECT_CONFLICT')
  const foreign = await shop.chain.pay({ to, units: made.units })
  await shop.chain.mine(4)
  assert.match(JSON.stringify((await name(made, next)).error), /is the payout of another refund or settlement/)
  const { error } = await name(made, foreign)
  assert.ok(JSON.stringify(error).includes(`left in transaction ${own}. Name that one`), 'it moved something else')
  const { data: paid } = await name(made, own)
  assert.deepEqual([paid.status, paid.amount, paid.paidAmount], ['paid', made.amount, '5.000000'])
  await booksAreRight()
  const second = await create()
  assert.equal(second.units, rest)
  const { data: statement } = await admin.get<{ summary: { carriedOver: string; owed: string } }>(
    `settlements/${second._id}/statement`,
  )
  assert.deepEqual([statement.summary.carriedOver, statement.summary.owed], [second.amount, second.amount])
  await approve(second)
  const found = await settlementReaches(second._id, isPaid)
  assert.deepEqual(
    [found.txHash, found.paidAmount, await shop.chain.balanceOf(to)],
    [next, second.amount, made.units * 2n],
  )
  await booksAreRight()
})

test('a settlement that had left with more, and to another address, takes the surplus from the next', async () => {
  const to = await owe()
  const elsewhere = newAddress()
  const made = await create()
  const txHash = await world.leave(settlementIn(0, elsewhere, made.units + 7_000_000n))
  await approve(made)
  await settlementReaches(made._id, isHeld)
  const { data: paid } = await name(made, txHash)
  assert.deepEqual([paid.status, paid.txHash, paid.paidTo], ['paid', txHash, elsewhere.toLowerCase()])
  assert.equal(BigInt(paid.paidAmount?.replace('.', '') ?? 0), made.units + 7_000_000n)
  const [audited] = await shop.host.db.many<{ detail: string }>(sql`
    select detail from audit_log where object = ${`settlement:${made._id}`} and action = 'settlement.paid'`)
  const { asked, left, leftTo } = JSON.parse(audited?.detail ?? '{}')
  assert.deepEqual([asked, left, leftTo], [made.amount, paid.paidAmount, elsewhere.toLowerCase()])
  assert.deepEqual([await releasedAtOf(made), await shop.chain.balanceOf(to)], [null, 0n])
  await booksAreRight()
  await owe()
  const next = await create()
  assert.equal(next.amount, '47.000000')
  await booksAreRight()
  await admin.post(`settlements/${next._id}/cancel`)
})

test('a refund waits for the later one that left, also once another refund has taken its number', async () => {
  const order = await createPaid(shop)
  const payer = newAddress()
  await world.leave({
    ...{ id: idFrom('refund', shop.merchant.companyId, order.orderId, 2), to: payer, units: 10_000_000n },
  })
  await revert(shop, order.code, { amount: '10', address: payer })
  const waiting = await world.refundWaits(order.orderId)
  const { db } = shop.host
  await shop.chain.pay({ to: order.toAddress, units: 5_000_000n })
  await shop.makeFinal()
  const [excess] = await eventually(
    () => db.many<{ id: string }>(sql`select id from mispayments where order_id = ${order.orderId}`),
    (rows) => rows.length > 0,
  )
  await admin.post(`mispayments/${excess?.id}/refund`, { address: newAddress(), reason: 'excess' })
  await refundReaches(shop, order.orderId, 'needs_address')
  await db.run(sql`update refunds set next_check_at = now() where id = ${waiting._id}`)
  await eventually(
    () => db.one<{ words: string }>(sql`select last_words as words from refunds where id = ${waiting._id}`),
    ({ words }) => findHold(words) === 'unfinished',
  )
  assert.equal(await shop.chain.balanceOf(payer), 10_000_000n)
})

test('a settlement that was cancelled before its first poll had left: the next one waits, and is paid with what left', async (t) => {
  const to = await owe()
  const first = await create()
  const txHash = await world.leave(settlementIn(0, to, first.units - 1_000_000n))
  assert.equal((await admin.post<Settlement>(`settlements/${first._id}/cancel`)).data.status, 'cancelled')
  const again = await create()
  await approve(again)
  const { message } = await settlementReaches(again._id, ({ message }) => /was restored/.test(message ?? ''))
  assert.deepEqual([message?.includes(`${txHash} `), findHold(message)], [true, 'dropped'])
  const { data: paid } = await name(again, txHash)
  assert.deepEqual([paid.status, paid.txHash, paid.paidTo?.toLowerCase()], ['paid', txHash, to.toLowerCase()])
  assert.equal(await shop.chain.balanceOf(to), first.units - 1_000_000n)
  await booksAreRight()
  const rest = await create()
  t.after(() => node.heal())
  node.faults.refuses = ({ method }) => method === 'eth_getLogs'
  await approve(rest)
  assert.equal((await settlementReaches(rest._id, isPaid)).amount, '1.000000', 'what left is accounted for')
  assert.equal(await shop.chain.balanceOf(to), first.units)
})

test('of two settlements that had left, none is forgotten when the first is named for the second number', async () => {
  const to = await owe()
  const first = await create()
  const five = await world.leave(settlementIn(0, to, 5_000_000n))
  const seven = await world.leave(settlementIn(1, to, 7_000_000n))
  await admin.post(`settlements/${first._id}/cancel`)
  const second = await create()
  await approve(second)
  await settlementReaches(second._id, isHeld)
  const { error } = await name(second, five)
  assert.ok(JSON.stringify(error).includes(`left in transaction ${seven}. Name that one`))
  assert.equal((await name(second, seven)).data.paidAmount, '7.000000')
  const third = await create()
  await approve(third)
  await settlementReaches(third._id, ({ message }) => /was restored/.test(message ?? ''))
  assert.equal((await name(third, five)).data.paidAmount, '5.000000')
  const rest = await create()
  await approve(rest)
  await settlementReaches(rest._id, isPaid)
  assert.equal(await shop.chain.balanceOf(to), first.units)
  await booksAreRight()
})

test('a settlement that a person sends waits for what had left as well', async () => {
  const to = await owe()
  const made = await create()
  const txHash = await world.leave(settlementIn(1, to, made.units))
  await shop.host.db.run(sql`update settlements set handed_over_at = now() where id = ${made._id}`)
  await approve(made)
  const { message } = await settlementReaches(made._id, ({ message }) => message !== null)
  assert.match(
    message ?? '',
    new RegExp(`^waits: a later one left before the database was restored or another server took over: .* ${txHash} `),
  )
  await admin.post(`settlements/${made._id}/cancel`)
  const next = await create()
  await approve(next)
  assert.equal((await settlementReaches(next._id, isPaid)).txHash, txHash)
  assert.equal(await shop.chain.balanceOf(to), made.units)
})

test('what left to another address pays nothing else, is named again after a crash, and the settlement says where it went', async () => {
  const { db } = shop.host
  const order = await createPaid(shop)
  await owe()
  const elsewhere = newAddress()
  const made = await create()
  const txHash = await world.leave(settlementIn(0, elsewhere, 10_000_000n))
  await approve(made)
  await settlementReaches(made._id, isHeld)
  await revert(shop, order.code, { amount: '10', address: elsewhere })
  const [refund] = await listRefunds(shop, order.orderId)
  assert.equal((await world.nameRefund({ _id: refund?._id ?? '' }, txHash)).status, 422)
  await db.run(sql`alter table settlements add constraint crash check (not by_hand) not valid`)
  assert.equal((await name(made, txHash)).status, 500)
  const { message } = await settlementReaches(made._id, (seen) => !isHeld(seen))
  assert.deepEqual([message?.startsWith(`Transaction ${txHash} was named`), findHold(message)], [true, 'named'])
  await db.run(sql`alter table settlements drop constraint crash`)
  const { data: paid } = await name(made, txHash)
  assert.deepEqual([paid.status, paid.paidAmount, paid.paidTo], ['paid', '10.000000', elsewhere.toLowerCase()])
  assert.equal(paid.message, `left in transaction ${txHash}: 10.000000 USDC to ${elsewhere.toLowerCase()}`)
  const claims = await db.many<{ to: string }>(
    sql`select to_address as to from claimed_transfers where tx_hash = ${txHash}`,
  )
  assert.ok(claims.some(({ to }) => to === elsewhere.toLowerCase()))
  await booksAreRight()
})

test('a payout whose transaction was named for another settlement does not settle by it as well', async () => {
  const { db } = shop.host
  const to = await owe()
  const made = await create()
  const txHash = await world.leave(settlementIn(0, to, made.units))
  await db.run(sql`insert into claimed_transfers values (31337, ${txHash}, ${to.toLowerCase()}, 'another')`)
  await approve(made)
  const words = /^Transaction 0x[0-9a-f]+ paid this, but it was named for another refund or settlement/
  const { status } = await settlementReaches(made._id, ({ message }) => words.test(message ?? ''))
  assert.equal(status, 'approved')
  await db.run(sql`delete from claimed_transfers where cause_id = 'another'`)
  await settlementReaches(made._id, isPaid)
  await booksAreRight()
})

const payTo = (network: number) =>
  shop.host.db.run(sql`update companies set settlement_network = ${network} where id = ${shop.merchant.companyId}`)

test('a settlement that had left on another chain is not paid a second time, and is found there', async () => {
  const to = await owe()
  await payTo(31338)
  const made = await create()
  const txHash = await world.leave(settlementIn(0, to, made.units))
  await approve(made)
  const waits = async (settlement: Settlement, words: RegExp) => {
    const { message } = await settlementReaches(settlement._id, ({ message }) => /was restored/.test(message ?? ''))
    assert.match(message ?? '', words)
  }
  await waits(made, new RegExp(`^waits: this one left on .* ${txHash} .* Reject or cancel this one, ask for one on `))
  await admin.post(`settlements/${made._id}/cancel`)
  const again = await create()
  await approve(again)
  await waits(again, new RegExp(`^waits: another one, which was then .* left on .* ${txHash} `))
  await admin.post(`settlements/${again._id}/cancel`)
  await payTo(31337)
  const found = await create()
  await approve(found)
  await waits(found, new RegExp(`^waits: another one, which was then .*, left before .* ${txHash} `))
  assert.equal((await name(found, txHash)).data.status, 'paid')
  assert.equal(await shop.chain.balanceOf(to), made.units)
  await booksAreRight()
})

test('while a chain on which payouts left is not set up, nothing is sent', async () => {
  const { db } = shop.host
  await db.run(sql`insert into paying_wallets values (31339, ${newAddress().toLowerCase()})`)
  const order = await createPaid(shop)
  await revert(shop, order.code, { amount: '10', address: newAddress() })
  const { message, _id } = await world.refundWaits(order.orderId, /was restored/)
  assert.match(message ?? '', /the chain 31339, which is not set up: .* Set CHAIN_31339_RPC_URL and CHAIN_31339_XPUB; /)
  await db.run(sql`delete from paying_wallets where chain_id = 31339`)
  await db.run(sql`update refunds set next_check_at = now() where id = ${_id}`)
  await refundReaches(shop, order.orderId, 'settled')
})

test('what an earlier wallet had paid is not paid again after a change of keys', async () => {
  const { db } = shop.host
  const present = await db.many<{ address: string }>(sql`select address from paying_wallets where chain_id = 31337`)
  assert.deepEqual(present, [{ address: restored.address.toLowerCase() }], 'the service remembers its own')
  const earlier = world.openLost(await payoutEnv(shop.chain))
  await db.run(sql`insert into paying_wallets values (31337, ${earlier.address.toLowerCase()})`)
  const payer = newAddress()
  const leave = async (units: bigint) => {
    const order = await createPaid(shop)
    const id = idFrom('refund', shop.merchant.companyId, order.orderId, 1)
    const txHash = await world.leave({ id, to: payer, units }, earlier)
    await revert(shop, order.code, { amount: '10', address: payer })
    return { ...order, txHash }
  }
  const asked = await leave(10_000_000n)
  assert.equal((await refundReaches(shop, asked.orderId, 'settled')).txHash, asked.txHash)
  const less = await leave(9_000_000n)
  const { _id, message } = await world.refundWaits(less.orderId)
  assert.deepEqual([message?.includes(`${less.txHash} `), findHold(message)], [true, 'left'])
  const foreign = await shop.chain.pay({ to: payer, units: 10_000_000n })
  await shop.chain.mine(4)
  const { error } = await world.nameRefund({ _id }, foreign)
  assert.ok(JSON.stringify(error).includes(`left in transaction ${less.txHash}`))
  assert.equal((await world.nameRefund({ _id }, less.txHash)).status, 422)
  assert.equal((await admin.post(`refunds/${_id}/reject`, { reason: 'less left' })).status, 200)
  await revert(shop, less.code, { amount: '9', address: payer })
  const { _id: next } = await world.refundWaits(less.orderId)
  assert.equal((await world.nameRefund({ _id: next }, less.txHash)).status, 200)
  await refundReaches(shop, less.orderId, 'settled')
  assert.equal(await shop.chain.balanceOf(payer), 29_000_000n, 'what left twice, and what a person sent')
})

test('what left is named on a node without the keys; an earlier version wrote it down nowhere else', async (t) => {
  const { db } = shop.host
  const { connectionString } = shop.host
  const web = await startTestService({ env: chainEnv(shop.chain), connectionString })
  t.after(() => web.stop())
  const { order, payer, txHash } = await world.leaveDropped()
  const { _id } = await world.refundWaits(order.orderId)
  const path = `refunds/${_id}/transaction`
  assert.equal((await (await logInSuperAdmin(web)).post(path, { txHash })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  const noted = await db.many<{ txHash: string | null }>(sql`select tx_hash from chain_payouts where id = ${_id}`)
  assert.deepEqual(noted, [{ txHash }])
  await db.run(sql`update chain_payouts set tx_hash = null where id = ${_id}`)
  await revert(shop, order.code, { amount: '5', address: payer })
  await eventually(
    () => refundReaches(shop, order.orderId, 'settled'),
    ({ amount }) => amount === '5.000000',
  )
  assert.equal(await shop.chain.balanceOf(payer), 15_000_000n)
})
