import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { reportOf } from '../src/channels/gatepay/status-map.ts'
import { readOrder, reportOf as whitepayReportOf } from '../src/channels/whitepay/status-map.ts'
import { sql, type Tx } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import type { Order } from '../src/orders/order.ts'
import { insertMispayment } from '../src/payments/mispayments/mispayment-queries.ts'
import { acceptMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { noteTakenBack } from '../src/payments/payment-service.ts'
import { refundMispayment } from '../src/refunds/mispayment-refund.ts'
import { dropRefund } from '../src/refunds/refund-decisions.ts'
import { listRefundsOfOrder } from '../src/refunds/refund-queries.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import { gateSays, openBlockedIn, PART } from './harness/attempts.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* Money that a payment counts, for its price or for a person, and what its provider says of it after that. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld({ async closePayment() {} })
})
after(() => world?.stop())

async function openCounted() {
  const attempt = await openBlockedIn(world, false)
  const { apply, context, key, openOf, order, recordsOf, reference } = attempt
  const short = (records: readonly string[]) => records.map((record) => record.replace(/ \S+$/, ''))
  const firstOpen = async () =>
    (
      await world.host.db.one<{ id: string }>(
        sql`select id from mispayments where order_id = ${order.id} and status = 'open'`,
      )
    ).id
  return {
    ...attempt,
    records: async () => short(await recordsOf()),
    open: async () => short(await openOf()),
    /** Gate calls it paid, and names what is missing of the price. */
    paysPart: (underpaidAmount: string) => {
      const data = { currency: 'USDC', orderAmount: '54', pay_amount: '54', pay_currency: 'USDC', underpaidAmount }
      return apply(reportOf('PAID', data, { providerReference: reference, closedStatuses: [] }))
    },
    tellsAbsurd: (word: string) => {
      const asked = { pay_amount: '0.000000000000000001', pay_currency: 'BTC' }
      const transaction_info = { done_amount: '1000000000', confirming_list: [] }
      const data = { currency: 'USDC', orderAmount: '54', ...asked, transaction_info }
      return apply(reportOf(word, data, { providerReference: reference, closedStatuses: [] }))
    },
    /** As an older version recorded it. */
    insertAbove: async (units: bigint) => {
      const made = { companyId: key.companyId, orderId: order.id, paymentId: key.id, createdAt: new Date() }
      const above = { id: newId(), kind: 'wrong_token', asset: 'USDC', units: units * PART } as const
      const sourceReference = `gatepay:${reference}:over`
      await world.host.db.tx((tx) => insertMispayment(tx, { ...made, ...above, sourceReference }))
    },
    refundFirst: async () => refundMispayment(world.refunds, context, await firstOpen(), {}),
    accept: async () => acceptMispayment(world.mispayments, context, await firstOpen(), {}),
    bookings: async () =>
      (
        await world.host.db.one<{ count: number }>(
          sql`select count(*)::int as count from ledger_entries where company_id = ${order.companyId}`,
        )
      ).count,
  }
}

