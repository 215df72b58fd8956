import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { type Db, type Queryable, type Sql, sql } from '../src/db/db.ts'
import { openBooks } from '../src/ledger/books.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import { createPaid, newAddress, payoutEnv } from './harness/refunds.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

/*
 * A comparison shows twenty differences at a time. What a person has explained takes no place among them, and what is
 * beyond them has not gone.
 */

const SHOWN = 20

let shop: Shop
let desk: MoneyDesk
/** Paid, so that something is owed; and many that wait for their money, oldest first. */
let paid: Payable
const orders: Payable[] = []

before(async () => {
  shop = await openShop({ env: payoutEnv })
  desk = await openMoneyDesk(shop)
  await shop.host.db.run(sql`update companies set settlement_address = ${newAddress()}, settlement_network = 31337
    where id = ${shop.merchant.companyId}`)
  for (let count = 0; count < SHOWN + 3; count += 1) orders.push(await shop.createAwaiting())
  paid = await createPaid(shop)
})
after(() => shop?.stop())

type Difference = { _id: string; subject: string; source: string }

/** Changes rows as somebody with the database's password could: past the triggers. */
const byHand = (statement: Sql): Promise<number> =>
  shop.host.db.tx(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`)
    return tx.run(statement)
  })
const codesOf = (list: readonly Payable[]) => list.map(({ code }) => code)
/** What came, of which no payment knows. */
const addPaid = (list: readonly Payable[], units: number) =>
  byHand(sql`update orders set paid_units = (select coalesce(sum(received_units), 0) from payments p where p.order_id = orders.id) + ${units}
    where code = any(${codesOf(list)}::text[])`)
const listWith = async (status: string): Promise<Difference[]> =>
  (await desk.admin.get<Difference[]>(`ledger/differences?limit=100&status=${status}`)).data
const subjects = (list: readonly Pick<Difference, 'subject'>[]) => list.map(({ subject }) => subject).sort()
const subjectsOf = (list: readonly Payable[]) => list.map(({ code }) => `order ${code}`).sort()
const settle = () => desk.admin.post<{ _id: string }>('settlements', { companyId: shop.merchant.companyId })
async function explainAll(): Promise<void> {
  for (const { _id } of await listWith('open')) {
    const said = await desk.admin.post(`ledger/differences/${_id}/explain`, { reason: 'one event, ticket 19' })
    assert.equal(said.status, 200, said.text)
  }
}
async function refusesToSettle(): Promise<void> {
  const { status, error, text } = await settle()
  assert.deepEqual([status, error?.code], [409, 'BOOKS_DIFFER'], text)
}
async function settles(): Promise<void> {
  const made = await settle()
  assert.equal(made.status, 200, made.text)
  assert.equal((await desk.admin.post(`settlements/${made.data._id}/cancel`)).status, 200)
}
const verdict = async () => describeVerdict(await verifyLedger(shop.host.db))

test('what is beyond the first twenty waits for its explanation too, in the books', async () => {
  await addPaid(orders.slice(0, SHOWN + 2), 5)
  await refusesToSettle()
  assert.deepEqual(subjects(await listWith('open')), subjectsOf(orders.slice(0, SHOWN)))
  await explainAll()
  await refusesToSettle()
  assert.deepEqual(subjects(await listWith('open')), subjectsOf(orders.slice(SHOWN, SHOWN + 2)))
  assert.ok((await verdict()).includes(orders[SHOWN]?.code ?? '-'), 'the command names what nobody has explained')
  await explainAll()
  await settles()
  assert.match(await verdict(), /no difference but 22 that are explained\.$/)
  await addPaid([paid], 5)
  await refusesToSettle()
  assert.deepEqual(subjects(await listWith('open')), subjectsOf([paid]))
  assert.ok((await verdict()).includes(paid.code))
  await addPaid([paid], 0)
  await settles()
  await addPaid(orders.slice(0, 1), 6)
  await refusesToSettle()
  await addPaid(orders, 0)
  await settles()
})

test('a difference that older ones push out of the list has not gone', async () => {
  const [oldest, ...younger] = orders.slice(0, SHOWN + 1)
  assert.ok(oldest)
  await addPaid(younger, 7)
  await refusesToSettle()
  const ids = (list: readonly Difference[]) => list.map(({ _id }) => _id)
  const before = ids(await listWith('open'))
  assert.equal(before.length, SHOWN)
  await addPaid([oldest], 7)
  await refusesToSettle()
  const open = await listWith('open')
  assert.deepEqual(subjects(open), subjectsOf([oldest, ...younger]))
  assert.ok(before.every((id) => ids(open).includes(id)))
  await addPaid(younger.slice(-1), 0)
  await refusesToSettle()
  assert.deepEqual(subjects(await listWith('open')), subjectsOf([oldest, ...younger.slice(0, -1)]), 'this one has')
  await addPaid(orders, 0)
  await settles()
})

/** A Db that does something each time this statement has been answered and its transaction has ended. */
const openBetween = (part: string, then: () => Promise<unknown>): Db => {
  const { db } = shop.host
  return {
    ...db,
    async tx(work) {
      let isIt = false
      const watched = <Q extends Queryable>(q: Q): Q => ({
        ...q,
        many: (statement: Sql) => {
          isIt ||= statement.text.includes(part)
          return q.many(statement)
        },
      })
      const result = await db.tx((tx) => work(watched(tx)))
      if (isIt) await then()
      return result
    },
  }
}

test('what is explained while the books are compared hides nothing beyond the list', async () => {
  await addPaid(orders.slice(0, SHOWN + 1), 9)
  await refusesToSettle()
  const db = openBetween('paid_units', explainAll)
  const books = openBooks({ db, clock: Date.now, log: pino({ level: 'silent' }), alarm: async () => {}, usdc: {} })
  // explained while it is compared, and what is found then is not
  const hold = await books.findHold(shop.merchant.companyId)
  assert.ok(hold?.includes(orders[SHOWN]?.code ?? '-'), String(hold))
  await addPaid(orders, 0)
  await settles()
})

test('what another node found after a comparison had begun is not ended by it', async () => {
  let isDone = false
  const db = openBetween('paid_units', async () => {
    if (isDone) return
    isDone = true
    await addPaid([paid], 11)
    await refusesToSettle()
  })
  const books = openBooks({ db, clock: Date.now, log: pino({ level: 'silent' }), alarm: async () => {}, usdc: {} })
  assert.ok((await books.findHold(shop.merchant.companyId))?.includes(paid.code))
  await addPaid([paid], 0)
  await settles()
})

test('what is beyond the first twenty waits for its explanation too, among the transfers', async () => {
  const cut = orders.slice(0, SHOWN + 2)
  const { companyId } = shop.merchant
  // final, and never counted
  await byHand(sql`
    insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token, symbol,
      from_address, to_address, units, status, final_at, change)
    select 'x' || p.id, t.chain_id, 'x' || p.id, 0, 0, t.block_number, t.block_hash, t.block_at, t.token, t.symbol,
      t.from_address, p.deposit_address, 5, 'seen', now(), t.change
    from payments p join orders o on o.company_id = p.company_id and o.id = p.order_id
    cross join (select * from chain_transfers where to_address = ${paid.toAddress.toLowerCase()}) as t
    where p.company_id = ${companyId} and o.code = any(${codesOf(cut)}::text[])`)
  await refusesToSettle()
  assert.deepEqual(subjects(await listWith('open')), subjectsOf(cut.slice(0, SHOWN)))
  await explainAll()
  await refusesToSettle()
  assert.deepEqual(subjects(await listWith('open')), subjectsOf(cut.slice(SHOWN)))
  await explainAll()
  await settles()
  await byHand(sql`update chain_transfers set units = 1 where to_address = ${paid.toAddress.toLowerCase()}`)
  await refusesToSettle()
  assert.deepEqual(subjects(await listWith('open')), subjectsOf([paid]))
})
