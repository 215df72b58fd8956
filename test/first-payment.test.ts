import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Stripe from 'stripe'
import { mint } from '../sandbox/chain/token.ts'
import { sql } from '../src/db/db.ts'
import { waitFor } from './harness/receiver.ts'
import { eventually } from './harness/service.ts'
import { type OrderStory, openShop, type Shop, TEST_XPUB } from './harness/shop.ts'

/** A chain that answered a moment ago and does not now: its payers wait, everybody else is served. */
const DEAD_CHAIN = 8453

let shop: Shop
let otherToken: string

before(async () => {
  shop = await openShop({
    env: async (chain) => {
      otherToken = await chain.deployOtherToken()
      return {
        CHAIN_31337_OTHER_TOKENS: `USDT:${otherToken}`,
        [`CHAIN_${DEAD_CHAIN}_RPC_URL`]: 'http://127.0.0.1:9',
        [`CHAIN_${DEAD_CHAIN}_XPUB`]: TEST_XPUB,
      }
    },
  })
  await shop.host.db.run(sql`
    update chain_heads set number = 1, hash = '0x', block_at = now(), advanced_at = now() where chain_id = ${DEAD_CHAIN}`)
})
after(() => shop?.stop())

const triggers = ({ history }: OrderStory): string[] => history.map(({ trigger }) => trigger)
const misfits = ({ mispayments }: OrderStory): string[] =>
  mispayments.map(({ kind, asset, units, status }) => `${kind} ${units} ${asset} ${status}`)

/** Waits until the tables say so; the last story is in the failure. */
const until = (orderId: string, isRight: (story: OrderStory) => boolean): Promise<OrderStory> =>
  eventually(() => shop.story(orderId), isRight)

const payFinally = async (payment: { to: string; units: bigint; token?: string }): Promise<void> => {
  await shop.chain.pay(payment)
  await shop.makeFinal()
}

test('accept answers every decided key, and the same instructions when it is repeated', async () => {
  const { code } = await shop.create()
  const first = await shop.accept(code, { network: 31337 })
  const again = await shop.accept(code, { network: 31337 })
  assert.deepEqual(again.data, first.data)
  const keys = 'paymentChannel status expiresAt qrData deepLink checkoutUrl toAddress tokenAmount tokenAddress network'
  assert.deepEqual(Object.keys(first.data).sort(), [...keys.split(' '), 'paymentUri', 'providerReference'].sort())
  assert.match(first.data.toAddress, /^0x[0-9a-fA-F]{40}$/)
  assert.equal(first.data.tokenAmount, '54.000000')
  assert.equal(first.data.tokenAddress, shop.chain.usdcAddress)
  assert.equal(first.data.network, 31337)
  const { tokenAddress, toAddress } = first.data
  const uri = `ethereum:${tokenAddress}@31337/transfer?address=${toAddress}&uint256=54000000`
  assert.deepEqual([first.data.paymentUri, first.data.qrData], [uri, uri])
  assert.equal(first.data.checkoutUrl, null)
  const expiresInMs = Date.parse(String(first.data.expiresAt)) - Date.now()
  assert.ok(expiresInMs > 14 * 60_000 && expiresInMs <= 15 * 60_000)
})

test('two accepts at the same time give one attempt', async () => {
  const { code, _id: orderId } = await shop.create()
  const answers = await Promise.all([1, 2, 3, 4].map(() => shop.accept(code, { network: 31337 })))
  assert.deepEqual(new Set(answers.map(({ data }) => data.toAddress)).size, 1)
  assert.deepEqual(triggers(await shop.story(orderId)), ['create', 'accept', 'forward'])
})

