import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { paidReport } from '../src/channels/channel.ts'
import { raw, sql } from '../src/db/db.ts'
import { DAY, MINUTE } from '../src/kernel/clock.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { findBlock, gateTells, openBlockedIn, PART } from './harness/attempts.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { randomBelow } from './harness/random.ts'

/* What a provider tells to be on its way, while it blocks some of that and a person decides. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld({ async closePayment() {} })
})
after(() => world?.stop())

/** It may run again: nothing changes then. */
async function migrate(): Promise<void> {
  const migration = new URL('../migrations/1151_payments_returned.sql', import.meta.url)
  for (const _ of [1, 2]) await world.host.db.run(raw(await readFile(migration, 'utf8')))
}

const DOLLAR = { USDC: PART, USDT: 10n ** 12n * PART }

test('money that is frozen before its provider first names it is no money on its way when it does', async () => {
  const { find, freeze, giveBack, ignoreAll, isFree, pending, says, tells } = await openBlockedIn(world, false)
  await freeze(DUE)
  await says('EXPIRED')
  assert.equal(await pending(), 0n)
  for (const _ of [1, 2]) await tells(DUE)
  assert.deepEqual([await pending(), (await find()).toldUnits], [0n, DUE])
  await tells(DUE + PART)
  assert.equal(await pending(), PART, 'what is more is new')
  await tells(DUE)
  await giveBack()
  await ignoreAll()
  await tells(0n)
  await isFree()
})

test('where its provider never told an amount, what it tells after a person returned the block is on its way, blocked whole or not', async () => {
  for (const blocks of [['named'], ['whole'], ['named', 'whole']]) {
    const { freeze, giveBack, ignoreAll, isFree, pending, requote, says, tells } = await openBlockedIn(world, false)
    for (const what of blocks) await (what === 'named' ? freeze(DUE) : says('PAY_BLOCK'))
    await says('EXPIRED')
    await giveBack()
    await ignoreAll()
    for (const said of ['EXPIRED', 'PAY_BLOCK', 'EXPIRED'].slice(0, blocks.includes('whole') ? 3 : 1)) await says(said)
    for (const _ of [1, 2]) await tells(DUE)
    assert.equal(await pending(), DUE, blocks.join())
    await assert.rejects(requote(), /has arrived or is on its way/)
    await tells(0n)
    await isFree()
  }
})

test('what comes after a person looked at a block of all is no part of what he returns, and tells somebody, once', async () => {
  for (const first of [0n, DUE / 2n]) {
    const { giveBack, isFree, key, lastMail, mails, pending, requote, says, status, tells } = await openBlockedIn(
      world,
      false,
    )
    await tells(first)
    for (const said of ['PAY_BLOCK', ...(first === 0n ? ['EXPIRED'] : [])]) await says(said)
    const shown = (await findBlock(world, key.id)).updatedAt.toISOString()
    for (const [units, told] of [
      [DUE - PART, 53],
      [DUE, 53],
      [DUE, 54],
      [DUE, 54],
    ] as const) {
      await tells(units)
      // one mail in a quarter of an hour
      assert.match(
        lastMail()?.paragraphs[1] ?? '',
        new RegExp(`^binance: PAY_BLOCK, PROCESS, ${told}\\.0{6} USDC on its way\\.$`),
      )
      if (told === 53 && units === DUE) world.clock.nowMs += 15 * MINUTE
    }
    assert.equal(mails(), 3)
    await assert.rejects(giveBack({ updatedAt: shown }), /has changed. Read it again/)
    assert.deepEqual([await pending(), await status()], [DUE, 'blocked'])
    await assert.rejects(requote(), /has arrived or is on its way/)
    await tells(DUE - PART)
    await giveBack({ updatedAt: (await findBlock(world, key.id)).updatedAt.toISOString() })
    await says('PAY_BLOCK')
    assert.deepEqual([await pending(), await status(), mails()], [0n, 'returned', 3], 'what is less changes nothing')
    await isFree()
  }
})

const gate = (word: string, providerReference: string, ...coins: string[]) =>
  gateTells(word, providerReference, '0', ...coins)

