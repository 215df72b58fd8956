import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { after, before, test } from 'node:test'
import { type Sql, sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { bareEnv } from './harness/bare-env.ts'
import { MAIN } from './harness/programs.ts'
import { liveDay, randomFrom } from './harness/random-day.ts'
import { PURSE_UNITS, payoutEnv } from './harness/refunds.ts'
import { scaled } from './harness/scale.ts'
import { TEST_MASTER_KEY } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

/*
 * A whole day: LEDGER_ORDERS=5000 npm test -- --test-timeout=3600000 test/ledger-day.test.ts
 * The same day again: SEED=<number>
 */
const ORDERS = Number(process.env.LEDGER_ORDERS ?? scaled(150))
assert.ok(ORDERS > 0, 'LEDGER_ORDERS must be a number above 0')

let shop: Shop
let addresses: string[]

before(async () => {
  const seed = Number(process.env.SEED ?? randomInt(1_000_000_000))
  console.log(`SEED=${seed}`)
  shop = await openShop({ env: payoutEnv })
  addresses = await liveDay({ shop, random: randomFrom(seed) }, ORDERS)
})
after(() => shop?.stop())

/** `ledger verify` as an operator runs it, beside the running service. */
async function runVerify(): Promise<{ code: number; words: string }> {
  const { connectionString } = shop.host.db.pool.options as { connectionString: string }
  const child = spawn(process.execPath, [MAIN, 'ledger', 'verify'], {
    cwd: tmpdir(),
    env: {
      ...bareEnv(),
      DATABASE_URL: connectionString,
      DATA_DIR: tmpdir(),
      MASTER_KEY: TEST_MASTER_KEY.toString('base64'),
    },
  })
  let words = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (words += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  return { code, words }
}

test('after a random day the books equal the facts, and the facts equal the chain', async (t) => {
  const verdict = await verifyLedger(shop.host.db)
  t.diagnostic(describeVerdict(verdict))
  assert.equal(verdict.difference, null)
  const kinds = await shop.host.db.many<{ kind: string; times: bigint }>(
    sql`select kind, count(*) as times from ledger_journals group by kind order by kind`,
  )
  t.diagnostic(kinds.map(({ kind, times }) => `${kind} ${times}`).join(', '))
  const arrived = (await Promise.all(addresses.map(shop.chain.balanceOf))).reduce((sum, units) => sum + units, 0n)
  const { booked } = await shop.host.db.one<{ booked: string }>(sql`
    select sum(e.units) as booked from ledger_entries e join ledger_journals j on j.id = e.journal_id
    where e.account = 'payer_clearing' and j.kind in ('payment', 'mispayment', 'late_accept')`)
  assert.equal(BigInt(booked), arrived)
  const { held, wallet } = await shop.host.db.one<{ held: string; wallet: string }>(sql`
    select (select sum(units) from ledger_entries where account in ('payer_clearing', 'wallet')) as held,
      (select min(from_address) from chain_payouts where kind = 'payout') as wallet`)
  const paidOut = PURSE_UNITS - (await shop.chain.balanceOf(wallet))
  assert.equal(BigInt(held), arrived - paidOut, 'what the books hold is what deposits and wallet hold')
  const { code, words } = await runVerify()
  assert.equal(code, 0, words)
  assert.match(words, /The books are right/)
})

/** Changes rows as somebody with the database's password could: past the triggers. */
const changeByHand = (statement: Sql): Promise<number> =>
  shop.host.db.tx(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`)
    return tx.run(statement)
  })

const anyOf = async (what: Sql): Promise<string> => (await shop.host.db.one<{ id: string }>(what)).id

type Fraud = {
  name: string
  id: Sql
  change(id: string): Sql
  undo(id: string): Sql
  named(id: string): Promise<string>
}

const codeOf = (orderId: string): Promise<string> => anyOf(sql`select code as id from orders where id = ${orderId}`)
const itself = (id: string): Promise<string> => Promise.resolve(id)

const FRAUDS: Fraud[] = [
  {
    name: 'one leg of a booking',
    id: sql`select journal_id as id from ledger_entries where account = 'fees' limit 1`,
    change: (id) => sql`update ledger_entries set units = units + 1 where journal_id = ${id} and account = 'fees'`,
    undo: (id) => sql`update ledger_entries set units = units - 1 where journal_id = ${id} and account = 'fees'`,
    named: itself,
  },
  {
    name: 'a fee moved to the company, in balance',
    id: sql`select j.cause_id as id from ledger_journals j join ledger_entries e on e.journal_id = j.id
      where e.account = 'fees' limit 1`,
    change: (id) => sql`update ledger_entries e set units = units + case account when 'fees' then 1 else -1 end
      from ledger_journals j where j.id = e.journal_id and j.cause_id = ${id} and account in ('fees', 'company_payable')`,
    undo: (id) => sql`update ledger_entries e set units = units - case account when 'fees' then 1 else -1 end
      from ledger_journals j where j.id = e.journal_id and j.cause_id = ${id} and account in ('fees', 'company_payable')`,
    named: itself,
  },
  {
    name: 'what a payment received',
    id: sql`select order_id as id from payments where received_units > 0 limit 1`,
    change: (id) => sql`update payments set received_units = received_units + 1 where order_id = ${id}`,
    undo: (id) => sql`update payments set received_units = received_units - 1 where order_id = ${id}`,
    named: codeOf,
  },
  {
    name: 'the units of a refund',
    id: sql`select id from refunds where status = 'settled' and mispayment_id is null limit 1`,
    change: (id) => sql`update refunds set units = units + 1 where id = ${id}`,
    undo: (id) => sql`update refunds set units = units - 1 where id = ${id}`,
    named: itself,
  },
  {
    name: 'what an order says was refunded',
    id: sql`select id from orders where refunded_units > 1 limit 1`,
    change: (id) => sql`update orders set refunded_units = refunded_units - 1 where id = ${id}`,
    undo: (id) => sql`update orders set refunded_units = refunded_units + 1 where id = ${id}`,
    named: codeOf,
  },
  {
    name: 'a record of money in suspense',
    id: sql`select order_id as id from mispayments where status in ('open', 'ignored') and kind <> 'wrong_token' limit 1`,
    change: (id) =>
      sql`update mispayments set units = units + 1 where order_id = ${id} and status in ('open', 'ignored')`,
    undo: (id) =>
      sql`update mispayments set units = units - 1 where order_id = ${id} and status in ('open', 'ignored')`,
    named: codeOf,
  },
  {
    name: 'a settlement that is called paid',
    id: sql`select id from settlements where status = 'cancelled' limit 1`,
    change: (id) => sql`update settlements set status = 'paid' where id = ${id}`,
    undo: (id) => sql`update settlements set status = 'cancelled' where id = ${id}`,
    named: itself,
  },
  {
    name: 'the order that a booking belongs to',
    id: sql`select id from ledger_journals where kind = 'payment' limit 1`,
    change: (id) => sql`update ledger_journals set cause_id = cause_id || 'x' where id = ${id}`,
    undo: (id) => sql`update ledger_journals set cause_id = left(cause_id, -1) where id = ${id}`,
    named: itself,
  },
]

test('each row that is changed by hand is named', async (t) => {
  for (const { name, id: query, change, undo, named } of FRAUDS) {
    await t.test(name, async () => {
      const id = await anyOf(query)
      assert.ok((await changeByHand(change(id))) > 0)
      const words = describeVerdict(await verifyLedger(shop.host.db))
      assert.ok(words.startsWith('Difference at') && words.includes(await named(id)), words)
      if (name === 'the units of a refund') {
        const verdict = await runVerify()
        // the command names the company, too
        const said = verdict.words.trim().replace(/(?<=of company ).* \((\w+)\)(?=:)/, '$1')
        assert.deepEqual([verdict.code, said], [1, words])
      }
      await changeByHand(undo(id))
      assert.equal((await verifyLedger(shop.host.db)).difference, null)
    })
  }
})
