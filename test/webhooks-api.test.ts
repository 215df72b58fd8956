import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Registry } from 'prom-client'
import Stripe from 'stripe'
import type { Audit, AuditEntry } from '../src/audit/audit.ts'
import { sql } from '../src/db/db.ts'
import type { Actor, UserRole } from '../src/http/actor.ts'
import { openRateLimits } from '../src/http/limits/rate-limits.ts'
import { buildServer } from '../src/http/server.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { deliveryRoutes } from '../src/webhooks/api/delivery-routes.ts'
import {
  subscriptionRoutes,
  webhookRotationRoutes,
  webhookSecretRoutes,
} from '../src/webhooks/api/subscription-routes.ts'
import { AttemptSender } from '../src/webhooks/sender/attempt.ts'
import { createWebhookAgent } from '../src/webhooks/sender/connector.ts'
import type { Sender } from '../src/webhooks/sender/sender.ts'
import { insertPerson } from './harness/accounts.ts'
import { type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { openWebhookWorld, SANDBOX_RULES, type WebhookWorld } from './harness/webhook-world.ts'

let world: WebhookWorld
let receiver: Receiver
let sender: Sender
let app: FastifyInstance
let attempts: AttemptSender
let shop: { id: string; secret: string }
let other: { id: string; secret: string }
const audits: AuditEntry[] = []

const NO_LIMITS = {
  accountPerMinute: 0,
  addressPerMinute: 0,
  publicPerMinute: 0,
  companyPerMinute: 0,
  pagePerMinute: 0,
  linkPerMinute: 0,
  relayPerDay: 0,
}

const actorAs = (role: UserRole, companyId: string | null): Actor => ({
  kind: 'user',
  id: newId(),
  role,
  companyId,
  companyIds: [],
  collectorIds: [],
  scopes: null,
  valid: true,
  sessionId: null,
  secondFactorAt: Date.now(),
})

/** Has an account: what this person makes outlives a session, so that the session is looked at once more. */
async function managerOf(companyId: string): Promise<Actor> {
  const manager = actorAs('Manager', companyId)
  return { ...manager, ...(await insertPerson(world.db, manager)) }
}

type Answer = { status: number; headers: Record<string, unknown>; text: string; data: never; code: string | undefined }

async function call(method: 'GET' | 'POST' | 'PUT', url: string, actor: Actor | null, body?: object): Promise<Answer> {
  const headers = actor ? { 'x-actor': JSON.stringify(actor) } : {}
  const answer = await app.inject({ method, url, headers, ...(body ? { payload: body } : {}) })
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  const { data, error } = isJson ? answer.json() : { data: null, error: undefined }
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text: answer.body,
    data: data as never,
    code: error?.code,
  }
}

const manager = () => actorAs('Manager', shop.id)

before(async () => {
  world = await openWebhookWorld()
  receiver = await startReceiver()
  ;[shop, other] = await Promise.all([world.newCompany(), world.newCompany()])
  sender = await world.start()
  const { db, vault } = world
  app = await buildServer({
    config: { baseUrl: 'http://localhost', corsOrigins: [], trustProxy: [], logLevel: 'silent' },
    db,
    vault,
    limits: openRateLimits({ db, clock: systemClock, limits: NO_LIMITS }),
    clock: systemClock,
    metrics: new Registry(),
    authenticate: async ({ headers: { 'x-actor': text } }: FastifyRequest) =>
      typeof text === 'string' ? JSON.parse(text) : null,
  })
  const audit: Audit = {
    write: async (_tx, _context, entry) => void audits.push(entry),
    verify: async () => ({ entries: 0, lost: [], fault: null }),
  }
  attempts = new AttemptSender(createWebhookAgent(SANDBOX_RULES))
  const deps = { db, vault, clock: systemClock, wake: sender.wake, audit, attempts, rules: SANDBOX_RULES }
  await app.register(deliveryRoutes, { prefix: '/api/next', ...deps })
  await app.register(subscriptionRoutes, { prefix: '/api/next', ...deps })
  await app.register(webhookSecretRoutes, { prefix: '/api/users', ...deps })
  await app.register(webhookRotationRoutes, { prefix: '/api/users', ...deps })
  await app.ready()
})

