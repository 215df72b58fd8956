import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { MINUTE } from '../src/kernel/clock.ts'
import { readMails } from './harness/accounts.ts'
import { openScreeningWorld, type ScreeningWorld } from './harness/screening-world.ts'
import { eventually, startTestService } from './harness/service.ts'
import type { Payable } from './harness/shop.ts'

/* Sources that are away, or want a person to look: money waits, and nothing passes by default. */
const OPERATOR = 'operator@comptoir.example'
let world: ScreeningWorld
before(async () => {
  world = await openScreeningWorld({ OPERATOR_EMAIL: OPERATOR })
})
after(() => world?.stop())

const paidBy = async (wallet: string): Promise<Payable> => {
  const order = await world.createAwaiting()
  await world.payFrom(wallet, order)
  return order
}
const held = async (): Promise<Payable> => {
  const order = await paidBy(await world.newWallet())
  await world.screened(order, 'held')
  return order
}
/** Final money whose order is still waiting: read until the books know of it. */
const waits = async (order: Payable): Promise<void> => {
  const story = await eventually(
    () => world.story(order.orderId),
    ({ mispayments }) => mispayments.length > 0,
  )
  assert.deepEqual([story.status, story.mispayments[0]?.kind], ['WAITING_CHAIN_CONFIRMATION', 'held'])
}
/** Rounds of questions until the order is there: a circuit may be open for some seconds. */
const reachesAsking = (order: Payable, status: string): Promise<unknown> =>
  eventually(
    async () => {
      await world.askNow()
      return (await world.story(order.orderId)).status
    },
    (seen) => seen === status,
    30_000,
  )

/** As if everything had happened so much earlier. */
const letPass = (time: string): Promise<void> =>
  world.host.db.tx(async (tx) => {
    await tx.run(sql`
      update screenings set opened_at = opened_at - ${time}::interval, updated_at = updated_at - ${time}::interval,
        told_at = told_at - ${time}::interval`)
    await tx.run(sql`alter table screening_answers disable trigger screening_answers__append_only`)
    await tx.run(sql`update screening_answers set at = at - ${time}::interval`)
    await tx.run(sql`alter table screening_answers enable trigger screening_answers__append_only`)
  })

for (const [source, fault] of [
  ['sanctions', 'html-403'],
  ['trm', 'list'],
  ['oracle', 'empty'],
] as const) {
  test(`${source} answers ${fault}: the money waits, and goes on by itself when the source is back`, async () => {
    await world.fault(source, fault)
    const order = await held()
    await waits(order)
    await world.fault(source, null)
    await reachesAsking(order, 'PAID')
    await world.screened(order, 'clean')
    assert.deepEqual((await world.story(order.orderId)).mispayments, [])
  })
}

test('what waits is asked about at least every 30 seconds, however long it has waited', async () => {
  await world.fault('trm', '503')
  const order = await held()
  for (const checks of [1, 9, 5000]) {
    await world.host.db.run(sql`update screenings set checks = ${checks} where order_id = ${order.orderId}`)
    await world.askNow()
    const row = await eventually(
      () =>
        world.host.db.one<{ checks: number; aheadSeconds: number; free: boolean }>(sql`
          select checks, lease_until is null as free, extract(epoch from next_check_at - now())::float8 as ahead_seconds
          from screenings where order_id = ${order.orderId}`),
      (seen) => seen.checks > checks && seen.free,
    )
    assert.ok(row.aheadSeconds <= 30, `asked again in ${row.aheadSeconds} s`)
  }
  await world.fault('trm', null)
  await reachesAsking(order, 'PAID')
})

test('a definite finding counts while another source is away', async () => {
  await world.fault('trm', '503')
  const wallet = await world.newWallet()
  await world.list(wallet, { sanctions: true })
  const order = await paidBy(wallet)
  await world.reaches(order.code, 'KYT_FAILED')
  await world.fault('trm', null)
})

