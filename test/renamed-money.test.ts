import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { raw } from '../src/db/sql.ts'
import { ignoreMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { openRenamedIn } from './harness/attempts.ts'
import { type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* A sum beside a payment whose coin its provider renames, before and after a person decided about some of it. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld({ async closePayment() {} })
})
after(() => world?.stop())

/** One dollar in each coin. */
const M = 10n ** 6n
const USDT = 10n ** 18n
const openRenamed = () => openRenamedIn(world)

test('what has arrived under one reference grows in one coin, and waits for a person in the one that was named last', async () => {
  const { tell, recordsOf } = await openRenamed()
  await tell(['BTC', 5n], ['USDC', 3n * M], ['USDC', 4n * M], ['BTC', 5n])
  assert.deepEqual(await recordsOf(), [
    'wrong_token 5 BTC open p',
    'wrong_token 3000000 USDC resolved p.1',
    'wrong_token 1000000 USDC resolved p.2',
  ])
  await tell(['BTC', 9n], ['BTC', 12n])
  assert.deepEqual((await recordsOf()).slice(3), ['wrong_token 4 BTC open p.3', 'wrong_token 3 BTC open p.4'])
  await tell(['USDC', 4n * M], ['BTC', 12n], ['USDC', 6n * M])
  assert.deepEqual(await recordsOf(), [
    'wrong_token 12 BTC resolved p',
    'wrong_token 6000000 USDC open p.1',
    'wrong_token 1000000 USDC resolved p.2',
    'wrong_token 4 BTC resolved p.3',
    'wrong_token 3 BTC resolved p.4',
  ])
})

test('a sum that gets its earlier coin back waits for a person without the part that was decided about', async () => {
  const { tell, recordsOf, ignoreFirst } = await openRenamed()
  await tell(['BTC', 5n])
  await ignoreFirst()
  await tell(['BTC', 9n], ['USDC', 3n * M], ['BTC', 9n])
  assert.deepEqual(await recordsOf(), [
    'wrong_token 5 BTC ignored p',
    'wrong_token 4 BTC open p.1',
    'wrong_token 3000000 USDC resolved p.2',
  ])
})

/** What a provider says, one after the other, until a person decides about the first record that waits. */
type Steps = readonly (readonly [string, bigint] | 'ignore')[]
const DOLLARS: readonly { name: string; steps: Steps; open: string[] }[] = [
  {
    name: 'of a sum that grew under its second name, the decided part waits in neither',
    steps: [['USDC', 100n * M], ['USDT', 100n * USDT], ['USDT', 200n * USDT], 'ignore', ['USDC', 200n * M]],
    open: [`${100n * USDT} USDT p.2`],
  },
  {
    name: 'the part stays decided, however much more comes under the first name',
    steps: [['USDC', 50n * M], ['USDT', 50n * USDT], ['USDT', 55n * USDT], 'ignore', ['USDC', 1055n * M]],
    open: [`${5n * USDT} USDT p.2`, `${1000n * M} USDC p.3`],
  },
  {
    name: 'the part stays decided with each further name',
    steps: [
      ...[['USDC', 50n * M] as const, ['USDT', 50n * USDT] as const, ['USDT', 100n * USDT] as const, 'ignore' as const],
      ...[['USDC', 100n * M] as const, ['USDT', 110n * USDT] as const, ['USDC', 120n * M] as const],
    ],
    open: [`${50n * USDT} USDT p.2`, `${20n * M} USDC p.4`],
  },
  {
    name: 'a decision about a little in the second coin is none about the rest of the first one',
    steps: [['USDC', 50n * M], ['USDT', 3n * USDT], 'ignore', ['USDC', 50n * M]],
    open: [`${47n * M} USDC p.2`],
  },
  {
    name: 'nor does it matter which coin was named before',
    steps: [['USDT', 3n * USDT], 'ignore', ['USDC', 50n * M], ['USDC', 50n * M]],
    open: [`${47n * M} USDC p.1`],
  },
  {
    name: 'what was decided about in a second coin does not wait again when the first coin comes back',
    steps: [['USDC', 5n * M], 'ignore', ['USDT', 59n * USDT], 'ignore', ['USDC', 59n * M], ['USDT', 59n * USDT]],
    open: [],
  },
  {
    name: 'a decided sum keeps its whole value in a coin that names less of it first',
    steps: [['USDC', 100n * M], 'ignore', ['USDT', 40n * USDT], ['USDT', 120n * USDT]],
    open: [`${20n * USDT} USDT p.1`],
  },
  {
    name: 'what comes after the decision waits in the coin that was named last, once',
    steps: [['USDC', 5n * M], 'ignore', ['USDT', 8n * USDT], ['USDC', 9n * M], ['USDT', 9n * USDT], ['USDC', 9n * M]],
    open: [`${4n * M} USDC p.2`],
  },
  {
    name: 'what waited at a decision keeps its coin until it is decided about too',
    steps: [['USDC', 50n * M], ['USDC', 54n * M], 'ignore', ['USDT', 40n * USDT], ['USDT', 60n * USDT]],
    open: [`${4n * M} USDC p.1`, `${6n * USDT} USDT p.2`],
  },
]
for (const { name, steps, open } of DOLLARS)
  test(`of two dollar coins: ${name}`, async () => {
    const { tell, ignoreFirst, openOf } = await openRenamed()
    for (const step of steps) await (step === 'ignore' ? ignoreFirst() : tell(step))
    assert.deepEqual(
      await openOf(),
      open.map((one) => `wrong_token ${one.replace(' p', ' open p')}`),
    )
  })

