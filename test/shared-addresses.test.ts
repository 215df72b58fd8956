import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, before, type TestContext, test } from 'node:test'
import pg from 'pg'
import { pino } from 'pino'
import {
  extendReservation,
  insertReservation,
  listTakers,
  TRANSFERS,
} from '../src/chain/deposits/reservation-queries.ts'
import { listUsdcAmong } from '../src/chain/transfer-queries.ts'
import { type Db, openDb, type Queryable, type Sql, sql, unnamed } from '../src/db/db.ts'
import { HOUR } from '../src/kernel/clock.ts'
import { listTransferDifferences } from '../src/ledger/transfer-verify-queries.ts'
import { followChain } from '../src/payments/chain-watch.ts'
import { checkBeforeEnd, type DepositCheckDeps, nameTransaction } from '../src/payments/deposit-checks.ts'
import { pollPayments } from '../src/payments/payment-jobs.ts'
import { findChainCursor } from '../src/payments/payment-queries.ts'
import { insertUnmatched, listUnmatched } from '../src/payments/unmatched/unmatched-queries.ts'
import { followUnmatched } from '../src/payments/unmatched/unmatched-watch.ts'
import { actorOf, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { randomBelow } from './harness/random.ts'
import type { TestService } from './harness/service.ts'

/*
 * An address of a company's wallet whose mode changes at will, with random payments and random transfers. SEED repeats
 * a run, ADDRESSES makes it longer.
 */
const SEED = Number(process.env.SEED ?? randomInt(1_000_000_000))
const ADDRESSES = Number(process.env.ADDRESSES ?? 40)
const TRANSFERS_EACH = 6
const CHAINS = [31337, 8453]
const SECONDS = 900

let world: ModelWorld
let host: TestService
let companyId: string
before(async () => {
  world = await startModelWorld()
  host = world.host
  companyId = (await host.createMerchant()).companyId
})
after(() => world?.stop())

const addressOf = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`
const below = randomBelow(SEED)
const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item
const begin = Date.now() - SECONDS * 1000
const at = (seconds: number): Date => new Date(begin + seconds * 1000)

/** @returns what it is, for the message of a failure */
async function reserve(address: string, reference: string, from: number): Promise<string> {
  const asked = pick(['54', '55', '56'])
  const units = pick([null, asked, asked])
  const sender = pick([null, addressOf(1), addressOf(2)])
  const counts = pick([null, null, at(from + below(SECONDS)), at(SECONDS)])
  const until = from + 60 + below(SECONDS)
  const networks = pick([[], [CHAINS[0]], CHAINS])
  const { db } = host
  await db.run(sql`
    insert into deposit_reservations (company_id, reference, address, units, asked_units, sender, sender_until, networks,
      from_at, until_at)
    values (${companyId}, ${reference}, ${address}, ${units}::numeric, ${asked}::numeric, ${sender}, ${counts},
      ${networks}::integer[], ${at(from)}, ${at(until)})`)
  await db.run(sql`
    insert into payments (company_id, id, order_id, number, channel, own_account, status, merchant_reference, due_asset,
      due_units, deposit_address, opened_at, updated_at)
    values (${companyId}, ${reference}, ${reference}, 1, 'crypto', true, 'awaiting', ${reference}, 'USDC',
      ${asked}::numeric, ${address}, now(), now())`)
  const kind = units === null ? 'alone' : 'by amount'
  return `${reference} ${kind}, asks ${asked}, sender ${sender} until ${counts?.toISOString()}, on ${networks.join('+')}, ${from} to ${until} s`
}

async function send(address: string, id: string): Promise<string> {
  const [units, from, second] = [pick(['54', '55', '56', '30']), addressOf(1 + below(3)), below(SECONDS)]
  const chainId = pick([...CHAINS, 1])
  await host.db.run(sql`
    insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token,
      symbol, from_address, to_address, units, status, change)
    values (${id}, ${chainId}, ${id}, 0, 0, 1, '0x', ${at(second)}, ${addressOf(9)}, 'USDC', ${from}, ${address},
      ${units}::numeric, 'seen', nextval('chain_changes'))`)
  return `${units} from ${from} on ${chainId} at ${second} s`
}

const refer = (rows: readonly { reference: string }[]): string[] => rows.map(({ reference }) => reference).toSorted()

test('each transfer to a shared address counts for one payment, or is listed as matching none', async () => {
  const { db } = host
  for (let number = 0; number < ADDRESSES; number += 1) {
    const address = addressOf(1000 + number)
    await db.run(sql`insert into deposit_addresses (address, company_id, reference, watched_until)
      values (${address}, ${companyId}, ${address}, '9999-01-01')`)
    const starts = new Set(Array.from({ length: 2 + below(5) }, () => 10 * below(SECONDS / 15)))
    const facts: string[] = []
    for (const from of starts) facts.push(await reserve(address, `${address}-${from}`, from))
    for (let turn = 0; turn < TRANSFERS_EACH; turn += 1) {
      const id = `${address}:${turn}`
      const what = `${await send(address, id)}; payments: ${facts.join('; ')}; SEED=${SEED}`
      const takers = refer(await listTakers(db, [id]))
      const counting = await db.many<{ reference: string }>(sql`
        select p.merchant_reference as reference from payments p cross join lateral (${TRANSFERS}) t
        where p.deposit_address = ${address} and t.id = ${id}`)
      assert.deepEqual(refer(counting), takers, `those that are told of it are those that count it: ${what}`)
      const listed = await insertUnmatched(db, [id], { dustUnits: 0n, usdc: {} })
      assert.equal(takers.length + listed, 1, `${takers.length} payments take it, ${listed} times listed: ${what}`)
      const abroad = await db.many(sql`
        select 1 from deposit_reservations r join chain_transfers t on t.id = ${id}
        where r.reference = any(${takers}::text[]) and r.networks <> '{}' and t.chain_id <> all(r.networks)`)
      assert.equal(abroad.length, 0, `on a network where the address may be anyone's: ${what}`)
    }
  }
})