test('an order whose price Gate processes waits, also after Gate called it expired, until a person decides', async () => {
  for (const isDecided of [false, true]) {
    const { apply, context, find, ignoreAll, openOf, order, reference } = await openBlockedIn(world, false)
    const say = async (word: string) => (await apply(gateTells(word, reference, '54')))?.status
    await apply(gate('PROCESS', reference, '54'))
    assert.equal(await say('EXPIRED'), 'AWAITING')
    assert.equal((await openOf()).length, 1)
    for (const _ of [1, 2]) assert.equal(await say('PAY_EXPIRED_IN_PROCESS'), 'WAITING_CHAIN_CONFIRMATION')
    const { nextCheckAt, pendingUnits } = await find()
    assert.equal(pendingUnits, 0n, 'the record holds it already')
    assert.ok(nextCheckAt && nextCheckAt.getTime() - world.clock.nowMs < 5 * MINUTE, 'it is asked about soon')
    await assert.rejects(
      acceptOrder(world.payments, { context, code: order.code, body: { paymentChannel: 'binance' } }),
      { code: 'ORDER_STATE_CONFLICT' },
    )
    if (isDecided) {
      await ignoreAll()
      assert.equal(await say('PAY_EXPIRED_IN_PROCESS'), 'AWAITING')
    } else assert.equal(await say('PAID'), 'PAID')
    assert.deepEqual(await openOf(), [])
  }
})

test('a word of Gate without an amount is about all of the price that it told before or tells next', async () => {
  const { apply, find, giveBack, isFree, mails, pending, reference, says, status } = await openBlockedIn(world, false)
  const say = (word: string, ...coins: string[]) => apply(gate(word, reference, ...coins))
  await say('PROCESS')
  await says('PAY_BLOCK')
  await giveBack()
  for (const [word, ...coins] of [['PROCESS'], ['EXPIRED', '54'], ['PAY_EXPIRED_IN_PROCESS'], ['EXPIRED', '30']]) {
    await say(word ?? '', ...coins)
    assert.equal(await pending(), 0n, word)
  }
  assert.equal((await find()).toldUnits, 30n * PART)
  await says('PAY_BLOCK')
  assert.deepEqual([await status(), mails()], ['returned', 1])
  await isFree()
})

test('a word of Gate without an amount adds the rest of the price to a part that it told before', async () => {
  for (const [part, rest, doubtful] of [
    ['0.02', 53_980_000n, 20_000n],
    ['30', 24n * PART, 24n * PART],
  ] as const) {
    const attempt = await openBlockedIn(world, false)
    const { apply, giveBack, isFree, mails, pending, reference, requote, says, status } = attempt
    const say = (word: string, ...coins: string[]) => apply(gate(word, reference, ...coins))
    await say('PENDING', part)
    await says('PAY_BLOCK')
    await giveBack()
    for (const _ of [1, 2]) {
      await say('PAY_EXPIRED_IN_PROCESS')
      assert.equal(await pending(), rest)
    }
    await assert.rejects(requote(), /has arrived or is on its way/)
    await say('EXPIRED', part)
    assert.equal(await pending(), doubtful, 'in doubt, what the part lacks of the price was returned')
    await says('PAY_BLOCK')
    assert.deepEqual([await status(), mails()], ['blocked', 2])
    await giveBack()
    assert.equal(await pending(), 0n)
    await isFree()
  }
  const { apply, find, giveBack, key, reference, says } = await openBlockedIn(world, false)
  await apply(gate('PENDING', reference, '30'))
  await says('PAY_BLOCK')
  const updatedAt = (await findBlock(world, key.id)).updatedAt.toISOString()
  await apply(gate('PROCESS', reference))
  await assert.rejects(giveBack({ updatedAt }), /has changed. Read it again/)
  assert.equal((await find()).toldUnits, DUE)
})

