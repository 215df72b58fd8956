import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type ImitationWorld, startImitations } from './harness/imitation.ts'

/* The imitation of Gate Pay against its documentation; no adapter of ours takes part. */
let world: ImitationWorld
before(async () => {
  world = await startImitations()
})
after(() => world?.stop())

type Order = {
  status: string
  actualAmount: string
  underpaidAmount: string
  pay_currency: string
  pay_amount: string
  chain: string
  fullCurrType: string
  address: string
  transaction_info: { done_amount: string; confirming_list: { amount: string; confirm: number }[] }
}

/** @param fields a body as an object, or its JSON where a number needs all its digits */
async function send<Data>(
  method: 'GET' | 'POST',
  path: string,
  fields?: unknown,
  more: Record<string, string> = {},
): Promise<[string, Data]> {
  const body = fields === undefined ? '' : typeof fields === 'string' ? fields : JSON.stringify(fields)
  const [timestamp, nonce] = [String(world.now()), randomBytes(8).toString('hex')]
  const answer = await fetch(world.credential('CHANNEL_GATEPAY_BASE_URL') + path, {
    method,
    headers: {
      'content-type': 'application/json',
      'X-GatePay-Certificate-ClientId': world.credential('CHANNEL_GATEPAY_CLIENT_ID'),
      'X-GatePay-Timestamp': timestamp,
      'X-GatePay-Nonce': nonce,
      'X-GatePay-Signature': createHmac('sha512', world.credential('CHANNEL_GATEPAY_SECRET'))
        .update(`${timestamp}\n${nonce}\n${body}\n`)
        .digest('hex'),
      ...more,
    },
    ...(body === '' ? {} : { body }),
  })
  assert.equal(answer.status, 200)
  const { code, data } = (await answer.json()) as { code: string; data: unknown }
  const read = (typeof data === 'string' ? JSON.parse(data) : data) as { bizData?: unknown }
  return [code, (read.bizData ?? read) as Data]
}
const newOrder = (fields: Record<string, unknown> = {}) => ({
  merchantTradeNo: randomBytes(12).toString('hex'),
  env: { terminalType: 'WEB' },
  currency: 'USDC',
  orderAmount: '50',
  merchantUserId: 123,
  goods: { goodsName: 'Tea' },
  chain: 'ETH',
  fullCurrType: 'USDC_ETH',
  ...fields,
})
type Created = {
  prepayId: string
  terminalType: string
  expireTime: number
  chain: { chain_type: string; address: string; fullCurrType: string }
}
const place = (fields: unknown) => send<Created>('POST', '/v1/pay/checkout/order', fields)
async function create(fields?: Record<string, unknown>): Promise<string> {
  const [code, { prepayId }] = await place(newOrder(fields))
  assert.equal(code, '000000')
  return prepayId
}
const read = async (prepayId: string): Promise<Order> =>
  (await send<Order>('GET', `/v2/pay/order/query?prepayId=${prepayId}`))[1]
const close = async (prepayId: string): Promise<string> => (await send('POST', '/v1/pay/order/close', { prepayId }))[0]
const noticesOf = async (prepayId: string, count: number): Promise<string[]> =>
  (await world.callbacks('gatepay', prepayId, count)).map(({ body }) => JSON.parse(body).bizStatus)

test('after a close the query says EXPIRED, or a word that no document lists, and keeps saying it', async () => {
  for (const closedStatus of ['CANCELLED', 'CLOSED', 'EXPIRED']) {
    await world.post('/gatepay/console', { closedStatus })
    const prepayId = await create()
    assert.equal(await close(prepayId), '000000')
    assert.equal((await read(prepayId)).status, closedStatus)
    assert.deepEqual(await noticesOf(prepayId, 1), ['PAY_CLOSE'])
    await world.act(prepayId, 'pay')
    assert.equal((await read(prepayId)).status, closedStatus, 'late money does not make it PAID')
  }
})

test('too much: PAID, with what really came', async () => {
  const prepayId = await create()
  await world.act(prepayId, 'pay', { amount: '60' })
  const order = await read(prepayId)
  assert.deepEqual([order.status, order.actualAmount, order.transaction_info.done_amount], ['PAID', '60', '60'])
  assert.equal(await close(prepayId), '400204')
  const refund = (refundAmount: string) =>
    send('POST', '/v2/standard/order/refund', {
      prepayId,
      refundAmount,
      refundRequestId: randomBytes(8).toString('hex'),
      refundStyle: 1,
    })
  assert.equal((await refund('60.01'))[0], '400621')
  assert.equal((await refund('60'))[0], '000000', 'up to what was paid')
})