type PlanNode = Record<string, unknown> & { Plans?: PlanNode[] }
const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** How many rows of a table a statement reads, those that it then drops too. */
async function countRead(table: string, statement: Sql): Promise<number> {
  const { 'QUERY PLAN': plans } = await host.db.one<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    unnamed(sql`explain (analyze, format json) ${statement}`),
  )
  const scans = nodesOf(plans[0].Plan).filter((node) => node['Relation Name'] === table)
  const counts = scans.map((node) => {
    const number = (name: string): number => Number(node[name] ?? 0)
    const each = number('Actual Rows') + number('Rows Removed by Filter')
    return each * number('Actual Loops')
  })
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Counts the rows of a table that statements read, and returns none. */
function readingOf(table: string): { counting: Queryable; read(): number } {
  let read = 0
  const run = async (statement: Sql): Promise<number> => {
    read += await countRead(table, statement)
    return 0
  }
  const many = async (statement: Sql): Promise<never[]> => {
    await run(statement)
    return []
  }
  return { counting: { ...host.db, run, many }, read: () => read }
}

const EQUAL = 400

test('the books of payments of one amount at one address are compared each with its own transfers alone', async () => {
  const { db } = host
  for (const [alone, address] of [true, false].map((alone) => [alone, addressOf(alone ? 5001 : 5002)] as const)) {
    const from = sql`now() - make_interval(mins => 3 * g)`
    const all = sql`generate_series(1, ${EQUAL}::integer) as g`
    const reference = sql`${address} || '-' || g`
    await db.run(sql`
      insert into deposit_reservations (company_id, reference, address, units, asked_units, from_at, until_at)
      select ${companyId}, ${reference}, ${address}, case when ${alone} then null else 54 end, 54, ${from},
        ${from} + interval '25 hours' from ${all}`)
    await db.run(sql`
      insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate,
        quote_id, created_at, updated_at, expires_at)
      select ${companyId}, ${reference}, ${reference}, right(${reference}, 8), 'EXPIRED', 'EUR', 50, 'USDC', 54, 1.08, 'q',
        now(), now(), now() from ${all}`)
    await db.run(sql`
      insert into payments (company_id, id, order_id, number, channel, own_account, status, merchant_reference, due_asset,
        due_units, received_units, deposit_address, opened_at, updated_at)
      select ${companyId}, ${reference}, ${reference}, 1, 'crypto', true, 'paid', ${reference}, 'USDC', 54, 54, ${address},
        now(), now() from ${all}`)
    await db.run(sql`
      insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token,
        symbol, from_address, to_address, units, status, change)
      select ${reference}, 31337, ${reference}, 0, 0, 1, '0x', ${from} + interval '1 minute', ${addressOf(9)}, 'USDC',
        ${addressOf(3)}, ${address}, 54, 'seen', nextval('chain_changes') from ${all}`)
  }
  await db.run(sql`analyze`)
  const { counting, read } = readingOf('chain_transfers')
  await listTransferDifferences(counting, companyId, 20, {})
  assert.ok(read() >= 2 * EQUAL && read() < 20 * EQUAL, `${read()} transfers are read for ${2 * EQUAL} payments`)
})

