import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { MINUTE } from '../src/kernel/clock.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { acceptMispayment, ignoreMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { refundMispayment } from '../src/refunds/mispayment-refund.ts'
import { dropRefund } from '../src/refunds/refund-decisions.ts'
import { listRefundsOfOrder } from '../src/refunds/refund-queries.ts'
import { contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { BTC, openWhitepayIn, type Transaction } from './harness/whitepay-attempts.ts'

/* Whitepay: each unit that came is paid, decided about or waiting once, also of what went to the account or back. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld({ async closePayment() {} })
})
after(() => world?.stop())

const IN_BTC = { 24: '0.000000548696840055', 30: '0.000000685871050068' }
const came = (value: string, status?: string): Transaction => ['DEPOSIT', value, ...(status ? [status] : [])] as never
const kept = (value: string): Transaction => ['ROLLBACK_TO_MERCHANT', value]
const back = (value: string): Transaction => ['ROLLBACK_TO_CLIENT', value]

test('a part was refunded, the whole price came beside it, and the rest went to the account: the part waits no second time', async () => {
  for (const isAsked of [true, false]) {
    const { announces, open, records, refundFirst, tells } = await openWhitepayIn(world)
    const all = [came('30'), came('54'), ...(isAsked ? [kept('30')] : [])]
    await tells('PARTIALLY_FULFILLED', came('30'))
    await refundFirst()
    if (!isAsked) await announces('30', 2)
    for (const _ of [1, 2]) {
      assert.equal(await tells('COMPLETE', ...all), 'PAID')
      assert.deepEqual([await open(), (await records())[0]], [[], 'under 30000000 USDC refunded'], `${isAsked}`)
    }
    // the event comes after that, or once more: the order is asked about again
    await announces('30', 2)
    await tells('COMPLETE', ...all)
    assert.deepEqual(await open(), [])
  }
})

test('the whole price beside a part that was refunded pays its order, in whatever coin', async () => {
  for (const coin of [undefined, BTC]) {
    const { announces, find, open, refundFirst, tells } = await openWhitepayIn(world, coin)
    const part = coin ? IN_BTC[30] : '30'
    await tells('PARTIALLY_FULFILLED', came(part))
    await refundFirst()
    await announces(part, 9)
    assert.equal(await tells('COMPLETE', came(part), came(coin?.expected ?? '54')), 'PAID', coin?.asset)
    assert.deepEqual([(await find()).priceUnits, await open()], [DUE, []], coin?.asset)
  }
})

test('what a person decided about in the payer’s coin, whose value only the order tells, is no part of the price', async () => {
  const { ignoreAll, announces, open, tells } = await openWhitepayIn(world, BTC)
  await announces(IN_BTC[30], 0)
  await ignoreAll()
  assert.equal(await tells('COMPLETE', came(IN_BTC[30]), came(IN_BTC[24])), 'AWAITING')
  assert.match((await open()).join(), /^under 2(400000[01]|3999999) USDC open$/)
  assert.equal(await tells('COMPLETE', came(IN_BTC[30]), came(BTC.expected)), 'PAID')
  assert.deepEqual(await open(), [])
})

test('of what went to the account, as much is above the price as came above the price', async () => {
  const { open, tells } = await openWhitepayIn(world)
  await tells('DECLINED', came('34'), kept('34'))
  assert.deepEqual(await open(), ['under 34000000 USDC open'])
  for (const [last, left] of [
    [[came('24')], '4'],
    [[came('24'), came('20'), kept('20')], '24'],
    [[came('24'), came('20'), kept('20'), came('40')], '54'],
  ] as const) {
    assert.equal(await tells('COMPLETE', came('34'), kept('34'), ...last), 'PAID')
    const sums = (await open()).map((record) => Number(/^wrong_token (\d+)0{18} USDT open$/.exec(record)?.[1]))
    assert.equal(
      sums.reduce((sum, units) => sum + units, 0),
      Number(left),
    )
  }
})

test('what went back to the client after more than the price had come is not above the price any more, then it is a refund', async () => {
  const { find, open, tells } = await openWhitepayIn(world)
  const all = [came('84'), kept('30')]
  assert.equal(await tells('COMPLETE', ...all), 'PAID')
  assert.deepEqual(await open(), ['wrong_token 30000000000000000000 USDT open'])
  await tells('COMPLETE', ...all, back('24'))
  assert.deepEqual(await open(), ['wrong_token 6000000000000000000 USDT open'])
  await tells('COMPLETE', ...all, back('31'))
  assert.deepEqual([await open(), (await find()).receivedUnits], [[], DUE])
  await tells('COMPLETE', ...all)
  assert.deepEqual(await open(), ['wrong_token 30000000000000000000 USDT open'], 'the return was declined')
})

test('what went to the account, told by its event alone, is part of what the order tells', async () => {
  for (const word of ['PARTIALLY_FULFILLED', 'DECLINED'])
    for (const isFirst of [true, false]) {
      const { announces, open, tells } = await openWhitepayIn(world)
      if (isFirst) await announces('54', 1)
      await tells(word, came('54'))
      if (!isFirst) await announces('54', 1)
      await tells(word, came('54'))
      assert.deepEqual(await open(), ['under 54000000 USDC open'], word)
    }
})

test('what came above a price that alone is listed waits, whether its event comes before the order is read or after', async () => {
  for (const at of [0, 1, 2])
    for (const status of ['AWAITING', 'CANCELLED']) {
      const { announces, open, order, tells } = await openWhitepayIn(world)
      await world.host.db.run(sql`update orders set status = ${status} where id = ${order.id}`)
      if (at === 0) await announces('30', 1)
      await tells('COMPLETE', came('54'))
      if (at === 1) await announces('30', 1)
      for (const _ of [1, 2]) await tells('COMPLETE', came('54'))
      for (const _ of [1, 2]) await announces('30', 1)
      const waits = (await open()).toSorted()
      const late = status === 'AWAITING' ? [] : ['late 54000000 USDC open']
      assert.deepEqual(waits, [...late, 'wrong_token 30000000000000000000 USDT open'], `${status} ${at}`)
      // the order lists all of it after that
      await tells('COMPLETE', came('84'), kept('30'))
      assert.deepEqual((await open()).toSorted(), waits)
    }
})

test('of what its event alone tells, what was counted as a part before is none that is above the price', async () => {
  const { announces, open, tells } = await openWhitepayIn(world)
  await tells('PARTIALLY_FULFILLED', came('30'))
  await announces('40', 1)
  for (const _ of [1, 2]) assert.equal(await tells('COMPLETE', came('54')), 'PAID')
  assert.deepEqual(await open(), ['wrong_token 10000000000000000000 USDT open'])
})

test('of a paid order whose price alone is listed, what an event tells went to the account is above the price', async () => {
  const { announces, ignoreAll, open, tells } = await openWhitepayIn(world)
  assert.equal(await tells('COMPLETE', came('54')), 'PAID')
  await announces('2', 1)
  for (const _ of [1, 2]) await tells('COMPLETE', came('54'))
  assert.deepEqual(await open(), ['wrong_token 2000000000000000000 USDT open'])
  await ignoreAll()
  await tells('COMPLETE', came('54'))
  assert.deepEqual(await open(), [])
})

test('an answer whose amount cannot be read takes nothing back of what was told before', async () => {
  const { apply, open, records, refundFirst, reports, tells } = await openWhitepayIn(world)
  const unreadable = () => apply(reports('COMPLETE', ['DEPOSIT', 'many']))
  await tells('PARTIALLY_FULFILLED', came('30'))
  await refundFirst()
  assert.equal(await tells('COMPLETE', came('30'), came('54')), 'PAID')
  for (const _ of [1, 2]) await unreadable()
  assert.deepEqual([await open(), await records()], [[], ['under 30000000 USDC refunded']])
  const fresh = await openWhitepayIn(world)
  assert.equal((await fresh.apply(fresh.reports('COMPLETE', ['DEPOSIT', 'many'])))?.status, 'PAID')
})

test('money that Whitepay sent back in full waits for nobody', async () => {
  for (const [word, sum] of [
    ['DECLINED', '30'],
    ['PARTIALLY_FULFILLED', '30'],
    ['COMPLETE', '54'],
  ] as const) {
    const { find, key, open, order, refundFirst, tells } = await openWhitepayIn(world)
    if (word === 'COMPLETE') await world.host.db.run(sql`update orders set status = 'CANCELLED' where id = ${order.id}`)
    await tells(word, came(sum))
    assert.match((await open()).join(), new RegExp(`^(under|late) ${sum}000000 USDC open$`))
    const ended = word === 'PARTIALLY_FULFILLED' ? 'AWAITING' : 'CANCELLED'
    for (const _ of [1, 2]) assert.equal(await tells(word, came(sum), back(sum)), ended, word)
    assert.deepEqual([await open(), (await find()).receivedUnits], [[], 0n])
    await assert.rejects(refundFirst(), /expected a row/)
    const { units } = await world.host.db.one<{ units: string }>(sql`
      select coalesce(sum(units), 0)::text as units from ledger_entries
      where company_id = ${key.companyId} and account = 'suspense'`)
    assert.equal(units, '0')
    await world.books.check(key.companyId)
    // it comes again
    if (word !== 'DECLINED') assert.notEqual(await tells(word, came(sum), back(sum), came(sum)), 'PAID', word)
    if (word !== 'DECLINED') assert.equal((await open()).length, 1)
  }
})

test('a part that waits and what comes beside it sell for what is left after a return', async () => {
  const { accept, find, tells } = await openAccepting()
  await tells('DECLINED', came('30'))
  await tells('DECLINED', came('30'), back('20'))
  await accept()
  assert.equal((await find()).priceUnits, 10_000_000n)
})

async function openAccepting() {
  const attempt = await openWhitepayIn(world)
  const { context, order } = attempt
  const accept = async () => {
    const { id } = await world.host.db.one<{ id: string }>(
      sql`select id from mispayments where order_id = ${order.id} and status = 'open'`,
    )
    await acceptMispayment(world.mispayments, context, id, {})
  }
  return { ...attempt, accept }
}

test('a loss of what is not decided about any more ends, whatever was ignored beside it', async () => {
  const { announces, key, open, order, refundFirst, tells } = await openWhitepayIn(world)
  await tells('DECLINED', came('30'))
  await refundFirst()
  await tells('DECLINED', came('10'))
  assert.deepEqual(await open(), ['orphaned 20000000 USDC open'])
  const [refund] = await listRefundsOfOrder(world.host.db, key.companyId, order.id)
  const by = contextFor(world.operator)
  assert.ok(refund)
  await dropRefund(world.refunds, refund, {
    ...{ status: 'rejected', providerStatus: 'no', by, vanished: null, hold: null },
  })
  await announces('40', 1)
  // Whitepay does not answer
  world.clock.nowMs += 15 * MINUTE
  const { id } = await world.host.db.one<{ id: string }>(
    sql`select id from mispayments where order_id = ${order.id} and kind = 'wrong_token'`,
  )
  await ignoreMispayment(world.mispayments, by, id, { reason: 'kept' })
  await tells('DECLINED', came('10'))
  assert.deepEqual(await open(), [])
})

test('a deposit that was rolled back came all the same where the order lists where it went', async () => {
  for (const rolled of [came('34'), came('34', 'ROLLBACK')]) {
    const { open, tells } = await openWhitepayIn(world)
    await tells('DECLINED', came('34'))
    for (const _ of [1, 2]) await tells('DECLINED', rolled, kept('34'))
    assert.deepEqual(await open(), ['under 34000000 USDC open'], rolled.join())
    // from the account it went back to the client
    await tells('DECLINED', rolled, kept('34'), back('34'))
    assert.deepEqual(await open(), [])
    const above = await openWhitepayIn(world)
    assert.equal(await above.tells('COMPLETE', rolled, kept('34'), came('54')), 'PAID')
    assert.deepEqual(await above.open(), ['wrong_token 34000000000000000000 USDT open'])
    const sent = await openWhitepayIn(world)
    assert.equal(await sent.tells('COMPLETE', rolled, back('34'), came('54')), 'PAID')
    assert.deepEqual([(await sent.find()).priceUnits, await sent.open()], [DUE, []])
  }
})

test('of a price that may be missing in full, nothing received pays nothing', async () => {
  const lenient = async () => {
    const attempt = await openWhitepayIn(world)
    await world.host.db.run(sql`
      update companies set tolerance_bps = 10000, tolerance_max_units = '54000000' where id = ${attempt.order.companyId}`)
    return attempt
  }
  const returned = await lenient()
  for (const _ of [1, 2]) assert.equal(await returned.tells('COMPLETE', came('54'), back('54')), 'AWAITING')
  const gone = await lenient()
  assert.equal(await gone.tells('PARTIALLY_FULFILLED', came('20', 'OPEN')), 'WAITING_CHAIN_CONFIRMATION')
  assert.equal(await gone.tells('OPEN'), 'AWAITING')
  for (const { find } of [returned, gone]) assert.equal((await find()).priceUnits, null)
  assert.equal(await gone.tells('COMPLETE', came('54')), 'PAID')
  assert.equal((await verifyLedger(world.host.db)).difference, null)
})

const WAIT = /may show the same money.* try again in a minute.* after 15 minutes/

/** A part came, and with more of it went to the account: only the event tells of that yet. */
async function openMoved() {
  const attempt = await openWhitepayIn(world)
  const { announces, context, order, tells } = attempt
  await tells('PARTIALLY_FULFILLED', came('24'))
  await announces('48', 2)
  const records = await world.host.db.many<{ id: string; kind: string }>(
    sql`select id, kind from mispayments where order_id = ${order.id} order by id`,
  )
  const [part = '', moved = ''] = records.map(({ id }) => id)
  assert.deepEqual(
    records.map(({ kind }) => kind),
    ['under', 'wrong_token'],
  )
  const ignore = (id: string) => ignoreMispayment(world.mispayments, context, id, { reason: 'kept' })
  return {
    ...attempt,
    part,
    moved,
    ignore,
    answers: () => tells('PARTIALLY_FULFILLED', came('24'), came('24'), kept('48')),
  }
}

test('nobody decides twice about the same money: a decision waits for the answer that follows an event', async () => {
  const { answers, apply, context, find, ignore, ignoreAll, moved, open, part, records, reference, reports } =
    await openMoved()
  const isDue = async () => ((await find()).nextCheckAt?.getTime() ?? Number.POSITIVE_INFINITY) <= world.clock.nowMs
  assert.ok(await isDue(), 'the event makes Whitepay be asked')
  const before = await records()
  for (const decide of [
    () => ignore(part),
    () => ignore(moved),
    () => acceptMispayment(world.mispayments, context, part, {}),
    () => refundMispayment(world.refunds, context, part, {}),
  ]) {
    await world.host.db.run(sql`update payments set next_check_at = null where id = ${(await find()).id}`)
    await assert.rejects(decide, { code: 'OBJECT_CONFLICT', message: WAIT, retryAfter: 60 })
    assert.ok(await isDue(), 'so does the refusal')
  }
  assert.deepEqual(await records(), before)
  // what says nothing of all that came is no such answer
  await apply({ outcome: 'unknown', providerReference: reference, providerStatus: 'IN_REVIEW' })
  await assert.rejects(ignore(part), { message: WAIT })
  // nor what was asked before the event and is read after it
  const asked = { ...(await find()), unansweredEventAt: null }
  await applyReport(world.payments, asked, reports('PARTIALLY_FULFILLED', came('24')), { asked })
  await assert.rejects(ignore(part), { message: WAIT })
  await answers()
  assert.deepEqual(await open(), ['under 48000000 USDC open'])
  await ignoreAll()
  await answers()
  assert.deepEqual(
    (await records()).filter((record) => !record.endsWith('resolved')),
    ['under 48000000 USDC ignored'],
  )
})

test('a provider that does not answer about its event locks nobody out: after 15 minutes a person decides', async () => {
  const { announces, ignore, moved, open, part } = await openMoved()
  world.clock.nowMs += 15 * MINUTE - 1
  await assert.rejects(ignore(part), { message: WAIT })
  world.clock.nowMs += 1
  // an event that is repeated is none of its own
  await announces('48', 2)
  await ignore(part)
  await ignore(moved)
  assert.deepEqual(await open(), [])
})