test('what is decided about, all that came, is never more than what came', async () => {
  const { tell, ignoreFirst, recordsOf } = await openRenamed()
  await tell(['USDC', 100n * M], ['USDT', 100n * USDT], ['USDT', 200n * USDT])
  await ignoreFirst()
  await tell(['USDC', 200n * M])
  await ignoreFirst()
  await tell(['USDT', 400n * USDT])
  await ignoreFirst()
  await tell(['USDC', 400n * M])
  assert.deepEqual(await recordsOf(), [
    `wrong_token ${100n * M} USDC resolved p`,
    `wrong_token ${100n * USDT} USDT ignored p.1`,
    `wrong_token ${100n * USDT} USDT ignored p.2`,
    `wrong_token ${200n * USDT} USDT ignored p.3`,
  ])
})

test('what came after the decision takes nothing of what was decided about into a third coin', async () => {
  const { tell, ignoreFirst, openOf } = await openRenamed()
  await tell(['BTC', 2000n], ['USDC', 5n * M])
  await ignoreFirst()
  await tell(['USDT', 59n * USDT], ['BTC', 3000n])
  assert.deepEqual(await openOf(), ['wrong_token 1000 BTC open p.3'])
})

test('in a coin of unknown value, all that was told before the decision is decided about or waits in its own coin', async () => {
  const { tell, ignoreFirst, openOf } = await openRenamed()
  await tell(['BTC', 0n], ['BTC', 50n], ['USDC', 30n * M], ['USDC', 50n * M])
  await ignoreFirst()
  await tell(['BTC', 50n], ['BTC', 60n])
  const rest = `wrong_token ${20n * M} USDC open p.3`
  assert.deepEqual(await openOf(), [rest, 'wrong_token 10 BTC open p.4'])
  await tell(['USDC', 60n * M])
  assert.deepEqual(await openOf(), [rest, `wrong_token ${10n * M} USDC open p.5`])
  await tell(['BTC', 60n], ['BTC', 60n])
  assert.deepEqual(await openOf(), [rest, 'wrong_token 10 BTC open p.4'])
})

test('a sum that was decided about in a coin of unknown value waits whole in another one, and once', async () => {
  for (const units of [0n, 5n]) {
    const { tell, recordsOf, ignoreFirst, openOf } = await openRenamed()
    await tell(['BTC', units])
    await ignoreFirst()
    await tell(['USDT', 6n * USDT], ['USDT', 6n * USDT])
    const records = [`wrong_token ${units} BTC ignored p`, 'wrong_token 6000000000000000000 USDT open p.1']
    assert.deepEqual(await recordsOf(), records)
    await ignoreFirst()
    await tell(['USDC', 6n * M], ['USDT', 6n * USDT], ['USDC', 7n * M])
    assert.deepEqual(await openOf(), ['wrong_token 1000000 USDC open p.2'])
  }
})

test('a record that came back with more than a person saw is not ignored', async () => {
  const { context, key, tell, openOf } = await openRenamed()
  await tell(['USDC', 100n * M])
  const { id } = await world.host.db.one<{ id: string }>(sql`select id from mispayments where payment_id = ${key.id}`)
  const ignore = (units: bigint) =>
    ignoreMispayment(world.mispayments, context, id, { reason: 'sent back', units: String(units) })
  await tell(['USDT', 100n * USDT], ['USDC', 200n * M])
  await assert.rejects(ignore(100n * M), /has changed. Read the record again/)
  assert.deepEqual(await openOf(), [`wrong_token ${200n * M} USDC open p`])
  await ignore(200n * M)
  await tell(['USDC', 200n * M])
  assert.deepEqual(await openOf(), [])
})

