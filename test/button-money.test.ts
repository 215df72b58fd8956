import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type PaymentReport, paidReport, type UnmatchedMoney } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { lockOrderByCode } from '../src/orders/order-queries.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { acceptMispayment, ignoreMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { openSoldTwiceAlarm } from '../src/payments/sold-twice-alarm.ts'
import { decideScreening } from '../src/screening/screening-decisions.ts'
import { findBlock } from './harness/attempts.ts'
import { addButton, readFrame } from './harness/button-pages.ts'
import { actorOf, contextFor, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* The money of orders that share a buy button's reference: one of them is paid by it, and what is blocked holds it. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld()
})
after(() => world?.stop())

/** Clicks for a reference of its own button, as buyers that do not know each other. */
async function sell(orderRef: string) {
  const { db } = world.host
  const { id, client } = await addButton(world.host)
  const land = async (code = '') => {
    const path = `/buy-button/landing?id=${id}&orderRef=${orderRef}&code=${code}`
    const { answer, said } = await readFrame(world.host, path)
    return { status: answer.status, code: said.conversionCode }
  }
  const take = () => client.post('buy-button/sessions', { button: id, orderRef })
  /** What a page, another one with the buyer's code, and the shop's server get. */
  const state = async (code: string) => [(await land()).status, (await land(code)).code === code, (await take()).status]
  return { land, take, state, order: async () => openOrder((await land()).code ?? '') }

  /** An order whose buyer chose a provider. */
  async function openOrder(code: string) {
    const { orderId, ...row } = await db.one<{ companyId: string; orderId: string; units: string }>(sql`
      select company_id, id as order_id, to_units as units from orders where code = ${code}`)
    const context = contextFor(actorOf(row))
    const accept = (requote = false) =>
      acceptOrder(world.payments, { context, code, body: { paymentChannel: 'binance', ...(requote && { requote }) } })
    await accept()
    const { id: paymentId, providerReference } = await db.one<{ id: string; providerReference: string }>(sql`
      select id, provider_reference from payments where order_id = ${orderId}`)
    const key = { companyId: row.companyId, id: paymentId }
    const due = BigInt(row.units)
    const apply = (report: PaymentReport) => applyReport(world.payments, key, report)
    const says = (outcome: 'waiting' | 'expired' | 'blocked', unmatched?: UnmatchedMoney[]) =>
      apply({ outcome, providerReference, providerStatus: outcome, ...(unmatched && { unmatched }) })
    const receives = (final: bigint, pending = 0n) =>
      apply(paidReport(providerReference, { final, pending, providerStatus: 'PAID' }))
    const expire = async () => {
      await db.run(sql`update orders set status = 'EXPIRED', updated_at = now() where id = ${orderId}`)
      await db.run(sql`update payments set status = 'closed' where id = ${paymentId}`)
    }
    const records = () =>
      db.many<{ id: string; kind: string; status: string }>(sql`
        select id, kind, status from mispayments where order_id = ${orderId} order by id`)
    const ignore = async () => {
      for (const { id: record, status: now } of await records())
        if (now === 'open') await ignoreMispayment(world.mispayments, context, record, { reason: 'sent back' })
    }
    const giveBack = async (seen: { updatedAt?: string } = {}) => {
      const { id } = await findBlock(world, paymentId)
      await decideScreening(world.screenings, context, id, { decision: 'return', reason: 'sent back', ...seen })
    }
    const shown = async () => (await findBlock(world, paymentId)).updatedAt.toISOString()
    const status = async () =>
      (await db.one<{ status: string }>(sql`select status from orders where id = ${orderId}`)).status
    return { code, context, due, accept, says, receives, expire, records, ignore, giveBack, shown, status }
  }
}

type Sold = Awaited<ReturnType<Awaited<ReturnType<typeof sell>>['order']>>

