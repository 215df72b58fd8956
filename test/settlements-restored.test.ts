import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { auditBalances } from '../src/assembly/money-checks.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { networkFor } from '../src/chain/networks.ts'
import { openWatchPayout } from '../src/chain/payout/payout.ts'
import { recognise } from '../src/chain/payout/state/after-restore.ts'
import { sql } from '../src/db/db.ts'
import { markRestored } from '../src/db/restored-queries.ts'
import { DAY } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { type Books, openBooks } from '../src/ledger/books.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logIn, logInSuperAdmin, type Person, registerManager } from './harness/accounts.ts'
import { createPaid, newAddress, refundReaches, revert } from './harness/refunds.ts'
import { noteReconciled, openKeyless, openRestoredShop, type RestoredShop } from './harness/restored.ts'
import { eventually } from './harness/service.ts'
import type { Shop } from './harness/shop.ts'

/* Settlements that were open or approved in a backup: their company has to confirm its payout address first. */

type Settlement = {
  _id: string
  status: string
  address: string
  amount: string
  txHash: string | null
  message: string | null
}

let world: RestoredShop
let shop: Shop
let admin: Client
let boss: Person
let manager: Client
let companyId: string
let books: Books

const get = async (id: string) => (await admin.get<Settlement>(`settlements/${id}`)).data
const reaches = (id: string, isRight: (settlement: Settlement) => boolean): Promise<Settlement> =>
  eventually(async () => {
    await shop.chain.mine()
    return get(id)
  }, isRight)
const isPaid = ({ status }: Settlement): boolean => status === 'paid'
const unitsOf = ({ amount }: Settlement): bigint => BigInt(amount.replace('.', ''))
const poll = ({ _id }: Settlement) =>
  shop.host.db.run(sql`update settlements set next_check_at = now() where id = ${_id}`)

/** Somebody of the company saves its payout address, with a fresh second factor. */
async function save(settlementAddress: string): Promise<void> {
  const { db } = shop.host
  await db.run(sql`update sessions set second_factor_at = now() where user_id = ${boss.userId} and revoked_at is null`)
  await eventually(
    () => manager.call('PUT', `companies/${companyId}`, { settlementAddress }),
    ({ status }) => status === 200,
    20_000,
  )
}

let restores = 0

/** The database is restored once more, so long ago that all pools are empty, with this address in the backup. */
async function restoreWith(address: string): Promise<void> {
  const { db, baseUrl } = shop.host
  await db.run(sql`
    update companies set settlement_address = ${address}, settlement_network = 31337, settlement_set_by = 'the manager'
    where id = ${companyId}`)
  restores += 1
  const restoredAt = new Date(Date.now() - 94 * 60_000 - restores)
  await db.tx((tx) => markRestored(tx, { backupMadeAt: restoredAt, restoredAt }))
  await noteReconciled(db)
  admin = await logInSuperAdmin(shop.host)
  manager = await logIn(baseUrl, boss.email)
}

/** A settlement of the backup, in this state there. */
async function makeBefore(status: 'open' | 'approved'): Promise<Settlement> {
  const { data: made, error } = await admin.post<Settlement>('settlements', { companyId })
  assert.ok(made, error?.message)
  const approvedBy = status === 'approved' ? 'user:x' : null
  await shop.host.db.run(sql`
    update settlements set status = ${status}, approved_by = ${approvedBy}, created_at = created_at - interval '1 day'
    where id = ${made._id}`)
  return made
}

/** Compares what left the paying wallet with what is known here. */
async function audit(): Promise<void> {
  const { chain, host } = shop
  const newest = await chain.blockNumber()
  const readUpTo = () => host.db.one<{ number: bigint }>(sql`select number from chain_heads where chain_id = 31337`)
  await eventually(readUpTo, ({ number }) => number >= newest)
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const chains = [{ network, endpoints: openEndpoints(network, [world.rpc]) }]
  await auditBalances({ db: host.db, log: pino({ level: 'silent' }), clock: Date.now, chains, books }, new Map())
}

/** What holds the payouts of a company that has nothing to do with it. */
const findHoldOfOthers = () => books.findHold(newId())