/** Transfers of a token that is not USDC. @returns their ids, oldest change first */
async function sendSpam(address: string, chainId: number, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, nth) => `${address}:${chainId}:spam-${nth}`)
  await host.db.run(sql`
    insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token,
      symbol, from_address, to_address, units, status, change, is_usdc)
    select id, ${chainId}, id, 0, 0, 1, '0x', now(), ${addressOf(8)}, 'FREE', ${addressOf(3)}, ${address}, 1000000, 'seen',
      nextval('chain_changes'), false from unnest(${ids}::text[]) with ordinality as t (id, nth) order by nth`)
  return ids
}

async function shareAddress(address: string): Promise<void> {
  await host.db.run(sql`
    insert into deposit_addresses (address, company_id, reference, watched_until)
    values (${address}, ${companyId}, ${address}, '9999-01-01')`)
}

const MANY = 5000

test('a token that is not USDC is not compared with every payment at its address, not even where all have one', async () => {
  const { db } = host
  const address = addressOf(6001)
  await shareAddress(address)
  await db.run(sql`delete from payments`)
  await db.run(sql`
    insert into payments (company_id, id, order_id, number, channel, own_account, status, merchant_reference, network,
      token_address, due_asset, due_units, deposit_address, opened_at, updated_at)
    select ${companyId}, ${address} || g, ${address} || g, 1, 'crypto', true, 'closed', ${address} || g, 31337,
      ${addressOf(9)}, 'USDC', 54, ${address}, now(), now() from generate_series(1, ${MANY}::integer) as g`)
  const ids = [...(await sendSpam(address, 31337, 10)), ...(await sendSpam(address, 6003, 10))]
  await db.run(sql`analyze`)
  const { counting, read } = readingOf('payments')
  await insertUnmatched(counting, ids, { dustUnits: 2_000_000n, usdc: {} })
  await listUsdcAmong(counting, ids, {})
  const everything = { companyIds: null, status: null, dust: true }
  await listUnmatched(counting, everything, { limit: ids.length, offset: 0, usdc: {} })
  assert.ok(read() < EQUAL, `${read()} payments are read for ${ids.length} transfers`)
})

test('a transfer is compared with the newest payments at its address, not with every earlier one', async () => {
  const { db } = host
  for (const address of [addressOf(6011), addressOf(6012)]) {
    const alone = address === addressOf(6011)
    await shareAddress(address)
    const from = sql`now() - make_interval(mins => 3 * g)`
    await db.run(sql`
      insert into deposit_reservations (company_id, reference, address, units, asked_units, networks, from_at, until_at)
      select ${companyId}, ${address} || '-' || g, ${address}, case when ${alone} then null else 1000000 end, 1000000, '{}',
        ${from}, ${from} + interval '25 hours' from generate_series(1, ${EQUAL}::integer) as g`)
    const ids = await sendSpam(address, 31337, 10)
    await db.run(sql`analyze`)
    const { counting, read } = readingOf('deposit_reservations')
    assert.deepEqual(refer(await listTakers(db, ids)), [`${address}-1`])
    await listTakers(counting, ids)
    await insertUnmatched(counting, ids, { dustUnits: 0n, usdc: {} })
    assert.ok(read() < EQUAL, `${read()} reservations are read for ${ids.length} transfers`)
  }
})

