import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type PaymentReport, paidReport } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { acceptMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { openSoldTwiceAlarm } from '../src/payments/sold-twice-alarm.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* The money of orders that share an alias: a cart that was ordered again, an alias that is used for the next sale. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld()
})
after(() => world?.stop())

const SECOND = 1000
const TRANSFER = { network: 31337, txHash: '0x', from: '0xfrom', final: true, confirmations: 3, needed: 3 }

/** Orders of one alias, each made a second after what was before. */
async function shopOf(alias: string) {
  const { db } = world.host
  const merchant = await world.host.createMerchant()
  const context = contextFor(actorOf(merchant))
  async function order({ price = 5000n, accepts = true } = {}) {
    world.clock.nowMs += SECOND
    const to = { asset: 'USDC', units: (DUE * price) / 5000n } as const
    const made = await world.makeOrder(merchant, { alias, from: { asset: 'EUR', units: price }, to })
    world.clock.nowMs += SECOND
    const { id: orderId, code } = made
    const accept = (more = {}) =>
      acceptOrder(world.payments, { context, code, body: { paymentChannel: 'binance', ...more } })
    if (accepts) await accept()
    const findPayment = () =>
      db.one<{ id: string; reference: string }>(sql`
        select id, provider_reference as reference from payments where order_id = ${orderId}`)
    const apply = async (report: (reference: string) => PaymentReport) => {
      const { id, reference } = await findPayment()
      world.clock.nowMs += SECOND
      await applyReport(world.payments, { companyId: merchant.companyId, id }, report(reference))
    }
    /** In a block of the order's time, which is read only now. */
    const receivesInTime = () =>
      apply((reference) => ({
        ...paidReport(reference, { final: to.units, providerStatus: 'PAID' }),
        transfers: [{ ...TRANSFER, units: to.units, at: made.createdAt }],
      }))
    const receives = (final: bigint, pending = 0n) =>
      apply((reference) => paidReport(reference, { final, pending, providerStatus: 'PAID' }))
    const end = async (status = 'EXPIRED') => {
      world.clock.nowMs += SECOND
      const at = new Date(world.clock.nowMs)
      await db.run(
        sql`update orders set status = ${status}, updated_at = ${at}, expires_at = ${at} where id = ${orderId}`,
      )
      await db.run(sql`update payments set status = 'closed' where order_id = ${orderId}`)
    }
    const status = async () =>
      (await db.one<{ status: string }>(sql`select status from orders where id = ${orderId}`)).status
    const kinds = async () =>
      (await db.many<{ kind: string }>(sql`select kind from mispayments where order_id = ${orderId} order by id`)).map(
        ({ kind }) => kind,
      )
    const acceptMoney = async (reason?: string) => {
      const { id } = await db.one<{ id: string }>(sql`
        select id from mispayments where order_id = ${orderId} and status = 'open'`)
      world.clock.nowMs += SECOND
      await acceptMispayment(world.mispayments, context, id, reason === undefined ? {} : { reason })
    }
    return { code, orderId, due: to.units, accept, receives, receivesInTime, end, status, kinds, acceptMoney }
  }
  return { order }
}

type Made = Awaited<ReturnType<Awaited<ReturnType<typeof shopOf>>['order']>>
const statusesOf = (...orders: Made[]): Promise<string[]> => Promise.all(orders.map(({ status }) => status()))

/** Runs with the operator's mails about two orders of one purchase. */
async function withAlarms(run: () => Promise<void>): Promise<string[]> {
  const said: string[] = []
  const onSoldTwice = openSoldTwiceAlarm({
    alarm: async (_, { paragraphs }) => void said.push(paragraphs[0] ?? ''),
    ...{ log: world.host.service.app.log, clock: world.payments.clock },
  })
  const before = world
  world = { ...before, payments: { ...before.payments, onSoldTwice } }
  await run()
  world = before
  return said
}

for (const [what, price] of [
  ['another', 50_000n],
  ['the same', 5000n],
] as const)
  test(`late money of an order waits for a person while a newer order of its alias, at ${what} price, is being paid or is paid`, async () => {
    const { order } = await shopOf('CART-777')
    const old = await order()
    await old.end()
    const open = await order({ price })
    await old.receives(old.due)
    assert.deepEqual([await statusesOf(old, open), await old.kinds()], [['EXPIRED', 'AWAITING'], ['late']])

    const shop = await shopOf('CART-778')
    const late = await shop.order()
    await late.end()
    const paid = await shop.order({ price })
    await paid.receives(paid.due)
    await late.receives(late.due)
    assert.deepEqual([await statusesOf(late, paid), await late.kinds()], [['EXPIRED', 'PAID'], ['late']])
  })

