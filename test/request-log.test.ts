import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { verifyWebhook } from '../sdk/index.ts'
import { loadConfig } from '../src/config/config.ts'
import { sql } from '../src/db/db.ts'
import { partitionedTables } from '../src/db/partitioned-tables.ts'
import { keepPartitions } from '../src/db/partitions.ts'
import { DAY } from '../src/kernel/clock.ts'
import { deleteSurplusRequests, takesTrim } from '../src/request-log/request-log-queries.ts'
import { type Person, register, registerManager } from './harness/accounts.ts'
import { type Receiver, startReceiver } from './harness/receiver.ts'
import { eventually, type Merchant, startTestService, type TestService } from './harness/service.ts'

type Row = { requestId: string; method: string; path: string; status: number; errorCode: string | null } & {
  actor: string
  name: string | null
  ip: string
  userAgent: string | null
}
type Page = { requests: Row[]; nextBefore: string | null }
type Latest = { events: { event: string; cursor: string; order: { code: string } }[]; nextBefore: string | null }

let service: TestService
let merchant: Merchant
let other: Merchant
let receiver: Receiver

before(async () => {
  service = await startTestService({ workers: true })
  merchant = await service.createMerchant()
  other = await service.createMerchant()
  receiver = await startReceiver()
})
after(async () => {
  await receiver?.close()
  await service?.stop()
})