/** A database that waits for no lock, and a connection that holds one. */
async function openHasty(t: TestContext): Promise<{ hasty: Db; holder: pg.Client }> {
  const { connectionString } = host.db
  const impatient = new URL(connectionString)
  impatient.searchParams.set('options', '-c lock_timeout=50ms')
  const hasty = openDb({ connectionString: impatient.href })
  const holder = new pg.Client({ connectionString })
  await holder.connect()
  t.after(() => Promise.all([hasty.close(), holder.end()]))
  await holder.query('begin')
  return { hasty, holder }
}

test('transfers that cannot be recorded in time do not hold back those before them', async (t) => {
  const [address, chainId] = [addressOf(6002), 6002]
  await shareAddress(address)
  const ids = await sendSpam(address, chainId, 4)
  const { hasty, holder } = await openHasty(t)
  await holder.query('insert into unmatched_transfers (company_id, transfer_id, is_dust) values ($1, $2, false)', [
    companyId,
    ids[2],
  ])
  const listed = async (): Promise<number> =>
    (await host.db.many(sql`select 1 from unmatched_transfers where transfer_id = any(${ids}::text[])`)).length
  const rules = { dustUnits: 0n, usdc: {}, log: pino({ level: 'silent' }) }
  await assert.rejects(followUnmatched({ db: hasty, ...rules }, chainId), { code: 'BUSY' })
  assert.equal(await listed(), 2)
  await holder.query('rollback')
  await followUnmatched({ db: hasty, ...rules }, chainId)
  assert.equal(await listed(), 4)
})

test('transfers that cannot be passed to their payments in time do not hold back those before them', async (t) => {
  const { db } = host
  const [address, chainId] = [addressOf(6004), 6004]
  await shareAddress(address)
  await reserve(address, address, SECONDS - 60)
  const ids = await sendSpam(address, chainId, 4)
  await db.run(
    sql`update chain_transfers set to_address = ${addressOf(6005)} where id = any(${ids.slice(0, 2)}::text[])`,
  )
  await db.run(sql`update deposit_reservations set units = null, networks = '{}', until_at = now() + interval '1 hour'
    where address = ${address}`)
  const { hasty, holder } = await openHasty(t)
  await holder.query('select 1 from payments where deposit_address = $1 for update', [address])
  const payments = { ...world.payments, db: hasty }
  const countPassed = async (): Promise<number> => {
    const cursor = await findChainCursor(db, chainId)
    return (await db.many(sql`select 1 from chain_transfers where chain_id = ${chainId} and change <= ${cursor}`))
      .length
  }
  await assert.rejects(followChain(payments, chainId), { code: 'BUSY' })
  assert.equal(await countPassed(), 2)
  await holder.query('rollback')
  await followChain(payments, chainId)
  assert.equal(await countPassed(), 4)
})

test('a payment whose row stays locked does not keep the news from the other payments', async (t) => {
  const { db } = host
  const addresses = [addressOf(6006), addressOf(6007)]
  for (const address of addresses) await reserve(address, address, SECONDS - 60)
  const keys = addresses.map((id) => ({ companyId, id }))
  const { hasty, holder } = await openHasty(t)
  for (const locked of addresses) {
    await db.run(sql`update payments set next_check_at = null where deposit_address = any(${addresses})`)
    await holder.query('select 1 from payments where deposit_address = $1 for update', [locked])
    await assert.rejects(pollPayments({ ...world.payments, db: hasty }, keys), { code: 'BUSY' })
    const due = await db.many<{ address: string }>(sql`
      select deposit_address as address from payments
      where deposit_address = any(${addresses}) and next_check_at is not null`)
    assert.deepEqual(
      due.map(({ address }) => address),
      addresses.filter((address) => address !== locked),
    )
    await holder.query('rollback')
    await holder.query('begin')
  }
})

