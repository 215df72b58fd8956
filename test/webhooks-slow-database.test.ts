import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newWebhookSecret } from '../src/kernel/ids.ts'
import { SECRET_AGE_MS, secretContext } from '../src/webhooks/outbox/webhook-secret.ts'
import { type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { startSilentWire } from './harness/silent-database.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

/* A sender whose database answers, but later than a secret may be old. */

const LATE_MS = SECRET_AGE_MS + 200

let world: WebhookWorld
let receiver: Receiver
let wire: Awaited<ReturnType<typeof startSilentWire>>
let db: Db

before(async () => {
  world = await openWebhookWorld()
  receiver = await startReceiver()
  wire = await startSilentWire(world.database.connectionString)
  db = openDb({ connectionString: wire.connectionString, max: 6 })
})

after(async () => {
  wire.delay(() => 0)
  await world.close()
  await db.close()
  wire.stop()
  await receiver.close()
})

const attemptsOf = async (id: string): Promise<number> =>
  (await world.db.many(sql`select 1 as one from delivery_attempts where delivery_id = ${id}`)).length

describe('a slow database', { concurrency: false }, () => {
  test('a claim that takes too long reads the secrets again: the webhook leaves, signed by the secret of now', async () => {
    const { id: companyId } = await world.newCompany()
    let isClaiming = false
    wire.delay((chunk) => {
      if (chunk.includes('skip locked')) isClaiming = true
      return isClaiming && chunk.includes('commit') ? LATE_MS : 0
    })
    const sender = await world.start({ db })
    const delivery = world.newDelivery(companyId, `${receiver.url}/late`)
    await world.insert([delivery])
    sender.wake()
    await waitFor('the claim', () => isClaiming)
    await new Promise((resolve) => setTimeout(resolve, 100))
    const secret = newWebhookSecret()
    const sealed = world.vault.seal(secret, secretContext(companyId))
    await world.db.run(sql`update companies set webhook_secret_sealed = ${sealed} where id = ${companyId}`)
    await waitFor('the webhook', () => receiver.at('/late').length > 0)
    const [request] = receiver.at('/late')
    assert.ok(request)
    const [, t, signature] = /^t=(\d+),v1=(\w+)$/.exec(request.headers['service-signature'] ?? '') ?? []
    assert.equal(signature, createHmac('sha256', secret).update(`${t}.${request.body}`).digest('hex'))
    assert.equal(sender.stats().released, 0)
    await sender.stop()
  })

  test('a claim whose secrets cannot be read again is given back at once, and counts as no crash', async () => {
    const { id: companyId } = await world.newCompany()
    const own = openDb({ connectionString: wire.connectionString, max: 6 })
    let isClaiming = false
    let cuts = 0
    wire.delay((chunk) => {
      if (chunk.includes('skip locked')) isClaiming = true
      if (isClaiming && chunk.includes('webhook_secret_sealed as sealed') && cuts === 0) {
        cuts += 1
        wire.cut()
        setTimeout(wire.mend, 300)
      }
      return isClaiming && cuts === 0 && chunk.includes('commit') ? LATE_MS : 0
    })
    const sender = await world.start({ db: own })
    const delivery = world.newDelivery(companyId, `${receiver.url}/cut`)
    await world.insert([delivery])
    sender.wake()
    await waitFor('the webhook', () => receiver.at('/cut').length > 0)
    await waitFor('its outcome', async () => (await world.statusOf(delivery.id)) === 'delivered')
    assert.deepEqual([cuts, sender.stats().released, sender.stats().unknownOutcomes], [1, 1, 0])
    assert.equal(await attemptsOf(delivery.id), 1)
    await sender.stop()
    await own.close()
  })

  test('while no secret is read in time nothing is sent, it is counted and logged; then it leaves', async () => {
    const { id: companyId } = await world.newCompany()
    const sender = await world.start({ db })
    wire.delay(() => LATE_MS)
    const delivery = world.newDelivery(companyId, `${receiver.url}/never`)
    await world.insert([delivery])
    sender.wake()
    await waitFor('being released twice', () => sender.stats().released === 2, 60_000)
    assert.equal(receiver.at('/never').length, 0)
    assert.equal(await attemptsOf(delivery.id), 0, 'no attempt was made, and none counted')
    wire.delay(() => 0)
    await waitFor('the webhook', () => receiver.at('/never').length > 0, 20_000)
    await waitFor('its outcome', async () => (await world.statusOf(delivery.id)) === 'delivered')
    assert.equal(await attemptsOf(delivery.id), 1)
    const warnings = world.log.lines.filter(({ fields }) => String((fields as { err?: Error }).err).includes('secrets'))
    assert.equal(warnings.length, 1, 'once a minute')
    await sender.stop()
  })
})