test('a block of all in whatever word repeats what a person returned, unless more was told after that', async () => {
  const words = ['PAY_BLOCK', 'TRANSFERRED_ADDRESS_BLOCK'] as const
  for (const ends of ['EXPIRED', 'PAID']) {
    const { apply, giveBack, isFree, key, mails, pending, reference, requote, says, status } =
      await openBlockedIn(world)
    await says('PAY_BLOCK')
    if (ends === 'PAID') await apply(gateTells('PAID', reference, '54'))
    await giveBack()
    for (const _ of [1, 2]) if (ends === 'EXPIRED') await says(ends)
    world.clock.nowMs += 60 * MINUTE
    const { answers } = await findBlock(world, key.id)
    for (const word of [...words, ...words]) await says(word)
    assert.deepEqual([await status(), mails()], ['returned', 1], 'it repeats what was returned')
    assert.equal((await findBlock(world, key.id)).answers, answers)
    if (ends === 'PAID') continue
    // a second transfer, which the query calls expired before the callback says that it is blocked
    await apply(gate('PROCESS', reference, '20'))
    await says('EXPIRED')
    assert.equal(await pending(), 0n)
    for (const word of words) await says(word)
    assert.deepEqual([await status(), mails()], ['blocked', 2])
    await assert.rejects(requote(), /has arrived or is on its way/)
    await giveBack()
    for (const word of [...words, 'EXPIRED', ...words]) await says(word)
    assert.deepEqual([await status(), mails()], ['returned', 2])
    await isFree()
  }
})

test('a late word about a block that was returned stops no fresh attempt', async () => {
  const { arrives, find, giveBack, mails, order, requote, says, status } = await openBlockedIn(world, false)
  await arrives()
  await says('PAY_BLOCK')
  await giveBack()
  await says('EXPIRED')
  await requote()
  assert.equal((await says('TRANSFERRED_ADDRESS_BLOCK'))?.status, 'AWAITING')
  assert.deepEqual([await status(), mails()], ['returned', 1])
  const { companyId } = await find()
  const fresh = await world.host.db.one<{ id: string; reference: string }>(sql`
    select id, provider_reference as reference from payments where order_id = ${order.id} order by number desc limit 1`)
  const paid = paidReport(fresh.reference, { final: 2n * DUE, providerStatus: 'PAID' })
  assert.equal((await applyReport(world.payments, { companyId, id: fresh.id }, paid))?.status, 'PAID')
})

test('more on its way beside amounts that are named, or beside what was returned, changes no decision', async () => {
  for (const isReturned of [true, false]) {
    const { freeze, giveBack, key, mails, says, tells } = await openBlockedIn(world)
    await (isReturned ? says('PAY_BLOCK') : freeze(PART))
    if (isReturned) await giveBack()
    const { updatedAt } = await findBlock(world, key.id)
    await tells(2n * DUE)
    assert.deepEqual([(await findBlock(world, key.id)).updatedAt, mails()], [updatedAt, 1])
  }
})

test('of a row of an older version that had taken off all that was told, the same amount is the same money', async () => {
  for (const between of [[], ['unknown'], ['blocked', 'frozen'], ['gone']]) {
    const { apply, freeze, key, pending, reference, tells } = await openBlockedIn(world)
    await freeze(DUE)
    await world.host.db.run(sql`
      update payments set pending_units = 0, told_units = null, frozen_gone_units = null where id = ${key.id}`)
    for (const what of between)
      if (what === 'frozen') await freeze(DUE)
      else if (what === 'gone') await tells(0n)
      else
        await apply({
          outcome: what === 'blocked' ? 'blocked' : 'unknown',
          providerReference: reference,
          providerStatus: what,
        })
    assert.equal(await pending(), 0n)
    await tells(DUE)
    assert.equal(await pending(), between[0] === 'gone' ? DUE : 0n, between.join())
  }
})

test('an amount that cannot be right, as an older version recorded it, stops no report', async () => {
  const { freeze, key, pending, tells } = await openBlockedIn(world)
  for (const name of ['1', '2', '3', '4']) await freeze(PART, name)
  await world.host.db.run(sql`update mispayments set units = ${String(10n ** 38n - 1n)} where payment_id = ${key.id}`)
  for (const units of [0n, PART]) await tells(units)
  assert.equal(await pending(), PART)
})

test('what is sent after a person returned a block of all counts whole, and a block of that is decided about again', async () => {
  for (const between of [['EXPIRED'], ['EXPIRED', 'PAY_BLOCK'], []]) {
    const { find, giveBack, isFree, mails, pending, requote, says, status, tells } = await openBlockedIn(world)
    await says('PAY_BLOCK')
    await giveBack()
    for (const said of between) await says(said)
    assert.deepEqual([await pending(), await status(), mails()], [0n, 'returned', 1])
    const [units, left] = between.length > 0 ? [DUE, DUE] : [DUE + PART, PART]
    for (const _ of [1, 2]) await tells(units)
    assert.deepEqual([await pending(), (await find()).nextCheckAt !== null], [left, true])
    await assert.rejects(requote(), /has arrived or is on its way/)
    for (const _ of [1, 2]) await says('PAY_BLOCK')
    assert.deepEqual([await status(), mails()], ['blocked', 2])
    await giveBack()
    await says('PAY_BLOCK')
    assert.deepEqual([await pending(), await status(), mails()], [0n, 'returned', 2])
    await isFree()
  }
})

