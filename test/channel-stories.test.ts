import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { loadConfig } from '../src/config/config.ts'
import { sql } from '../src/db/db.ts'
import { partitionedTables } from '../src/db/partitioned-tables.ts'
import { keepPartitions } from '../src/db/partitions.ts'
import { DAY } from '../src/kernel/clock.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logInSuperAdmin, readMails } from './harness/accounts.ts'
import { type Market, openMarket } from './harness/market.ts'
import { accountOf, attemptsOf, openOwnGate, saveElsewhere, skipTo } from './harness/own-gate.ts'
import { listRefundsOf, type RefundData } from './harness/refunds.ts'
import { eventually, startTestService } from './harness/service.ts'
import { chainEnv, FINAL_AFTER, type OrderData } from './harness/shop.ts'

/* What can happen at some provider, and what becomes of the order: one story each. */
const OPERATOR = 'operator@comptoir.example'
let market: Market
let admin: Client

before(async () => {
  market = await openMarket({ env: { CHANNEL_GATEPAY_REFUND_WAIT_SECONDS: '0', OPERATOR_EMAIL: OPERATOR } })
  admin = await logInSuperAdmin(market.host)
})
after(() => market?.stop())

const newestRefund = async (orderId: string): Promise<RefundData | undefined> =>
  (await listRefundsOf(market, orderId)).at(-1)

test('what the provider’s own screening holds is KYT_FAILED, told by a verified callback, and the operator is mailed', async () => {
  const { order, reference } = await market.createAwaiting('gatepay')
  await market.act(reference, 'block')
  await market.reaches(order.code, 'KYT_FAILED')
  const cancel = await market.host.call('POST', `cancel/${order.code}`, { as: market.merchant })
  assert.equal(cancel.error.code, 'ORDER_STATE_CONFLICT')
  const { data } = await admin.get<{ screenings: { address: null; status: string; answers: { source: string }[] }[] }>(
    `screenings?code=${order.code}`,
  )
  assert.deepEqual(
    data.screenings.map(({ address, status, answers }) => [address, status, answers.map(({ source }) => source)]),
    [[null, 'blocked', ['provider']]],
    'it joins the record of the other screenings',
  )
  const [mail] = await eventually(
    () => readMails(market.host.baseUrl, OPERATOR),
    (mails) => mails.length > 0,
  )
  assert.match(mail?.subject ?? '', /A provider blocks a payment/)
  assert.match(mail?.text ?? '', /gatepay: \w+/)
})

/** What a payer reads once Gate, or any provider, was asked again. */
const pageOf = async ({ code }: OrderData): Promise<string> => {
  await market.host.call('POST', `confirm/${code}`, { as: market.merchant })
  const text = await (await fetch(`${market.host.baseUrl}/pay?code=${code}&lang=en`)).text()
  const [, live = ''] = /<div id="live"(.*?)<\/main>/s.exec(text) ?? []
  return live
    .replaceAll(/<svg.*?<\/svg>/gs, '')
    .replaceAll(/<[^>]+>|\s+/g, ' ')
    .replaceAll(/ +/g, ' ')
}

test('half of the price at Gate Pay is on its way, and never called received before the order is paid', async () => {
  const { order, reference } = await market.createAwaiting('gatepay')
  await market.act(reference, 'pay-half')
  const half = await eventually(
    () => pageOf(order),
    (page) => !page.includes('Waiting for your payment'),
  )
  assert.equal((await market.order(order.code)).status, 'AWAITING')
  assert.match(half, /Money is on its way .*Gate Pay sees a payment coming, but not yet the whole 54\.00 USDC\./)
  assert.match(half, /Continue at Gate Pay/)
  assert.doesNotMatch(half, /Received|close this page|Cancel this order/)
  await market.act(reference, 'pay')
  await market.reaches(order.code, 'PAID')
  assert.match(await pageOf(order), /Paid .*Received 54\.00 USDC/)
})