test('too little: PENDING, and what is missing', async () => {
  const prepayId = await create()
  await world.act(prepayId, 'pay', { amount: '20' })
  const order = await read(prepayId)
  assert.deepEqual([order.status, order.underpaidAmount, order.transaction_info.done_amount], ['PENDING', '30', '20'])
  assert.deepEqual(await noticesOf(prepayId, 1), ['TRANSFERRED_ADDRESS_IN_TERM'])
})

test('enough, and not confirmed yet: PROCESS, the money stands in confirming_list', async () => {
  const prepayId = await create()
  await world.act(prepayId, 'pay-unconfirmed')
  const order = await read(prepayId)
  assert.deepEqual([order.status, order.transaction_info.done_amount], ['PROCESS', '0'])
  assert.deepEqual(order.transaction_info.confirming_list, [{ amount: '50', confirm: 1 }])
  await world.act(prepayId, 'confirm')
  assert.equal((await read(prepayId)).status, 'PAID')
  assert.deepEqual(await noticesOf(prepayId, 2), ['TRANSFERRED_ADDRESS_IN_TERM', 'PAY_SUCCESS'])
})

test('enough in time, not confirmed at the end: PROCESS, told as PAY_EXPIRED_IN_PROCESS, then PAID', async () => {
  const prepayId = await create()
  await world.act(prepayId, 'pay-unconfirmed')
  await world.act(prepayId, 'expire')
  assert.equal((await read(prepayId)).status, 'PROCESS')
  await world.act(prepayId, 'confirm')
  assert.equal((await read(prepayId)).status, 'PAID')
  const notices = ['PAY_EXPIRED_IN_PROCESS', 'PAY_SUCCESS', 'TRANSFERRED_ADDRESS_IN_TERM']
  assert.deepEqual((await noticesOf(prepayId, 3)).sort(), notices)
})

test('money after the window is EXPIRED with a delay notice; blocked money is told by callback only', async () => {
  const late = await create()
  await world.act(late, 'expire')
  await world.act(late, 'pay')
  assert.deepEqual([(await read(late)).status, (await read(late)).transaction_info.done_amount], ['EXPIRED', '50'])
  assert.deepEqual(await noticesOf(late, 2), ['PAY_CLOSE', 'TRANSFERRED_ADDRESS_DELAY'])
  await world.story('kyt-blocked', { provider: 'gatepay' })
  const blocked = await create()
  await world.act(blocked, 'pay')
  assert.equal((await read(blocked)).status, 'PENDING')
  assert.deepEqual(await noticesOf(blocked, 1), ['PAY_BLOCK'])
})

test('each payment after the order’s end adds to done_amount and is told as a delay', async () => {
  const expired = await create()
  await world.act(expired, 'pay', { amount: '10' })
  await world.act(expired, 'expire')
  await world.act(expired, 'pay', { amount: '15' })
  assert.deepEqual(
    [(await read(expired)).status, (await read(expired)).transaction_info.done_amount],
    ['EXPIRED', '25'],
  )
  await world.act(expired, 'pay')
  await world.act(expired, 'pay', { amount: '5' })
  assert.deepEqual(
    [(await read(expired)).status, (await read(expired)).transaction_info.done_amount],
    ['EXPIRED', '55'],
  )
  const delay = 'TRANSFERRED_ADDRESS_DELAY'
  assert.deepEqual((await noticesOf(expired, 5)).sort(), [
    'PAY_CLOSE',
    delay,
    delay,
    delay,
    'TRANSFERRED_ADDRESS_IN_TERM',
  ])
  const paid = await create()
  await world.act(paid, 'pay')
  await world.act(paid, 'pay', { amount: '1' })
  await world.act(paid, 'pay', { amount: '20' })
  assert.deepEqual([(await read(paid)).status, (await read(paid)).transaction_info.done_amount], ['PAID', '71'])
  assert.deepEqual((await noticesOf(paid, 3)).sort(), ['PAY_SUCCESS', delay, delay])
  assert.equal((await world.post(`/payments/${paid}/pay`)).status, 409, 'nothing is missing')
})

test('pay_amount is "0" while nothing has arrived; a switch says the same of an expired order with money', async () => {
  const prepayId = await create()
  const asked = async () => {
    const { pay_currency, pay_amount, transaction_info } = await read(prepayId)
    return [pay_currency, pay_amount, transaction_info.done_amount]
  }
  assert.deepEqual(await asked(), ['', '0', '0'])
  await world.act(prepayId, 'expire')
  assert.deepEqual(await asked(), ['', '0', '0'])
  await world.act(prepayId, 'pay', { amount: '20' })
  assert.deepEqual(await asked(), ['USDC', '50', '20'])
  await world.post('/gatepay/console', { zeroPayAmount: true })
  assert.deepEqual(await asked(), ['', '0', '20'])
  await world.post('/gatepay/console', { zeroPayAmount: false })
})