test('what a payment counts waits no second time once Gate calls it expired, and what came beside it does', async () => {
  type Attempt = Awaited<ReturnType<typeof openCounted>>
  const stories: readonly (readonly [string, (attempt: Attempt) => Promise<unknown>, ...(readonly string[])[]])[] = [
    ['the price', ({ gate }) => gate('PAID', '54'), ['54'], ['54.009'], ['74', 'wrong_token 20000000 USDC open']],
    [
      'a part that was refunded',
      async ({ paysPart, refundFirst }) => {
        await paysPart('24')
        await refundFirst()
      },
      ['30'],
      ['54', 'wrong_token 24000000 USDC open'],
    ],
    ['a part that waits', ({ paysPart }) => paysPart('24'), ['30', 'under 30000000 USDC open']],
    [
      'what is held, and decided about',
      async ({ gate, giveBack, ignoreAll, says }) => {
        await says('PAY_BLOCK')
        await giveBack()
        await gate('PAID', '54')
        await ignoreAll()
      },
      ['54'],
    ],
    ['too much', ({ gate }) => gate('PAID', '84'), ['84', 'wrong_token 30000000 USDC open']],
    [
      'what was late at first, and ignored',
      async ({ gate, ignoreAll }) => {
        await gate('EXPIRED', '30')
        await ignoreAll()
        await gate('PAID', '84')
      },
      ['84'],
      ['94', 'wrong_token 10000000 USDC open'],
    ],
    [
      'what was late at first, and counted then',
      async ({ gate }) => {
        await gate('EXPIRED', '30')
        await gate('PAID', '54')
      },
      ['54'],
      ['84', 'wrong_token 30000000 USDC open'],
    ],
  ]
  for (const [name, happens, ...ends] of stories) {
    const attempt = await openCounted()
    await happens(attempt)
    for (const [came = '', ...expected] of ends)
      for (const _ of [1, 2]) {
        await attempt.gate('EXPIRED', came)
        assert.deepEqual((await attempt.open()).toSorted(), expected, `${name}: ${came}`)
      }
  }
})

test('late money whose amount cannot be right waits for a person, once, whatever its payment counts', async () => {
  for (const isPaid of [false, true]) {
    const { gate, ignoreAll, records, tellsAbsurd } = await openCounted()
    if (isPaid) await gate('PAID', '54')
    for (const _ of [1, 2]) {
      await tellsAbsurd('EXPIRED')
      assert.deepEqual(await records(), ['wrong_token 0 USDC open'], `${isPaid}`)
    }
    await ignoreAll()
    await tellsAbsurd('EXPIRED')
    assert.deepEqual(await records(), ['wrong_token 0 USDC ignored'])
  }
})

test('late money that counted and is not credited any more waits again once Gate calls it expired', async () => {
  const { gate, open, paysPart } = await openCounted()
  await gate('EXPIRED', '30')
  await paysPart('24')
  assert.deepEqual(await open(), ['under 30000000 USDC open'])
  await gate('PROCESS', '30')
  assert.deepEqual(await open(), [])
  for (const _ of [1, 2]) await gate('EXPIRED', '30')
  assert.deepEqual(await open(), ['wrong_token 30000000 USDC open'])
})

test('what was paid and is recorded beside the payment, too, as older versions did, is no loss once Gate processes it again', async () => {
  for (const word of ['PROCESS', 'PAY_EXPIRED_IN_PROCESS'])
    for (const done of ['54', '']) {
      const { gate, key, order, records, reference } = await openCounted()
      assert.equal(await gate('PAID', '54'), 'PAID')
      const made = { companyId: key.companyId, orderId: order.id, paymentId: key.id, createdAt: new Date() }
      await world.host.db.tx((tx) =>
        insertMispayment(tx, {
          ...{ ...made, id: newId(), kind: 'wrong_token', asset: 'USDC', units: DUE },
          sourceReference: `gatepay:${reference}:late`,
        }),
      )
      for (const said of [word, 'EXPIRED', word]) {
        await gate(said, done)
        assert.deepEqual(await records(), ['wrong_token 54000000 USDC open'], `${word} ${done}`)
      }
      if (done === '') continue
      await gate(word, '50')
      assert.deepEqual((await records()).slice(1), ['orphaned 4000000 USDC open'], 'what is not there any more is lost')
    }
})