test('what Gate Pay keeps apart is USDC on the page too: beside an open order, too late, or too much', async () => {
  const asked = (order: OrderData, words: string) =>
    eventually(
      () => pageOf(order),
      (page) => page.includes(words),
    )
  const half = await market.createAwaiting('gatepay', { alias: `half-${Date.now()}` })
  await market.act(half.reference, 'pay-half')
  await asked(half.order, 'Money is on its way')
  await market.act(half.reference, 'expire')
  const open = await asked(half.order, 'do not count here')
  assert.match(open, /27\.00 USDC came through an earlier attempt or too late/)
  await market.host.call('POST', `expire/${half.order.code}`, { as: market.merchant })
  const late = await asked(half.order, 'Money has arrived, but the order is not paid')
  assert.match(late, /We received 27\.00 USDC/)
  const over = await market.createAwaiting('gatepay')
  await market.act(over.reference, 'pay', { amount: '60' })
  const paid = await asked(over.order, 'Paid, and more than needed')
  assert.match(paid, /You sent 6\.00 USDC too much.*Received 54\.00 USDC/)
  for (const page of [open, late, paid]) assert.doesNotMatch(page, /Another token|not been charged/)
})

test('money that comes after the attempt expired still pays an order that is open', async () => {
  await market.tell('late-payment', { provider: 'binance' })
  const { order } = await market.createAwaiting('binance')
  await market.reaches(order.code, 'PAID')
})

test('a refund from the console of cryptopay is written down as a refund here', async () => {
  await market.tell('partial-refund', { provider: 'cryptopay' })
  const { order, reference } = await market.createAwaiting('cryptopay')
  await market.act(reference, 'pay')
  const after = await market.reaches(order.code, 'REFUNDED')
  assert.equal(after.refundedAmount, '27.000000')
  const refund = await newestRefund(order._id)
  assert.deepEqual([refund?.status, refund?.amount], ['settled', '27.000000'])
})

for (const id of ['binance', 'kucoinpay', 'gatepay'] as const) {
  test(`${id} refuses a refund: the order is PAID again, and the next one goes through`, async () => {
    const { order, reference } = await market.createAwaiting(id)
    await market.act(reference, 'pay')
    await market.reaches(order.code, 'PAID')
    const send = (amount: string) =>
      market.host.call('POST', `revert/${order.code}`, { as: market.merchant, body: { amount } })
    assert.equal((await send('10.13')).status, 200)
    const refused = await eventually(
      () => newestRefund(order._id),
      (refund) => refund?.status === 'refused',
    )
    assert.ok(refused?.message, 'the provider’s word stands beside it')
    assert.equal((await market.order(order.code)).status, 'PAID')
    assert.equal((await send('10')).status, 200)
    await eventually(
      () => newestRefund(order._id),
      (refund) => refund?.status === 'settled',
    )
    assert.equal((await market.reaches(order.code, 'REFUNDED')).refundedAmount, '10.000000')
  })

  test(`${id} does not answer while a refund is sent: nobody says it failed, and it goes out once`, async () => {
    const { order, reference } = await market.createAwaiting(id)
    await market.act(reference, 'pay')
    await market.reaches(order.code, 'PAID')
    await market.tell('outage', { provider: id, seconds: 2 })
    const started = await market.host.call('POST', `revert/${order.code}`, { as: market.merchant })
    assert.equal(started.status, 200)
    await new Promise((resolve) => setTimeout(resolve, 1500))
    assert.equal((await market.order(order.code)).status, 'REFUNDING')
    await eventually(
      async () => {
        // its lease is a minute: the test does not wait for it
        await market.host.db.run(
          sql`update refunds set next_check_at = now() where order_id = ${order._id} and next_check_at is not null`,
        )
        return (await newestRefund(order._id))?.status
      },
      (status) => status === 'settled',
      40_000,
    )
    assert.equal((await market.reaches(order.code, 'FULL_REFUNDED')).refundedAmount, '54.000000')
    const kept = (await market.paymentsOf(order._id)).find((one) => one.reference === reference)
    assert.equal(kept?.refunds.length, 1)
  })
}