test('an order is paid in two parts, once, and Stripe’s own library accepts the webhook that says so', async () => {
  const order = await shop.createAwaiting()
  const half = order.units / 2n
  await payFinally({ to: order.toAddress, units: half })
  const partly = await until(order.orderId, ({ payments }) => payments[0]?.receivedUnits === String(half))
  assert.equal(partly.status, 'AWAITING')
  await shop.chain.pay({ to: order.toAddress, units: order.units - half })
  await shop.reaches(order.code, 'WAITING_CHAIN_CONFIRMATION')
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  await shop.chain.mine(5)
  const told = () => shop.receiver.received.filter(({ body }) => body.includes(order.code))
  await waitFor('the webhook', () => told().length > 0)
  const [webhook] = told()
  assert.ok(webhook)
  const { webhooks } = new Stripe('sk_test_unused')
  const signature = webhook.headers['service-signature'] ?? ''
  const event: unknown = webhooks.constructEvent(webhook.body, signature, shop.merchant.webhookSecret)
  const { event: name, status, code } = event as Record<string, string>
  assert.deepEqual([name, status, code], ['order.paid', 'PAID', order.code])
  const story = await until(order.orderId, ({ deliveries }) => deliveries[0]?.status === 'delivered')
  assert.deepEqual(triggers(story), ['create', 'accept', 'forward', 'seePayment', 'pay'])
  assert.equal(story.paidUnits, String(order.units))
  assert.deepEqual(misfits(story), [])
  assert.deepEqual([told().length, story.deliveries.length], [1, 1])
})

test('confirm before the payment is PAYMENT_NOT_RECEIVED and changes nothing; after it, it is 200', async () => {
  const unaccepted = await shop.create()
  const confirm = (code: string) => shop.host.call('POST', `confirm/${code}`, { as: shop.merchant })
  assert.equal((await confirm(unaccepted.code)).error.code, 'ORDER_STATE_CONFLICT')
  const order = await shop.createAwaiting()
  const early = await confirm(order.code)
  assert.deepEqual([early.status, early.error.code], [409, 'PAYMENT_NOT_RECEIVED'])
  assert.deepEqual(triggers(await shop.story(order.orderId)), ['create', 'accept', 'forward'])
  await payFinally({ to: order.toAddress, units: order.units })
  await shop.reaches(order.code, 'PAID')
  for (let turn = 0; turn < 2; turn += 1) assert.equal((await confirm(order.code)).status, 200)
})

test('a payment within the tolerance counts; one unit less does not', async () => {
  const [enough, short] = [await shop.createAwaiting(), await shop.createAwaiting()]
  const tolerated = enough.units / 200n // half a percent
  await shop.chain.pay({ to: short.toAddress, units: short.units - tolerated - 1n })
  await payFinally({ to: enough.toAddress, units: enough.units - tolerated })
  await shop.reaches(enough.code, 'PAID')
  const story = await until(short.orderId, ({ payments }) => payments[0]?.receivedUnits !== '0')
  assert.equal(story.status, 'AWAITING')
})

test('another token is noticed and never counted', async () => {
  const order = await shop.createAwaiting()
  await payFinally({ to: order.toAddress, units: order.units, token: otherToken })
  const story = await until(order.orderId, ({ mispayments }) => mispayments.length > 0)
  assert.deepEqual(misfits(story), [`wrong_token ${order.units} USDT open`])
  assert.deepEqual([story.status, story.payments[0]?.receivedUnits], ['AWAITING', '0'])
})

test('too much is recorded beside the paid order, also when more comes later', async () => {
  const order = await shop.createAwaiting()
  await payFinally({ to: order.toAddress, units: order.units + 5n })
  await shop.reaches(order.code, 'PAID')
  assert.deepEqual(misfits(await shop.story(order.orderId)), ['over 5 USDC open'])
  await payFinally({ to: order.toAddress, units: 7n })
  const story = await until(order.orderId, ({ mispayments }) => mispayments[0]?.units === '12')
  assert.deepEqual(misfits(story), ['over 12 USDC open'])
  assert.equal(triggers(story).filter((trigger) => trigger === 'pay').length, 1)
})

test('money that completes an expired order within the window pays it; a part of it is written down before', async () => {
  const order = await shop.createAwaiting()
  assert.equal((await shop.host.call('POST', `expire/${order.code}`, { as: shop.merchant })).status, 200)
  await payFinally({ to: order.toAddress, units: 10n })
  const partly = await until(order.orderId, ({ mispayments }) => mispayments.length > 0)
  assert.deepEqual([partly.status, ...misfits(partly)], ['EXPIRED', 'under 10 USDC open'])
  await payFinally({ to: order.toAddress, units: order.units - 10n })
  const story = await until(order.orderId, ({ status }) => status === 'PAID')
  assert.deepEqual(triggers(story), ['create', 'accept', 'forward', 'expire', 'payLate'])
  assert.deepEqual(misfits(story), ['under 10 USDC resolved'])
  assert.deepEqual(
    story.deliveries.map(({ event }) => event),
    ['order.paid'],
  )
})

