import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { openAddressFaults } from '../src/assembly/chains.ts'
import type { Channel } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { AppError } from '../src/kernel/errors.ts'
import { findOrderByCode } from '../src/orders/order-queries.ts'
import { openAnnounce, openTransition } from '../src/orders/order-transition.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { openRates } from '../src/rates/rate-service.ts'
import { freePort } from './harness/free-port.ts'
import { openChannels } from './harness/one-channel-set.ts'
import {
  type Answer,
  callService,
  eventually,
  type Merchant,
  startTestService,
  type TestService,
  webhookIdKeyOf,
} from './harness/service.ts'

let host: TestService
let merchant: Merchant

before(async () => {
  host = await startTestService()
  merchant = await host.createMerchant()
})
after(() => host.stop())

const sale = { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
type Created = { code: string }
const create = (body: Record<string, unknown> = {}, at = host, as = merchant): Promise<Answer<Created>> =>
  at.call('POST', 'request', { as, body: { ...sale, ...body } })

test('INVALID_EXCHANGE_RATE: without a fresh rate nothing is sold, and never at a default', async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`
  const blind = await startTestService({
    env: { RATE_SOURCES: 'kraken,ecb', RATE_KRAKEN_BASE_URL: nobody, RATE_ECB_BASE_URL: nobody },
  })
  try {
    const shop = await blind.createMerchant()
    assert.deepEqual(
      [(await create({}, blind, shop)).status, (await create({}, blind, shop)).error.code],
      [400, 'INVALID_EXCHANGE_RATE'],
    )
    const info = await blind.call('GET', 'exchangeInfo?fromAsset=EUR&toAsset=USDC')
    assert.equal(info.error.code, 'INVALID_EXCHANGE_RATE')
    const { n } = await blind.db.one<{ n: bigint }>(sql`select count(*) as n from orders`)
    assert.equal(n, 0n)
  } finally {
    await blind.stop()
  }
})

test('ORDER_NOT_FOUND and OBJECT_NOT_FOUND: what does not exist is 404 everywhere', async () => {
  const id = '0'.repeat(24)
  for (const path of [`status/${id}`, 'status/order/none'])
    assert.equal((await host.call('GET', path)).error.code, 'ORDER_NOT_FOUND')
  for (const action of ['confirm', 'cancel', 'expire', 'revert']) {
    const answer = await host.call('POST', `${action}/${id}`, { as: merchant })
    assert.deepEqual([answer.status, answer.error.code], [404, 'ORDER_NOT_FOUND'], action)
  }
  assert.equal((await host.call('GET', `/api/next/refunds/${id}`, { as: merchant })).error.code, 'OBJECT_NOT_FOUND')
  assert.equal(
    (await host.call('GET', `/api/next/webhook-deliveries/${'0'.repeat(32)}`, { as: merchant })).error.code,
    'OBJECT_NOT_FOUND',
  )
})

test('IDEMPOTENCY_IN_PROGRESS: while the first request runs, a second one with its key is told to wait', async () => {
  const { code } = (await create()).data
  const key = { companyId: merchant.companyId, scope: `POST /api/confirm_conversion/cancel/${code}` }
  const fingerprint = createHmac('sha256', host.vault.derive('idempotency-fingerprint')).update('null').digest('hex')
  await host.db.run(sql`
    insert into idempotency_keys (company_id, scope, key, fingerprint, claimed_by, locked_until, created_at)
    values (${key.companyId}, ${key.scope}, 'slow', ${fingerprint}, 'another', now() + interval '2 hours', now())`)
  const answer = await host.call('POST', `cancel/${code}`, { as: merchant, headers: { 'idempotency-key': 'slow' } })
  assert.deepEqual(
    [answer.status, answer.error.code, answer.headers.get('retry-after')],
    [409, 'IDEMPOTENCY_IN_PROGRESS', '1'],
  )
  // the claim of a node whose clock was ahead, and that died, lasts no longer than ours would
  const claim = () =>
    host.db.one<{ claimedBy: string; seconds: number }>(sql`
      select claimed_by, extract(epoch from locked_until - now())::float8 as seconds
      from idempotency_keys where key = 'slow'`)
  assert.ok((await claim()).seconds <= 15)
  assert.equal((await claim()).claimedBy, 'another', 'who may still be at work keeps it until then')
  await host.db.run(sql`update idempotency_keys set locked_until = now() - interval '1 second' where key = 'slow'`)
  assert.equal(
    (await host.call('POST', `cancel/${code}`, { as: merchant, headers: { 'idempotency-key': 'slow' } })).status,
    200,
  )
})

test('IDEMPOTENCY_IN_PROGRESS: a request whose key another one has claimed meanwhile changes nothing', async () => {
  const { code } = (await create()).data
  const holder = new pg.Client({ connectionString: host.db.connectionString })
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query('select from orders where code = $1 for update', [code])
    const slow = host.call('POST', `cancel/${code}`, { as: merchant, headers: { 'idempotency-key': 'overtaken' } })
    const take = () => host.db.run(sql`update idempotency_keys set claimed_by = 'another' where key = 'overtaken'`)
    await eventually(take, (taken) => taken === 1)
    await holder.query('commit')
    const { status, error } = await slow
    assert.deepEqual([status, error?.code], [409, 'IDEMPOTENCY_IN_PROGRESS'])
  } finally {
    await holder.end()
  }
  assert.equal((await findOrderByCode(host.db, code))?.status, 'INITIAL')
  const left = await host.db.run(sql`select from idempotency_keys where key = 'overtaken' and claimed_by = 'another'`)
  assert.equal(left, 1, 'the claim of the other request stays')
})

test('IDEMPOTENCY_KEY_REUSED: a key whose first request died is taken over by its repetition alone', async () => {
  const { code } = (await create()).data
  const save = (email: string) =>
    host.call('POST', `email/${code}`, { as: merchant, body: { email }, headers: { 'idempotency-key': 'died' } })
  assert.equal((await save('first@example.org')).status, 200)
  await host.db.run(sql`
    update idempotency_keys set response = null, claimed_by = 'dead', locked_until = now() - interval '1 minute'
    where key = 'died'`)
  assert.equal((await save('other@example.org')).error.code, 'IDEMPOTENCY_KEY_REUSED')
  assert.equal((await save('first@example.org')).status, 200)
})

test('exchangeInfo needs no credential, so whatever stale one comes along is as none', async () => {
  for (const authorization of ['Bearer undefined', 'Basic eDp5', 'Bearer sk_wrong']) {
    const { status, text } = await host.call('GET', 'exchangeInfo?fromAsset=EUR&toAsset=USDC', {
      headers: { authorization },
    })
    assert.equal(status, 200, text)
  }
})

test('TOO_MANY_REQUESTS: says how long to wait', async () => {
  const narrow = await startTestService({ env: { LIMIT_PUBLIC_PER_MINUTE: '3' } })
  try {
    const answers: Answer[] = []
    const path = 'exchangeInfo?fromAsset=EUR&toAsset=USDC'
    for (let turn = 0; turn < 5; turn += 1) answers.push(await narrow.call('GET', path))
    const refused = answers.filter(({ status }) => status === 429)
    assert.equal(refused.length, 2)
    assert.equal(refused[0]?.error.code, 'TOO_MANY_REQUESTS')
    assert.ok(Number(refused[0]?.headers.get('retry-after')) > 0)
  } finally {
    await narrow.stop()
  }
})

test('CHANNEL_UNAVAILABLE: a provider that does not answer leaves the order PENDING, never failed', async () => {
  const { code } = (await create()).data
  const { db, vault, config } = host
  const clock = Date.now
  const signals = { onDelivery: () => {}, onChange: () => {} }
  const deps = { clock, webhookIdKey: webhookIdKeyOf(host), payUrl: config.payUrl, signals }
  const transition = openTransition(deps, openAnnounce(deps))
  const rates = openRates({ fiatAssets: ['EUR'], config: config.rates, db, clock, log: host.service.app.log })
  const silent: Channel = {
    id: 'binance',
    networks: [],
    createPayment: () => Promise.reject(new Error('socket hang up')),
    fetchPayment: () => Promise.reject(new Error('socket hang up')),
  }
  const actor = {
    kind: 'payer',
    id: code,
    role: 'SimpleUser',
    companyId: null,
    companyIds: [],
    collectorIds: [],
  } as const
  const accept = acceptOrder(
    {
      db,
      vault,
      clock,
      config,
      transition,
      channels: openChannels([silent]),
      payers: {
        ...{ db, vault, clock, rates },
        audit: { write: async () => {}, verify: async () => ({ entries: 0, lost: [], fault: null }) },
        tellEmailChanged: async () => {},
        hasMoney: async () => false,
        findAddressFault: openAddressFaults([]),
      },
      gate: { admit: async () => null, admitLate: async () => true },
      dustUnits: 10_000n,
    },
    {
      context: {
        actor: { ...actor, scopes: null, valid: true, sessionId: null, secondFactorAt: null },
        ...{ requestId: 'test', ip: null, userAgent: null, remember: async () => {} },
      },
      code,
      body: { paymentChannel: 'binance' },
    },
  )
  await assert.rejects(
    accept,
    (error) => error instanceof AppError && error.code === 'CHANNEL_UNAVAILABLE' && error.status === 502,
  )
  assert.equal((await findOrderByCode(db, code))?.status, 'PENDING')
})

test('INTERNAL_ERROR: a bug is answered without internals and logged whole', async () => {
  const broken = await startTestService()
  try {
    await broken.db.run(sql`alter table orders rename to orders_gone`)
    const answer = await callService(broken.baseUrl, 'GET', 'status/abc')
    assert.deepEqual([answer.status, answer.error.code], [500, 'INTERNAL_ERROR'])
    assert.equal(/orders|relation|select|\.ts/i.test(answer.text.replace(/"message":"[^"]*"/, '')), false)
    assert.ok(broken.logLines.join('').includes('orders'))
    assert.ok(broken.logLines.join('').includes(answer.error.requestId))
  } finally {
    await broken.stop()
  }
})

test('DATABASE_UNAVAILABLE: without its database the service says so, and stays up', async () => {
  const lost = await startTestService({ connectionString: `postgres://nobody@127.0.0.1:${await freePort()}/none` })
  try {
    for (let turn = 0; turn < 2; turn += 1) {
      const answer = await lost.call('GET', 'status/abc')
      assert.deepEqual([answer.status, answer.error.code], [503, 'DATABASE_UNAVAILABLE'])
      assert.ok(answer.headers.get('retry-after'))
    }
    assert.equal((await lost.call('GET', '/healthz')).status, 200)
    const { status, error } = await lost.call('GET', '/readyz')
    assert.deepEqual([status, error.docs], [503, `${lost.baseUrl}/docs/errors/BUSY`])
  } finally {
    await lost.stop()
  }
})
