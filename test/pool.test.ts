import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { connectionChecks } from '../src/checks/installation-checks.ts'
import { checkReady } from '../src/checks/ready-checks.ts'
import { loadConfig } from '../src/config/config.ts'
import { openDb, raw, sql } from '../src/db/db.ts'
import { createPaid, listRefunds, newAddress, payoutEnv } from './harness/refunds.ts'
import {
  ALL_CONNECTIONS,
  type Answer,
  callService,
  eventually,
  type Merchant,
  startTestService,
  type TestService,
} from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

let shop: Shop

before(async () => {
  shop = await openShop({ env: payoutEnv, connections: ALL_CONNECTIONS })
})
after(() => shop?.stop())

/** Another node on the same database, just started: it has cached nothing. */
const startColdNode = (env: Record<string, string> = {}): Promise<TestService> =>
  startTestService({ connectionString: shop.host.db.connectionString, env, connections: ALL_CONNECTIONS })

/** Holds the row of an order until it is let go, as a stuck transaction of another program would. */
async function holdOrder(code: string): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: shop.host.db.connectionString })
  await client.connect()
  await client.query('begin')
  await client.query('select 1 from orders where code = $1 for update', [code])
  return {
    async release() {
      await client.query('rollback')
      await client.end()
    },
  }
}

test('a connection that is lost in the middle of a transaction fails that transaction, not the process', async () => {
  const db = openDb({ connectionString: shop.host.db.connectionString, max: 2 })
  const server = new pg.Client({ connectionString: shop.host.db.connectionString })
  await server.connect()
  try {
    const lost = db.tx(async (tx) => {
      const { pid } = await tx.one<{ pid: number }>(sql`select pg_backend_pid() as pid`)
      await server.query('select pg_terminate_backend($1::int)', [pid])
      await sleep(100)
      await tx.run(sql`select 1`)
    })
    await assert.rejects(lost, { code: 'DATABASE_UNAVAILABLE' })
    assert.deepEqual(await db.one(sql`select 1 as n`), { n: 1 })
  } finally {
    await server.end()
    await db.close()
  }
})

test('a server that is no primary any more is left: what cannot be written is 503, and the next connection is a new one', async () => {
  const { connectionString } = shop.host.db
  const server = new pg.Client({ connectionString })
  await server.connect()
  const setting = async (change: string): Promise<void> => {
    const { rows } = await server.query('select current_database() as name')
    await server.query(`alter database ${rows[0].name} ${change}`)
  }
  const write = () => db.tx((tx) => tx.run(sql`create table written (n integer)`))
  const db = openDb({ connectionString, max: 1 })
  try {
    await setting('set default_transaction_read_only = on')
    const [ready] = await checkReady(db, '')
    assert.deepEqual([ready?.ok, ready?.fix], [false, 'Let DATABASE_URL name the primary.'])
    await assert.rejects(write(), { code: 'DATABASE_UNAVAILABLE' })
    await setting('reset default_transaction_read_only')
    await write()
  } finally {
    await setting('reset default_transaction_read_only')
    await db.close()
    await server.end()
  }
})

test('whoever asks the pool while it holds a transaction is stopped at once, in whatever function it hides', async () => {
  const db = openDb({ connectionString: shop.host.db.connectionString, max: 2 })
  const hidden = async (): Promise<unknown> => db.one(sql`select 1 as n`)
  try {
    await assert.rejects(
      db.tx(async () => {
        await hidden()
      }),
      /holds a transaction/,
    )
    await assert.rejects(
      db.tx(() => db.tx(async () => {})),
      /holds a transaction/,
    )
    let later: Promise<unknown> | undefined
    await db.tx(async (tx) => {
      tx.afterCommit(() => {
        later = hidden()
      })
      await tx.one(sql`select 1 as n`)
    })
    await later
  } finally {
    await db.close()
  }
})

test('50 reverts at once on a node that has just started: one refund, 49 conflicts, others are served', async () => {
  const order = await createPaid(shop)
  const node = await startColdNode()
  try {
    const body = { address: newAddress() }
    const reverts = Array.from({ length: 50 }, () =>
      node.call('POST', `revert/${order.code}`, { as: shop.merchant, body }),
    )
    const other = await node.createMerchant()
    const reads = Array.from({ length: 20 }, () => node.call('GET', '', { as: other }))
    const answers = (await Promise.all(reverts)).map(({ status, error }) => (status === 200 ? 200 : error.code))
    assert.deepEqual(
      [answers.filter((code) => code === 200).length, answers.filter((code) => code === 'ORDER_STATE_CONFLICT').length],
      [1, 49],
    )
    assert.deepEqual(new Set((await Promise.all(reads)).map(({ status }) => status)), new Set([200]))
    assert.equal((await listRefunds(shop, order.orderId)).length, 1)
  } finally {
    await node.stop()
  }
})