test('money for a cancelled order is held for a person', async () => {
  const order = await shop.createAwaiting()
  assert.equal((await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })).status, 200)
  await payFinally({ to: order.toAddress, units: order.units })
  const story = await until(order.orderId, ({ mispayments }) => mispayments.length > 0)
  assert.deepEqual([story.status, ...misfits(story)], ['CANCELLED', `late ${order.units} USDC open`])
  assert.deepEqual(story.deliveries, [])
})

test('a small reorganisation takes the order back to AWAITING, and the payment may come again', async () => {
  const order = await shop.createAwaiting()
  const txHash = await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.reaches(order.code, 'WAITING_CHAIN_CONFIRMATION')
  const raw = await shop.chain.rawTransaction(txHash)
  await shop.chain.reorg(1)
  await shop.reaches(order.code, 'AWAITING')
  await shop.chain.resend(raw)
  await shop.chain.mine()
  await shop.reaches(order.code, 'WAITING_CHAIN_CONFIRMATION')
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  const story = await shop.story(order.orderId)
  const expected = ['create', 'accept', 'forward', 'seePayment', 'losePayment', 'seePayment', 'pay']
  assert.deepEqual(triggers(story), expected)
  assert.deepEqual([story.deliveries.length, ...misfits(story)], [1])
})

test('a reorganisation deeper than finality never moves a paid order back, but a person is told', async () => {
  const order = await shop.createAwaiting()
  const txHash = await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  const raw = await shop.chain.rawTransaction(txHash)
  await shop.chain.reorg(4)
  const gone = await until(order.orderId, ({ mispayments }) => mispayments.length > 0)
  assert.deepEqual([gone.status, ...misfits(gone)], ['PAID', `orphaned ${order.units} USDC open`])
  await shop.chain.resend(raw)
  await shop.chain.mine(3)
  const back = await until(order.orderId, ({ mispayments }) => mispayments[0]?.status === 'resolved')
  assert.deepEqual(misfits(back), [`orphaned ${order.units} USDC resolved`])
  assert.equal(triggers(back).at(-1), 'pay')
})

test('another network may be chosen while nothing is paid; money at the first address still counts, the rest is noticed', async () => {
  const { code, _id: orderId } = await shop.create({ webhookUrl: `${shop.receiver.url}/two` })
  assert.equal((await shop.accept(code)).error.details?.[0]?.path, 'network')
  const first = await shop.accept(code, { network: DEAD_CHAIN })
  const second = await shop.accept(code, { network: 31337 })
  assert.notEqual(second.data.toAddress, first.data.toAddress)
  const units = BigInt(first.data.tokenAmount.replace('.', ''))
  await payFinally({ to: first.data.toAddress, units })
  await until(orderId, ({ status }) => status === 'PAID')
  await payFinally({ to: second.data.toAddress, units })
  const story = await until(orderId, ({ mispayments }) => mispayments.length > 0)
  assert.deepEqual(triggers(story), ['create', 'accept', 'forward', 'accept', 'forward', 'pay'])
  assert.deepEqual(misfits(story), [`duplicate ${units} USDC open`])
  assert.equal(story.deliveries.length, 1)
  assert.deepEqual(
    story.payments.map(({ number, network }) => [number, network]),
    [
      [1, DEAD_CHAIN],
      [2, 31337],
    ],
  )
})

test('once money has arrived the channel cannot be changed', async () => {
  const order = await shop.createAwaiting()
  await payFinally({ to: order.toAddress, units: 10_000n })
  await until(order.orderId, ({ payments }) => payments[0]?.receivedUnits === '10000')
  const refused = await shop.accept(order.code, { network: DEAD_CHAIN })
  assert.deepEqual([refused.status, refused.error.code], [409, 'ORDER_STATE_CONFLICT'])
  const same = await shop.accept(order.code, { network: 31337 })
  assert.equal(same.data.toAddress, order.toAddress)
})

