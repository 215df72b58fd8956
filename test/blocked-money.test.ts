import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { paidReport } from '../src/channels/channel.ts'
import { raw, sql } from '../src/db/db.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { askAboutOrder } from '../src/payments/payment-service.ts'
import { findBlock, gateSays, openAttemptIn, openBlockedIn, PART } from './harness/attempts.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* What a provider blocks by its own screening waits for a person, whatever the provider says next. */

let world: ModelWorld
let word = 'PENDING'
before(async () => {
  world = await startModelWorld({
    fetchPayment: async ({ providerReference }) => gateSays(word, providerReference),
    async closePayment() {},
  })
})
after(() => world?.stop())

const screeningsOf = (payment: string) =>
  world.host.db.many<{ status: string; by: string | null }>(
    sql`select status, decided_by as by from screenings where subject_id = ${payment}`,
  )
const blockNow = (payment: string) => findBlock(world, payment)
const UNDECIDED = [{ status: 'blocked', by: null }]

for (const isEnded of [false, true])
  test(`Gate blocks the price ${isEnded ? 'after' : 'before'} the order ended, and its query says EXPIRED: a person decides`, async () => {
    const { apply, context, find, key, order, poll, reference } = await openAttemptIn(world)
    const { db } = world.host
    if (isEnded) {
      await db.run(sql`update orders set status = 'EXPIRED', updated_at = now() where id = ${order.id}`)
      await db.run(sql`update payments set status = 'closed', next_check_at = null where id = ${key.id}`)
    }
    word = 'PENDING'
    await apply(gateSays('PAY_BLOCK', reference))
    word = 'EXPIRED'
    await poll()
    await apply(gateSays('PAY_CLOSE', reference))
    // the payer says that it is paid
    await askAboutOrder(world.payments, context, order.code)
    assert.deepEqual(await screeningsOf(key.id), UNDECIDED)
    assert.equal((await find()).receivedUnits, 0n)
    if (!isEnded) return
    const body = { paymentChannel: 'binance', requote: true }
    await assert.rejects(
      acceptOrder(world.payments, { context, code: order.code, body }),
      /has arrived or is on its way/,
    )
  })

