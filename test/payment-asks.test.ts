import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type CallbackNews, type PaymentReport, paidReport } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { renewItem } from '../src/db/poll-queries.ts'
import { pollNow } from '../src/db/polling.ts'
import { takeCallback } from '../src/payments/callbacks/callback-service.ts'
import { paymentPolls } from '../src/payments/payment-jobs.ts'
import { PAYMENT_POLLS } from '../src/payments/payment-queries.ts'
import { askAboutOrder, confirmOrder } from '../src/payments/payment-service.ts'
import { openAttemptIn } from './harness/attempts.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { eventually } from './harness/service.ts'

/* Confirm and the page's look-up ask a provider at the same time as the engine and callbacks do. */

let world: ModelWorld
/** The provider's answer, by the number of the question. */
let answer: (question: number) => Promise<PaymentReport>
let questions = 0
let news: CallbackNews
before(async () => {
  world = await startModelWorld({
    fetchPayment: async () => {
      questions += 1
      return answer(questions)
    },
    readCallback: async () => news,
    async closePayment() {},
  })
})
after(() => world?.stop())

async function openAsked() {
  const attempt = await openAttemptIn(world)
  questions = 0
  const { key, order, reference } = attempt
  const { db } = world.host
  const nothing = async (): Promise<void> => {}
  const { log } = world.host.service.app
  const deps = { ...world.payments, log, reportRefund: nothing, wakeRefunds: nothing }
  return {
    ...attempt,
    says: (outcome: 'waiting' | 'pending' | 'part' | 'paid'): PaymentReport => {
      if (outcome === 'waiting') return { outcome, providerReference: reference, providerStatus: 'PENDING' }
      const final = { pending: 0n, part: (DUE * 4n) / 10n, paid: DUE }[outcome]
      const pending = outcome === 'pending' ? DUE : 0n
      return paidReport(reference, { final, pending, providerStatus: outcome.toUpperCase() })
    },
    callBack: async (said: Partial<CallbackNews> = {}) => {
      news = { merchantReference: null, providerReference: reference, report: null, providerStatus: 'NEWS', ...said }
      const callback = { headers: {}, rawBody: Buffer.from('') }
      await takeCallback(deps, { channel: 'binance', companyId: null }, callback, nothing)
    },
    /** As the polling engine does when the payment is due. */
    pollDue: () => pollNow(world.payments, PAYMENT_POLLS, key, (own) => paymentPolls(world.payments).work(own, key)),
    statuses: async () =>
      (
        await db.many<{ status: string }>(sql`
          select to_status as status from order_events where order_id = ${order.id} order by seq`)
      ).map(({ status }) => status),
    recordsOf: async () =>
      (await db.many<{ kind: string }>(sql`select kind from mispayments where order_id = ${order.id}`)).map(
        ({ kind }) => kind,
      ),
  }
}

const CASES = [
  ...[confirmOrder, askAboutOrder].map((ask) => ({ ask, older: 'waiting', newer: 'pending' }) as const),
  ...[confirmOrder, askAboutOrder].map((ask) => ({ ask, older: 'part', newer: 'paid' }) as const),
]

for (const { ask, older, newer } of CASES)
  test(`${ask.name}: an answer "${older}" that took long is not applied after a newer "${newer}"`, async () => {
    const asked = await openAsked()
    const held = Promise.withResolvers<void>()
    answer = async (question) => {
      if (question > 1) return asked.says(newer)
      await held.promise
      return asked.says(older)
    }
    const confirmed = ask(world.payments, asked.context, asked.order.code).catch(() => undefined)
    await eventually(
      async () => questions,
      (count) => count === 1,
    )
    await asked.callBack()
    // what the callback starts ends soon, if it may start
    await new Promise((resolve) => setTimeout(resolve, 200))
    held.resolve()
    await confirmed
    await asked.pollDue()
    const statuses = await asked.statuses()
    assert.equal(statuses.at(-1), newer === 'paid' ? 'PAID' : 'WAITING_CHAIN_CONFIRMATION', statuses.join())
    assert.deepEqual([await asked.recordsOf(), statuses.filter((status) => status === 'AWAITING').length], [[], 1])
  })

test('while another node asks, a confirm waits for its answer, for a second; then it says what is known', {
  timeout: 30_000,
}, async () => {
  for (const isAnswered of [true, false]) {
    const asked = await openAsked()
    const { key, context, order } = asked
    const held = Promise.withResolvers<void>()
    answer = async () => {
      await held.promise
      return asked.says('paid')
    }
    await renewItem(world.host.db, PAYMENT_POLLS.table, key, new Date(world.clock.nowMs))
    const other = asked.pollDue()
    await eventually(
      async () => questions,
      (count) => count === 1,
    )
    const confirmed = confirmOrder(world.payments, context, order.code)
    if (isAnswered) held.resolve()
    const startedMs = performance.now()
    if (isAnswered) await confirmed
    else await assert.rejects(confirmed, { code: 'PAYMENT_NOT_RECEIVED' })
    assert.ok(performance.now() - startedMs < 5000)
    held.resolve()
    await other
    if (isAnswered) continue
    assert.equal(questions, 1)
    await asked.pollDue()
    assert.equal(questions, 2, 'the confirm’s question is asked afterwards')
  }
})

test('fifty confirms at once are all answered alike, by two questions', async () => {
  const asked = await openAsked()
  answer = async () => asked.says('paid')
  const confirms = Array.from({ length: 50 }, () => confirmOrder(world.payments, asked.context, asked.order.code))
  const results = await Promise.allSettled(confirms)
  assert.deepEqual(new Set(results.map(({ status }) => status)), new Set(['fulfilled']))
  assert.ok(questions <= 2, `${questions} questions`)
})

test('a callback whose two references are of payments of two orders holds neither; the order’s own two do', async () => {
  const [mine, other] = [await openAsked(), await openAsked()]
  answer = async () => mine.says('waiting')
  const { reference: providerReference } = other
  const report = { outcome: 'blocked', providerReference, providerStatus: 'risk' } as const
  const statuses = async () => [(await mine.statuses()).at(-1), (await other.statuses()).at(-1)]
  await mine.callBack({ merchantReference: mine.reference, providerReference, report })
  assert.deepEqual(await statuses(), ['AWAITING', 'AWAITING'])
  await other.callBack({ merchantReference: providerReference, report })
  assert.deepEqual(await statuses(), ['AWAITING', 'KYT_FAILED'])
})

test('a callback that names another payment, while the answer to the creation is being stored, is an attempt of its own', async () => {
  const { key, order, reference, says, callBack } = await openAsked()
  const { db } = world.host
  answer = async () => says('waiting')
  const { merchantReference } = await db.one<{ merchantReference: string }>(sql`
    update payments set provider_reference = null where id = ${key.id} returning merchant_reference`)
  const [held, isStored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const storing = db.tx(async (tx) => {
    await tx.run(sql`update payments set provider_reference = ${reference} where id = ${key.id}`)
    isStored.resolve()
    await held.promise
  })
  await isStored.promise
  const called = callBack({ merchantReference, providerReference: 'another-1' })
  await eventually(
    () =>
      db.many(sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like '%update payments set provider_reference%'`),
    (waiting) => waiting.length === 1,
  )
  held.resolve()
  await Promise.all([storing, called])
  const attempts = await db.many<{ named: string }>(sql`
    select provider_reference as named from payments where order_id = ${order.id} order by number`)
  assert.deepEqual(attempts, [{ named: reference }, { named: 'another-1' }])
})