after(async () => {
  await app.close()
  await attempts.close()
  await world.close()
  await receiver.close()
})

async function deliver(path: string, count = 1, companyId = shop.id): Promise<string[]> {
  const deliveries = Array.from({ length: count }, () => world.newDelivery(companyId, receiver.url + path))
  await world.insert(deliveries)
  sender.wake()
  return deliveries.map((delivery) => delivery.id)
}

type Delivery = {
  id: string
  event: string
  url: string
  status: string
  attempts: {
    number: number
    series: number
    trigger: string
    statusCode: number
    errorCode: string | null
    responseBody: string
  }[]
  request: { headers: Record<string, string>; body: string; url: string }
}

test('the log shows each attempt with number, start, duration, status, error and answer', async () => {
  receiver.answer('/log', (_request, response) => void response.writeHead(201).end(`thanks ${'x'.repeat(3000)}`))
  const [id = ''] = await deliver('/log')
  await waitFor('delivery', async () => (await world.statusOf(id)) === 'delivered')
  const list = await call('GET', '/api/next/webhook-deliveries?event=order.paid&status=delivered&limit=5', manager())
  assert.equal(list.status, 200)
  const page = list.data as { deliveries: Delivery[]; total: number; page: number; limit: number }
  assert.deepEqual([page.total >= 1, page.page, page.limit], [true, 1, 5])
  const [attempt] = page.deliveries.find((delivery) => delivery.id === id)?.attempts ?? []
  assert.equal(attempt?.number, 1)
  assert.equal(attempt?.statusCode, 201)
  assert.equal(attempt?.errorCode, null)
  assert.equal(attempt?.responseBody.length, 1024)
  const one = (await call('GET', `/api/next/webhook-deliveries/${id}`, manager())).data as Delivery
  assert.equal(one.request.body, receiver.at('/log')[0]?.body)
  assert.equal(one.request.headers['service-webhook-id'], id)
  assert.equal('service-signature' in one.request.headers, false)
})

test("another company's delivery is 404, for reading, redelivering and copying", async () => {
  const [id = ''] = await deliver('/foreign')
  const stranger = actorAs('Manager', other.id)
  const answers = await Promise.all([
    call('GET', `/api/next/webhook-deliveries/${id}`, stranger),
    call('GET', `/api/next/webhook-deliveries/${id}/curl`, stranger),
    call('POST', `/api/next/webhook-deliveries/${id}/redeliver`, stranger),
    call('GET', `/api/next/webhook-deliveries?companyId=${shop.id}`, stranger),
  ])
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [404, 404, 404, 404],
  )
  const list = (await call('GET', '/api/next/webhook-deliveries', stranger)).data as { total: number }
  assert.equal(list.total, 0)
})

test('a wrong status is 422, a role without the right is 403, no credential is 401', async () => {
  assert.equal((await call('GET', '/api/next/webhook-deliveries?status=lost', manager())).status, 422)
  assert.equal((await call('GET', '/api/next/webhook-deliveries', actorAs('Cashier', shop.id))).status, 403)
  assert.equal((await call('GET', '/api/next/webhook-deliveries', null)).status, 401)
  assert.equal((await call('GET', '/api/users/webhook-secret', actorAs('Observer', shop.id))).status, 403)
})

test('redelivery repeats id and body as a new series, for failed and for delivered ones, but not for one under way', async () => {
  const [id = ''] = await deliver('/again')
  await waitFor('first series', async () => (await world.statusOf(id)) === 'delivered')
  assert.equal((await call('POST', `/api/next/webhook-deliveries/${id}/redeliver`, manager())).status, 200)
  await waitFor('second series', () => receiver.at('/again').length === 2)
  await waitFor('its settlement', async () => (await world.statusOf(id)) === 'delivered')
  const [first, second] = receiver.at('/again')
  assert.equal(second?.body, first?.body)
  assert.equal(second?.headers['service-webhook-id'], first?.headers['service-webhook-id'])
  const { attempts } = (await call('GET', `/api/next/webhook-deliveries/${id}`, manager())).data as Delivery
  assert.deepEqual(
    attempts.map(({ series, number, trigger }) => [series, number, trigger]),
    [
      [1, 1, 'schedule'],
      [2, 1, 'manual'],
    ],
  )
  assert.ok(audits.some((entry) => entry.action === 'webhook.redeliver' && entry.object === `delivery:${id}`))
  receiver.answer('/busy', 500)
  const [busy = ''] = await deliver('/busy')
  await waitFor('its first attempt', () => receiver.at('/busy').length === 1)
  const refused = await call('POST', `/api/next/webhook-deliveries/${busy}/redeliver`, manager())
  assert.deepEqual([refused.status, refused.code], [409, 'OBJECT_CONFLICT'])
})