test('an order that ends, or whose payer names a transaction, polls its own payments, not weeks of others at the address', async () => {
  const { db } = host
  const address = addressOf(7001)
  await shareAddress(address)
  const merchant = await host.createMerchant()
  const orders = [await world.makeOrder(merchant), await world.makeOrder(merchant)]
  const [ending, taker] = orders.map(({ id }) => id)
  // each asks for another amount; the last two are the payments of orders
  const references = sql`case g when 199 then ${ending} when 200 then ${taker} else ${address} || '-' || g end`
  await db.run(sql`
    insert into deposit_reservations (company_id, reference, address, units, asked_units, networks, from_at, until_at)
    select ${merchant.companyId}, ${references}, ${address}, 1000 + g, 1000 + g, '{}', now() - interval '1 day',
      now() + interval '30 days' from generate_series(1, 200) as g`)
  await db.run(sql`
    insert into payments (company_id, id, order_id, number, channel, own_account, status, merchant_reference, network,
      due_asset, due_units, deposit_address, opened_at, updated_at)
    select ${merchant.companyId}, ${references}, ${references}, 1, 'crypto', true, 'awaiting', ${references}, 31337,
      'USDC', 1000 + g, ${address}, now(), now() from generate_series(1, 200) as g`)
  const [id = ''] = await sendSpam(address, 31337, 1)
  await db.run(sql`update chain_transfers set units = 1200 where id = ${id}`)
  const txHash = `0x${'7'.repeat(64)}`
  await db.run(sql`update chain_transfers set tx_hash = ${txHash} where id = ${id}`)
  await db.run(sql`insert into chain_heads (chain_id, number, hash, block_at) values (31337, 1, '0x', now())
    on conflict do nothing`)
  const verdict = { found: true, counted: true, waiting: false, reason: '', addresses: [address] }
  const deposits = { auditDeposits: async () => [], recordTransaction: async () => verdict }
  const deps = { ...world.payments, deposits } as unknown as DepositCheckDeps
  const polled = async (): Promise<string[]> => {
    const rows = await db.many<{ id: string }>(sql`
      update payments set lease_epoch = 0 where deposit_address = ${address} and lease_epoch > 0 returning id`)
    return rows.map((row) => row.id).toSorted()
  }
  const [first] = orders
  assert.ok(first)
  await checkBeforeEnd(deps, [{ companyId: merchant.companyId, id: first.id }])
  assert.deepEqual(await polled(), [first.id])
  const silent = { ...deposits, auditDeposits: async (_network: number, asked: readonly string[]) => asked }
  const key = { companyId: merchant.companyId, id: first.id }
  const ended = await checkBeforeEnd({ ...deps, deposits: silent } as unknown as DepositCheckDeps, [key])
  assert.deepEqual([ended, await polled()], [[], []], 'while its chain cannot be asked, it does not end')
  const named = await nameTransaction(deps, { actor: actorOf(merchant), code: first.code, txHash, network: null })
  assert.equal(named.counted, false)
  assert.deepEqual(await polled(), [ending, taker].toSorted(), 'its own, and the one that the transaction pays')
})

test('a place whose time is over is not given to its payment again, also where its address is the company’s once more', async () => {
  const { db } = host
  const address = addressOf(7002)
  await shareAddress(address)
  const { companyId } = await host.createMerchant()
  const [now, later] = [new Date(), new Date(Date.now() + HOUR)]
  const asked = { askedUnits: 1000n, network: 31337, now, until: later }
  const extend = (until: Date) =>
    db.tx(async (tx) => {
      await tx.run(sql`delete from deposit_reservations where address = ${address}`)
      const place = { companyId, reference: address, address, units: null, sender: null }
      await insertReservation(tx, place, { askedUnits: 1000n, networks: [], until })
      return extendReservation(tx, place, asked)
    })
  assert.deepEqual([await extend(later), await extend(now)], [{ address, units: null }, undefined])
})