test('blocked money that its provider credits later cannot be decided about before its screening is', async () => {
  const { apply, reference, ignoreFirst, recordsOf, key } = await openAttemptIn(world)
  for (const said of ['PAY_BLOCK', 'EXPIRED']) await apply(gateSays(said, reference))
  await apply(paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
  assert.match((await recordsOf())[0] ?? '', /^held 54000000 USDC open/)
  assert.deepEqual(await screeningsOf(key.id), UNDECIDED)
  await assert.rejects(ignoreFirst(), /Decide the screening of the order first/)
})

const openBlocked = () => openBlockedIn(world)

test('a payment that its provider blocks again and again brings one mail', async () => {
  const { says, mails } = await openBlocked()
  for (let n = 0; n < 6; n += 1) for (const said of ['PAY_BLOCK', 'EXPIRED']) await says(said)
  assert.equal(mails(), 1)
})

test('a provider that blocks all after a person returned the part that it named is decided about again, once', async () => {
  const { freeze, giveBack, ignoreFirst, isFree, key, mails, requote, says, status } = await openBlocked()
  await freeze(PART)
  await giveBack()
  await ignoreFirst()
  await says('PAY_BLOCK')
  assert.deepEqual([await screeningsOf(key.id), mails()], [UNDECIDED, 2])
  await assert.rejects(requote(), /has arrived or is on its way/)
  await giveBack()
  await says('PAY_BLOCK')
  assert.deepEqual([await status(), mails()], ['returned', 2])
  await isFree()
})

test('a part that is told once more, before or after a person returned all, changes nothing', async () => {
  for (const isBefore of [true, false]) {
    const { freeze, giveBack, ignoreAll, isFree, mails, says, status } = await openBlocked()
    await freeze(PART)
    await says('PAY_BLOCK')
    if (isBefore) await freeze(PART)
    assert.equal(mails(), 2)
    await giveBack()
    await ignoreAll()
    const before = mails()
    for (const _ of [1, 2, 3]) {
      await freeze(PART)
      await says('PAY_BLOCK')
    }
    await freeze(PART)
    assert.deepEqual([await status(), mails() - before], ['returned', 0])
    await isFree()
  }
})

test('an amount that is named after a person returned all is a part of that, and tells somebody', async () => {
  const { freeze, giveBack, ignoreAll, isFree, mails, says, status } = await openBlocked()
  await says('PAY_BLOCK')
  await giveBack()
  await freeze(PART)
  assert.deepEqual([await status(), mails()], ['returned', 2])
  await ignoreAll()
  await isFree()
})

test('an amount that is named before a person decides leaves a block of all one of all, whatever its provider says next', async () => {
  for (const isFirst of [true, false]) {
    const { freeze, giveBack, ignoreAll, isFree, key, mails, openOf, says, status } = await openBlocked()
    if (isFirst) await freeze(PART)
    await says('PAY_BLOCK')
    await freeze(2n * PART)
    await says('EXPIRED')
    assert.deepEqual([(await blockNow(key.id)).isWhole, mails()], [true, isFirst ? 2 : 1])
    await giveBack()
    assert.equal((await openOf()).length, isFirst ? 2 : 1, 'what is named is decided about one by one')
    await ignoreAll()
    for (const said of ['EXPIRED', 'PAY_BLOCK']) await says(said)
    assert.deepEqual([await status(), mails()], ['returned', isFirst ? 2 : 1])
    await isFree()
  }
})

test('a block that becomes one of all before a person decides tells somebody, and no decision is about less or more than was shown', async () => {
  const { freeze, giveBack, ignoreAll, key, mails, says, status } = await openBlocked()
  const shown: string[] = []
  for (const [act, isWhole] of [
    [() => freeze(PART), false],
    [() => says('PAY_BLOCK'), true],
  ] as const) {
    for (const _ of [1, 2]) await act()
    const block = await blockNow(key.id)
    for (const updatedAt of shown) await assert.rejects(giveBack({ updatedAt }), /has changed. Read it again/)
    shown.push(block.updatedAt.toISOString())
    assert.deepEqual([block.isWhole, block.answers], [isWhole, shown.length])
  }
  await freeze(2n * PART)
  await giveBack({ updatedAt: shown.at(-1) ?? '' })
  await ignoreAll()
  await says('PAY_BLOCK')
  assert.deepEqual([await status(), mails()], ['returned', 2])
})

test('a block of a sum whose amount cannot be read is about that sum, also once it is named', async () => {
  for (const isNamed of [true, false]) {
    const { freeze, giveBack, ignoreAll, isFree, key, openOf, pending, requote, tells } = await openBlocked()
    await freeze(0n)
    if (isNamed) await freeze(20n * PART)
    assert.deepEqual([(await blockNow(key.id)).isWhole, (await openOf()).length], [false, isNamed ? 2 : 1])
    await giveBack()
    await ignoreAll()
    await tells(DUE)
    assert.equal(await pending(), isNamed ? 34n * PART : DUE)
    await assert.rejects(requote(), /has arrived or is on its way/)
    await tells(0n)
    await isFree()
  }
})

test('a migration widens the blocks of all that the last version narrowed, narrows those of a sum it could not read, and no others', async () => {
  const attempts = [await openBlocked(), await openBlocked(), await openBlocked(), await openBlocked()]
  const write = (id: string, isWhole: boolean) =>
    world.host.db.run(sql`update screenings set is_whole = ${isWhole} where subject_id = ${id}`)
  for (const [index, { freeze, giveBack, key, says }] of attempts.entries()) {
    if (index < 2) await says('PAY_BLOCK')
    await freeze(index === 3 ? 0n : PART)
    if (index < 1) await giveBack()
    await write(key.id, index === 3)
  }
  const blocks = () => Promise.all(attempts.map(({ key }) => blockNow(key.id)))
  const before = await blocks()
  const migration = new URL('../migrations/1150_screenings_whole_again.sql', import.meta.url)
  for (const _ of [1, 2]) await world.host.db.run(raw(await readFile(migration, 'utf8')))
  const after = await blocks()
  assert.deepEqual(
    after.map(({ isWhole, updatedAt }, index) => [isWhole, updatedAt > (before[index]?.updatedAt ?? updatedAt)]),
    [
      [false, false],
      [true, true],
      [false, false],
      [false, true],
    ],
  )
})

test('a second part that is frozen after the first was returned tells somebody, once', async () => {
  const { freeze, giveBack, ignoreAll, isFree, mails, openOf, status } = await openBlocked()
  await freeze(PART)
  await giveBack()
  await ignoreAll()
  for (const _ of [1, 2]) await freeze(DUE - PART, '2')
  assert.deepEqual([(await openOf()).length, mails(), await status()], [1, 2, 'returned'])
  await ignoreAll()
  await isFree()
})

test('the mail about a further part names it, and leads to its record, not to the decided screening', async () => {
  const { freeze, giveBack, ignoreAll, lastMail, order } = await openBlocked()
  await freeze(PART)
  assert.match(lastMail()?.path ?? '', /^\/identity/)
  await giveBack()
  await ignoreAll()
  await freeze(2n * PART, '2')
  assert.deepEqual(lastMail(), {
    subject: 'A provider froze 2.000000 USDC more',
    paragraphs: lastMail()?.paragraphs,
    path: `/mispayments?company=${order.companyId}&status=open`,
  })
  assert.match(lastMail()?.paragraphs.join() ?? '', new RegExp(`2.000000 USDC for order \\w+ \\(${order.code}\\)`))
})

test('whatever waits after a person decided about all tells somebody once, rounding does not', async () => {
  const all = 10n ** 12n
  for (const [news, ...sums] of [
    [1, ['BTC', 5n * all * PART], ['BTC', 5n * all * PART], ['USDC', PART], ['BTC', 5n * all * PART]],
    [1, ['unknown', 0n], ['unknown', 0n]],
    [0, ['USDT', all * PART + 1n], ['USDC', PART], ['USDT', all * PART + all - 1n]],
    [1, ['USDT', all * PART + all], ['USDT', all * PART + all + 1n]],
  ] as const) {
    const { freeze, giveBack, ignoreAll, mails, openOf } = await openBlocked()
    await freeze(PART)
    await giveBack()
    await ignoreAll()
    for (const [asset, units] of sums) await freeze(units, '1', asset)
    assert.deepEqual([mails(), (await openOf()).length], [1 + news, news], `${sums[0][0]} ${sums[0][1]}`)
  }
})

test('what a person returned while the payment was being closed stays returned; less than that is decided about again', async () => {
  for (const isAll of [true, false]) {
    const { freeze, giveBack, ignoreAll, is, mails, says, status } = await openBlocked()
    await is('closing')
    await freeze(PART)
    if (isAll) await says('PAY_BLOCK')
    await giveBack()
    await ignoreAll()
    if (!isAll) await says('PAY_BLOCK')
    await is('closed')
    await says('PAY_BLOCK')
    assert.deepEqual([await status(), mails()], [isAll ? 'returned' : 'blocked', 2])
  }
})

test('what a person returned is returned whole where an older node noted the block', async () => {
  const { giveBack, isFree, key, mails, says, status } = await openBlocked()
  await says('PAY_BLOCK')
  await world.host.db.run(sql`update screenings set is_whole = null where subject_id = ${key.id}`)
  await giveBack()
  await says('PAY_BLOCK')
  assert.deepEqual([await status(), mails()], ['returned', 1])
  await isFree()
})

test('what is frozen under any name, coin or amount, at an open or a closing payment, is not on its way any more', async () => {
  const all = 10n ** 12n
  for (const status of ['confirming', 'closing'])
    for (const [name, ...sums] of [
      ['grows under another name', ['USDC', PART, 53n], ['USDT', DUE * all, 0n]],
      ['cannot be read at first', ['unknown', 0n, 54n], ['USDC', DUE, 0n], ['USDC', DUE, 0n]],
      ['is dust at first', ['USDC', 5n, null], ['USDC', DUE, 0n]],
      ['is more than that', ['USDC', DUE + PART, 0n], ['USDT', DUE * all, 0n], ['USDT', 53n * PART * all, 0n]],
      ['gets a coin of unknown value', ['USDC', DUE, 0n], ['BTC', 5n * all, 0n], ['USDT', DUE * all, 0n]],
      ['is named as less', ['USDC', DUE, 0n], ['USDT', 3n * PART * all, 51n], ['USDC', DUE, 0n]],
    ] as const) {
      const { freeze, giveBack, ignoreAll, is, pending, isFree } = await openBlocked()
      await is(status)
      for (const [asset, units, left] of sums) {
        await freeze(units, '1', asset)
        if (left !== null) assert.equal(await pending(), left * PART, `${name}: ${asset} ${units}`)
      }
      await giveBack()
      await ignoreAll()
      await isFree()
    }
})

test('what is frozen does not count as on its way again when its provider tells of it once more', async () => {
  for (const isOver of [false, true]) {
    const { arrives, find, freeze, giveBack, ignoreAll, is, isFree, order, pending } = await openBlocked()
    if (isOver) {
      await world.host.db.run(sql`update orders set status = 'EXPIRED', updated_at = now() where id = ${order.id}`)
      await is('closed')
    }
    for (const _ of [1, 2]) {
      await freeze(DUE)
      await arrives()
      assert.equal(await pending(), 0n)
    }
    await giveBack()
    await ignoreAll()
    for (const _ of [1, 2]) {
      await arrives()
      await freeze(DUE)
    }
    const { pendingUnits, nextCheckAt } = await find()
    assert.deepEqual([pendingUnits, nextCheckAt !== null], [0n, true], 'its provider names it still')
    await isFree()
  }
})

test('what is sent after a person decided about frozen money and nothing was on its way counts whole, and is polled', async () => {
  for (const frozen of [DUE, DUE / 2n]) {
    const { apply, arrives, find, freeze, giveBack, ignoreAll, is, order, pending, reference, requote } =
      await openBlocked()
    await world.host.db.run(sql`update orders set status = 'EXPIRED', updated_at = now() where id = ${order.id}`)
    await is('closed')
    await freeze(frozen)
    await giveBack()
    await ignoreAll()
    await apply(paidReport(reference, { final: 0n, providerStatus: 'EXPIRED' }))
    assert.equal(await pending(), 0n)
    for (const _ of [1, 2]) await arrives()
    const { pendingUnits, nextCheckAt } = await find()
    assert.deepEqual([pendingUnits, nextCheckAt !== null], [DUE, true])
    await assert.rejects(requote(), /has arrived or is on its way/)
    await apply(paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
    assert.equal((await find()).receivedUnits, DUE)
  }
})

test('frozen money takes nothing off an amount that it is no part of, under whatever name', async () => {
  const { apply, arrives, find, freeze, key, pending, reference } = await openBlocked()
  const tells = (units: bigint) => apply(paidReport(reference, { final: 0n, pending: units, providerStatus: 'more' }))
  const all = 10n ** 12n
  await freeze(DUE)
  for (const [told, left] of [
    [DUE + 5n * PART, 5n * PART],
    [20n * PART, 5n * PART],
    [DUE, DUE - 15n * PART],
    [DUE - 15n * PART, DUE - 15n * PART],
    [DUE, DUE],
  ] as const) {
    await tells(told)
    assert.equal(await pending(), left, `${told}: what is less was frozen, what is more came beside it`)
  }
  await tells(0n)
  await freeze(3n * PART * all, '1', 'USDT')
  await arrives()
  await freeze(DUE, '1', 'USDC')
  assert.equal(await pending(), DUE, 'a renamed sum is the same money')
  await freeze(PART, '2')
  assert.deepEqual([await pending(), (await find()).toldUnits], [DUE - PART, DUE])
  await tells(0n)
  await freeze(2n * PART, '2')
  await arrives()
  assert.equal(await pending(), DUE, 'it was frozen while nothing was on its way')
  // a row before the column: what was told then contains all that was frozen
  await world.host.db.run(sql`update payments set frozen_gone_units = null where id = ${key.id}`)
  assert.equal(await pending(), 0n)
  for (const units of [0n, PART]) await tells(units)
  assert.equal(await pending(), PART)
})

test('what is frozen is not on its way either when an order still waits for another part', async () => {
  const { arrives, freeze, is, pending, find, giveBack, ignoreAll, requote } = await openBlocked()
  await is('confirming')
  await freeze(PART)
  await arrives()
  assert.deepEqual([await pending(), (await find()).toldUnits], [DUE - PART, DUE])
  await giveBack()
  await ignoreAll()
  await assert.rejects(requote(), /has arrived or is on its way/)
})

test('frozen money that is named as less after nothing was on its way brings nothing on its way', async () => {
  const { freeze, giveBack, ignoreAll, isFree, pending, says } = await openBlocked()
  await freeze(DUE)
  await says('EXPIRED')
  await freeze(3n * PART * 10n ** 12n, '1', 'USDT')
  assert.equal(await pending(), 0n)
  await giveBack()
  await ignoreAll()
  await isFree()
})

test('a frozen amount that cannot be right is one that cannot be read', async () => {
  const { freeze, openOf, pending, status } = await openBlocked()
  for (const name of ['1', '2', '3']) await freeze(10n ** 38n, name)
  assert.deepEqual([await status(), await pending()], ['blocked', DUE])
  assert.deepEqual(
    await openOf(),
    [1, 2, 3].map((name) => `wrong_token 0 USDC open gatepay:frozen:${name}`),
  )
})

test('what an older node noted as on its way has lost already what was frozen then', async () => {
  const { freeze, giveBack, ignoreAll, isFree, key, pending, arrives } = await openBlocked()
  const byOlder = (units: bigint) =>
    world.host.db.run(sql`update payments set pending_units = ${String(units)} where id = ${key.id}`)
  await freeze(20n * PART)
  await byOlder(DUE - 20n * PART)
  assert.equal(await pending(), DUE - 20n * PART)
  await freeze(DUE - 20n * PART, '2')
  assert.equal(await pending(), 0n)
  await byOlder(-PART)
  assert.equal(await pending(), 0n)
  await freeze(5n * PART, '3')
  assert.equal(await pending(), 0n)
  await byOlder(7n * PART)
  await arrives()
  assert.equal(await pending(), 0n)
  await giveBack()
  await ignoreAll()
  await isFree()
})