test('an arrival leaves the row with the body as it was written, and a node of the version before may mark it', async () => {
  const company = await world.newCompany()
  const [id = ''] = await deliver('/unwritten', 1, company.id)
  await waitFor('its arrival', async () => (await world.statusOf(id)) === 'delivered')
  const versions = () =>
    world.db.one<{ written: string; insertedWith: string; status: string }>(sql`
      select d.xmin::text as written, d.status,
        (select e.xmin::text from delivery_attempts e where e.delivery_id = ${id}) as inserted_with
      from deliveries d where d.id = ${id}`)
  const { written, insertedWith, status } = await versions()
  assert.equal(status, 'pending')
  assert.ok(BigInt(written) < BigInt(insertedWith), 'the row is of the transaction of its event')
  await world.db.run(sql`update deliveries set status = 'delivered' where id = ${id}`)
  const listed = async (filter: string) =>
    (
      (await call('GET', `/api/next/webhook-deliveries?status=${filter}`, actorAs('Manager', company.id))).data as {
        total: number
      }
    ).total
  assert.deepEqual(await Promise.all(['delivered', 'pending', 'failed', 'parked'].map(listed)), [1, 0, 0, 0])
})

test('of eight redeliveries at once one starts a series, and the others hear that it is under way', async () => {
  const company = await world.newCompany()
  const [id = ''] = await deliver('/rush', 1, company.id)
  await waitFor('its arrival', async () => (await world.statusOf(id)) === 'delivered')
  receiver.answer('/rush', 500)
  const rush = Array.from({ length: 8 }, () =>
    call('POST', `/api/next/webhook-deliveries/${id}/redeliver`, actorAs('Manager', company.id)),
  )
  const statuses = (await Promise.all(rush)).map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, ...Array.from({ length: 7 }, () => 409)])
  const rows = await world.db.many<{ series: number; own: number }>(sql`
    select due.series, d.series as own from delivery_due due join deliveries d on d.id = due.delivery_id where d.id = ${id}`)
  assert.deepEqual(rows, [{ series: 2, own: 2 }])
})

test('redelivery by filter starts every failed delivery once, and leaves delivered ones alone without a status', async () => {
  const company = await world.newCompany()
  const ids = await deliver('/many', 300, company.id)
  await waitFor(
    'all delivered',
    async () => receiver.at('/many').length === 300 && (await statusCount(company.id, 'delivered')) === 300,
  )
  await world.db.run(sql`update deliveries set status = 'failed' where id = any (${ids.slice(0, 250)}::text[])`)
  const result = await call('POST', '/api/next/webhook-deliveries/redeliver', actorAs('Manager', company.id))
  assert.deepEqual(result.data, { redelivered: 250, limit: 10_000 })
  await waitFor(
    '250 more',
    async () => receiver.at('/many').length === 550 && (await statusCount(company.id, 'delivered')) === 300,
  )
  assert.ok(receiver.open('/many').most <= 8)
})

const statusCount = async (companyId: string, status: string): Promise<number> => {
  const statement = sql`select count(*) as count from delivery_states where company_id = ${companyId} and status = ${status}`
  return Number((await world.db.one<{ count: bigint }>(statement)).count)
}

type Address = {
  url: string
  nextAttemptAt: string | null
  lastDeliveryAt: string
  lastFailure: { at: string; statusCode: number | null; errorCode: string | null } | null
} & Record<'deliveries' | 'delivered' | 'pending' | 'failed' | 'parked', number>
type AddressPage = { addresses: Address[]; total: number; days: number }