test('the order of reports and decisions does not depend on a clock that is behind, or stands still', async () => {
  for (const [decides, tells] of [
    [-5000, 0],
    [0, -5000],
    [-1000, -1000],
  ] as const) {
    const { tell, ignoreFirst, openOf } = await openRenamed()
    await tell(['USDC', 50n * M], ['BTC', 5n])
    world.clock.nowMs += decides
    await ignoreFirst()
    world.clock.nowMs += tells - decides
    await tell(['USDC', 50n * M])
    assert.deepEqual(await openOf(), [], `${decides}`)
    await tell(['USDC', 54n * M], ['USDT', 55n * USDT])
    assert.deepEqual(await openOf(), [`wrong_token ${5n * USDT} USDT open p.3`], `${tells}`)
    world.clock.nowMs -= tells
  }
})

test('records that an older version renamed stand for nothing where the sum has another dollar coin', async () => {
  const { key, tell, ignoreFirst, openOf } = await openRenamed()
  await tell(['USDC', 50n * M], ['USDT', 3n * USDT])
  await world.host.db.run(sql`update mispayments set renamed_to = null where payment_id = ${key.id}`)
  await ignoreFirst()
  await tell(['USDC', 50n * M])
  assert.deepEqual(await openOf(), [`wrong_token ${47n * M} USDC open p.2`])
})

test('a coin that its provider reports beside one that was decided about waits for a person', async () => {
  const { apply, reference, recordsOf, ignoreFirst } = await openRenamed()
  const say = (...coins: string[]) =>
    apply({
      ...{ outcome: 'waiting', providerReference: reference, providerStatus: 'PENDING' },
      unmatched: coins.map((asset) => ({
        asset,
        units: 5n * (asset === 'USDC' ? M : USDT),
        reference: 'p',
        isOneSum: true as const,
      })),
    })
  await say('USDC')
  await ignoreFirst()
  await say('USDC', 'USDT')
  assert.deepEqual(await recordsOf(), [
    `wrong_token ${5n * M} USDC ignored p`,
    `wrong_token ${5n * USDT} USDT open p.1`,
  ])
})

/** As an older node left them: which coin a record was renamed to, it did not note. */
const forgetNames = ({ key }: { key: { id: string } }) =>
  world.host.db.run(sql`update mispayments set renamed_to = null where payment_id = ${key.id}`)

test('what an older node renamed to a coin of another value counts for its own, however often that is told', async () => {
  for (const [first, second, rest] of [
    [['BTC', 50n], ['BTC', 60n], '10 BTC'],
    [['USDC', 50n * M], ['USDT', 60n * USDT], `${10n * USDT} USDT`],
  ] as const)
    for (const isLate of [false, true]) {
      const sum = await openRenamed()
      await sum.tell(first, ['ETH', 30n])
      await sum.ignoreFirst()
      if (isLate) await sum.tell(second)
      await forgetNames(sum)
      for (const _ of [1, 2, 3]) {
        await sum.tell(second)
        assert.deepEqual(await sum.openOf(), [`wrong_token ${rest} open p.2`])
      }
      await sum.ignoreFirst()
      await sum.tell(second)
      assert.deepEqual(await sum.openOf(), [])
    }
})

test('of a coin that an older node gave back, the first record has taken in the others', async () => {
  const sum = await openRenamed()
  await sum.tell(['BTC', 5n], ['BTC', 8n], ['USDC', 3n * M])
  await forgetNames(sum)
  // what that node made of it: all of the coin waits in its first record
  const back = new Date(world.clock.nowMs + 1000)
  await world.host.db.run(sql`
    update mispayments set status = 'open', units = 8, is_renamed = false, updated_at = ${back}
    where payment_id = ${sum.key.id} and source_reference = 'p'`)
  await world.host.db.run(sql`
    update mispayments set status = 'resolved', is_renamed = true, updated_at = ${back}
    where payment_id = ${sum.key.id} and asset = 'USDC'`)
  world.clock.nowMs += 1000
  await sum.ignoreFirst()
  for (const _ of [1, 2]) {
    await sum.tell(['BTC', 11n])
    assert.deepEqual(await sum.openOf(), ['wrong_token 3 BTC open p.3'])
  }
})

test('a migration notes the coins that older versions did not note', async () => {
  const sum = await openRenamed()
  await sum.tell(['BTC', 50n], ['USDC', 30n * M], ['USDT', 40n * USDT])
  const names = () =>
    world.host.db.many<{ asset: string; to: string | null }>(
      sql`select asset, renamed_to as to from mispayments where payment_id = ${sum.key.id} order by id`,
    )
  const before = await names()
  await forgetNames(sum)
  const migration = new URL('../migrations/1101_mispayments_renamed_when.sql', import.meta.url)
  await world.host.db.run(raw(await readFile(migration, 'utf8')))
  assert.deepEqual(await names(), before)
})