test('dust is booked, and fixes no channel', async () => {
  const order = await shop.createAwaiting()
  await payFinally({ to: order.toAddress, units: 9_999n })
  const story = await until(order.orderId, ({ payments }) => payments[0]?.receivedUnits === '9999')
  assert.deepEqual([story.status, ...misfits(story)], ['AWAITING', 'under 9999 USDC open'])
  const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${order.code}&lang=en`)).text()
  assert.doesNotMatch(page, /Still to pay/)
  const other = await shop.accept(order.code, { network: DEAD_CHAIN })
  assert.equal(other.status, 200, other.text)
  assert.notEqual(other.data.toAddress, order.toAddress)
})

test('money that no record can hold does not hold up the news of other payments', async () => {
  const [absurd, normal] = [await shop.createAwaiting(), await shop.createAwaiting()]
  await mint(shop.chain.call, shop.chain.payer, 10n ** 40n, otherToken)
  await shop.chain.send({ to: absurd.toAddress, units: 10n ** 40n, token: otherToken })
  await payFinally({ to: normal.toAddress, units: normal.units })
  await shop.reaches(normal.code, 'PAID')
  const isBehind = () =>
    shop.host.db.one<{ behind: boolean }>(sql`
      select after_change < (select max(change) from chain_transfers where to_address = lower(${normal.toAddress}))
        as behind from payment_chain_cursors where chain_id = ${shop.chain.chainId}`)
  await eventually(isBehind, ({ behind }) => !behind)
})

test('a transfer whose announcement is lost is found by the poll that comes minutes later', async () => {
  const { db } = shop.host
  const order = await shop.createAwaiting()
  const moveCursor = (by: number) => db.run(sql`update payment_chain_cursors set after_change = after_change + ${by}`)
  await moveCursor(1_000_000)
  await payFinally({ to: order.toAddress, units: order.units })
  const isFinal = () =>
    db.maybe(sql`select 1 from chain_transfers where to_address = lower(${order.toAddress}) and final_at is not null`)
  await eventually(isFinal, (row) => row !== undefined)
  await new Promise((resolve) => setTimeout(resolve, 1200)) // the follower's round
  const planned = () =>
    db.one<{ minutes: number; status: string }>(sql`
      select extract(epoch from next_check_at - now())::float8 / 60 as minutes, status from payments
      where order_id = ${order.orderId}`)
  const { minutes, status } = await planned()
  assert.ok(status === 'awaiting' && minutes > 3 && minutes < 6, `${status}, ${minutes} minutes`)
  await db.run(sql`update payments set next_check_at = now() where order_id = ${order.orderId}`)
  await shop.reaches(order.code, 'PAID')
  await moveCursor(-1_000_000)
})

test('news that could not be written is applied within seconds, however long the payment has waited', async () => {
  const { db } = shop.host
  const order = await shop.createAwaiting()
  await db.run(sql`update payments set checks = 20, next_check_at = now() + interval '5 minutes'
    where order_id = ${order.orderId}`)
  await db.run(sql`create function refuse_news() returns trigger language plpgsql as $$
    begin raise exception 'not now'; end $$`)
  await db.run(sql`create trigger refuse_news before update on payments for each row
    when (new.received_units <> old.received_units) execute function refuse_news()`)
  await payFinally({ to: order.toAddress, units: order.units })
  const refused = () => shop.host.logLines.some((line) => line.includes('not now'))
  await eventually(
    async () => refused(),
    (isRefused) => isRefused,
  )
  await db.run(sql`drop function refuse_news() cascade`)
  await shop.reaches(order.code, 'PAID')
})

test('nothing of all this was unexpected to the service', () => {
  const lines = shop.host.logLines.map((line) => JSON.parse(line) as { level: number; msg: string })
  assert.deepEqual(
    lines.filter(({ level }) => level >= 50).map(({ msg }) => msg),
    // the reorganisation deeper than finality
    ['final money left its chain'],
  )
})
