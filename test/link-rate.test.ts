import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { sql } from '../src/db/db.ts'
import { quotedAgo } from './harness/earlier-orders.ts'
import { type Market, openMarket } from './harness/market.ts'
import { eventually } from './harness/service.ts'

/* A payment link whose rate is old, and what its payer chooses: the same way to pay again, or another one. */

let market: Market
before(async () => {
  market = await openMarket()
  const { companyId } = market.merchant
  await market.host.db.run(sql`update companies set link_quote_minutes = 10 where id = ${companyId}`)
})
after(() => market?.stop())

const PRESENT = '54.000000'
const OLD = '50.000000'

/** A link from when the rate was 1.00, older than its company allows. */
async function createOld(channel?: string) {
  const { code, _id: orderId } = await market.create({ alias: `INV-${crypto.randomUUID()}` })
  await market.host.db.run(sql`update orders set rate = 1, to_units = 50000000 where id = ${orderId}`)
  const first = channel === undefined ? undefined : await accept(code, channel)
  await quotedAgo(market.host.db, orderId, 11 * 60)
  return { code, orderId, first }
}

async function accept(code: string, channel: string) {
  const { data, text } = await market.accept(code, channel)
  assert.equal(data?.status, 'AWAITING', text)
  return data
}

const priceOf = async (code: string) => (await market.order(code)).toAmount
const paymentsOf = async (orderId: string) => (await market.story(orderId)).payments.map(({ status }) => status)

for (const channel of ['crypto', 'binance'])
  test(`whoever accepts ${channel} again gets the same instructions at the same price`, async () => {
    const { code, orderId, first } = await createOld(channel)
    const again = await accept(code, channel)
    assert.deepEqual([again.providerReference, again.tokenAmount], [first?.providerReference, first?.tokenAmount])
    assert.equal(await priceOf(code), OLD)
    assert.deepEqual(await paymentsOf(orderId), ['awaiting'])
  })

test('whoever chooses another way to pay gets the present price there, and back at the first one too', async () => {
  const { code, first } = await createOld('crypto')
  await accept(code, 'binance')
  assert.equal(await priceOf(code), PRESENT)
  const back = await accept(code, 'crypto')
  assert.notEqual(back.toAddress, first?.toAddress, 'its address was shown with another price')
  assert.equal(back.tokenAmount, PRESENT)
})

test('of an old link that is accepted several times at once all answers are the same attempt, at the present price', async () => {
  const { code, orderId } = await createOld()
  const answers = await Promise.all(Array.from({ length: 4 }, () => accept(code, 'crypto')))
  assert.equal(new Set(answers.map(({ toAddress }) => toAddress)).size, 1)
  assert.deepEqual([answers[0]?.tokenAmount, await priceOf(code)], [PRESENT, PRESENT])
  assert.deepEqual(await paymentsOf(orderId), ['awaiting'])
})

test('money that comes while another way to pay is chosen keeps the price that it was sent for', async () => {
  const { code, orderId, first } = await createOld('crypto')
  const holder = new pg.Client({ connectionString: market.host.db.connectionString })
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query('select from orders where id = $1 for update', [orderId])
    const chosen = market.accept(code, 'binance')
    const waits = () =>
      market.host.db.many(
        sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
    await eventually(waits, (found) => found.length > 0)
    const to = String(first?.toAddress)
    await market.chain.pay({ to, units: 1_000_000n })
    const seen = () => market.host.db.many(sql`select from chain_transfers where to_address = ${to.toLowerCase()}`)
    await eventually(seen, (found) => found.length > 0)
    await holder.query('commit')
    await chosen
  } finally {
    await holder.end()
  }
  assert.equal(await priceOf(code), OLD)
})