const sale = { amount: '5.00', fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
const logOf = async (as: Merchant, query = ''): Promise<Page> =>
  (await service.call<Page>('GET', `/api/next/request-log${query}`, { as })).data

test('a request is found by its id with status, duration, address and browser, and without what it carried', async () => {
  const requestId = 'checkout-42-refused'
  const headers = { 'x-request-id': requestId, 'user-agent': 'shop/1.0 <b>' }
  const secretNote = 'sk_should_not_be_kept'
  const body = { ...sale, amount: '0.01', alias: secretNote }
  const answer = await service.call('POST', '/api/next/confirm_conversion/request?note=private', {
    ...{ as: merchant, body, headers },
  })
  assert.equal(answer.error.code, 'ILLEGAL_AMOUNT')
  const { requests } = await logOf(merchant, `?requestId=${requestId}`)
  assert.equal(requests.length, 1)
  const [row] = requests
  assert.deepEqual(
    [row?.method, row?.path, row?.status, row?.errorCode, row?.name, row?.userAgent, row?.ip],
    ['POST', '/api/next/confirm_conversion/request', 400, 'ILLEGAL_AMOUNT', 'test', 'shop/1.0 <b>', '127.0.0.1'],
  )
  const stored = JSON.stringify(await service.db.many({ text: 'select * from request_log', values: [], name: '' }))
  for (const secret of [secretNote, 'private', merchant.headers['x-api-secret'] ?? 'none'])
    assert.equal(stored.includes(secret), false, `${secret} is kept`)
})

test('a company sees its own requests and no others', async () => {
  await service.call('POST', 'request', { as: other, body: sale, headers: { 'x-request-id': 'of-the-other-one' } })
  assert.deepEqual((await logOf(merchant, '?requestId=of-the-other-one')).requests, [])
  assert.equal((await logOf(other, '?requestId=of-the-other-one')).requests.length, 1)
})

test('the requests of an applicant are not in the log of the shop, and push nothing out of it', async () => {
  const { client, userId } = await register(service.baseUrl, { role: 'Observer', companyName: merchant.companyId })
  for (const path of ['api-keys', 'request-log', 'users/me'])
    await client.call('GET', path, undefined, { 'x-request-id': `applicant-${path.replace('/', '-')}` })
  const { requests } = await logOf(merchant, '?limit=100')
  assert.equal(
    requests.some(({ actor }) => actor === `user:${userId}`),
    false,
  )
  const kept = await service.db.many(sql`select company_id from request_log where actor = ${`user:${userId}`}`)
  assert.deepEqual(kept, [{ companyId: '' }, { companyId: '' }])
})

test('the log pages backwards without gaps, and can show refusals alone', async () => {
  for (let index = 0; index < 5; index += 1)
    await service.call('GET', `status/nothing-${index}`, {
      as: merchant,
      headers: { 'x-request-id': `page-${index}-x` },
    })
  const whole = (await logOf(merchant, '?limit=100')).requests.map(({ requestId }) => requestId)
  const paged: string[] = []
  let page = await logOf(merchant, '?limit=2')
  paged.push(...page.requests.map(({ requestId }) => requestId))
  while (page.nextBefore !== null) {
    page = await logOf(merchant, `?limit=2&before=${page.nextBefore}`)
    paged.push(...page.requests.map(({ requestId }) => requestId))
  }
  // reading the log is a request too
  assert.deepEqual(
    paged.filter((id) => whole.includes(id)),
    whole,
  )
  const failed = await logOf(merchant, '?failed=true')
  assert.ok(failed.requests.length >= 6 && failed.requests.every(({ status }) => status >= 400))
})

test('what a person’s page reads is left out; what a person changes is kept with the name', async () => {
  const person: Person = await registerManager(service.baseUrl)
  await person.client.get('confirm_conversion')
  await person.client.call('POST', 'sales-points', { name: 'Second shop' })
  const { data } = await person.client.get<Page>('request-log')
  const seen = data.requests.map(({ method, path }) => `${method} ${path}`)
  assert.ok(seen.includes('POST /api/next/sales-points'), seen.join())
  assert.equal(
    seen.some((line) => line.startsWith('GET /api/next/confirm_conversion')),
    false,
  )
})

test('the table stays small: by age, dropped by the day, and by the number for each company', async () => {
  const { db } = service
  const count = async (): Promise<number> => (await logOf(merchant, '?limit=100')).requests.length
  assert.ok((await count()) > 3)
  await deleteSurplusRequests(db, 3, 1000)
  // three were kept, and the reading before was noted when this one asked
  assert.ok((await count()) <= 5)
  const spec = partitionedTables(loadConfig({})).find(({ table }) => table === 'request_log')
  assert.ok(spec)
  const inTwoDays = Date.now() + 2 * DAY
  const { dropped } = await keepPartitions(db, { ...spec, keepDays: 1 }, inTwoDays)
  assert.deepEqual(dropped, ['request_log_before'])
  assert.ok((await count()) <= 2)
})

test('the trim keeps the newest of each company and of no company, a bounded number at a time, by one worker at a time', async () => {
  const { db } = service
  const fill = async (companyId: string, from: number): Promise<void> => {
    await db.run(sql`
      insert into request_log (company_id, id, request_id, at, actor, method, path, status, duration_ms, ip)
      select ${companyId}, 'f' || lpad(to_hex(n), 23, '0'), 'trim-' || n, now(), 'apiKey:1', 'POST', '/', 200, 1, '192.0.2.1'
      from generate_series(${from}::integer, ${from + 8}::integer) n`)
  }
  const countOf = async (companyId: string): Promise<number> =>
    (await db.many(sql`select id from request_log where company_id = ${companyId}`)).length
  for (const companyId of ['', other.companyId]) await fill(companyId, 1)
  await deleteSurplusRequests(db, 1, 1000)
  for (const companyId of ['', other.companyId]) await fill(companyId, 10)
  assert.equal(await deleteSurplusRequests(db, 4, 2), 4, 'two of each')
  assert.deepEqual([await countOf(''), await countOf(other.companyId)], [8, 8])
  const elsewhere = new pg.Client({ connectionString: db.connectionString })
  await elsewhere.connect()
  await elsewhere.query(`begin; select pg_advisory_xact_lock(hashtextextended('request log trim', 0))`)
  assert.equal(await db.tx(takesTrim), false)
  await elsewhere.end()
  await eventually(() => db.tx(takesTrim), Boolean)
})

test('the latest events come newest first, page backwards, and can be of one kind', async () => {
  const codes: string[] = []
  for (let index = 0; index < 3; index += 1) {
    const { data } = await service.call<{ code: string }>('POST', 'request', { as: merchant, body: sale })
    codes.unshift(data.code)
  }
  await service.call('POST', `cancel/${codes[0]}`, { as: merchant })
  const read = async (query: string): Promise<Latest> =>
    (await service.call<Latest>('GET', `/api/next/events/latest${query}`, { as: merchant })).data
  // an event is listed once the feed has numbered it
  await eventually(
    () => read('?limit=10'),
    ({ events }) => events.length === 4,
  )
  const first = await read('?limit=2')
  assert.deepEqual(
    first.events.map(({ event, order }) => [event, order.code]),
    [
      ['order.cancelled', codes[0]],
      ['order.initial', codes[0]],
    ],
  )
  const next = await read(`?limit=2&before=${first.nextBefore}`)
  assert.deepEqual(
    next.events.map(({ order }) => order.code),
    codes.slice(1),
  )
  const cancelled = await read('?event=order.cancelled')
  assert.deepEqual(
    cancelled.events.map(({ order }) => order.code),
    [codes[0]],
  )
})

test('a test event is signed with the company’s secret, marked as a test, and its answer is shown', async () => {
  receiver.answer('/hook', (_request, response) => void response.writeHead(500).end('<script>no</script>'))
  const answer = await service.call<{ delivered: boolean; statusCode: number; responseBody: string; id: string }>(
    'POST',
    '/api/next/webhook-deliveries/test',
    { as: merchant, body: { url: `${receiver.url}/hook`, event: 'order.refunded' } },
  )
  assert.deepEqual(
    [answer.data.delivered, answer.data.statusCode, answer.data.responseBody],
    [false, 500, '<script>no</script>'],
  )
  const [sent] = receiver.at('/hook')
  const event = await verifyWebhook(sent?.body ?? '', sent?.headers ?? {}, merchant.webhookSecret)
  assert.deepEqual([event.type, event.data.event], ['test', 'order.refunded'])
  const { test: isTest, code, status } = JSON.parse(sent?.body ?? '{}')
  assert.deepEqual([isTest, code, status], [true, 'TEST-ORDER', 'REFUNDED'])
})

test('a test event has the fields of a real one, and goes to no address that webhooks may not go to', async () => {
  const body = { ...sale, webhookUrl: `${receiver.url}/real` }
  const { data: order } = await service.call<{ order: object }>('POST', 'request', { as: merchant, body })
  receiver.answer('/fields', 200)
  await service.call('POST', '/api/next/webhook-deliveries/test', {
    as: merchant,
    body: { url: `${receiver.url}/fields` },
  })
  const fields = Object.keys(JSON.parse(receiver.at('/fields')[0]?.body ?? '{}')).sort()
  assert.deepEqual(fields, [...Object.keys(order.order), 'event', 'test'].sort())
  const inside = { url: 'http://169.254.169.254/latest/meta-data' }
  const refused = await service.call('POST', '/api/next/webhook-deliveries/test', { as: merchant, body: inside })
  assert.equal(refused.status, 422)
})
