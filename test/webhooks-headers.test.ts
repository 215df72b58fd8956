import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { type ReceivedWebhook, type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

let world: WebhookWorld
let receiver: Receiver
let company: { id: string; secret: string }
let webhook: ReceivedWebhook

before(async () => {
  world = await openWebhookWorld()
  receiver = await startReceiver()
  company = await world.newCompany()
  const sender = await world.start({ metrics: world.metrics })
  await world.insert([world.newDelivery(company.id, `${receiver.url}/hook?shop=1`)])
  sender.wake(company.id)
  await waitFor('the webhook', () => receiver.received.length === 1)
  const [first] = receiver.received
  assert.ok(first)
  webhook = first
})

after(async () => {
  await world.close()
  await receiver.close()
})

test('a webhook is a POST of JSON with event, id and signature headers', () => {
  assert.equal(webhook.path, '/hook?shop=1')
  assert.equal(webhook.headers['content-type'], 'application/json')
  assert.equal(webhook.headers['service-event'], 'order.paid')
  assert.match(webhook.headers['service-webhook-id'] ?? '', /^[0-9a-f]{32}$/)
  assert.match(webhook.headers['service-signature'] ?? '', /^t=\d{10},v1=[0-9a-f]{64}$/)
  assert.equal(JSON.parse(webhook.body).event, 'order.paid')
})

test("Stripe's own library accepts the signature unchanged, and refuses a changed body", () => {
  const { webhooks } = new Stripe('sk_test_unused')
  const signature = webhook.headers['service-signature'] ?? ''
  const event = webhooks.constructEvent(webhook.body, signature, company.secret) as unknown as { event: string }
  assert.equal(event.event, 'order.paid')
  assert.throws(() => webhooks.constructEvent(webhook.body.replace('PAID', 'paid'), signature, company.secret))
})

test('the Standard Webhooks library accepts the headers, and refuses another id', () => {
  const library = new Webhook(company.secret)
  const verified = library.verify(webhook.body, webhook.headers) as { event: string }
  assert.equal(verified.event, 'order.paid')
  assert.equal(webhook.headers['webhook-id'], webhook.headers['service-webhook-id'])
  assert.throws(() => library.verify(webhook.body, { ...webhook.headers, 'webhook-id': '0'.repeat(32) }))
})

test('the outcome is written: delivered, one attempt with its answer', async () => {
  const id = webhook.headers['service-webhook-id'] ?? ''
  await waitFor('the settlement', async () => (await world.statusOf(id)) === 'delivered')
  assert.match(await world.metrics.metrics(), /attempts_total\{outcome="delivered",failure=""\} 1/)
})