test('of two people who accept money of two orders of one reference at once, one is refused', async () => {
  const reference = await sell('ATONCE-001')
  const both = [await reference.order(), await reference.order()]
  for (const { expire, receives, due } of both) {
    await expire()
    await receives(due / 2n)
  }
  let arrived = 0
  /** Waits a moment for the other one. */
  const admit = async () => {
    arrived += 1
    for (let waits = 0; waits < 20 && arrived < 2; waits += 1) await wait(20)
    return null
  }
  const accept = async ({ context, records }: Sold) =>
    acceptMispayment({ ...world.mispayments, gate: { admit } }, context, (await records())[0]?.id ?? '', {})
  const answers = await Promise.allSettled(both.map(accept))
  const faults = answers.flatMap((answer) => (answer.status === 'rejected' ? [String(answer.reason.message)] : []))
  assert.equal(faults.length, 1)
  assert.match(faults[0] ?? '', /^Order \w+ of the same purchase is paid/)
  assert.deepEqual((await Promise.all(both.map(({ status }) => status()))).toSorted(), ['EXPIRED', 'PAID'])
})

test('late money makes no second order of a reference paid: it waits for a person, who cannot accept it either', async () => {
  const reference = await sell('LATE-00001')
  const late = await reference.order()
  await late.expire()
  const paid = await reference.order()
  await paid.receives(paid.due)
  await late.receives(late.due)
  const [record] = await late.records()
  assert.deepEqual([await paid.status(), await late.status(), record?.kind], ['PAID', 'EXPIRED', 'late'])
  const accepted = acceptMispayment(world.mispayments, late.context, record?.id ?? '', {})
  await assert.rejects(accepted, /of the same purchase is paid/)
})

test('late money pays its order while another order only waits; two that are paid in time are both paid, and the operator reads of it once', async () => {
  const reference = await sell('LATE-00002')
  const late = await reference.order()
  await late.expire()
  const open = await reference.order()
  await late.receives(late.due)
  assert.equal(await late.status(), 'PAID')
  const subjects: string[] = []
  const onSoldTwice = openSoldTwiceAlarm({
    alarm: async (_, { subject, paragraphs }) => void subjects.push(`${subject}: ${paragraphs[0]}`),
    ...{ log: world.host.service.app.log, clock: world.payments.clock },
  })
  const before = world
  world = { ...before, payments: { ...before.payments, onSoldTwice } }
  // its buyer was shown where to pay
  await open.receives(open.due)
  assert.equal(await open.status(), 'PAID')
  const { db } = world.host
  const order = await db.tx((tx) => lockOrderByCode(tx, late.code))
  if (order) await db.tx((tx) => onSoldTwice(tx, { order, other: open.code }))
  world = before
  assert.equal(subjects.length, 1)
  assert.match(
    subjects[0] ?? '',
    /^Two orders of one purchase were paid.* of company Shop \w+ \([0-9a-f]{24}\) is paid/,
  )
})

const HELD = [409, true, 409]
/** Only the shop's server sells it. */
const PARTLY = [409, true, 200]
const FREE = [200, false, 200]
const BTC: UnmatchedMoney[] = [{ asset: 'BTC', units: 5n, reference: 'gatepay:unresolved:1', isOneSum: true }]
/** Its amount cannot be read. */
const FROZEN: UnmatchedMoney[] = [{ asset: 'USDC', units: 0n, reference: 'gatepay:frozen:1', isOneSum: true }]

for (const what of ['without an amount', 'whose amount cannot be read'])
  test(`money ${what}, blocked by its provider, holds the reference until a person decides, whatever was decided before`, async () => {
    const { state, order } = await sell(`BLOCKED ${what}`)
    const { code, says, ignore, giveBack, status } = await order()
    await says('waiting', BTC)
    await ignore()
    await says('blocked', what === 'without an amount' ? undefined : FROZEN)
    assert.deepEqual([await status(), await state(code)], ['KYT_FAILED', HELD])
    await giveBack()
    if (what !== 'without an amount') {
      assert.deepEqual(await state(code), HELD, 'its record is open')
      await ignore()
    }
    assert.deepEqual(await state(code), FREE)
  })