before(async () => {
  world = await openRestoredShop()
  ;({ shop } = world)
  ;({ companyId } = shop.merchant)
  const { db, baseUrl } = shop.host
  books = openBooks({ db, clock: Date.now, log: pino({ level: 'silent' }), alarm: async () => {}, usdc: {} })
  boss = await registerManager(baseUrl)
  await db.run(sql`
    update users set company_id = ${companyId}, verified_at = now(), approved_at = now() where id = ${boss.userId}`)
})
after(() => world?.stop())

test('what had left is recognised before its company confirms the address, and stops the payouts of nobody', async () => {
  const { db } = shop.host
  const [old, payer] = [newAddress(), newAddress()]
  const order = await createPaid(shop)
  const refunded = await createPaid(shop)
  await createPaid(shop)
  await restoreWith(old)
  // the wallet was audited before the backup
  await revert(shop, order.code, { amount: '1', address: payer })
  await refundReaches(shop, order.orderId, 'settled')
  await audit()
  assert.equal(await findHoldOfOthers(), null)
  await revert(shop, refunded.code, { amount: '2' })
  const refund = await refundReaches(shop, refunded.orderId, 'needs_address', false)

  const made = await makeBefore('approved')
  await poll(made)
  await reaches(made._id, ({ message }) => /has not confirmed its settlement address/.test(message ?? ''))
  assert.equal(await shop.chain.balanceOf(old), 0n, 'it is not signed')
  const { count } = await db.one<{ count: number }>(
    sql`select count(*)::int as count from chain_payouts where id = ${made._id}`,
  )
  assert.equal(count, 0, 'nor bound to the wallet of now')

  const txHash = await world.leave({ id: made._id, to: old, units: unitsOf(made) })
  await world.leave({ id: refund._id, to: payer, units: 2_000_000n })
  await audit()
  assert.match((await findHoldOfOthers()) ?? '', /the books differ: Difference at wallet/)
  await poll(made)
  assert.equal((await reaches(made._id, isPaid)).txHash, txHash)
  // so is a refund, while the books differ because of it
  await db.run(sql`
    update refunds set status = 'ready', network = 31337, address = ${payer}, next_check_at = now()
    where id = ${refund._id}`)
  await refundReaches(shop, refunded.orderId, 'settled')
  await audit()
  assert.equal(await findHoldOfOthers(), null)
  assert.deepEqual([await shop.chain.balanceOf(old), await shop.chain.balanceOf(payer)], [unitsOf(made), 3_000_000n])
  assert.equal((await verifyLedger(db)).difference, null)
})

test('what had left as something else is said before its company confirms the address, and paid with what left', async () => {
  const old = newAddress()
  await createPaid(shop)
  await restoreWith(old)
  const made = await makeBefore('approved')
  const txHash = await world.leave({ id: made._id, to: old, units: 5_000_000n })
  await poll(made)
  const { message } = await reaches(made._id, (one) => /has used its authorization/.test(one.message ?? ''))
  assert.ok(message?.startsWith(`Transaction ${txHash} `), message ?? '')
  assert.equal((await admin.post(`settlements/${made._id}/cancel`)).status, 409)
  const { data: paid } = await admin.post<Settlement>(`settlements/${made._id}/paid`, { txHash })
  assert.deepEqual([paid.status, await shop.chain.balanceOf(old)], ['paid', 5_000_000n])
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})

test('a node without the keys recognises what had left as asked, once it is final, and nothing else', async (t) => {
  const { db } = shop.host
  const keyless = openKeyless(t, shop)
  const asked = { id: newId(), to: newAddress(), units: 3_000_000n }
  const look = async (what: typeof asked, since = new Date(0)) => {
    await recognise({ db, clock: Date.now }, keyless, what, async () => since)
    return db.many<{ status: string; txHash: string }>(sql`
      select status, tx_hash from chain_payouts where id = ${what.id}`)
  }
  assert.deepEqual(await look(asked), [], 'nothing left')
  await world.leaveUnfinal(asked)
  assert.deepEqual(await look(asked), [], 'it is not final')
  const txHash = await world.leave(asked)
  assert.deepEqual(await look({ ...asked, units: 4_000_000n }), [], 'another amount is for a person to name')
  const later = new Date(Date.now() + DAY)
  assert.deepEqual(await look(asked, later), [], 'what was made since the restore is not asked about')
  await db.run(sql`update installation set reconciled_at = null`)
  assert.deepEqual(await look(asked), [], 'nothing is concluded before the chains were compared')
  await noteReconciled(db)
  assert.deepEqual(await look(asked), [{ status: 'mined', txHash }])
  const watch = openWatchPayout({ ...keyless, db, clock: Date.now, log: pino({ level: 'silent' }) })
  assert.deepEqual(await watch(asked.id).then((seen) => [seen?.outcome, seen?.txHash]), ['settled', txHash])
  assert.equal(await shop.chain.balanceOf(asked.to), asked.units)
})

