import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { TRANSITIONS, type Trigger } from '../src/orders/order-states.ts'
import { ALL_CONNECTIONS, eventually } from './harness/service.ts'
import { type OrderStory, openShop, type Payable, type Shop } from './harness/shop.ts'

const CANCELS = 200
const CONFIRMS = 5

let shop: Shop
before(async () => {
  shop = await openShop({ allEvents: true, connections: ALL_CONNECTIONS })
})
after(() => shop?.stop())

/** Every step is in the table, starts where the one before ended, and is told at most once. */
function assertPossible({ history, deliveries, status }: OrderStory): void {
  let current: string | null = null
  for (const [index, { seq, trigger, fromStatus, toStatus, event }] of history.entries()) {
    assert.equal(seq, index + 1)
    assert.equal(fromStatus, current, `step ${seq} starts where step ${seq - 1} ended`)
    if (index === 0) assert.deepEqual([trigger, toStatus], ['create', 'INITIAL'])
    else {
      const row = TRANSITIONS[trigger as Trigger]
      assert.ok((row.from as readonly (string | null)[]).includes(current), `${trigger} from ${current}`)
      assert.deepEqual([toStatus, event], [row.to, row.event])
    }
    current = toStatus
  }
  assert.equal(status, current)
  const events = history.flatMap(({ event }) => event ?? [])
  assert.deepEqual(deliveries.map(({ event }) => event).sort(), events.sort())
}

const post = async (action: 'cancel' | 'confirm', code: string): Promise<{ status: number; code: string }> => {
  const { status, error } = await shop.host.call('POST', `${action}/${code}`, { as: shop.merchant })
  return { status, code: error?.code ?? '' }
}

const times = <Result>(count: number, work: () => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, work))

const pause = (delayMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs))

/**
 * The scanner has seen the final transfer; its news, confirms and the cancels reach for the order at almost the same
 * time.
 */
async function afterTheScanner({ code, toAddress, units }: Payable, round: number) {
  await shop.chain.pay({ to: toAddress, units })
  await shop.makeFinal()
  const seen = () =>
    shop.host.db.maybe(sql`select id from chain_transfers where to_address = ${toAddress.toLowerCase()}`)
  while (!(await seen())) await pause(1)
  const confirms = times(CONFIRMS, () => post('confirm', code))
  await pause(round * 2)
  const cancels = await times(CANCELS, () => post('cancel', code))
  await confirms
  return cancels
}

/** Cancels one after the other, while the chain, the scanner and the follower go their own pace. */
async function whileItArrives({ code, toAddress, units }: Payable, round: number) {
  await shop.chain.pay({ to: toAddress, units })
  const mined = shop.makeFinal()
  await pause(round * 100)
  const cancels = await Promise.all(
    Array.from({ length: CANCELS }, async (_, index) => {
      await pause(index)
      return post('cancel', code)
    }),
  )
  await mined
  return cancels
}

for (const [name, race] of [
  ['at the moment when it is seen', afterTheScanner],
  ['while it arrives', whileItArrives],
] as const) {
  test(`${CANCELS} cancels against a payment ${name}: one wins, and everybody is told the truth`, async (t) => {
    for (let round = 0; round < 6; round += 1) {
      const order = await shop.createAwaiting()
      const cancels = await race(order, round)
      // a poll that read the chain a moment earlier, and reports later, resolves the record until the next one
      const waiting = ({ mispayments }: OrderStory) => mispayments.filter(({ status }) => status === 'open')
      const isSettled = (told: OrderStory): boolean =>
        told.status === 'PAID' || (told.status === 'CANCELLED' && waiting(told).length > 0)
      const story = await eventually(() => shop.story(order.orderId), isSettled)
      const [refused, accepted] = [
        cancels.filter(({ status }) => status === 409),
        cancels.filter(({ status }) => status === 200),
      ]
      assert.equal(
        refused.length + accepted.length,
        CANCELS,
        JSON.stringify(cancels.find(({ status }) => status >= 500)),
      )
      assert.deepEqual(
        new Set(refused.map(({ code }) => code)),
        new Set(refused.length > 0 ? ['ORDER_STATE_CONFLICT'] : []),
      )
      assertPossible(story)
      const wasCancelled = story.history.some(({ trigger }) => trigger === 'cancel')
      assert.deepEqual([accepted.length > 0, story.status], [wasCancelled, wasCancelled ? 'CANCELLED' : 'PAID'])
      if (wasCancelled) {
        assert.equal(refused.length, 0)
        assert.deepEqual(
          waiting(story).map(({ kind, units }) => [kind, units]),
          [['late', String(order.units)]],
        )
      } else assert.equal(story.paidUnits, String(order.units))
      t.diagnostic(`round ${round + 1}: ${story.status}, ${story.history.map(({ trigger }) => trigger).join(' ')}`)
    }
  })
}

test('each event arrives once, and nothing was unexpected to the service', async () => {
  const pending = () =>
    shop.host.db.one<{ n: bigint }>(sql`select count(*) as n from delivery_states where status = 'pending'`)
  await eventually(pending, ({ n }) => n === 0n)
  const keys = shop.receiver.received.map(({ headers, path }) => `${path} ${headers['service-event']}`)
  assert.equal(new Set(keys).size, keys.length)
  const lines = shop.host.logLines.map((line) => JSON.parse(line) as { level: number })
  assert.deepEqual(
    lines.filter(({ level }) => level >= 50),
    [],
  )
})