for (const pending of [true, false])
  test(`blocked money holds the reference until a person returns it, whatever its provider says next; it was ${pending ? '' : 'not '}seen before`, async () => {
    const { state, order } = await sell(`GONE-${pending}`)
    const { code, due, says, receives, records, giveBack, status } = await order()
    if (pending) await receives(0n, due)
    await says('blocked')
    for (const outcome of ['expired', 'waiting', 'blocked', 'expired'] as const) {
      await says(outcome, outcome === 'expired' ? [] : undefined)
      assert.deepEqual([await status(), await state(code)], ['KYT_FAILED', HELD], outcome)
    }
    await receives(0n)
    assert.deepEqual(await state(code), HELD)
    await giveBack()
    await says('blocked')
    assert.deepEqual([(await records()).length, await state(code)], [0, FREE])
  })

test('a block of all of which an amount is named later, and that ends, holds the reference until a person returned all', async () => {
  const { state, order } = await sell('NAMED-LATER')
  const { code, says, ignore, giveBack, status } = await order()
  for (const said of ['blocked', 'expired'] as const) await says(said)
  await says('blocked', [{ asset: 'USDC', units: 1_000_000n, reference: 'gatepay:frozen:1', isOneSum: true }])
  await says('expired')
  assert.deepEqual([await status(), await state(code)], ['KYT_FAILED', HELD])
  const { isWhole } = await world.host.db.one<{ isWhole: boolean }>(sql`
    select s.is_whole from screenings s join orders o on o.id = s.order_id where o.code = ${code}`)
  assert.equal(isWhole, true, 'the decision is about all')
  await giveBack()
  assert.deepEqual(await state(code), HELD, 'its record is open')
  await ignore()
  assert.deepEqual(await state(code), FREE)
})

test('all that came is frozen before its provider names it as on its way: once a person decided, the reference is free', async () => {
  const { state, order } = await sell('FROZEN-FIRST')
  const { code, due, says, receives, giveBack, ignore } = await order()
  await says('blocked', [{ asset: 'USDC', units: due, reference: 'gatepay:frozen:1', isOneSum: true }])
  await receives(0n, due)
  assert.deepEqual(await state(code), HELD)
  await giveBack()
  await ignore()
  await receives(0n, due)
  assert.deepEqual(await state(code), FREE)
})

test('money that comes after a person returned a block of all holds the reference, blocked as well or not', async () => {
  for (const isBlocked of [false, true]) {
    const { state, order } = await sell(`SECOND-${isBlocked}`)
    const { code, due, says, receives, giveBack } = await order()
    for (const said of ['blocked', 'expired'] as const) await says(said)
    await giveBack()
    await receives(0n, due)
    if (isBlocked) for (const said of ['blocked', 'expired'] as const) await says(said)
    assert.deepEqual(await state(code), HELD)
    if (!isBlocked) continue
    await giveBack()
    assert.deepEqual(await state(code), FREE)
  }
})

test('money that comes after what was frozen of the payment is decided holds the reference, told before or not', async () => {
  for (const isTold of [true, false]) {
    const { state, order } = await sell(`FROZEN-${isTold}`)
    const { code, due, says, receives, giveBack, ignore } = await order()
    if (isTold) await receives(0n, due)
    await says('blocked', [{ asset: 'USDC', units: due, reference: 'gatepay:frozen:1', isOneSum: true }])
    await says('expired')
    await giveBack()
    await ignore()
    await says('expired')
    assert.deepEqual(await state(code), FREE)
    await receives(0n, due)
    assert.deepEqual(await state(code), HELD)
  }
})

test('money that comes after a person looked at a block of all holds the reference', async () => {
  for (const first of [true, false]) {
    const { state, order } = await sell(`LOOKED-${first}`)
    const { code, due, says, receives, giveBack, shown } = await order()
    if (first) await receives(0n, due / 2n)
    await says('blocked')
    if (!first) await says('expired')
    const updatedAt = await shown()
    await receives(0n, due)
    await assert.rejects(giveBack({ updatedAt }), /has changed. Read it again/)
    assert.deepEqual(await state(code), HELD)
    await giveBack({ updatedAt: await shown() })
    assert.deepEqual(await state(code), FREE)
  }
})