const addressesOf = async (actor: Actor, query = ''): Promise<AddressPage> =>
  (await call('GET', `/api/next/webhook-addresses${query}`, actor)).data as AddressPage
const pathsOf = ({ addresses }: AddressPage): string[] => addresses.map(({ url }) => url.slice(receiver.url.length))

test('each address is listed with what arrived, waits and failed, and its last failure', async () => {
  const company = await world.newCompany()
  const owner = actorAs('Manager', company.id)
  receiver.answer('/well', 200)
  receiver.answer('/ill', 503)
  const [parked = '', failed = ''] = await deliver('/well', 4, company.id)
  await waitFor('the good ones', async () => (await statusCount(company.id, 'delivered')) === 4)
  await world.db.run(sql`update deliveries set status = 'parked' where id = ${parked}`)
  await world.db.run(sql`update deliveries set status = 'failed' where id = ${failed}`)
  await world.insert([world.newDelivery(company.id, `${receiver.url}/ill`, { at: new Date(Date.now() + 1) })])
  sender.wake()
  const last = async () => (await addressesOf(owner)).addresses[0]
  await waitFor('its failure', async () => (await last())?.lastFailure?.statusCode === 503)
  const page = await addressesOf(owner)
  assert.deepEqual([pathsOf(page), page.total, page.days], [['/ill', '/well'], 2, 30])
  const [ill, well] = page.addresses
  const counts = (of?: Address) => [of?.deliveries, of?.delivered, of?.pending, of?.failed, of?.parked]
  assert.deepEqual(
    [counts(ill), counts(well)],
    [
      [1, 0, 1, 0, 0],
      [4, 2, 0, 1, 1],
    ],
  )
  assert.deepEqual([well?.lastFailure, well?.nextAttemptAt], [null, null])
  assert.ok(Date.parse(ill?.nextAttemptAt ?? '') > Date.parse(ill?.lastFailure?.at ?? ''), 'the retry comes after it')
  const oneUrl = encodeURIComponent(`${receiver.url}/ill`)
  const { deliveries } = (await call('GET', `/api/next/webhook-deliveries?url=${oneUrl}`, owner)).data as {
    deliveries: Delivery[]
  }
  assert.deepEqual(
    deliveries.map(({ url, status }) => [url, status]),
    [[`${receiver.url}/ill`, 'pending']],
  )
})

test('addresses keep to the days and to one company, at most 100 of them, and an operator names the company', async () => {
  const company = await world.newCompany()
  const owner = actorAs('Manager', company.id)
  const at = (days: number) => new Date(Date.now() - days * 86_400_000)
  const old = [2, 40, 89].map((days) => world.newDelivery(company.id, `${receiver.url}/${days}`, { at: at(days) }))
  await world.insert(old)
  assert.deepEqual(pathsOf(await addressesOf(owner)), ['/2'])
  assert.deepEqual(pathsOf(await addressesOf(owner, '?days=1')), [])
  assert.deepEqual(pathsOf(await addressesOf(owner, '?days=90')), ['/2', '/40', '/89'])
  for (const days of ['0', '91', 'x'])
    assert.equal((await call('GET', `/api/next/webhook-addresses?days=${days}`, owner)).status, 422, days)
  const stranger = actorAs('Manager', other.id)
  assert.equal((await call('GET', `/api/next/webhook-addresses?companyId=${company.id}`, stranger)).status, 404)
  assert.ok(!pathsOf(await addressesOf(stranger)).includes('/2'))
  const admin = actorAs('SuperAdmin', null)
  assert.equal((await call('GET', '/api/next/webhook-addresses', admin)).status, 422)
  assert.deepEqual(pathsOf(await addressesOf(admin, `?companyId=${company.id}`)), ['/2'])
  const many = Array.from({ length: 120 }, (_, index) =>
    world.newDelivery(company.id, `${receiver.url}/many-${index}`, { at: new Date(Date.now() - index * 1000) }),
  )
  await world.insert(many)
  const page = await addressesOf(owner)
  assert.deepEqual([page.addresses.length, page.total, pathsOf(page)[0]], [100, 121, '/many-0'])
  // the next test counts what the receiver gets
  sender.wake()
  await waitFor('all of them', async () => (await statusCount(company.id, 'delivered')) === 123)
})