test('a word without an amount takes nothing back of what was credited, and settles nothing', async () => {
  type Attempt = Awaited<ReturnType<typeof openCounted>>
  const stories: readonly (readonly [string, (attempt: Attempt) => Promise<unknown>, string, ...string[]])[] = [
    [
      'held after a return',
      async ({ gate, giveBack, says }) => {
        await says('PAY_BLOCK')
        await giveBack()
        await gate('PROCESS', '0', '54')
        await gate('PAID', '54')
      },
      '54',
      'held 54000000 USDC open',
    ],
    [
      'late',
      async ({ gate, order }) => {
        await world.host.db.run(sql`update orders set status = 'CANCELLED' where id = ${order.id}`)
        await gate('PAID', '54')
      },
      '54',
      'late 54000000 USDC open',
    ],
    ['a part', ({ paysPart }) => paysPart('24'), '', 'under 30000000 USDC open'],
    [
      'more than was accepted',
      async ({ accept, gate, paysPart }) => {
        await paysPart('24')
        await accept()
        await gate('PAID', '54')
      },
      '54',
      'over 24000000 USDC open',
    ],
  ]
  for (const [name, happens, again, expected] of stories) {
    const attempt = await openCounted()
    await happens(attempt)
    const before = [await attempt.records(), attempt.mails(), await attempt.bookings()]
    assert.deepEqual(await attempt.open(), [expected], name)
    const { status } = await attempt.find()
    for (const word of ['PROCESS', 'PAY_EXPIRED_IN_PROCESS']) {
      await attempt.gate(word, '')
      assert.equal((await attempt.find()).status, status, name)
      if (again !== '') await attempt.gate('PAID', again)
      assert.deepEqual([await attempt.records(), attempt.mails(), await attempt.bookings()], before, name)
    }
  }
})

test('money that its provider names no amount of is no more of the price than what is missing, and is settled by an amount only', async () => {
  const { gate, paysPart, pending, records } = await openCounted()
  await paysPart('24')
  assert.equal(await gate('PROCESS'), 'WAITING_CHAIN_CONFIRMATION')
  assert.equal(await pending(), 24_000_000n)
  assert.equal(await gate('PAID', '54'), 'PAID')
  assert.deepEqual(await records(), [])
})

test('what came beside a paid price, and a person decided about, is no loss of the price', async () => {
  for (const again of ['84', '']) {
    const { gate, ignoreAll, records } = await openCounted()
    assert.equal(await gate('PAID', '54'), 'PAID')
    await gate('EXPIRED', '84')
    await ignoreAll()
    for (const word of ['PAID', 'PROCESS', 'PAID']) {
      await gate(word, again)
      assert.deepEqual(await records(), ['wrong_token 30000000 USDC ignored'], `${word} ${again}`)
    }
  }
  const { gate, ignoreAll, paysPart, records } = await openCounted()
  await gate('PAID', '84')
  await ignoreAll()
  await gate('EXPIRED', '94')
  await ignoreAll()
  const expected = ['wrong_token 30000000 USDC ignored', 'wrong_token 10000000 USDC ignored']
  for (const again of ['94', '', '94']) {
    await gate('PAID', again)
    assert.deepEqual(await records(), expected, again)
  }
  await paysPart('20')
  assert.deepEqual(await records(), [...expected, 'orphaned 20000000 USDC open'], 'what is not there any more is lost')
  await gate('PAID', '94')
  assert.deepEqual(await records(), [...expected, 'orphaned 20000000 USDC resolved'])
})

test('the whole price that comes again, after the first was decided about, pays its order', async () => {
  for (const [first, all, ...expected] of [
    ['54', '108'],
    ['30', '84'],
    ['54', '118', 'wrong_token 10000000 USDC open'],
  ] as const) {
    const { gate, ignoreAll, open } = await openCounted()
    await gate('EXPIRED', first)
    await ignoreAll()
    for (const _ of [1, 2]) {
      assert.equal(await gate('PAID', all), 'PAID')
      assert.deepEqual(await open(), expected)
    }
  }
  const { gate, ignoreAll, open, tellsAbsurd } = await openCounted()
  await gate('EXPIRED', '54')
  await ignoreAll()
  assert.equal((await tellsAbsurd('PAID'))?.status, 'AWAITING', 'an amount that cannot be right pays nothing')
  assert.equal((await open()).length, 1)
})