test('a wrong coin, a wrong chain, a risk address: PAY_UNRESOLVED names the order by its id, which waits', async () => {
  const prepayId = await create({ chain: 'MATIC', fullCurrType: 'USDC_MATIC' })
  await world.act(prepayId, 'pay-wrong-coin')
  await world.act(prepayId, 'pay-wrong-coin', { amount: '0.5', currency: 'ETH' })
  await world.act(prepayId, 'pay-wrong-chain')
  await world.act(prepayId, 'pay-risk-address', { amount: '20' })
  const { address } = await read(prepayId)
  const bodies = (await world.callbacks('gatepay', prepayId, 4)).map(({ body }) => JSON.parse(body))
  for (const { bizType, bizId, bizStatus, data } of bodies) {
    assert.deepEqual([bizType, bizStatus], ['PAY_UNRESOLVED', 'UNRESOLVED_PENDING'])
    assert.deepEqual([data.originalOrderId, data.expectedAmount, data.merchantTradeNo], [prepayId, '50', undefined])
    assert.notEqual(bizId, prepayId)
    assert.deepEqual(data.expectedChainCurrency, [{ chain: 'MATIC', currencies: ['USDC'] }])
    assert.equal(data.toAddress, address)
  }
  assert.deepEqual(
    bodies.map(({ data }) => [data.errorType, data.actualAmount, data.actualCurrency, data.actualChain]).sort(),
    [
      ['address_error_chain', '50', 'USDC', 'BSC'],
      ['address_error_currency', '0.5', 'ETH', 'MATIC'],
      ['address_error_currency', '50', 'USDT', 'MATIC'],
      ['address_risk_address', '20', 'USDC', 'MATIC'],
    ],
  )
  assert.equal(new Set(bodies.map(({ data }) => data.exceptionId)).size, 4)
  const order = await read(prepayId)
  assert.deepEqual([order.status, order.transaction_info.done_amount], ['PENDING', '0'])
  assert.equal((await world.post(`/payments/${prepayId}/pay-wrong-coin`, { currency: 'USDC' })).status, 409)
})

test('a refund whose answer is lost was taken: asking for it by its id finds it', async () => {
  const prepayId = await create()
  await world.act(prepayId, 'pay')
  await world.story('refund-timeout-after-acceptance', { provider: 'gatepay' })
  const refund = { prepayId, refundAmount: '10', refundRequestId: 'lost-gate', refundStyle: 1 }
  await assert.rejects(send('POST', '/v2/standard/order/refund', refund))
  const [code, { status }] = await send<{ status: string }>('GET', '/v2/pay/refund/details?refundRequestId=lost-gate')
  assert.deepEqual([code, ['REFUND_PROCESS', 'REFUND_SUCCESS'].includes(status)], ['000000', true])
})

/* checkout/order, addresspayment/chainQuery and the guide "Create Hosted Checkout Order" */

test('an order needs a payer: any integer of 64 bits, and nothing else', async () => {
  const codeOf = async (number: string) => {
    const [code] = await place(JSON.stringify(newOrder({ merchantUserId: '?' })).replace('"?"', number))
    return code
  }
  for (const good of ['0', '123', '-1', '9223372036854775807']) assert.equal(await codeOf(good), '000000', good)
  for (const bad of ['9223372036854775808', '-9223372036854775809', '12.5', '1e3', '"123"', 'null', 'true'])
    assert.equal(await codeOf(bad), '400001', bad)
  assert.equal((await place(newOrder({ merchantUserId: undefined })))[0], '400001')
})

test('an order needs a network and the coin’s name on it, as the list of networks has them', async () => {
  const codeOf = async (chain: unknown, fullCurrType: unknown) => (await place(newOrder({ chain, fullCurrType })))[0]
  const good = [
    ['MATIC', 'USDC_MATIC'],
    ['BSC', 'USDC_BSC'],
    ['MATIC', 'USDT_MATIC'],
    ['BSC', 'BTC_BSC'],
    ['BTC', 'BTC'],
  ]
  const bad = [
    [undefined, 'USDC_MATIC'],
    ['MATIC', undefined],
    ['POLYGON', 'USDC_POLYGON'],
    ['MATIC', 'USDC_BSC'],
    ['MATIC', 'USDC'],
    ['BTC', 'BTC_BTC'],
    ['matic', 'USDC_matic'],
    [1, 'USDC_MATIC'],
  ]
  for (const [chain, name] of good) assert.equal(await codeOf(chain, name), '000000', name as string)
  for (const [chain, name] of bad) assert.equal(await codeOf(chain, name), '400001', `${chain} ${name}`)
  const [, made] = await place(newOrder({ chain: 'MATIC', fullCurrType: 'USDC_MATIC', env: { terminalType: 'WAP' } }))
  const { chain_type: chain, fullCurrType, address } = made.chain
  assert.deepEqual([chain, fullCurrType, made.terminalType], ['MATIC', 'USDC_MATIC', 'WAP'])
  assert.match(address, /^0x[0-9a-f]{40}$/)
  const shown = await read(made.prepayId)
  assert.deepEqual([shown.chain, shown.fullCurrType, shown.address], ['MATIC', 'USDC_MATIC', address])
})