test('what was made before its company named another address does not go to the one of the backup', async () => {
  const [old, today] = [newAddress(), newAddress()]
  await createPaid(shop)
  await restoreWith(old)
  // on pay day the operator makes it, and asks the company
  const { data: made } = await admin.post<Settlement>('settlements', { companyId })
  const approve = (id: string) => admin.post<Settlement>(`settlements/${id}/approve`)
  assert.match((await approve(made._id)).error.message, /has not confirmed its settlement address/)
  await save(today)
  const refused = await approve(made._id)
  assert.match(refused.error?.message, /^It cannot be paid: .* the company has another settlement address/)
  assert.equal((await admin.post(`settlements/${made._id}/cancel`)).status, 200)
  const { data: next } = await admin.post<Settlement>('settlements', { companyId })
  await approve(next._id)
  await reaches(next._id, isPaid)
  assert.deepEqual([await shop.chain.balanceOf(old), await shop.chain.balanceOf(today)], [0n, unitsOf(made)])
})

test('what was open in the backup and had left is paid once that is named, whatever address its company has since', async () => {
  const [old, today] = [newAddress(), newAddress()]
  await createPaid(shop)
  await restoreWith(old)
  const open = await makeBefore('open')
  const txHash = await world.leave({ id: open._id, to: old, units: unitsOf(open) })
  await save(today)
  const act = (what: string, body = {}) => admin.post<Settlement>(`settlements/${open._id}/${what}`, body)
  assert.match(
    (await act('approve')).error.message,
    /If it was sent already, name its transaction; otherwise cancel it/,
  )
  assert.match((await act('cancel')).error.message, /settled with it: .* once that transaction is named/)
  const foreign = await shop.chain.pay({ to: today, units: unitsOf(open) })
  await shop.chain.mine(4)
  assert.equal((await act('paid', { txHash: foreign })).status, 422)
  assert.equal((await get(open._id)).status, 'open')
  const { data: paid } = await act('paid', { txHash })
  assert.deepEqual([paid.status, paid.txHash, paid.address], ['paid', txHash, old])
  await createPaid(shop)
  const { data: next } = await admin.post<Settlement>('settlements', { companyId })
  assert.deepEqual([next.status, next.address], ['open', today])
  await admin.post(`settlements/${next._id}/cancel`)
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})

test('what was open in the backup and was sent by hand is named, and only the operator may cancel it', async () => {
  const [old, today] = [newAddress(), newAddress()]
  await createPaid(shop)
  await restoreWith(old)
  const open = await makeBefore('open')
  await save(today)
  const refused = await manager.post(`settlements/${open._id}/cancel`)
  assert.deepEqual([refused.status, (await get(open._id)).status], [403, 'open'])
  const txHash = await shop.chain.pay({ to: old, units: unitsOf(open) })
  await shop.chain.mine(4)
  const { data: paid } = await admin.post<Settlement>(`settlements/${open._id}/paid`, { txHash })
  assert.deepEqual([paid.status, paid.txHash], ['paid', txHash])
  // one that was made after the word of its company waits for its approval, as ever
  await createPaid(shop)
  const { data: next } = await admin.post<Settlement>('settlements', { companyId })
  const early = await admin.post<Settlement>(`settlements/${next._id}/paid`, { txHash })
  assert.match(early.error.message, /only an approved one can be paid/)
  assert.equal((await manager.post(`settlements/${next._id}/cancel`)).status, 200)
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})