test('an order is paid once what came in all, less what was decided about, is its price, wherever that is recorded', async () => {
  const ways = [
    ['a part', (attempt) => attempt.paysPart('24'), 30],
    ['late', (attempt) => attempt.gate('EXPIRED', '30'), 30],
    [
      'late, then a part',
      async ({ gate, ignoreAll, paysPart }) => {
        await gate('EXPIRED', '30')
        await ignoreAll()
        await paysPart('14')
      },
      40,
    ],
  ] as const satisfies [string, (attempt: Awaited<ReturnType<typeof openCounted>>) => Promise<unknown>, number][]
  for (const [name, happens, decided] of ways)
    for (const left of [24, 53, 54, 64]) {
      const attempt = await openCounted()
      const { find, gate, ignoreAll, open } = attempt
      await happens(attempt)
      await ignoreAll()
      const expected = left < 54 ? [`under ${left}000000 USDC open`] : []
      if (left > 54) expected.push(`wrong_token ${left - 54}000000 USDC open`)
      const story = `${name}: ${left} besides`
      // once the price is paid, a word without an amount and another word change nothing
      for (const [word, done] of [
        ['PAID', `${decided + left}`],
        ...(left < 54
          ? []
          : [
              ['PAID', ''],
              ['PROCESS', `${decided + left}`],
              ['EXPIRED', `${decided + left}`],
            ]),
        ['PAID', `${decided + left}`],
      ] as const) {
        const status = await gate(word, done)
        assert.equal(status, left < 54 ? 'AWAITING' : 'PAID', `${story}, ${word}`)
        assert.deepEqual((await open()).toSorted(), expected, `${story}, ${word} ${done}`)
      }
      if (left < 54) continue
      assert.equal((await find()).priceUnits, DUE, story)
      if (left > 54 || name === 'late') continue
      await gate('PAID', `${decided + left - 10}`)
      assert.deepEqual(await open(), ['orphaned 10000000 USDC open'], `${story}: what is not there any more is lost`)
    }
})

test('a part was refunded, and what came after the end of the order is accepted: it sells for all that was paid', async () => {
  const { accept, find, gate, open, order, paysPart, refundFirst } = await openCounted()
  await paysPart('24')
  await refundFirst()
  await world.host.db.run(sql`update orders set status = 'CANCELLED' where id = ${order.id}`)
  await gate('PAID', '84')
  assert.deepEqual(await open(), ['late 54000000 USDC open'])
  await accept()
  assert.equal((await find()).priceUnits, DUE)
})

test('what a person decides about again, after its refund failed and its order was paid, is no loss, and waits no second time', async () => {
  for (const decides of ['ignore', 'refund', 'revert'] as const)
    for (const asked of ['', '84']) {
      const { context, gate, ignoreFirst, open, order, paysPart, records, refundFirst } = await openCounted()
      await paysPart('24')
      await refundFirst()
      assert.equal(await gate('PAID', '84'), 'PAID')
      const [refund] = await listRefundsOfOrder(world.host.db, order.companyId, order.id)
      assert.ok(refund)
      const refusal = { status: 'refused', channel: 'binance', reference: null, providerStatus: 'no' } as const
      await dropRefund(world.refunds, refund, refusal)
      assert.deepEqual(await records(), ['under 30000000 USDC resolved', 'over 30000000 USDC open'])
      await gate('PAID', asked)
      // where Gate names all that came, what is above the price is beside the payment
      assert.match(
        (await open()).join(),
        asked === '' ? /^over 30000000 USDC open$/ : /^wrong_token 30000000 USDC open$/,
      )
      if (decides === 'refund' && asked !== '') continue
      if (decides === 'ignore') await ignoreFirst()
      if (decides === 'refund') await refundFirst()
      if (decides === 'revert') await revertOrder(world.refunds, context, order.code, { amount: '30' })
      const before = await open()
      for (const _ of [1, 2]) {
        await gate('PAID', '84')
        assert.deepEqual(await open(), before, `${decides} ${asked}`)
      }
      if (asked === '') assert.deepEqual(before, [])
    }
})