test('what is told only after a person returned a block of all is on its way until it is blocked and returned, too', async () => {
  const { giveBack, isFree, pending, says, status, tells } = await openBlockedIn(world, false)
  for (const said of ['PAY_BLOCK', 'EXPIRED']) await says(said)
  await giveBack()
  await tells(DUE)
  assert.equal(await pending(), DUE)
  await says('PAY_BLOCK')
  assert.equal(await status(), 'blocked')
  await giveBack()
  await isFree()
})

test('an amount that is frozen of other money, after a person returned a block of all, is taken off that', async () => {
  const { freeze, giveBack, ignoreAll, isFree, mails, pending, says, status, tells } = await openBlockedIn(world)
  await freeze(PART)
  await says('PAY_BLOCK')
  await giveBack()
  await ignoreAll()
  await says('EXPIRED')
  await tells(DUE)
  await freeze(DUE - PART, '2')
  assert.deepEqual([await pending(), await status(), mails()], [PART, 'returned', 3])
  await ignoreAll()
  await tells(0n)
  await isFree()
})

test('what is frozen or returned and decided is asked about while its provider tells it, with growing gaps, until it is gone', async () => {
  for (const isWhole of [true, false])
    for (const isBlockedAgain of [true, false]) {
      const { db } = world.host
      const { find, freeze, giveBack, ignoreAll, is, key, pending, requote, says, tells } = await openBlockedIn(world)
      await is('closed')
      const repeat = () => (isWhole ? says('PAY_BLOCK') : freeze(DUE))
      await repeat()
      await giveBack()
      await ignoreAll()
      for (const [checks, ageMs, gapMs] of [
        [0, 0, 5 * MINUTE],
        [20, DAY, DAY],
        [20, 31 * DAY, null],
      ] as const) {
        const openedAt = new Date(world.clock.nowMs - ageMs)
        await db.run(sql`
          update payments set checks = ${checks}, next_check_at = ${openedAt}, opened_at = ${openedAt}, abandoned_at = null
          where id = ${key.id}`)
        await (isBlockedAgain ? repeat() : tells(DUE))
        const { nextCheckAt } = await find()
        assert.equal(nextCheckAt && nextCheckAt.getTime() - world.clock.nowMs, gapMs, `${isWhole} ${isBlockedAgain}`)
      }
      await db.run(sql`update payments set opened_at = ${new Date(world.clock.nowMs)} where id = ${key.id}`)
      await tells(0n)
      assert.equal((await find()).nextCheckAt, null)
      await tells(DUE)
      assert.equal(await pending(), DUE, 'a later transfer')
      await assert.rejects(requote(), /has arrived or is on its way/)
    }
})

test('a migration takes what is told at a block of all that was returned before for what was returned', async () => {
  for (const [isOlder, isPart] of [
    [false, false],
    [true, false],
    [false, true],
  ] as const) {
    const { find, freeze, giveBack, key, pending, says, tells } = await openBlockedIn(world)
    const { db } = world.host
    await freeze(5n * PART)
    if (!isPart) await says('PAY_BLOCK')
    await giveBack()
    await db.run(sql`update payments set frozen_gone_units = null, next_check_at = null where id = ${key.id}`)
    if (isOlder)
      await db.run(
        sql`update payments set pending_units = pending_units - ${5n * PART}, told_units = null where id = ${key.id}`,
      )
    assert.equal(await pending(), DUE - 5n * PART)
    await migrate()
    assert.equal(await pending(), isPart ? DUE - 5n * PART : 0n)
    const inMs = ((await find()).nextCheckAt?.getTime() ?? 0) - Date.now()
    assert.ok(inMs > 5 * 60 * MINUTE && inMs < DAY, 'asked about, but not by a node that would stop again')
    await tells(DUE + PART)
    assert.equal(await pending(), isPart ? DUE - 4n * PART : PART)
    for (const units of [0n, DUE]) await tells(units)
    assert.equal(await pending(), DUE)
  }
})

