import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { type Market, openMarket } from './harness/market.ts'
import { eventually } from './harness/service.ts'

/* What the page says of a payment that its provider has seen, or has a part of: each provider in its own words. */

let market: Market
before(async () => {
  market = await openMarket()
})
after(() => market?.stop())

const read = async (code: string): Promise<string> => {
  const answer = await fetch(`${market.host.baseUrl}/pay?code=${code}`)
  const [, main = ''] = /<main>(.*)<\/main>/s.exec(await answer.text()) ?? []
  return main.replace(/\s+/g, ' ')
}

const shows = (code: string, words: string): Promise<string> =>
  eventually(
    () => read(code),
    (text) => text.includes(words),
    20_000,
  )

/** An address, a code or the time that is left: the page wants money. */
const ASKS = /id="address"|class="code"|role="timer"|Pay another way/

test('what Gate has seen is not asked for again on the way chosen after it, also not once the order has ended', async () => {
  const { order, reference } = await market.createAwaiting('gatepay')
  assert.equal((await market.accept(order.code, 'crypto')).status, 200)
  assert.match(await shows(order.code, 'Waiting for your payment'), ASKS)
  await market.act(reference, 'pay-unconfirmed')
  const seen = await shows(order.code, 'Payment received, confirming')
  assert.match(seen, /Gate Pay has seen it and is still confirming it/)
  assert.match(seen, /Please do not pay again/)
  assert.doesNotMatch(seen, ASKS)
  assert.doesNotMatch(seen, /Cancel this order|Sandbox chain/)
  const ended = await market.host.call('POST', `expire/${order.code}`, { as: market.merchant })
  assert.equal(ended.status, 200, ended.text)
  await market.host.db.run(sql`update orders set expires_at = now() - interval '2 hours' where id = ${order._id}`)
  const late = await shows(order.code, 'Money is on its way')
  assert.match(late, /Gate Pay has told us of a payment of 54\.00 USDC\. It is not lost/)
  assert.doesNotMatch(late, /data-final/, 'its provider is still asked')
  assert.match(late, /Please do not pay again/)
  assert.doesNotMatch(late, /I have not paid yet|name="requote"/)
})

test('a part that is on its way through an earlier attempt stands above the instructions, and nothing can be cancelled', async () => {
  const { order } = await market.createAwaiting('gatepay')
  assert.equal((await market.accept(order.code, 'crypto')).status, 200)
  await market.host.db.run(sql`
    update payments set pending_units = 20000000, told_units = 20000000, next_check_at = now() + interval '1 day'
    where order_id = ${order._id} and channel = 'gatepay'`)
  const text = await shows(order.code, '20.00 USDC are on their way through an earlier attempt')
  assert.match(text, /Do not pay them a second time/)
  assert.match(text, /id="address"/)
  assert.doesNotMatch(text, /Cancel this order/)
})

test('the rest of a part at a provider is paid there, in its coin; no address is named that the page does not show', async () => {
  for (const channel of ['whitepay', 'whitepay-non-custody']) {
    const { order, reference } = await market.createAwaiting(channel)
    await market.act(reference, 'pay-half')
    const text = await shows(order.code, 'Part of your payment has arrived')
    assert.match(text, /Please pay the rest at Whitepay before the time runs out/, channel)
    assert.match(text, /in the coin that you chose there/)
    assert.match(text, /href="[^"]+"[^>]*>Continue at Whitepay</)
    assert.doesNotMatch(text, /same address|id="address"|this address/, channel)
  }
})

test('Crypto.com sends back what is too little: the page goes on asking for the whole price, never for the rest', async () => {
  const { order, reference } = await market.createAwaiting('cryptopay')
  await market.act(reference, 'pay-half')
  await eventually(
    () =>
      market.host.db.one<{ words: string | null }>(
        sql`select last_words as words from payments where order_id = ${order._id}`,
      ),
    ({ words }) => words?.includes('underpaid') === true,
    20_000,
  )
  const text = await shows(order.code, 'Waiting for your payment')
  assert.match(text, /54\.00/)
  assert.match(text, /Pay another way/)
  assert.doesNotMatch(text, /send the rest|Still to pay|on its way/)
})

test('a refund at Crypto.com may wait for the payer’s answer to its mail, and the page says so', async () => {
  for (const [channel, words] of [
    ['cryptopay', 'Then Crypto.com Pay emails you and asks for your address. The refund waits for your answer.'],
    ['kucoinpay', 'You do not need to do anything.'],
  ] as const) {
    const { order, reference } = await market.createAwaiting(channel)
    await market.act(reference, 'pay')
    await market.reaches(order.code, 'PAID')
    await market.tell('refund-pending', { provider: channel })
    const asked = await market.host.call('POST', `revert/${order.code}`, { as: market.merchant, body: { amount: '5' } })
    assert.equal(asked.status, 200, asked.text)
    const text = await shows(order.code, 'Your refund is on its way')
    assert.ok(text.includes(words), channel)
  }
})

test('Coinbase is offered as what it is, and where its page shows no address, no sentence speaks of one', async () => {
  const { order } = await market.createAwaiting('coinbase')
  const waiting = await shows(order.code, 'Waiting for your payment')
  assert.doesNotMatch(waiting, /this address|another network/)
  assert.match(waiting, /Look for my payment/)
  await market.host.call('POST', `expire/${order.code}`, { as: market.merchant })
  const ended = await shows(order.code, 'The time to pay has run out')
  assert.match(ended, /Do not pay at Coinbase any more/)
  assert.doesNotMatch(ended, /old address/)
  const other = await market.create()
  const offered = await read(other.code)
  assert.match(offered, /With a Coinbase account.*USDC from your Coinbase account/)
  assert.doesNotMatch(offered, /card/i)
})

test('the help beside an address says what other coins do there, and whom to ask', async () => {
  const order = await market.create()
  assert.equal((await market.accept(order.code, 'crypto')).status, 200)
  const text = await shows(order.code, 'Waiting for your payment')
  assert.match(text, /to this address/)
  assert.match(
    text,
    /ETH and most other tokens never show up here by themselves.*contact Test &amp; Söhne, quote order/,
  )
})
