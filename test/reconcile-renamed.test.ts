import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { paidReport } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { DAY } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { reconcilePayments } from '../src/payments/reconcile.ts'
import { openAttemptIn } from './harness/attempts.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* What earlier versions stored about a payment that its provider took back, by a clock that the test moves. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld({
    fetchPayment: async ({ providerReference }) => ({
      ...{ outcome: 'failed', providerReference: providerReference ?? '', providerStatus: 'FAILED' },
    }),
  })
})
after(() => world?.stop())

async function openStored(status: 'open' | 'explained', { isLate }: { isLate: boolean }) {
  const { key, order, reference } = await openAttemptIn(world)
  const { db, service } = world.host
  const { companyId, code } = order
  if (isLate) await db.run(sql`update orders set status = 'CANCELLED' where id = ${order.id}`)
  await applyReport(world.payments, key, paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
  const names = [`order ${code}`, `order ${code}, state of payment ${key.id}`] as const
  const insert = (subject: string) =>
    db.run(sql`
      insert into ledger_differences (company_id, id, source, subject, what, booked, expected, found_at, updated_at, status,
        explained_by, reason)
      values (${companyId}, ${newId()}, 'providers', ${subject}, 'word of binance', 'paid', 'failed: FAILED', now(), now(),
        ${status}, ${status === 'open' ? null : 'user:x'}, ${status === 'open' ? null : 'found'})`)
  await insert(names[0])
  return {
    names,
    insert,
    list: () =>
      db.many<{ subject: string; status: string }>(
        sql`select subject, status from ledger_differences where company_id = ${companyId} order by status`,
      ),
    nextDay: async () => {
      world.clock.nowMs += DAY
      await reconcilePayments(world.payments, world.books, service.app.log)
    },
  }
}

async function upgrade(): Promise<void> {
  const path = new URL('../migrations/1431_differences_of_payments.sql', import.meta.url)
  const { db } = world.host
  const text = await readFile(path, 'utf8')
  await db.run({ text, values: [], name: '' })
}

test('what was explained about a payment that did not pay its order stays explained once it has a name of its own', async () => {
  const { list, names, nextDay } = await openStored('explained', { isLate: true })
  await upgrade()
  await nextDay()
  assert.deepEqual(await list(), [{ subject: names[1], status: 'explained' }])
})

test('what is open about it is known under the new name, once', async () => {
  const { insert, list, names } = await openStored('open', { isLate: true })
  await upgrade()
  assert.deepEqual(await list(), [{ subject: names[1], status: 'open' }])
  // as a node of the earlier version finds it meanwhile
  await insert(names[0])
  await upgrade()
  assert.deepEqual(
    (await list()).map(({ status }) => status),
    ['gone', 'open'],
  )
})

test('what may be about the payment that paid keeps its name', async () => {
  const { list, names, nextDay } = await openStored('explained', { isLate: false })
  await upgrade()
  await nextDay()
  assert.deepEqual(await list(), [{ subject: names[0], status: 'explained' }])
})
