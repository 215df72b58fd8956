import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { schemaCheck } from '../src/checks/installation-checks.ts'
import { assertDurable } from '../src/db/durable.ts'
import { buildIndices, readIndexMigration } from '../src/db/index-migrations.ts'
import { migrateService } from '../src/db/installation.ts'
import { listMigrations, migrate } from '../src/db/migrate.ts'
import { startTestChain } from './harness/chain.ts'
import { createEmptyDatabase, createTestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { insertMerchantIn, newFolder } from './harness/installation.ts'
import { startReceiver } from './harness/receiver.ts'
import { startServed } from './harness/served.ts'
import { callService, eventually, type Merchant, TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv, FINAL_AFTER, type Instructions, type OrderData } from './harness/shop.ts'

/*
 * A version runs beside the one before it on one database: nodes are replaced one after the other. The one before is
 * taken from git; in a clone without that commit only the migrations are read.
 */
const ROOT = join(import.meta.dirname, '..')
/** The last commit of 0.1.0, and its newest migration. */
const BEFORE = { commit: 'e27750aa662005dd35b5087cdd767733278cd47e', migration: '0180_installation' }

/** Statements that an old node would trip over. Expand now; contract in a later version. */
const CONTRACTIONS: [RegExp, string][] = [
  [/\bdrop\s+(table|column|view|function)\b/i, 'drops what an old node may use'],
  [/\brename\s+(to|column)\b/i, 'renames what an old node uses'],
  [/\balter\s+column\s+\w+\s+(type|set\s+not\s+null)\b/i, 'narrows a column that an old node writes'],
]

/** Statements without comments and bodies of functions. */
const statementsOf = (text: string): string[] =>
  text
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/\$\$[\s\S]*?\$\$/g, '')
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())

/** A refund as the version before stored it. */
const OLD_REFUND = `insert into refunds (company_id, id, order_id, payment_id, channel, status, units, fiat_units,
  requested_by, created_at, updated_at, number, by_hand, last_words)
  values ('c', $1, $1, 'p', 'binance', $2, 1, 1, 'user:u', now(), now(), 1, $3, $4)`

/** A new column of a known table that an old node's insert would leave empty. */
const breaksInserts = (statement: string): boolean =>
  /^alter table/i.test(statement) &&
  statement
    .split(/,(?![^(]*\))/)
    .some((part) => /add column/i.test(part) && /not null/i.test(part) && !/default/i.test(part))

test('no migration since the version before breaks its nodes, unless it says so', () => {
  const since = listMigrations().filter(({ id, expands }) => id > BEFORE.migration && expands)
  const wrong = since.flatMap(({ id, text }) =>
    statementsOf(text).flatMap((statement) => {
      const reasons = CONTRACTIONS.filter(([pattern]) => pattern.test(statement)).map(([, reason]) => reason)
      if (breaksInserts(statement)) reasons.push('an old node’s insert leaves this column empty')
      return reasons.map((reason) => `${id}: ${statement.slice(0, 80)}: ${reason}`)
    }),
  )
  assert.deepEqual(wrong, [])
})

test('a version starts on what a later one only added to, and not on what one took something from', async (t) => {
  const database = await createTestDatabase()
  const client = new pg.Client({ connectionString: database.connectionString })
  await client.connect()
  t.after(async () => {
    await client.end()
    await database.drop()
  })
  const note = (id: string, expands: boolean | null) =>
    client.query("insert into migrations (id, hash, expands) values ($1, 'x', $2)", [id, expands])
  const check = () => schemaCheck(database.connectionString, { mode: 'sandbox', databaseUrl: null }).run()
  const { rows } = await client.query("select expands from migrations where id like '1000%'")
  assert.deepEqual(rows, [{ expands: true }])
  assert.match((await check()).message, /^The schema is the newest/)
  await note('9990_wider', true)
  assert.deepEqual(await migrate(database.connectionString), [])
  const wider = await check()
  assert.deepEqual([wider.ok, /newer version \(9990_wider\)/.test(wider.message)], [true, true])
  for (const expands of [false, null]) {
    await note('9991_narrower', expands)
    await assert.rejects(migrate(database.connectionString), /9991_narrower, which this program does not know/)
    assert.equal((await check()).ok, false)
    await client.query("delete from migrations where id = '9991_narrower'")
  }
  await client.query("delete from migrations where id like '1000%'")
  await note('1000_renamed', true)
  assert.equal((await check()).fix, 'Run: comptoir migrate')
})