test('a delivery copied as curl and run in a shell arrives with the same bytes and a good signature', async () => {
  const company = await world.newCompany()
  const body = JSON.stringify({ event: 'order.paid', alias: `it's "50 %" \\ $HOME \`id\` €`, n: '\n' })
  await world.insert([world.newDelivery(company.id, `${receiver.url}/curl?a=1&b='2'`, { body })])
  const row = await world.db.one<{ id: string }>(sql`select id from deliveries where company_id = ${company.id}`)
  const answer = await call('GET', `/api/next/webhook-deliveries/${row.id}/curl`, await managerOf(company.id))
  assert.match(String(answer.headers['content-type']), /^text\/plain/)
  // the deliveries of the test before may still arrive
  const arrived = () => receiver.received.filter((request) => request.path.startsWith('/curl'))
  await waitFor('the sender', () => arrived().length > 0)
  const before = arrived().length
  await runCurl(answer.text)
  await waitFor('the copy', () => arrived().length > before)
  const copy = arrived().at(-1)
  assert.equal(copy?.body, body)
  new Stripe('sk_test_unused').webhooks.constructEvent(
    copy?.body ?? '',
    copy?.headers['service-signature'] ?? '',
    company.secret,
  )
})

async function runCurl(text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    execFile('sh', ['-c', text], (error) => (error ? reject(error) : resolve()))
  })
}

test('the default subscription is the four events; only a SuperAdmin enables others, audited, and defaults stay', async () => {
  const path = '/api/next/webhook-subscriptions'
  const before = (await call('GET', path, manager())).data as { events: string[] }
  assert.deepEqual(before.events, ['order.paid', 'order.refunding', 'order.refunded', 'order.full_refunded'])
  assert.equal((await call('PUT', path, manager(), { events: ['order.expired'] })).status, 403)
  const operator = actorAs('SuperAdmin', null)
  const admin = { ...operator, ...(await insertPerson(world.db, operator)) }
  assert.equal((await call('PUT', path, admin, { events: ['order.expired'] })).status, 422)
  assert.equal((await call('PUT', path, admin, { events: ['order.lost'], companyId: shop.id })).status, 422)
  const changed = await call('PUT', path, admin, { events: ['order.expired', 'kyc.approved'], companyId: shop.id })
  assert.deepEqual(
    (changed.data as { events: string[] }).events.filter((event) => !before.events.includes(event)),
    ['order.expired', 'kyc.approved'],
  )
  const row = await world.db.one<{ version: bigint }>(sql`select version from companies where id = ${shop.id}`)
  assert.equal(row.version, 2n)
  const there = `${path}?companyId=${shop.id}`
  assert.equal((await call('PUT', there, admin, { events: ['order.expired', 'kyc.approved'] })).status, 200)
  const elsewhere = { events: ['order.expired'], companyId: '0'.repeat(24) }
  assert.equal((await call('PUT', there, admin, elsewhere)).status, 422)
  assert.ok(audits.some((entry) => entry.action === 'webhook.change-subscriptions'))
})

test('a regenerated secret signs every attempt that starts after the answer, also the retry of an older event', async () => {
  const company = await world.newCompany()
  receiver.answer('/rotate', 500)
  await world.insert([world.newDelivery(company.id, `${receiver.url}/rotate`)])
  sender.wake()
  await waitFor('attempt 1', () => receiver.at('/rotate').length === 1)
  const owner = await managerOf(company.id)
  const answer = await call('POST', '/api/users/webhook-secret/regenerate', owner)
  const { webhookSigningSecret: secret } = answer.data as { webhookSigningSecret: string }
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const read = await call('GET', '/api/users/webhook-secret', owner)
  assert.deepEqual(read.data, { webhookSigningSecret: secret })
  assert.equal(read.headers['cache-control'], 'no-store')
  receiver.answer('/rotate', 200)
  await waitFor('attempt 2', () => receiver.at('/rotate').length === 2)
  const [first, retry] = receiver.at('/rotate')
  const { webhooks } = new Stripe('sk_test_unused')
  webhooks.constructEvent(first?.body ?? '', first?.headers['service-signature'] ?? '', company.secret)
  webhooks.constructEvent(retry?.body ?? '', retry?.headers['service-signature'] ?? '', secret)
  assert.equal(retry?.headers['service-webhook-id'], first?.headers['service-webhook-id'])
})