test('40 website orders at once on a node that has just started are all created', async () => {
  const { host, merchant } = shop
  const button = await host.db.tx(async (tx) => {
    const id = 'b'.repeat(24)
    await tx.run(sql`
      insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency)
      values (${id}, ${merchant.companyId}, 'Shop', 'https://shop.example', 'https://shop.example', '12.00', 'CHF')
      on conflict do nothing`)
    return id
  })
  const sessions = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      host.call<{ _id: string }>('POST', '/api/next/buy-button/sessions', {
        as: merchant,
        body: { button, orderRef: `pool-order-${index}` },
      }),
    ),
  )
  const node = await startColdNode()
  try {
    const answers = await Promise.all(
      sessions.map(({ data, text }) => {
        assert.ok(data, text)
        const body = { amount: 12, fromAsset: 'CHF', websiteUrl: 'https://shop.example', sessionId: data._id }
        return node.call('POST', 'request', { as: merchant, body })
      }),
    )
    assert.deepEqual(new Set(answers.map(({ status, error }) => (status === 200 ? 200 : error.code))), new Set([200]))
  } finally {
    await node.stop()
  }
})

test('a wait for a lock that ends is 503 with Retry-After, no bug of ours, and changes nothing', async () => {
  const code = (await shop.create()).code
  const held = await holdOrder(code)
  try {
    const answer = await shop.host.call('POST', `cancel/${code}`, { as: shop.merchant })
    assert.deepEqual([answer.status, answer.error.code], [503, 'BUSY'])
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  } finally {
    await held.release()
  }
  assert.equal((await shop.host.call('GET', `status/${code}`)).data.status, 'INITIAL')
})

test('a company whose requests all wait for a lock takes no connection from another company', async () => {
  const code = (await shop.create()).code
  const other = await shop.host.createMerchant()
  const { baseUrl } = shop.host
  const saleOf = ({ merchantIdentifier }: Merchant) => ({ amount: 5, fromAsset: 'EUR', merchantIdentifier })
  const theirs = (await shop.host.call<{ code: string }>('POST', 'request', { as: other, body: saleOf(other) })).data
  const held = await holdOrder(code)
  const stuck = Array.from({ length: 60 }, () => shop.host.call('POST', `cancel/${code}`, { as: shop.merchant }))
  const calls = [
    (as: Merchant, own: string) => callService(baseUrl, 'GET', `status/${own}`, { as }),
    (as: Merchant) => callService(baseUrl, 'POST', 'request', { as, body: saleOf(as) }),
  ]
  const served: Promise<Answer<unknown>>[] = []
  let isHeld = true
  try {
    await new Promise((resolve) => setTimeout(resolve, 300))
    for (let round = 0; round < 3; round += 1) {
      // what both ask for at once shares statements, and their lines of the log share one too
      served.push(...calls.map((call) => call(shop.merchant, code)))
      const others = [...calls.map((call) => call(other, theirs.code)), callService(baseUrl, 'GET', '', { as: other })]
      for (const answer of await Promise.all(others)) assert.equal(answer.status, 200, answer.text)
    }
    const logged = () => shop.host.db.many(sql`select id from request_log where company_id = ${other.companyId}`)
    await eventually(logged, (lines) => lines.length >= 2, 3000)
    const stillStuck = await Promise.race([...stuck, Promise.resolve('waiting')])
    assert.equal(stillStuck, 'waiting', 'the others were answered while all of those waited')
    await held.release()
    isHeld = false
    const statuses = (await Promise.all(stuck)).map(({ status }) => status)
    assert.ok(statuses.includes(200))
    assert.deepEqual(
      statuses.filter((status) => ![200, 503].includes(status)),
      [],
    )
  } finally {
    if (isHeld) await held.release()
    await Promise.allSettled([...stuck, ...served])
  }
})

test('doctor compares what this node may open with what the server takes from its role and database', async () => {
  const { connectionString } = shop.host.db
  const look = (env: Record<string, string>) => connectionChecks(loadConfig(env))
  const examine = (processes: number) =>
    look({ DATABASE_URL: connectionString, PROCESSES: String(processes) })[0]?.run()
  const { name } = await shop.host.db.one<{ name: string }>(sql`select current_database() as name`)
  const limit = (count: number) =>
    shop.host.db.run(sql`alter database ${raw(name)} connection limit ${raw(`${count}`)}`)
  try {
    await limit(40)
    assert.deepEqual([(await examine(1))?.ok, (await examine(3))?.ok], [true, false])
    const close = await examine(2)
    assert.deepEqual([close?.ok, /takes 40 .* at most 32.*A reload would/.test(close?.message ?? '')], [true, true])
  } finally {
    await limit(-1)
  }
  assert.deepEqual(look({}), [], 'the embedded server is started for as many as are needed')
  const pooled = { DATABASE_PREPARED: 'false', DATABASE_DIRECT_URL: connectionString }
  assert.deepEqual(look({ DATABASE_URL: connectionString, ...pooled }), [], 'PgBouncer shares its own')
})