test('a person is told after 15 minutes, in one mail for all that wait, and may release with a reason', async () => {
  await world.fault('risk', '503')
  const orders = [await held(), await held()]
  const mails = async () =>
    (await readMails(world.host.baseUrl, OPERATOR)).filter(({ subject }) => /screening/.test(subject))
  const ageBy = (ms: number, id: string) =>
    world.host.db.run(sql`update screenings set opened_at = ${new Date(Date.now() - ms)} where order_id = ${id}`)
  await ageBy(14 * MINUTE, orders[0]?.orderId ?? '')
  await world.askNow()
  assert.deepEqual(await mails(), [])
  for (const { orderId } of orders) await ageBy(15 * MINUTE, orderId)
  await world.askNow()
  const [mail] = await eventually(mails, (list) => list.length > 0)
  assert.match(mail?.text ?? '', /chainalysis_risk/)
  assert.match(mail?.text ?? '', /of a payment for order \w{8} of company Test & Söhne \([0-9a-f]{24}\)/)
  await world.askNow()
  const [first, second] = orders as [Payable, Payable]
  const screening = await world.screened(first, 'held')
  const release = (body: unknown) => world.admin.post(`screenings/${screening._id}/release`, body)
  assert.equal((await release({})).status, 422)
  await eventually(
    () => release({ reason: 'a customer of ten years' }),
    ({ status }) => status === 200,
  )
  await world.reaches(first.code, 'PAID')
  assert.equal((await release({ reason: 'again' })).error.code, 'OBJECT_CONFLICT')
  const decided = await world.screened(first, 'released')
  assert.equal(decided.reason, 'a customer of ten years')
  assert.match(decided.decidedBy ?? '', /^user:/)
  const entry = await world.host.db.maybe(
    sql`select from audit_log where action = 'screening.release' and object = ${`screening:${screening._id}`}`,
  )
  assert.ok(entry)
  assert.equal((await mails()).length, 1)
  await world.fault('risk', null)
  await reachesAsking(second, 'PAID')
})

test('a person is told that a source wants one, also after a mail about an outage, and again after a clean day', async () => {
  const mails = async () =>
    (await readMails(world.host.baseUrl, OPERATOR)).filter(({ subject }) => /screening/.test(subject)).length
  const before = await mails()
  const asking = <Result>(look: () => Promise<Result>, isRight: (result: Result) => boolean) =>
    eventually(
      async () => {
        await world.askNow()
        return look()
      },
      isRight,
      30_000,
    )
  await world.fault('trm', '503')
  const [order, wallet] = [await world.createAwaiting(), await world.newWallet()]
  await world.payFrom(wallet, order, order.units / 2n)
  await world.screened(order, 'held')
  await letPass('2 hours')
  await asking(mails, (count) => count === before + 1)
  await world.list(wallet, { risk: 'Medium' })
  await letPass('2 hours')
  await world.fault('trm', null)
  await asking(mails, (count) => count === before + 2)
  await world.list(wallet, { risk: 'Low' })
  const find = async () => (await world.screeningsOf(order))[0]?.status
  await asking(find, (status) => status === 'clean')
  await letPass('25 hours')
  await world.list(wallet, { risk: 'Medium' })
  await world.payFrom(wallet, order, order.units - order.units / 2n)
  await asking(mails, (count) => count === before + 3)
  await world.askNow()
  await world.screened(order, 'held')
  assert.equal(await mails(), before + 3, 'one for each reason')
})

test('while its sources are being asked nobody decides: one of them may be about to list the address', async () => {
  await world.fault('risk', '503')
  const order = await held()
  const { _id } = await world.screened(order, 'held')
  // as a node leaves it that waits for an answer
  const ask = () =>
    world.host.db.run(sql`
      update screenings set next_check_at = now() + interval '1 hour', lease_until = now() + interval '1 minute'
      where id = ${_id} and lease_until is null`)
  await eventually(ask, (asked) => asked === 1)
  const decide = (decision: string) => world.admin.post(`screenings/${_id}/${decision}`, { reason: 'a known customer' })
  for (const decision of ['release', 'return']) {
    const { status, text } = await decide(decision)
    assert.equal(status, 409, text)
    assert.match(text, /being asked\. Try again in a moment/)
  }
  await world.screened(order, 'held')
  await world.host.db.run(sql`update screenings set lease_until = null where id = ${_id}`)
  assert.equal((await decide('release')).status, 200)
  await world.reaches(order.code, 'PAID')
  await world.fault('risk', null)
})

test('the node that asks dies: another one asks again and releases, once', async () => {
  await world.fault('risk', '503')
  const order = await held()
  await world.host.service.stopWorkers()
  const { connectionString } = world.host.db
  const other = await startTestService({ env: world.env, workers: true, connectionString })
  await world.fault('risk', null)
  await reachesAsking(order, 'PAID')
  const { history } = await world.story(order.orderId)
  assert.equal(history.filter(({ toStatus }) => toStatus === 'PAID').length, 1)
  await other.stop()
})