test('a newer order that nobody has chosen to pay lets late money pay at its own price alone, and is not paid then', async () => {
  const { order } = await shopOf('CART-770')
  const old = await order()
  await old.end()
  const open = await order({ accepts: false })
  await old.receives(old.due)
  assert.deepEqual(await statusesOf(old, open), ['PAID', 'INITIAL'])
  await assert.rejects(open.accept(), /This purchase already has a payment/)
  const { data } = await world.host.call<{ status: string }>('GET', 'status/order/CART-770')
  assert.equal(data.status, 'PAID', 'a shop that asks by its reference hears of it')

  const shop = await shopOf('CART-771')
  const cheap = await shop.order()
  await cheap.end()
  const dear = await shop.order({ price: 50_000n, accepts: false })
  await cheap.receives(cheap.due)
  assert.deepEqual([await statusesOf(cheap, dear), await cheap.kinds()], [['EXPIRED', 'INITIAL'], ['late']])
})

test('late money pays an order whose newer one, at the same price, has ended too, and no order that was replaced at another price', async () => {
  const { order } = await shopOf('CART-779')
  const old = await order()
  await old.end()
  const newer = await order()
  await newer.end()
  await old.receives(old.due)
  assert.deepEqual(await statusesOf(old, newer), ['PAID', 'EXPIRED'])
  await newer.receives(newer.due)
  assert.deepEqual([await statusesOf(newer), await newer.kinds()], [['EXPIRED'], ['late']])

  const shop = await shopOf('CART-780')
  const cheap = await shop.order()
  await cheap.end()
  const dear = await shop.order({ price: 50_000n })
  await dear.end()
  await assert.rejects(cheap.accept({ requote: true }), /The shop has ended this purchase/)
  await cheap.receives(cheap.due)
  assert.deepEqual([await statusesOf(cheap, dear), await cheap.kinds()], [['EXPIRED', 'EXPIRED'], ['late']])
  await dear.receives(dear.due)
  assert.equal(await dear.status(), 'PAID', 'the newest is what the shop sells')
})

test('an alias whose sale is over sells again, in time and late, and nobody is told of two payments', async () => {
  const said = await withAlarms(async () => {
    const { order } = await shopOf('TABLE-5')
    const first = await order()
    await first.receives(first.due)
    const second = await order({ price: 7000n })
    await second.receives(second.due)
    const late = await order()
    await late.end()
    await late.receives(late.due)
    const reviewed = await order()
    await reviewed.end('KYT_FAILED')
    const last = await order()
    await last.receives(last.due)
    assert.deepEqual(await statusesOf(first, second, late, reviewed, last), [
      'PAID',
      'PAID',
      'PAID',
      'KYT_FAILED',
      'PAID',
    ])
  })
  assert.deepEqual(said, [])
})

test('a person does not accept late money once another order of the alias is paid, unless its code is the reason', async () => {
  const { order } = await shopOf('CART-781')
  const old = await order()
  await old.end()
  const paid = await order()
  await paid.receives(0n, paid.due)
  await old.receives(old.due)
  await assert.rejects(old.acceptMoney(), /of the same purchase is paid, being confirmed/)
  await paid.receives(paid.due)
  await assert.rejects(old.acceptMoney('the customer says so'), new RegExp(`Order ${paid.code} of the same`))
  assert.deepEqual(await statusesOf(old, paid), ['EXPIRED', 'PAID'])
  await old.acceptMoney(`${paid.code} was the starter`)
  assert.equal(await old.status(), 'PAID')

  const shop = await shopOf('CART-782')
  const late = await shop.order()
  await late.end()
  const refunded = await shop.order()
  await refunded.receives(refunded.due)
  await late.receives(late.due)
  await refunded.end('FULL_REFUNDED')
  await late.acceptMoney()
  assert.equal(await late.status(), 'PAID')
})

test('a person who accepts late money names every other order of the alias that is paid, and none that is held', async () => {
  const { order } = await shopOf('TABLE-6')
  const late = await order()
  await late.end()
  const paid = [await order()]
  await paid[0]?.receives(paid[0].due)
  paid.push(await order({ price: 7000n }))
  await paid[1]?.receives(paid[1].due)
  await late.receives(late.due)
  const [first = '', second = ''] = paid.map(({ code }) => code)
  for (const named of [undefined, first, second])
    await assert.rejects(
      late.acceptMoney(named),
      new RegExp(`^AppError: Orders ${first}, ${second} of the same purchase are`),
    )
  assert.equal(await late.status(), 'EXPIRED')
  await late.acceptMoney(`${first} and ${second} were other guests`)
  assert.equal(await late.status(), 'PAID')

  const shop = await shopOf('TABLE-7')
  for (const status of ['WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED']) {
    const old = await shop.order()
    await old.end()
    const held = await shop.order()
    await old.receives(0n)
    await held.end(status)
    await old.receives(old.due)
    await assert.rejects(old.acceptMoney(held.code), /must end first/)
    await held.end('CANCELLED')
    await old.acceptMoney()
    assert.equal(await old.status(), 'PAID', status)
  }
})

