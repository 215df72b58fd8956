import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { type Queryable, type Sql, sql, type Tx, unnamed } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { LANGS } from '../src/kernel/lang.ts'
import { webhookFailureNotice } from '../src/mail/notices.ts'
import { countDeliveries, listDeliveries, restartDeliveries } from '../src/webhooks/api/delivery-log-queries.ts'
import { laneOf } from '../src/webhooks/outbox/webhook-url.ts'
import { type FailureMail, mailFailures } from '../src/webhooks/sender/webhook-jobs.ts'
import { waitFor } from './harness/receiver.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

let world: WebhookWorld
const NOON = Date.UTC(2030, 4, 20, 12)

before(async () => {
  world = await openWebhookWorld()
})

after(() => world.close())

async function insertManager(companyId: string, email: string, verifiedAt: Date | null): Promise<void> {
  await world.db.run(sql`
    insert into users (id, email, email_key, password_hash, first_name, last_name, role, company_id, verified_at)
    values (${newId()}, ${email}, ${email}, '-', 'Ada', 'L', 'Manager', ${companyId}, ${verifiedAt})`)
}

test('one mail a day to each verified manager about what failed for good the day before, however often it runs', async () => {
  const [shop, quiet] = [await world.newCompany(), await world.newCompany()]
  await insertManager(shop.id, 'ada@shop.example', new Date())
  await insertManager(shop.id, 'unverified@shop.example', null)
  await insertManager(quiet.id, 'quiet@shop.example', new Date())
  const deliveries = Array.from({ length: 5 }, () => world.newDelivery(shop.id, 'https://shop.example/'))
  await world.insert([...deliveries, world.newDelivery(quiet.id, 'https://shop.example/')])
  const ids = deliveries.map((delivery) => delivery.id)
  const yesterday = new Date(NOON - 24 * 3_600_000)
  await world.db.run(
    sql`update deliveries set status = 'failed', updated_at = ${yesterday} where id = any (${ids.slice(0, 3)}::text[])`,
  )
  await world.db.run(sql`update deliveries set status = 'parked', updated_at = ${yesterday} where id = ${ids[3]}`)
  await world.db.run(sql`update deliveries set status = 'failed', updated_at = ${new Date(NOON)} where id = ${ids[4]}`)
  const mails: FailureMail[] = []
  const deps = { db: world.db, send: async (_tx: Tx, mail: FailureMail) => void mails.push(mail) }
  const asked = await Promise.all([mailFailures(deps, NOON), mailFailures(deps, NOON + 1000)])
  assert.equal(asked[0] + asked[1], 1)
  const [mail] = mails
  assert.ok(mail && mails.length === 1)
  const { failed, parked, day } = mail.facts
  assert.deepEqual(
    { to: mail.to, failed, parked, day },
    { to: 'ada@shop.example', failed: 3, parked: 1, day: '2030-05-19' },
  )
  for (const lang of LANGS) {
    const told = (counts: { failed: number; parked: number }): string =>
      webhookFailureNotice(lang, { ...mail.facts, ...counts, officeUrl: 'https://office.example' })
        .paragraphs.filter((text) => text.includes('2030-05-19'))
        .map((text) => /\b[37]\b/.exec(text)?.[0])
        .join()
    const each = [told({ failed: 3, parked: 7 }), told({ failed: 3, parked: 0 }), told({ failed: 0, parked: 7 })]
    assert.deepEqual(each, ['3,7', '3', '7'], `${lang}: what its server refused, and what we broke off`)
  }
  assert.equal(await mailFailures(deps, NOON + 24 * 3_600_000), 1)
})

test('an address with a host name too long for an index, stored before such were refused, stops no event', async () => {
  const company = await world.newCompany()
  const letters = Array.from({ length: 990 }, (_, index) => String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000)))
  const delivery = world.newDelivery(company.id, `https://${letters.join('.')}.com/w`)
  await world.insert([delivery])
  assert.equal(await world.statusOf(delivery.id), 'pending')
  await world.db.run(sql`delete from delivery_due where delivery_id = ${delivery.id}`)
})

test('the few that failed are listed, counted and restarted by their index, however many deliveries a company has', async () => {
  const company = await world.newCompany()
  await world.db.run(sql`
    insert into deliveries (company_id, id, order_id, event, url, body, created_at, updated_at, status)
    select ${company.id}, md5(n::text), lpad(to_hex(${Date.now()}::bigint), 12, '0') || lpad(to_hex(n), 12, '0'),
      'order.paid', 'https://shop.example/', '{}', now(), now(),
      case when n <= 5 then 'failed' when n <= 8 then 'parked' else 'pending' end
    from generate_series(1, 20000) n`)
  await world.db.run(sql`analyze deliveries`)
  const plans: string[] = []
  const explaining = <Q extends Queryable>(q: Q): Q => {
    const note = async (statement: Sql): Promise<Sql> => {
      plans.push(JSON.stringify(await q.many(unnamed(sql`explain ${statement}`))))
      return statement
    }
    return {
      ...q,
      many: async <Row>(statement: Sql) => q.many<Row>(await note(statement)),
      one: async <Row>(statement: Sql) => q.one<Row>(await note(statement)),
    }
  }
  const none = { event: null, code: null, url: null, from: null, to: null }
  const filter = { ...none, companyIds: [company.id], statuses: ['failed', 'parked'] as const }
  const db = explaining(world.db)
  assert.equal((await listDeliveries(db, filter, { offset: 0, limit: 20 })).length, 8)
  assert.equal(await countDeliveries(db, filter), 8)
  assert.equal(await countDeliveries(world.db, { ...filter, statuses: ['failed'] }), 5)
  assert.equal(await countDeliveries(world.db, { ...filter, statuses: ['failed', 'delivered'] }), 19_997)
  const place = { limit: 10_000, bucketOf: () => 0, laneOf }
  const restarted = await world.db.tx((tx) => restartDeliveries(explaining(tx), { ...filter, id: null }, place))
  assert.equal(restarted.length, 8)
  assert.equal(plans.length, 4)
  for (const plan of plans.slice(0, 3)) {
    assert.match(plan, /deliveries_before__failed/)
    assert.doesNotMatch(plan, /Seq Scan on deliveries_before|deliveries_before__list/)
  }
  await world.db.run(sql`delete from deliveries where company_id = ${company.id}`)
  await world.db.run(sql`delete from delivery_due where company_id = ${company.id}`)
})

test('a delivery that is parked after three crashes is told to the operator, in the log as an alarm', async () => {
  const company = await world.newCompany()
  const delivery = world.newDelivery(company.id, 'http://127.0.0.1:9/')
  await world.insert([delivery])
  await world.db.run(sql`update delivery_due set crashes = 3, owner = 'gone' where delivery_id = ${delivery.id}`)
  const [told, said]: [string[], string[]] = [[], []]
  const log = pino({ level: 'error' }, { write: (line) => void said.push((JSON.parse(line) as { msg: string }).msg) })
  await world.start({ log, onParked: async (id) => void told.push(id) })
  await waitFor('the alarm', () => told.length > 0)
  assert.deepEqual([told, said], [[delivery.id], ['ALARM: a webhook was parked after three crashes']])
  assert.equal(await world.statusOf(delivery.id), 'parked')
})
