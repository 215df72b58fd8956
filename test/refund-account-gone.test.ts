import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Channel, paidReport } from '../src/channels/channel.ts'
import { isOtherAccount, otherAccount, ProviderTrouble } from '../src/channels/provider-errors.ts'
import { sql } from '../src/db/db.ts'
import { HOUR, MINUTE } from '../src/kernel/clock.ts'
import { countNeeds, listWaiting, noteAsked } from '../src/orders/summary/summary-queries.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { settleByHand } from '../src/refunds/manual-refund.ts'
import { refundPolls } from '../src/refunds/refund-jobs.ts'
import { listRefundsOfOrder } from '../src/refunds/refund-queries.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import { openAttemptIn } from './harness/attempts.ts'
import { contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { openChannels } from './harness/one-channel-set.ts'

/* A refund whose channel, chain or account at a provider is not set up any more waits for whoever holds its money. */

let world: ModelWorld
before(async () => {
  const pending = { outcome: 'pending', reference: null, txHash: null, providerStatus: 'PROCESSING' } as const
  world = await startModelWorld({ refundPayment: async () => pending })
})
after(() => world?.stop())

async function openRefund() {
  const { order, key, reference, context } = await openAttemptIn(world)
  const { db } = world.host
  const { companyId } = order
  await applyReport(world.payments, key, paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
  await revertOrder(world.refunds, context, order.code, {})
  const find = async () => {
    const [refund] = await listRefundsOfOrder(db, companyId, order.id)
    assert.ok(refund)
    return refund
  }
  const { id } = await find()
  const without = { ...world.refunds, channels: openChannels([]) }
  return {
    find,
    /** @param isSetUp whether the node that polls it has its channel */
    poll: async (isSetUp: boolean, minutes = 0) => {
      world.clock.nowMs += minutes * MINUTE
      await refundPolls(isSetUp ? world.refunds : without).work(db, { companyId, id } as never)
    },
    /** Its channel answers a refund so. */
    pollsAt: async (refundPayment: NonNullable<Channel['refundPayment']>, minutes = 0) => {
      world.clock.nowMs += minutes * MINUTE
      const channels = openChannels([
        { ...(world.refunds.channels.operator.find('binance') as Channel), refundPayment },
      ])
      await refundPolls({ ...world.refunds, channels }).work(db, { companyId, id } as never)
    },
    change: (values: { status: string; isOwn: boolean }) =>
      db.tx(async (tx) => {
        await tx.run(sql`update refunds set status = ${values.status} where id = ${id}`)
        await tx.run(sql`update payments set own_account = ${values.isOwn} where id = ${key.id}`)
      }),
    /** A person says that it was paid another way. @param isSetUp whether the node that is asked has its channel */
    settle: async (isSetUp: boolean) => {
      const proof = { reference: `bank-${id}`, statement: 'sent from our bank account', file: null }
      await settleByHand(isSetUp ? world.refunds : without, contextFor(world.operator), await find(), proof)
      return (await find()).status
    },
    /** How many a person of the company sees on Home, and a SuperAdmin. */
    needs: async () => {
      const now = new Date(world.clock.nowMs)
      const of = async (isOperator: boolean) => Number((await countNeeds(db, [companyId], { now, isOperator })).refunds)
      return [await of(false), await of(true)]
    },
    /** How many the company's mail tells of that began to wait in the last hour. */
    mailed: async () => {
      const [from, to] = [world.clock.nowMs - HOUR, world.clock.nowMs + 1].map((at) => new Date(at))
      const found = (await listWaiting(db, from as Date, to as Date)).find((one) => one.companyId === companyId)
      return found?.byHand ?? 0
    },
    /** Who is asked by mail now. */
    asked: async () =>
      (await db.tx((tx) => noteAsked(tx, new Date(world.clock.nowMs))))
        .filter((one) => one.companyId === companyId)
        .map(({ acts }) => acts),
  }
}

test('the operator is asked about a refund of his money whose channel is gone, once each time that it goes', async () => {
  const { asked, find, needs, poll } = await openRefund()
  assert.deepEqual(await needs(), [0, 0])
  for (const turn of [1, 2]) {
    await poll(false)
    assert.match((await find()).providerStatus ?? '', /its channel is not set up/)
    assert.deepEqual([await needs(), (await find()).toSendByHand], [[0, 1], false], `${turn}`)
    assert.deepEqual(await asked(), [], 'another node may have it')
    await poll(false, 20)
    assert.deepEqual([await asked(), await asked()], [['operator'], []], `${turn}`)
    await poll(false, 600)
    assert.deepEqual(await asked(), [])
    if (turn === 2) continue
    await poll(true)
    assert.deepEqual([(await find()).status, await needs(), await asked()], ['submitted', [0, 0], []])
  }
})

test('the operator is asked once about a refund that the account of the settings does not know, however often it is asked', async () => {
  const { asked, find, needs, poll, pollsAt } = await openRefund()
  const told: string[] = []
  for (let hour = 0; hour < 48; hour += 1) {
    await assert.rejects(pollsAt(other, 60), isOtherAccount)
    told.push(...(await asked()))
  }
  assert.deepEqual([told, await needs()], [['operator'], [0, 1]])
  // it has no answer about it, and then it has it
  const says = (outcome: 'unknown' | 'pending') => async () =>
    ({ outcome, reference: null, txHash: null, providerStatus: outcome }) as const
  await pollsAt(says('unknown'))
  assert.deepEqual([await needs(), await asked()], [[0, 1], []])
  await poll(true)
  assert.deepEqual([await needs(), (await find()).status], [[0, 0], 'submitted'])
  await assert.rejects(pollsAt(other), isOtherAccount)
  await assert.rejects(pollsAt(other, 20), isOtherAccount)
  assert.deepEqual(await asked(), ['operator'], 'it goes again')
})

const other = async () => {
  throw otherAccount()
}
/** The provider takes it, and its answer is lost. */
const lost = async () => {
  throw new ProviderTrouble('timeout')
}

test('a refund that its provider is asked for once its channel is back is not settled by hand', async () => {
  const { asked, find, needs, poll, pollsAt, settle } = await openRefund()
  await poll(false)
  await assert.rejects(pollsAt(lost), ProviderTrouble)
  const { status, accountGoneAt, providerStatus } = await find()
  assert.deepEqual([status, accountGoneAt, await needs()], ['submitted', null, [0, 0]])
  assert.match(providerStatus ?? '', /asked about again, and there is no answer yet/)
  await assert.rejects(settle(true), { code: 'OBJECT_CONFLICT', message: /sends its own refunds/ })
  // the node without the channel polls it again, and is asked to settle it
  await poll(false, 10)
  await assert.rejects(settle(true), /sends its own refunds/)
  await assert.rejects(settle(false), { code: 'OBJECT_CONFLICT', message: /another one may have it/ })
  assert.deepEqual(await asked(), [])
  // once no node has it, a person looks at the provider
  await poll(false, 16)
  assert.deepEqual([await asked(), await settle(false)], [['operator'], 'settled'])
})

test('only while its account answers that it is another one does a person settle its refund', async () => {
  const { find, poll, pollsAt, settle } = await openRefund()
  await assert.rejects(pollsAt(other), isOtherAccount)
  // the right credentials are back, and take it without an answer
  await assert.rejects(pollsAt(lost), ProviderTrouble)
  await assert.rejects(settle(true), /sends its own refunds/)
  assert.notEqual((await find()).accountGoneAt, null, 'it still waits for a person')
  // a node without the channel knows nothing of that, however long the other account was asked before
  await poll(false, 60)
  await assert.rejects(settle(true), /sends its own refunds/)
  await assert.rejects(settle(false), /another one may have it/)
  await assert.rejects(pollsAt(other), isOtherAccount)
  assert.equal(await settle(true), 'settled')
})

test('where only some of the nodes have the channel, no mail tells of it', async () => {
  const { asked, poll } = await openRefund()
  for (const isSetUp of [false, true, false, true, false]) {
    await poll(isSetUp, 10)
    assert.deepEqual(await asked(), [])
  }
})

test('the company is asked about its own money, also where the provider of the removed account may have the refund', async () => {
  const { asked, change, find, mailed, needs, poll } = await openRefund()
  await change({ status: 'submitted', isOwn: true })
  await poll(false)
  assert.match((await find()).providerStatus ?? '', /its account at the provider was removed/)
  await poll(false, 20)
  assert.deepEqual([await needs(), await asked(), (await find()).toSendByHand], [[1, 1], ['company'], false])
  assert.equal(await mailed(), 1)
  await change({ status: 'settled', isOwn: true })
  assert.deepEqual([await needs(), await mailed()], [[0, 0], 0])
})