test('the list of networks: those of one coin, none of a coin that Gate does not take', async () => {
  type Chains = { currency: string; chains: Record<string, string>[] }
  const list = (query: string) => send<Chains>('GET', `/v1/pay/address/chains${query}`)
  const [code, { currency, chains }] = await list('?currency=USDC')
  assert.deepEqual([code, currency], ['000000', 'USDC'])
  assert.deepEqual(
    chains.map(({ chain }) => chain),
    ['MATIC', 'BSC', 'ETH', 'SOL'],
  )
  assert.deepEqual(chains[0], {
    ...{ chain: 'MATIC', currency: 'USDC', full_curr_type: 'USDC_MATIC' },
    ...{ symbol: 'USDC_MATIC', explorer_url: '' },
  })
  const [, bitcoin] = await list('?currency=BTC')
  assert.equal(bitcoin.chains[0]?.full_curr_type, 'BTC', 'a coin on its own chain')
  assert.deepEqual((await list('?currency=XYZ'))[1], { currency: 'XYZ', chains: [] })
  assert.equal((await list(''))[0], '400001')
})

test('the smallest order on a chain is 0.01; a refund may be smaller', async () => {
  for (const orderAmount of ['0.009999', '0.0001']) assert.equal((await place(newOrder({ orderAmount })))[0], '400621')
  assert.equal((await place(newOrder({ orderAmount: '0.01' })))[0], '000000')
  assert.equal((await place(newOrder({ orderAmount: '0.0100001' })))[0], '400621', '7 digits')
  const prepayId = await create()
  await world.act(prepayId, 'pay')
  const refund = { prepayId, refundAmount: '0.001', refundRequestId: randomBytes(8).toString('hex'), refundStyle: 1 }
  assert.equal((await send('POST', '/v2/standard/order/refund', refund))[0], '000000')
})

test('an address of the payer’s way back has at most 256 characters', async () => {
  const longest = `https://shop.example/${'x'.repeat(235)}`
  for (const name of ['returnUrl', 'cancelUrl']) {
    assert.equal((await place(newOrder({ [name]: longest })))[0], '000000', name)
    assert.equal((await place(newOrder({ [name]: `${longest}x` })))[0], '400001', name)
  }
})

test('an order ends in milliseconds, an hour ahead at most', async () => {
  const now = world.now()
  const [, made] = await place(newOrder({ orderExpireTime: now + 600_000 }))
  assert.equal(made.expireTime, now + 600_000)
  for (const bad of [Math.floor(now / 1000) + 600, now - 1, now + 3_700_000, String(now + 600_000)])
    assert.equal((await place(newOrder({ orderExpireTime: bad })))[0], '400001', String(bad))
})

test('the callbacks of an order go to its callbackUrl, and otherwise where the console says', async () => {
  for (const callbackUrl of ['', 'shop.example/gate', 'ftp://shop.example', 'https://', 7])
    assert.equal((await place(newOrder({ callbackUrl })))[0], '400624', String(callbackUrl))
  const path = '/api/next/channels/gatepay/callback/own'
  const own = await create({ callbackUrl: world.receiver.url + path })
  await world.act(own, 'pay')
  const refund = { prepayId: own, refundAmount: '10', refundRequestId: randomBytes(8).toString('hex'), refundStyle: 1 }
  assert.equal((await send('POST', '/v2/standard/order/refund', refund))[0], '000000')
  await world.act(own, 'refund-settle')
  const arrived = () => world.receiver.at(path).map(({ body }) => JSON.parse(body).bizStatus)
  for (let tries = 0; tries < 100 && arrived().length < 3; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 25))
  assert.deepEqual(arrived().sort(), ['PAY_SUCCESS', 'REFUND_PROCESS', 'REFUND_SUCCESS'])
  assert.deepEqual(await noticesOf(own, 0), [], 'none at the console’s address')
  const other = await create()
  await world.act(other, 'pay')
  assert.deepEqual(await noticesOf(other, 1), ['PAY_SUCCESS'])
})

test('an institution has its own paths and says for whom it acts', async () => {
  const path = '/payment/open/institution/v1/pay/address/chains?currency=USDC'
  assert.equal((await send('GET', path))[0], '400001')
  assert.equal((await send('GET', path, undefined, { 'X-GatePay-On-Behalf-Of': '2124538349' }))[0], '000000')
})