test('money of an expired order that its provider blocks holds the reference until a person decides to return it', async () => {
  for (const pending of [true, false])
    for (const frozen of [undefined, FROZEN]) {
      const { state, order } = await sell(`EXPIRED-${pending}-${frozen?.length}`)
      const { code, due, accept, says, receives, expire, ignore, giveBack } = await order()
      await expire()
      if (pending) await receives(0n, due)
      await says('blocked', frozen)
      await assert.rejects(accept(true), /has arrived or is on its way/)
      assert.deepEqual(await state(code), HELD)
      await giveBack()
      await ignore()
      if (pending && frozen) {
        assert.deepEqual(await state(code), HELD, 'nothing says that the amount on its way is the frozen one')
        await receives(0n)
      }
      assert.deepEqual(await state(code), FREE)
    }
})

test('dust that a provider keeps beside an expired order, frozen or not, leaves its reference free; an amount that cannot be read does not', async () => {
  const { state, order } = await sell('DUST-00001')
  const { code, says, expire } = await order()
  await expire()
  const beside = (asset: string, units: bigint, name: string): UnmatchedMoney[] => [
    { asset, units, reference: `gatepay:${name}:${asset}${units}`, isOneSum: true },
  ]
  await says('blocked', beside('USDC', 1n, 'frozen'))
  await says('blocked', beside('USDT', 10n ** 16n - 1n, 'frozen'))
  await says('expired', beside('USDC', 9_999n, 'unresolved'))
  assert.deepEqual(await state(code), FREE)
  await says('expired', beside('USDT', 0n, 'unresolved'))
  assert.deepEqual(await state(code), HELD)
})

test('another token at a deposit address holds the reference, whoever offers the address, unless it is dust', async () => {
  const { db } = world.host
  for (const channel of ['crypto', 'coinbase'])
    for (const [asset, units, expected] of [
      ['USDT', 54_000_000n, HELD],
      ['USDT', 9_999n, FREE],
      ['USDT', 4_000_000n, PARTLY],
      ['DAI', 10n ** 16n, PARTLY],
      ['DAI', 10n ** 16n - 1n, FREE],
      ['XYZ', 0n, FREE],
    ] as const) {
      const { state, order } = await sell(`TOKEN-${channel}-${asset}-${units}`)
      const { code, says, expire } = await order()
      await expire()
      await db.run(sql`
        update payments set channel = ${channel} where order_id = (select id from orders where code = ${code})`)
      await says('waiting', [{ asset, units, reference: `0x${'ab'.repeat(32)}:0` }])
      assert.deepEqual(await state(code), expected, `${channel} ${asset} ${units}`)
    }
})

test('an ended order is not reopened while another order of its reference is open, and of two that ended, one is', async () => {
  const reference = await sell('REOPEN-001')
  const old = await reference.order()
  await old.expire()
  const other = await reference.order()
  await assert.rejects(old.accept(true), /Another order for the same purchase/)
  await other.expire()
  const answers = await Promise.allSettled([old.accept(true), other.accept(true)])
  assert.deepEqual(answers.map((answer) => answer.status).toSorted(), ['fulfilled', 'rejected'])
  const statuses = [await old.status(), await other.status()]
  assert.deepEqual(statuses.toSorted(), ['AWAITING', 'EXPIRED'])
})

test('money on its way holds the reference only while its provider is asked about it', async () => {
  const { db } = world.host
  for (const isPartIn of [false, true]) {
    const { state, order } = await sell(`GIVEN-UP-${isPartIn}`)
    const { code, due, receives, expire } = await order()
    await expire()
    await (isPartIn ? receives(due / 2n, due - due / 2n) : receives(0n, due))
    assert.deepEqual(await state(code), HELD)
    await db.run(sql`
      update payments set next_check_at = null where order_id = (select id from orders where code = ${code})`)
    assert.deepEqual(await state(code), isPartIn ? PARTLY : FREE)
  }
})