test('two orders of an alias that are both paid are told to the operator, and one whose buyer has not chosen is not sold', async () => {
  const said = await withAlarms(async () => {
    const { order } = await shopOf('CART-783')
    const late = await order()
    await late.end()
    const open = await order()
    await late.receives(late.due)
    await late.acceptMoney()
    await open.receives(open.due)
    assert.deepEqual(await statusesOf(late, open), ['PAID', 'PAID'])
  })
  assert.deepEqual([said.length, /with the same alias/.test(said[0] ?? '')], [1, true], said[0])

  const { order } = await shopOf('CART-784')
  const late = await order()
  await late.end()
  const open = await order({ accepts: false })
  await late.receives(late.due)
  await assert.rejects(open.accept(), /This purchase already has a payment.* cancels this order and creates it again/)
  assert.equal(await open.status(), 'INITIAL')
  await open.end('CANCELLED')
  const again = await order()
  assert.equal(await again.status(), 'AWAITING', 'what was paid before it is another sale')
})

test('what was paid in time, and is read late, pays its order beside an open one, and waits beside a paid one', async () => {
  const said = await withAlarms(async () => {
    const { order } = await shopOf('CART-786')
    const old = await order()
    await old.end()
    const open = await order()
    await old.receivesInTime()
    assert.deepEqual(await statusesOf(old, open), ['PAID', 'AWAITING'])
    await open.receives(open.due)
    assert.equal(await open.status(), 'PAID')
  })
  assert.equal(said.length, 1)
  const { order } = await shopOf('CART-787')
  const old = await order()
  await old.end()
  const paid = await order()
  await paid.receives(paid.due)
  await old.receivesInTime()
  assert.deepEqual([await statusesOf(old, paid), await old.kinds()], [['EXPIRED', 'PAID'], ['late']])
})

test('late money waits while a newer order of the alias is under review', async () => {
  const { order } = await shopOf('CART-788')
  const old = await order()
  await old.end()
  const reviewed = await order()
  await reviewed.end('KYT_FAILED')
  await old.receives(old.due)
  assert.deepEqual([await statusesOf(old, reviewed), await old.kinds()], [['EXPIRED', 'KYT_FAILED'], ['late']])
  await assert.rejects(old.acceptMoney(), /under review/)
})

test('late money waits while a way to pay a newer order of the alias is being opened', async () => {
  const { order } = await shopOf('CART-791')
  const old = await order()
  await old.end()
  const newer = await order({ accepts: false })
  await newer.end('PENDING')
  await old.receives(old.due)
  assert.deepEqual([await statusesOf(old, newer), await old.kinds()], [['EXPIRED', 'PENDING'], ['late']])
})

test('a shop that asks by its reference hears of the newest order while somebody pays that or it is under review', async () => {
  for (const [alias, status] of [
    ['CART-789', 'WAITING_CHAIN_CONFIRMATION'],
    ['CART-790', 'KYT_FAILED'],
    ['CART-792', 'PENDING'],
    ['CART-793', 'AWAITING'],
  ] as const) {
    const { order } = await shopOf(alias)
    const old = await order()
    await old.end()
    const newest = await order({ accepts: false })
    await old.receives(old.due)
    const answer = () => world.host.call<{ status: string; code: string }>('GET', `status/order/${alias}`)
    assert.deepEqual((await answer()).data.status, 'PAID', 'the money came late for the one before')
    await newest.end(status)
    assert.deepEqual((await answer()).data.status, status, 'somebody pays the newest')
    await newest.end()
    assert.deepEqual((await answer()).data.status, 'PAID')
    await old.end('FULL_REFUNDED')
    assert.deepEqual((await answer()).data.status, 'EXPIRED', 'nothing of the one before is left')
  }
})

test('of two late payments of an alias that arrive at once, one waits for a person', async () => {
  const { order } = await shopOf('CART-785')
  const both = [await order()]
  await both[0]?.end()
  both.push(await order())
  await both[1]?.end()
  let arrived = 0
  const { payments } = world
  /** Waits a moment for the other one. */
  const admitLate = async () => {
    arrived += 1
    for (let waits = 0; waits < 20 && arrived < 2; waits += 1) await wait(20)
    return true
  }
  world = { ...world, payments: { ...payments, gate: { ...payments.gate, admitLate } } }
  await Promise.all(both.map(({ receives, due }) => receives(due)))
  world = { ...world, payments }
  assert.deepEqual((await statusesOf(...both)).toSorted(), ['EXPIRED', 'PAID'])
})

test('an earlier sale of the alias that is refunded in part since leaves late money of the next one to its order', async () => {
  const { order } = await shopOf('CART-REFUNDED')
  const earlier = await order()
  await earlier.receives(earlier.due)
  const next = await order()
  await next.end()
  await world.host.db.run(sql`
    update orders set status = 'REFUNDED', updated_at = ${new Date(world.clock.nowMs)} where id = ${earlier.orderId}`)
  await next.receives(next.due)
  assert.deepEqual([await statusesOf(earlier, next), await next.kinds()], [['REFUNDED', 'PAID'], []])
})