test('what went to the account of a declined order, and that staff complete after that, came once', async () => {
  for (const isDecided of [false, true]) {
    const { apply, find, ignoreAll, open, order, reference } = await openCounted()
    const { merchantReference } = await find()
    const key = { merchantReference, due: { asset: 'USDC', units: DUE }, fiat: { asset: 'EUR', units: 5000n } }
    const moved = { currency: 'USDT', value: '54', status: 'COMPLETE' }
    const tells = (status: string) => {
      const read = readOrder({
        ...{ id: reference, status, currency: 'EUR', value: '50', expected_amount: '54', deposited_currency: 'USDT' },
        external_order_id: merchantReference,
        transactions: [
          { ...moved, id: 't1', type: 'DEPOSIT' },
          { ...moved, id: 't2', type: 'ROLLBACK_TO_MERCHANT' },
        ],
      })
      assert.ok(read)
      return apply(whitepayReportOf(read, { ...key, expiresAt: order.expiresAt } as never, world.clock.nowMs))
    }
    await tells('DECLINED')
    if (isDecided) await ignoreAll()
    assert.equal((await tells('COMPLETE'))?.status, isDecided ? 'AWAITING' : 'PAID')
    assert.deepEqual([await open(), (await find()).receivedUnits], [[], DUE])
  }
})

test('what its provider called paid at the rate of before, and takes back after a person decided, is a difference', async () => {
  for (const isRequoted of [true, false]) {
    const { find, gate, key, open, order, reference, refundFirst, requote, says } = await openCounted()
    const { db } = world.host
    const before = await find()
    if (isRequoted) {
      await says('EXPIRED')
      assert.equal((await requote()).status, 'AWAITING')
      await db.run(sql`update orders set to_units = ${DUE + 6n * PART} where id = ${order.id}`)
    }
    assert.equal(await gate('PAID', '54'), isRequoted ? 'AWAITING' : 'PAID')
    assert.deepEqual(await open(), isRequoted ? ['under 54000000 USDC open'] : [])
    if (isRequoted) await refundFirst()
    const report = gateSays('PAY_BLOCK', reference)
    // read before another node heard that it is paid
    const also = (tx: Tx, now: Order) => noteTakenBack(world.payments, tx, { order: now, payment: before, report })
    await applyReport(world.payments, key, report, { also })
    const found = await db.many(sql`select subject from ledger_differences where company_id = ${key.companyId}`)
    assert.equal(found.length, 1, `${isRequoted}`)
  }
})

test('what an older version took for a loss of the price, or for too much, pays the price', async () => {
  const lost = await openCounted()
  await lost.gate('PAID', '54')
  await lost.gate('EXPIRED', '84')
  await lost.ignoreAll()
  // as that version counted it: without what was decided about
  await lost.paysPart('30')
  await lost.insertAbove(30n)
  await lost.gate('PAID', '84')
  assert.deepEqual(await lost.open(), [])
  const unpaid = await openCounted()
  await unpaid.gate('EXPIRED', '30')
  await unpaid.ignoreAll()
  await unpaid.paysPart('0')
  assert.deepEqual(await unpaid.open(), ['under 24000000 USDC open'])
  await unpaid.insertAbove(40n)
  assert.equal(await unpaid.gate('PAID', '94'), 'PAID')
  assert.deepEqual(await unpaid.open(), ['wrong_token 10000000 USDC open'])
  await unpaid.gate('PAID', '104')
  assert.deepEqual(await unpaid.open(), ['wrong_token 10000000 USDC open', 'wrong_token 10000000 USDC open'])
})

test('of late money, a word that names no amount takes as much as it pays of the price, and the rest waits', async () => {
  for (const [late, left] of [
    ['84', ['wrong_token 30000000 USDC open']],
    ['54', []],
    ['20', []],
  ] as const) {
    const { gate, open } = await openCounted()
    await gate('EXPIRED', late)
    for (const _ of [1, 2]) {
      assert.equal(await gate('PAID', ''), 'PAID', late)
      assert.deepEqual(await open(), left, late)
    }
    for (const [word, done] of [
      ['EXPIRED', late],
      ['PAID', ''],
      ...(late === '20' ? [] : [['PAID', late] as const, ['PAID', ''] as const]),
    ] as const) {
      await gate(word, done)
      assert.deepEqual(await open(), left, `${late} ${word} ${done}`)
    }
  }
})