test('a migration notes that nothing was told where a person returned a block before any amount, and nowhere else', async () => {
  const { db } = world.host
  const attempts = [await openBlockedIn(world, false), await openBlockedIn(world, false)]
  for (const [index, { freeze, giveBack, ignoreAll, key, says }] of attempts.entries()) {
    await freeze(DUE)
    await says('EXPIRED')
    if (index > 0) continue
    await giveBack()
    await ignoreAll()
    // a node of the last version notes nothing
    await db.run(sql`update payments set pending_at = null where id = ${key.id}`)
  }
  await migrate()
  for (const [index, { pending, tells }] of attempts.entries()) {
    await tells(DUE)
    assert.equal(await pending(), index > 0 ? 0n : DUE)
  }
})

test('random: what is on its way is what was told less what is frozen of it, or was returned as a person saw it, under whatever coin', async () => {
  const random = randomBelow(5)
  for (let walk = 0; walk < 12; walk += 1) {
    const { apply, freeze, giveBack, key, pending, reference, says, tells } = await openBlockedIn(world)
    const sums: { units: bigint; asset: 'USDC' | 'USDT' }[] = []
    let [clean, frozen] = [54n, 0n]
    /** What a person reads of a block of all, and whether more came since. */
    let shown: { updatedAt: string; rose: boolean } | undefined
    const log: string[] = []
    /** What was on its way or frozen at one time, since the block was told or returned. */
    let most = 0n
    let isReturned = false
    const recorded = () => sums.reduce((sum, { units }) => sum + units, 0n)
    const known = () => clean + recorded()
    const add = (units: bigint) => {
      clean += units
      if (shown && known() > most) shown.rose = true
      if (known() > most) most = known()
    }
    const put = (index: number) => {
      const { units, asset } = sums[index] ?? { units: 0n, asset: 'USDC' }
      return freeze(units * DOLLAR[asset], String(index), asset)
    }
    const tell = () => tells((clean + frozen) * PART)
    const acts = {
      arrive: () => {
        add(BigInt(1 + random(30)))
        return tell()
      },
      freeze: () => {
        const units = (clean * BigInt(1 + random(9))) / 9n
        if (units === 0n) return tell()
        clean -= units
        frozen += units
        sums.push({ units, asset: random(2) === 0 ? 'USDC' : 'USDT' })
        return put(sums.length - 1)
      },
      leave: () => {
        frozen = 0n
        return tell()
      },
      end: () => {
        clean = frozen = 0n
        return tell()
      },
      rename: () => {
        const index = random(Math.max(sums.length, 1))
        const sum = sums[index]
        if (!sum) return tell()
        sum.asset = sum.asset === 'USDC' ? 'USDT' : 'USDC'
        return put(index)
      },
      guess: () => {
        if (clean + frozen < 54n) add(54n - clean - frozen)
        return apply({
          ...paidReport(reference, { final: 0n, pending: DUE, providerStatus: 'PROCESS' }),
          isEstimate: true,
        })
      },
      look: async () => {
        await says('PAY_BLOCK')
        const { status: now, updatedAt } = await findBlock(world, key.id)
        if (isReturned) assert.equal(now, most > recorded() ? 'blocked' : 'returned', log.join(', '))
        if (now === 'blocked' && !shown) most = known()
        isReturned = now === 'returned'
        shown = now === 'blocked' ? { updatedAt: updatedAt.toISOString(), rose: false } : undefined
      },
      giveBack: async () => {
        if (!shown) await acts.look()
        if (!shown) return
        const { updatedAt, rose } = shown
        shown = undefined
        if (rose) return assert.rejects(giveBack({ updatedAt }), /has changed/)
        await giveBack({ updatedAt })
        isReturned = true
        frozen += clean
        clean = 0n
        most = known()
      },
      tell,
    }
    const names = Object.keys(acts) as (keyof typeof acts)[]
    for (let step = 0; step < 10; step += 1) {
      const name = names[random(names.length)] ?? 'tell'
      await acts[name]()
      log.push(`${name} ${clean} ${frozen}`)
      assert.equal(await pending(), clean * PART, log.join(', '))
    }
  }
})
