import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { verifyWebhook } from '../sdk/index.ts'
import { sql } from '../src/db/db.ts'
import { type Client, logIn, registerManager } from './harness/accounts.ts'
import { type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { startTestService, type TestService } from './harness/service.ts'

/* A till's own webhook address: for orders that name none. */

type Order = { _id: string; code: string; webhookUrl: string | null }
type Till = { _id: string; identifier: string; webhookUrl: string | null; salePoint: { _id: string } }

let host: TestService
let receiver: Receiver
let manager: Client
let till: Till

before(async () => {
  host = await startTestService({ workers: true })
  receiver = await startReceiver()
  manager = await logIn(host.baseUrl, (await registerManager(host.baseUrl)).email)
  const { data } = await manager.get<{ collectors: [Till] }>('collectors/list')
  till = data.collectors[0]
  await host.db.run(sql`update companies set optional_events = '{order.initial,order.cancelled}'`)
})
after(async () => {
  await host?.stop()
  await receiver?.close()
})

const put = (body: Record<string, unknown>) => manager.call<Till>('PUT', `collectors/${till._id}`, body)
const change = (webhookUrl: string | null) => put({ webhookUrl })

async function create(body: Record<string, unknown> = {}): Promise<Order> {
  const sent = { amount: '5.00', fromAsset: 'EUR', merchantIdentifier: till.identifier, ...body }
  const { status, data, text } = await manager.post<{ order: Order }>('confirm_conversion/request', sent)
  assert.equal(status, 200, text)
  return data.order
}

test('an order that names no address has its till’s, its own wins, and what exists stays as it is', async () => {
  assert.equal((await create()).webhookUrl, null)
  assert.equal((await change(`${receiver.url}/till`)).data.webhookUrl, `${receiver.url}/till`)
  const first = await create()
  assert.equal(first.webhookUrl, `${receiver.url}/till`)
  assert.equal((await create({ webhookUrl: `${receiver.url}/own` })).webhookUrl, `${receiver.url}/own`)
  await change(`${receiver.url}/moved`)
  assert.equal((await create()).webhookUrl, `${receiver.url}/moved`)
  await manager.call('POST', `confirm_conversion/cancel/${first.code}`)
  await waitFor('the events of the first order', () => receiver.at('/till').length === 2)
  const { data } = await manager.get<{ webhookSigningSecret: string }>('/api/users/webhook-secret')
  const events = receiver
    .at('/till')
    .map(({ body, headers }) => verifyWebhook(body, headers, data.webhookSigningSecret))
  const seen = (await Promise.all(events)).map(({ type, data: { code } }) => [type, code])
  assert.deepEqual(seen.sort(), [
    ['order.cancelled', first.code],
    ['order.initial', first.code],
  ])
})

test('null ends it, empty text and other changes leave it, and the log names where it went', async () => {
  await change(`${receiver.url}/till?token=hidden`)
  for (const body of [{ webhookUrl: '' }, { active: true, identifier: null }]) {
    const { data } = await put(body)
    assert.deepEqual([data.webhookUrl, data.identifier], [`${receiver.url}/till?token=hidden`, till.identifier])
  }
  assert.equal((await change(null)).data.webhookUrl, null)
  assert.equal((await create()).webhookUrl, null)
  const rows = await host.db.many<{ detail: string }>(
    sql`select detail from audit_log where action = 'collector.change' order by seq`,
  )
  const told = rows.map(({ detail }) => detail).filter((detail) => detail !== '{}')
  assert.deepEqual(
    told.slice(-2).map((detail) => JSON.parse(detail)),
    [{ webhookOrigin: receiver.url }, { webhookOrigin: null }],
  )
})

test('an address that no order may have, no till may have either', async () => {
  for (const wrong of ['ftp://shop.example/', 'http://10.0.0.1/', 'http://169.254.169.254/', 'shop.example']) {
    const asked = [
      change(wrong),
      manager.call('POST', 'collectors/add', { identifier: 'X', salePoint: till.salePoint._id, webhookUrl: wrong }),
    ]
    for (const { status, error } of await Promise.all(asked))
      assert.deepEqual([status, error.details?.[0]?.path], [422, 'webhookUrl'], wrong)
  }
  const added = await manager.call<Till>('POST', 'collectors/add', {
    ...{ identifier: 'NEW', salePoint: till.salePoint._id },
    webhookUrl: `${receiver.url}/new`,
  })
  assert.equal((await create({ merchantIdentifier: 'NEW' })).webhookUrl, added.data.webhookUrl)
})

test('no node makes an order from its old copy of the till', async () => {
  const other = await startTestService({ connectionString: host.connectionString })
  const merchant = await host.createMerchant()
  const move = (url: string) =>
    // not through the API, which marks the company as changed too
    host.db.run(sql`update collectors set webhook_url = ${url} where id = ${merchant.collectorId}`)
  const body = { amount: '5.00', fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  for (const url of [`${receiver.url}/before`, `${receiver.url}/after`]) {
    await move(url)
    const { data } = await other.call<{ order: Order }>('POST', 'request', { as: merchant, body })
    assert.equal(data.order.webhookUrl, url)
  }
  await other.stop()
})
