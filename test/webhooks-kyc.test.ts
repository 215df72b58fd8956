import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { announceKyc, type KycNews } from '../src/webhooks/outbox/kyc-events.ts'
import { type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

let world: WebhookWorld
let receiver: Receiver

before(async () => {
  world = await openWebhookWorld()
  receiver = await startReceiver()
})
after(async () => {
  await world.close()
  await receiver.close()
})

test('an identity check is told to a subscribed merchant, compactly and once, and to nobody else', async () => {
  const { id: companyId } = await world.newCompany()
  const order = { companyId, id: newId(), code: 'CODE', alias: 'A-1', webhookUrl: `${receiver.url}/kyc` }
  const news: KycNews = {
    event: 'kyc.edd_completed',
    kycId: newId(),
    order,
    status: 'completed',
    updatedAt: new Date('2026-11-20T12:00:00.000Z'),
    edd: { eddStatus: 'completed', eddOutcome: 'approved', spendingLimit: '5000.00' },
  }
  const key = createSecretKey(randomBytes(32))
  const announce = () => world.db.tx((tx) => announceKyc(tx, key, news, null))
  assert.equal(await announce(), false, 'not subscribed')
  await world.db.run(sql`update companies set optional_events = ${['kyc.edd_completed']} where id = ${companyId}`)
  assert.deepEqual([await announce(), await announce()], [true, false])
  const sender = await world.start()
  sender.wake(companyId)
  await waitFor('the webhook', () => receiver.at('/kyc').length === 1)
  const [request] = receiver.at('/kyc')
  assert.equal(request?.headers['service-event'], 'kyc.edd_completed')
  assert.deepEqual(JSON.parse(String(request?.body)), {
    event: 'kyc.edd_completed',
    kycId: news.kycId,
    orderId: order.id,
    code: 'CODE',
    alias: 'A-1',
    status: 'completed',
    updatedAt: '2026-11-20T12:00:00.000Z',
    eddStatus: 'completed',
    eddOutcome: 'approved',
    spendingLimit: '5000.00',
  })
})