test('a second payment under our reference shows itself by a callback: what comes to it is not lost', async () => {
  const { order } = await market.createAwaiting('cryptopay')
  const [ours] = await market.paymentsOf(order._id)
  const { CHANNEL_CRYPTOPAY_BASE_URL: url, CHANNEL_CRYPTOPAY_SECRET_KEY: key } = market.providers.credentials
  const fields = { amount: '5000', currency: 'EUR', order_id: ours?.merchantReference ?? '', description: 'lost' }
  const made = await fetch(`${url}/payments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: new URLSearchParams(fields),
  })
  assert.ok(made.ok, await made.clone().text())
  const { id } = (await made.json()) as { id: string }
  const story = () => market.story(order._id)
  await eventually(story, ({ payments }) => payments.length === 2)
  await market.act(id, 'pay')
  await market.reaches(order.code, 'PAID')
  await market.act(ours?.reference ?? '', 'pay')
  const { mispayments } = await eventually(story, (seen) => seen.mispayments.length > 0)
  assert.deepEqual(
    mispayments.map(({ kind, units }) => [kind, units]),
    [['duplicate', '54000000']],
  )
  const page = await (await fetch(`${market.host.config.payUrl}/pay?code=${order.code}`)).text()
  assert.match(page, /Paid, and more than needed.*You sent 54\.00 USDC too much/s)
})

test('the hundredth attempt of an order has a reference and an address of its own, and its money counts once', async () => {
  const order = await market.create()
  for (let number = 1; number <= 101; number = number === 11 ? await skipTo(98, market, order) : number + 1) {
    // as if each had another price: otherwise a wallet's address is shown again
    await market.host.db.run(sql`update payments set due_units = due_units + 2000 where order_id = ${order._id}`)
    const answer = await market.accept(order.code, number % 2 === 0 ? 'crypto' : 'binance')
    assert.equal(answer.status, 200, `${number}: ${answer.text}`)
  }
  const [newest] = await market.paymentsOf(order._id)
  assert.equal(newest?.merchantReference, `${order._id}101`)
  const [hundredth, ...others] = await market.host.db.many<{ number: number; depositAddress: string }>(sql`
    select number, deposit_address from payments where order_id = ${order._id} and deposit_address is not null
    order by number desc`)
  assert.equal(hundredth?.number, 100)
  assert.ok(!others.some(({ depositAddress }) => depositAddress === hundredth.depositAddress))
  await market.chain.pay({ to: hundredth.depositAddress, units: 54_000_000n })
  await market.chain.mine(FINAL_AFTER)
  await market.reaches(order.code, 'PAID')
  const story = await market.story(order._id)
  assert.deepEqual(
    story.payments.map(({ receivedUnits }) => receivedUnits).filter((units) => units !== '0'),
    ['54000000'],
  )
  assert.deepEqual(story.mispayments, [])
})

test('magic amounts tell their stories by themselves: paid, declined, half, expired', async () => {
  // one USD is one USDC in the sandbox, so the provider sees the same cents
  const begin = async (amount: string, channel: string): Promise<OrderData> =>
    (await market.createAwaiting(channel, { amount, fromAsset: 'USD' })).order
  const [paid, declined, halved, expired] = await Promise.all([
    begin('10.01', 'kucoinpay'),
    begin('10.02', 'kucoinpay'),
    begin('10.03', 'whitepay'),
    begin('10.04', 'kucoinpay'),
  ])
  await market.reaches(paid.code, 'PAID')
  await market.reaches(declined.code, 'ERROR')
  const half = await eventually(
    () => market.story(halved._id),
    ({ mispayments }) => mispayments.length > 0,
  )
  assert.deepEqual(
    half.mispayments.map(({ kind, units }) => [kind, units]),
    [['under', '5015000']],
  )
  const over = await eventually(
    () => market.story(expired._id),
    ({ payments }) => payments[0]?.status === 'closed',
  )
  assert.equal(over.status, 'AWAITING', 'the attempt is over, the order may be paid another way')
  assert.equal((await market.accept(expired.code, 'binance')).status, 200)
})

test('a provider that is down is hidden after a while, with a reason, and comes back', async () => {
  const offers = async (): Promise<{ paymentChannel: string; available: boolean; reason: string | null }[]> =>
    (
      await market.host.call<{ paymentChannel: string; available: boolean; reason: string | null }[]>(
        'GET',
        '/api/next/channels',
        { as: market.merchant },
      )
    ).data
  const kucoin = async () => (await offers()).find(({ paymentChannel }) => paymentChannel === 'kucoinpay')
  assert.equal((await kucoin())?.available, true)
  await market.tell('outage', { provider: 'kucoinpay', seconds: 3 })
  for (let index = 0; index < 5; index += 1) {
    const order = await market.create()
    const answer = await market.accept(order.code, 'kucoinpay')
    assert.deepEqual([answer.status, answer.error.code], [502, 'CHANNEL_UNAVAILABLE'])
  }
  const metrics = await (await fetch(`${market.host.baseUrl}/metrics`)).text()
  // five troubles in a row open the circuit, be they of a creation or of a poll that asks what became of one
  const troubles = [...metrics.matchAll(/calls_total\{channel="kucoinpay",step="\w+",outcome="trouble"\} (\d+)/g)]
  assert.ok(troubles.reduce((sum, [, count]) => sum + Number(count), 0) >= 5, String(troubles))
  const hidden = await kucoin()
  assert.equal(hidden?.available, false)
  assert.match(hidden?.reason ?? '', /does not answer/)
  const order = await market.create()
  const refused = await market.accept(order.code, 'kucoinpay')
  assert.equal(refused.error.code, 'CHANNEL_UNAVAILABLE')
  assert.equal((await market.order(order.code)).status, 'INITIAL', 'nothing was stored')
  await eventually(kucoin, (offer) => offer?.available === true, 40_000)
  assert.equal((await market.accept(order.code, 'kucoinpay')).status, 200)
})

test('what was said to a provider can be read by the merchant, without a secret in it', async () => {
  const { order } = await market.createAwaiting('binance')
  const path = `channel-exchanges/${order.code}`
  const read = () => admin.get<{ step: string; status: number; request: string; answer: string }[]>(path)
  const { data } = await eventually(read, (answer) => answer.data.length > 0)
  assert.equal(data[0]?.step, 'create')
  assert.match(data[0]?.request ?? '', /goodsDetails/)
  const everything = JSON.stringify(data)
  for (const [name, value] of Object.entries(market.providers.credentials))
    if (/KEY|SECRET|TOKEN/.test(name)) assert.ok(!everything.includes(value), `${name} is not in it`)
  const spec = partitionedTables(loadConfig({})).find(({ table }) => table === 'channel_exchanges')
  assert.ok(spec)
  const keep = (days: number) => keepPartitions(market.host.db, spec, Date.now() + days * DAY)
  assert.deepEqual((await keep(29)).dropped, [])
  assert.ok((await admin.get<unknown[]>(path)).data.length > 0)
  await keep(31)
  assert.deepEqual((await admin.get(path)).data, [], 'after its retention it is gone')
})

test('after all of this the books are right', async () => {
  assert.equal((await verifyLedger(market.host.db)).difference, null)
})

test('an unanswered attempt is not continued with another account: once its own is removed, the payer gets a new one', async () => {
  const shop = await openOwnGate(market)
  const { _id, code } = await shop.order()
  await market.tell('outage', { provider: 'gatepay', seconds: 1 })
  assert.equal((await shop.accept(code)).status, 502)
  assert.equal((await shop.remove()).status, 200)
  await eventually(
    () => shop.accept(code),
    ({ status }) => status === 200,
    20_000,
  )
  const [old, current] = await attemptsOf(market, _id)
  assert.deepEqual([old?.own, old?.status, current?.own, current?.status], [true, 'closing', false, 'awaiting'])
  const [payment] = await market.paymentsOf(_id)
  await market.act(payment?.reference ?? '', 'pay')
  await market.reaches(code, 'PAID')
  assert.equal((await attemptsOf(market, _id))[1]?.status, 'paid')
})

/** What the stream of an order's page says: once it shows `first`, what else comes until `then` is in it. */
async function watchPage({ code }: OrderData, first: RegExp, then: RegExp): Promise<{ rest: Promise<string> }> {
  const signal = AbortSignal.timeout(60_000)
  const stream = await fetch(`${market.host.baseUrl}/pay/events?code=${code}&lang=en`, { signal })
  assert.ok(stream.body)
  const chunks = stream.body.pipeThrough(new TextDecoderStream()).values()
  const readUntil = async (pattern: RegExp, text = ''): Promise<string> => {
    const { done, value } = pattern.test(text) ? { done: true } : await chunks.next()
    return done ? text : readUntil(pattern, text + value)
  }
  assert.match(await readUntil(first), first)
  return { rest: readUntil(then) }
}

/** Begun before other stories, because the page looks only every sixteen seconds whether its account is still there. */
let openPage: Promise<string> | undefined

test('a page is open when the account of its payment is removed', async () => {
  const shop = await openOwnGate(market)
  const order = await shop.order()
  assert.equal((await shop.accept(order.code)).status, 200)
  openPage = (await watchPage(order, /Continue at Gate Pay/, /name="paymentChannel" value="gatepay"/)).rest
  openPage.catch(() => {})
  assert.equal((await shop.remove()).status, 200)
})

test('a payment whose account was removed is shown to no one; once the account is put back, what was paid there counts', async () => {
  const shop = await openOwnGate(market)
  const [chosenAgain, left] = [await shop.order(), await shop.order()]
  for (const { code } of [chosenAgain, left]) assert.equal((await shop.accept(code)).status, 200)
  assert.equal((await shop.remove()).status, 200)
  const [first] = await market.paymentsOf(chosenAgain._id)
  const page = await (await fetch(`${market.host.baseUrl}/pay?code=${left.code}`)).text()
  assert.match(page, /name="paymentChannel" value="gatepay"/, 'the page lets the payer choose again')
  const again = await shop.accept(chosenAgain.code)
  assert.equal(again.status, 200, again.text)
  assert.notEqual(again.data.providerReference, first?.reference)
  const [second] = await market.paymentsOf(left._id)
  for (const payment of [first, second]) await market.act(payment?.reference ?? '', 'pay')
  const removed = { own: true, status: 'closing', words: 'its account was removed', waitsMinutes: true }
  for (const { code, _id } of [chosenAgain, left]) {
    assert.equal((await shop.expire(code)).status, 200)
    const attempts = await eventually(
      () => attemptsOf(market, _id),
      ([attempt]) => attempt?.waitsMinutes === true,
    )
    assert.deepEqual(attempts[0], removed)
  }
  assert.equal((await shop.save()).status, 200)
  for (const { code } of [chosenAgain, left]) await market.reaches(code, 'PAID')
})

test('an account that another one replaces: its payments are shown to no one, and asked about only with their own', async () => {
  const shop = await openOwnGate(market)
  const { _id, code } = await shop.order()
  assert.equal((await shop.accept(code)).status, 200)
  const older = await shop.order()
  assert.equal((await shop.accept(older.code)).status, 200)
  const { db } = market.host
  const markOf = ({ _id }: OrderData) => db.one(sql`select account_mark as mark from payments where order_id = ${_id}`)
  const mark = await markOf(older)
  await db.run(sql`update payments set account_mark = null where order_id = ${older._id}`)
  assert.equal((await shop.save({ SECRET: 'rotated-0123456789-0123456789' }, false)).status, 200)
  const shown = async () => (await fetch(`${market.host.baseUrl}/pay?code=${code}`)).text()
  const offersChoice = /name="paymentChannel" value="gatepay"/
  assert.doesNotMatch(await shown(), offersChoice, 'another secret is no other account')
  assert.equal((await shop.save({ CLIENT_ID: 'another-account' })).status, 200)
  assert.match(await shown(), offersChoice)
  assert.deepEqual(await markOf(older), mark, 'a payment of an earlier version, too')
  const [payment] = await market.paymentsOf(_id)
  await market.act(payment?.reference ?? '', 'pay')
  // so old that a provider which does not know it would end it
  await market.host.db.run(sql`update payments set opened_at = opened_at - interval '25 hours' where order_id = ${_id}`)
  assert.equal((await shop.expire(code)).status, 200)
  const waits = () =>
    eventually(
      () => attemptsOf(market, _id),
      ([attempt]) => attempt?.waitsMinutes === true,
    )
  const removed = { own: true, status: 'closing', words: 'its account was removed', waitsMinutes: true }
  assert.deepEqual(await waits(), [removed])
  assert.equal((await shop.save({ CLIENT_ID: 'another-account' })).status, 200)
  assert.deepEqual(await attemptsOf(market, _id), [removed], 'saving the other account does not wake it')
  assert.equal((await shop.save()).status, 200)
  await market.reaches(code, 'PAID')
})

test('an account that another node puts back is asked at once, although this node still has no copy of it', async () => {
  const shop = await openOwnGate(market)
  const { _id, code } = await shop.order()
  assert.equal((await shop.accept(code)).status, 200)
  const [payment] = await market.paymentsOf(_id)
  const account = await accountOf(market, _id)
  assert.equal((await shop.remove()).status, 200)
  await market.act(payment?.reference ?? '', 'pay')
  assert.equal((await shop.expire(code)).status, 200)
  await eventually(
    () => attemptsOf(market, _id),
    ([attempt]) => attempt?.waitsMinutes === true,
  )
  await saveElsewhere(market, account)
  await market.reaches(code, 'PAID')
})

test('a payment whose account another node has just put back is shown at once, and abandoned as a good one', async () => {
  const shop = await openOwnGate(market)
  const { _id, code } = await shop.order()
  const first = await shop.accept(code)
  const account = await accountOf(market, _id)
  const shown = async () => (await fetch(`${market.host.baseUrl}/pay?code=${code}&lang=en`)).text()
  const putBack = async () => {
    assert.equal((await shop.save({ CLIENT_ID: 'another-account' })).status, 200)
    assert.match(await shown(), /Choose how to pay/)
    await saveElsewhere(market, account)
  }
  await putBack()
  assert.match(await shown(), /Continue at Gate Pay/)
  await putBack()
  assert.equal((await shop.accept(code)).data.providerReference, first.data.providerReference)
  await putBack()
  assert.equal((await shop.accept(code, 'kucoinpay')).status, 200)
  const [abandoned] = await attemptsOf(market, _id)
  assert.notEqual(abandoned?.words, 'its account was removed')
})

test('a node that has not read a company’s accounts for long shows none that another one has replaced', async () => {
  const shop = await openOwnGate(market)
  const { code } = await shop.order()
  assert.equal((await shop.accept(code)).status, 200)
  let ahead = 0
  const env = { ...chainEnv(market.chain), ...market.providers.credentials }
  const { connectionString } = market.host
  const other = await startTestService({ connectionString, env, clock: () => Date.now() + ahead })
  try {
    const shown = async () => (await fetch(`${other.baseUrl}/pay?code=${code}&lang=en`)).text()
    assert.match(await shown(), /Continue at Gate Pay/)
    assert.equal((await shop.save({ CLIENT_ID: 'another-account' })).status, 200)
    ahead = 10_000
    assert.match(await shown(), /Choose how to pay/)
  } finally {
    await other.stop()
  }
})

test('partly paid through an account that is gone: the page asks for no more money', async () => {
  const shop = await openOwnGate(market)
  const order = await shop.order()
  assert.equal((await shop.accept(order.code)).status, 200)
  await market.host.db.run(sql`
    update payments set status = 'confirming', received_units = 20000000 where order_id = ${order._id}`)
  assert.equal((await shop.remove()).status, 200)
  const page = await pageOf(order)
  assert.match(page, /Please do not pay the rest here .*quote order/)
  assert.doesNotMatch(page, /Please send|Still to pay|Continue at Gate Pay/)
})

test('a channel that the operator switches off shows no instructions; its payments are asked about once it is back', async () => {
  const [off, waiting] = [await market.createAwaiting('kucoinpay'), await market.createAwaiting('gatepay')]
  await market.host.db.run(sql`
    update payments set status = 'closing', last_words = 'its account was removed',
      next_check_at = now() + interval '1 day' where order_id = ${waiting.order._id}`)
  const settings = Object.entries(market.providers.credentials).filter(([name]) => !name.includes('KUCOINPAY'))
  const env = { ...chainEnv(market.chain), ...Object.fromEntries(settings) }
  const { connectionString } = market.host
  const other = await startTestService({ connectionString, env, workers: true })
  try {
    const page = await (await fetch(`${other.baseUrl}/pay?code=${off.order.code}&lang=en`)).text()
    assert.match(page, /Choose how to pay/)
    assert.doesNotMatch(page, /Continue at KuCoin Pay/)
    await eventually(
      () => attemptsOf(market, waiting.order._id),
      ([attempt]) => attempt?.status === 'closed',
    )
  } finally {
    await other.stop()
  }
})

test('that page lets the payer choose again', async () => {
  assert.match((await openPage) ?? '', /name="paymentChannel" value="gatepay"/)
})