/** The schema as it was before a migration. */
async function applyBefore(client: pg.Client, first: string): Promise<void> {
  await client.query('create table migrations (id text primary key, hash text, applied_at timestamptz default now())')
  for (const { id, text, hash } of listMigrations().filter(({ id }) => id < first)) {
    await client.query(text)
    await client.query('insert into migrations (id, hash) values ($1, $2)', [id, hash])
  }
}

const TRANSFER = `insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at,
  token, symbol, from_address, to_address, units, status, change)
  values ($1, 8453, $1, 0, 0, 1, 'b', now(), 't', 'USDC', 'f', 'a', 1, 'seen', 1)`

/** An empty database and three connections to it. */
async function openThree(t: TestContext) {
  const database = await createEmptyDatabase()
  const [client, writer, other] = [1, 2, 3].map(() => new pg.Client({ connectionString: database.connectionString }))
  assert.ok(client && writer && other)
  for (const one of [client, writer, other]) await one.connect()
  t.after(async () => {
    for (const one of [client, writer, other]) await one.end()
    await database.drop()
  })
  return { database, client, writer, other }
}

/** One of the migrating nodes waits for a lock of another connection. */
const untilMigrationWaits = (client: pg.Client) =>
  eventually(
    async () => {
      const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from pg_stat_activity
        where datname = current_database() and application_name = 'comptoir-migrate' and wait_event_type = 'Lock'`)
      return rows[0]?.count
    },
    (count) => count === 1,
  )

test('migrations past a pooler that reached another database than that of the orders are refused', async (t) => {
  const [orders, other] = await Promise.all([createTestDatabase(), createTestDatabase()])
  t.after(() => Promise.all([orders.drop(), other.drop()]))
  const urls = { connectionString: orders.connectionString, directUrl: other.connectionString }
  assert.deepEqual(await migrateService(urls), [])
  const client = new pg.Client({ connectionString: orders.connectionString })
  await client.connect()
  await client.query("delete from migrations where id = '1360_first_index'")
  await client.end()
  await assert.rejects(
    migrateService(urls),
    /DATABASE_DIRECT_URL and DATABASE_URL name two databases.*1360_first_index/,
  )
})

test('indices of a table with rows are built while others write to it, by one of two nodes, also after a try that broke off', async (t) => {
  const { database, client, writer, other } = await openThree(t)
  await applyBefore(client, '0461')
  await client.query(TRANSFER, ['first'])
  await client.query('create index chain_transfers__to_from on chain_transfers (to_address)')
  await client.query("update pg_index set indisvalid = false where indexrelid = 'chain_transfers__to_from'::regclass")
  // every index has to wait for this one
  await writer.query('begin')
  await writer.query(TRANSFER, ['second'])
  const migrating = Promise.all([migrate(database.connectionString), migrate(database.connectionString)])
  migrating.catch(() => {})
  await untilMigrationWaits(client)
  await other.query("set lock_timeout = '2s'")
  await other.query(TRANSFER, ['third'])
  await writer.query('commit')
  const applied = await migrating
  assert.equal(applied.filter((ids) => ids.includes('0461_named_senders')).length, 1)
  const { rows } = await client.query(`select indisvalid as valid, pg_get_indexdef(indexrelid) as text from pg_index
    where indexrelid = 'chain_transfers__to_from'::regclass`)
  const missing = readIndexMigration(
    'create extension if not exists not_there; create index never on chain_transfers (id)',
  )
  assert.ok(missing)
  assert.equal(await buildIndices(client, { ...missing, forgiven: ['0A000', '58P01'] }), true)
  await assert.rejects(buildIndices(client, missing), /not_there/)
  assert.deepEqual([rows[0]?.valid, /\(to_address, from_address, block_at\)/.test(rows[0]?.text)], [true, true])
})

test('who waits for another node that migrates says which session it is, and goes on after it', async (t) => {
  const { database, other } = await openThree(t)
  await other.query("set application_name = 'hung'")
  const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid, pg_advisory_lock(4207316001)')
  const said: string[] = []
  const migrating = migrate(database.connectionString, { onWaiting: (words) => void said.push(words) })
  await eventually(
    async () => said.length,
    (count) => count === 1,
  )
  assert.match(said[0] ?? '', new RegExp(`session ${rows[0]?.pid} \\(hung, idle\\).*pg_terminate_backend\\(`))
  await other.query('select pg_advisory_unlock(4207316001)')
  assert.ok((await migrating).length > 0)
})

test('a database that is not in UTF-8, or takes no changes, is refused before anything is written', async (t) => {
  const latin = await createEmptyDatabase("template template0 encoding 'LATIN1' locale 'C'")
  const { database, client } = await openThree(t)
  t.after(() => latin.drop())
  const words = /encoded in LATIN1, and Comptoir needs UTF8\..*create database .* encoding 'UTF8'/
  await assert.rejects(assertDurable(latin.connectionString), words)
  await assert.rejects(migrate(latin.connectionString), words)
  assert.equal(await assertDurable(database.connectionString), null)
  await client.query(`do $$ begin execute format('alter database %I set default_transaction_read_only = on',
    current_database()); end $$`)
  await assert.rejects(assertDurable(database.connectionString), /takes no changes.* Let DATABASE_URL name the primary/)
})

test('an installation that began in SQL_ASCII goes on, with advice; a new one is refused', async (t) => {
  const database = await createEmptyDatabase("template template0 encoding 'SQL_ASCII' locale 'C'")
  const client = new pg.Client({ connectionString: database.connectionString })
  t.after(async () => {
    await client.end()
    await database.drop()
  })
  await client.connect()
  await assert.rejects(migrate(database.connectionString), /encoded in SQL_ASCII, and Comptoir needs UTF8/)
  await applyBefore(client, '0474')
  assert.match(
    (await assertDurable(database.connectionString)) ?? '',
    /SQL_ASCII.*pg_dump .*encoding 'UTF8'.*pg_restore/,
  )
  assert.ok((await migrate(database.connectionString)).length > 0)
})

test('a migration gives way to those who use its tables, and does not fail for them nor by the limits of its role', async (t) => {
  const { database, client, writer: holder, other } = await openThree(t)
  await applyBefore(client, '0474')
  const { rows } = await client.query('select current_database() as name')
  await client.query(`alter database ${rows[0]?.name} set statement_timeout = '500ms'`)
  await holder.query('begin')
  await holder.query('select count(*) from companies')
  const migrating = migrate(database.connectionString)
  migrating.catch(() => {})
  await untilMigrationWaits(client)
  await other.query("set lock_timeout = '10s'")
  await other.query('select count(*) from companies')
  await holder.query('commit')
  assert.deepEqual((await migrating)[0], '0474_vat_numbers')
})

test('the files that are built while others write are those of nothing but indices, an optional one among them', () => {
  const read = listMigrations().flatMap(({ id, text }) => {
    const found = readIndexMigration(text)
    return found ? [{ id, ...found }] : []
  })
  const since = read.filter(({ id }) => id > BEFORE.migration).map(({ id }) => id.slice(0, 4))
  assert.deepEqual(since.slice(0, 7), ['0299', '0360', '0420', '0430', '0440', '0450', '0461'])
  for (const large of ['0511', '0512', '0513', '0514', '0516']) assert.ok(since.includes(large), large)
  const optional = read.find(({ id }) => id.startsWith('0299'))
  assert.deepEqual(optional?.forgiven, ['42501', '58P01', '0A000', '42704'])
  assert.deepEqual(
    optional?.statements.map(({ kind, name }) => [kind, name]),
    [
      ['extension', 'pg_trgm'],
      ['create', 'orders__reference'],
    ],
  )
  assert.equal(readIndexMigration('create index a on b (c); alter table b add column d text'), undefined)
})

test('refunds that were settled before it was recorded say whether a person had sent them', async (t) => {
  const database = await createEmptyDatabase()
  const client = new pg.Client({ connectionString: database.connectionString })
  await client.connect()
  t.after(async () => {
    await client.end()
    await database.drop()
  })
  await applyBefore(client, '0400')
  const refunds = [
    ['named its transaction', 'settled', true, null],
    ['sent by hand', 'settled', false, 'sent by hand: bank transfer'],
    ['by the provider', 'settled', false, 'SUCCESS'],
    ['without words', 'settled', false, null],
    ['under way', 'submitted', false, 'sent by hand: no'],
  ]
  for (const refund of refunds) await client.query(OLD_REFUND, refund)
  // naming was cut short
  const [settled, waiting] = ['by the provider', 'under way'].map((id, nth) => [`0x${String(nth).repeat(64)}`, id])
  for (const claim of [settled, waiting])
    await client.query('insert into claimed_transactions (network, tx_hash, cause_id) values (1, $1, $2)', claim)
  await migrate(database.connectionString)
  const { rows: claims } = await client.query('select cause_id as id from claimed_transactions')
  assert.deepEqual(claims, [{ id: waiting?.[1] }], 'what a settled one does not follow is free')
  const { rows } = await client.query('select id, settled_by_hand from refunds')
  const byHand = new Map(rows.map((row) => [row.id, row.settled_by_hand]))
  assert.deepEqual(
    refunds.map(([id]) => byHand.get(id)),
    [true, true, false, false, null],
  )
})

test('what came to a company’s address on a network that no order there asked for is announced once more', async (t) => {
  const { database, client } = await openThree(t)
  await applyBefore(client, '0640')
  const address = `0x${'a'.repeat(40)}`
  await client.query(`insert into payments (company_id, id, order_id, number, channel, own_account, status,
      merchant_reference, network, due_asset, due_units, deposit_address, opened_at, updated_at)
    values ('c', 'p', 'o', 1, 'crypto', true, 'closed', 'r', 31337, 'USDC', 54, '${address}', now(), now())`)
  await client.query(`insert into deposit_reservations (company_id, reference, address, units, asked_units, until_at)
    values ('c', 'r', '${address}', 54, 54, now() + interval '1 day')`)
  for (const id of ['asked for', 'not asked for']) await client.query(TRANSFER, [id])
  await client.query('update chain_transfers set to_address = $1', [address])
  await client.query("update chain_transfers set chain_id = 31337 where id = 'asked for'")
  await client.query("select setval('chain_changes', 1)")
  await migrate(database.connectionString)
  const { rows } = await client.query('select id from chain_transfers where change > 1')
  assert.deepEqual(rows, [{ id: 'not asked for' }])
})

test('the address that Whitepay showed is no deposit address of ours; those that we watch stay', async (t) => {
  const { database, client } = await openThree(t)
  await applyBefore(client, '1744')
  for (const channel of ['crypto', 'coinbase', 'whitepay-non-custody'])
    await client.query(
      `insert into payments (company_id, id, order_id, number, channel, status, merchant_reference, due_asset,
        due_units, deposit_address, opened_at, updated_at)
      values ('c', $1, $1, 1, $1, 'paid', $1, 'USDC', 54, '0x1', now(), now())`,
      [channel],
    )
  await migrate(database.connectionString)
  const { rows } = await client.query('select id from payments where deposit_address is not null order by id')
  assert.deepEqual(rows, [{ id: 'coinbase' }, { id: 'crypto' }])
})

/** The version before, with today's packages; undefined where git does not have it. */
function unpackBefore(folder: string): string | undefined {
  try {
    const options = {
      cwd: ROOT,
      maxBuffer: 1 << 28,
      stdio: ['ignore', 'pipe', 'ignore'] as ['ignore', 'pipe', 'ignore'],
    }
    const tar = execFileSync('git', ['archive', BEFORE.commit], options)
    mkdirSync(folder, { recursive: true })
    execFileSync('tar', ['x', '-C', folder], { input: tar })
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    return join(folder, 'src/main.ts')
  } catch {
    return undefined
  }
}

type Node = { baseUrl: string; env: Record<string, string> }

test('old and new nodes share a database: each sells, is paid for the other, and webhooks arrive once', async (t) => {
  const place = newFolder()
  const main = unpackBefore(join(place.path, 'before'))
  if (main === undefined) {
    place.remove()
    t.diagnostic(`git does not have ${BEFORE.commit} here, so the two versions did not run beside each other.`)
    return
  }
  const [database, chain, receiver] = await Promise.all([createEmptyDatabase(), startTestChain(), startReceiver()])
  const node = async (name: string): Promise<Node> => {
    const port = await freePort()
    const baseUrl = `http://127.0.0.1:${port}`
    const env = {
      ...{ ...chainEnv(chain), DATABASE_URL: database.connectionString, DATA_DIR: join(place.path, name) },
      ...{ PORT: String(port), BASE_URL: baseUrl, MASTER_KEY: TEST_MASTER_KEY.toString('base64') },
      ...{ ORDER_CHAIN_EXPIRY_MINUTES: '60', LIMIT_COMPANY_PER_MINUTE: '0', LIMIT_PUBLIC_PER_MINUTE: '0' },
    }
    return { baseUrl, env }
  }
  const [old, next] = [await node('old'), await node('next')]
  const oldNode = startServed(old.env, { main })
  t.after(async () => {
    await oldNode.end()
    await Promise.all([chain.stop(), receiver.close()])
    await database.drop()
    place.remove()
  })
  await oldNode.ready()
  const merchant = await insertMerchantIn(database.connectionString)
  const shop = openTill({ merchant, webhookUrl: `${receiver.url}/hook` })
  const first = await shop.sell(old)
  const load = keepSelling(() => shop.sell(old))
  const newNode = startServed(next.env)
  t.after(() => newNode.end())
  await newNode.ready()
  assert.deepEqual(await load.stop(), [])
  const second = await shop.sell(next)
  for (const sale of [first, second]) await chain.pay({ to: sale.toAddress, units: sale.units })
  await chain.mine(FINAL_AFTER)
  await eventually(
    () => shop.statusOf(next, first.code),
    (status) => status === 'PAID',
  )
  await eventually(
    () => shop.statusOf(old, second.code),
    (status) => status === 'PAID',
  )
  const idsOf = (code: string) =>
    receiver.received
      .filter(({ body, headers }) => body.includes(code) && headers['service-event'] === 'order.paid')
      .map(({ headers }) => headers['service-webhook-id'])
  for (const { code } of [first, second])
    await eventually(
      async () => idsOf(code).length,
      (count) => count > 0,
    )
  assert.deepEqual([idsOf(first.code).length, idsOf(second.code).length], [1, 1])
  await newNode.end()
  const third = await shop.sell(old)
  await chain.pay({ to: third.toAddress, units: third.units })
  await chain.mine(FINAL_AFTER)
  await eventually(
    () => shop.statusOf(old, third.code),
    (status) => status === 'PAID',
    90_000,
  )
})