test('a prepared secret signs only tests until it is put into use, and then everything', async () => {
  const company = await world.newCompany()
  const owner = await managerOf(company.id)
  const path = '/api/users/webhook-secret/next'
  const url = `${receiver.url}/prepared`
  assert.equal((await call('POST', `${path}/test`, owner, { url })).code, 'OBJECT_CONFLICT')
  assert.equal((await call('POST', `${path}/activate`, owner)).code, 'OBJECT_CONFLICT')
  const { webhookSigningSecret: next } = (await call('POST', path, owner)).data as { webhookSigningSecret: string }
  const { webhooks } = new Stripe('sk_test_unused')
  const secretOf = (index: number): string => {
    const { body, headers } = receiver.at('/prepared')[index] ?? { body: '', headers: {} as Record<string, string> }
    return (
      [company.secret, next].find((secret) => {
        try {
          return webhooks.constructEvent(body, headers['service-signature'] ?? '', secret)
        } catch {
          return false
        }
      }) ?? 'neither'
    )
  }
  const result = (await call('POST', `${path}/test`, owner, { url })).data as { delivered: boolean; statusCode: number }
  assert.deepEqual([result.delivered, result.statusCode], [true, 200])
  await deliver('/prepared', 1, company.id)
  await waitFor('an event before', () => receiver.at('/prepared').length === 2)
  assert.equal((await call('POST', `${path}/activate`, owner)).status, 200)
  await deliver('/prepared', 1, company.id)
  await waitFor('an event after', () => receiver.at('/prepared').length === 3)
  assert.deepEqual([secretOf(0), secretOf(1), secretOf(2)], [next, company.secret, next])
  assert.equal((await call('POST', `${path}/test`, owner, { url: 'http://10.0.0.1/' })).status, 422)
})

test('of two prepared secrets the one that is named comes into use, or none', async () => {
  const company = await world.newCompany()
  const owner = await managerOf(company.id)
  const path = '/api/users/webhook-secret'
  type Secret = { webhookSigningSecret: string }
  const prepare = async () => ((await call('POST', `${path}/next`, owner)).data as Secret).webhookSigningSecret
  const activate = (secret: string) => call('POST', `${path}/next/activate`, owner, { endsWith: secret.slice(-8) })
  const [mine, theirs] = [await prepare(), await prepare()]
  assert.deepEqual([(await activate(mine)).status, (await activate(mine)).code], [409, 'OBJECT_CONFLICT'])
  const read = async () => ((await call('GET', path, owner)).data as Secret).webhookSigningSecret
  assert.equal(await read(), company.secret)
  assert.equal((await call('POST', `${path}/next/activate`, owner, { endsWith: '' })).status, 422)
  assert.equal(await read(), company.secret)
  assert.equal((await activate(theirs)).status, 200)
  assert.equal(await read(), theirs)
  const last = await prepare()
  const headers = { 'x-actor': JSON.stringify(owner), 'content-type': 'application/json' }
  const bare = await app.inject({ method: 'POST', url: `${path}/next/activate`, headers, payload: 'null' })
  assert.deepEqual([bare.statusCode, await read()], [200, last])
})

test('100 concurrent regenerations leave exactly one good secret', async () => {
  const company = await world.newCompany()
  const owner = await managerOf(company.id)
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => call('POST', '/api/users/webhook-secret/regenerate', owner)),
  )
  const secrets = answers.map((answer) => (answer.data as { webhookSigningSecret: string }).webhookSigningSecret)
  assert.equal(new Set(secrets).size, 100)
  const { data } = await call('GET', '/api/users/webhook-secret', owner)
  assert.equal(
    secrets.filter((secret) => secret === (data as { webhookSigningSecret: string }).webhookSigningSecret).length,
    1,
  )
})

test('no secret appears in the log lines of the sender', () => {
  const text = JSON.stringify(world.log.lines)
  assert.equal(text.includes(shop.secret) || text.includes('whsec_'), false)
})