type Sale = { code: string; toAddress: string; units: bigint }

function openTill({ merchant, webhookUrl }: { merchant: Merchant; webhookUrl: string }) {
  const { merchantIdentifier } = merchant
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier, webhookUrl }
  return {
    async sell({ baseUrl }: Node): Promise<Sale> {
      const made = await callService<{ order: OrderData }>(baseUrl, 'POST', 'request', { as: merchant, body })
      assert.equal(made.status, 200, made.text)
      const { code } = made.data.order
      const accept = { as: merchant, body: { paymentChannel: 'crypto' } }
      const { data, status, text } = await callService<Instructions>(baseUrl, 'POST', `accept/${code}`, accept)
      assert.equal(status, 200, text)
      return { code, toAddress: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) }
    },
    statusOf: async ({ baseUrl }: Node, code: string) =>
      (await callService<OrderData>(baseUrl, 'GET', `status/${code}`, { as: merchant })).data?.status,
  }
}

/** @returns what went wrong until it was stopped */
function keepSelling(sell: () => Promise<unknown>): { stop(): Promise<string[]> } {
  const faults: string[] = []
  let going = true
  const seller = (async () => {
    while (going) await sell().catch((error: Error) => faults.push(error.message))
  })()
  return {
    async stop() {
      going = false
      await seller
      return faults
    },
  }
}
