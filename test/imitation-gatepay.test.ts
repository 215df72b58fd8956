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
  transaction_info: { done_amount: string; confirming_list: { amount: string; confirm: number }[] }
}

async function send<Data>(method: 'GET' | 'POST', path: string, fields?: unknown): Promise<[string, Data]> {
  const body = fields === undefined ? '' : JSON.stringify(fields)
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
    },
    ...(body === '' ? {} : { body }),
  })
  assert.equal(answer.status, 200)
  const { code, data } = (await answer.json()) as { code: string; data: unknown }
  const read = (typeof data === 'string' ? JSON.parse(data) : data) as { bizData?: unknown }
  return [code, (read.bizData ?? read) as Data]
}
async function create(): Promise<string> {
  const [code, { prepayId }] = await send<{ prepayId: string }>('POST', '/v1/pay/checkout/order', {
    merchantTradeNo: randomBytes(12).toString('hex'),
    env: { terminalType: 'WEB' },
    currency: 'USDC',
    orderAmount: '50',
    goods: { goodsName: 'Tea' },
  })
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
  const prepayId = await create()
  await world.act(prepayId, 'pay-wrong-coin')
  await world.act(prepayId, 'pay-wrong-coin', { amount: '0.5', currency: 'ETH' })
  await world.act(prepayId, 'pay-wrong-chain')
  await world.act(prepayId, 'pay-risk-address', { amount: '20' })
  const bodies = (await world.callbacks('gatepay', prepayId, 4)).map(({ body }) => JSON.parse(body))
  for (const { bizType, bizId, bizStatus, data } of bodies) {
    assert.deepEqual([bizType, bizStatus], ['PAY_UNRESOLVED', 'UNRESOLVED_PENDING'])
    assert.deepEqual([data.originalOrderId, data.expectedAmount, data.merchantTradeNo], [prepayId, '50', undefined])
    assert.notEqual(bizId, prepayId)
  }
  assert.deepEqual(
    bodies.map(({ data }) => [data.errorType, data.actualAmount, data.actualCurrency, data.actualChain]).sort(),
    [
      ['address_error_chain', '50', 'USDC', 'BSC'],
      ['address_error_currency', '0.5', 'ETH', 'ETH'],
      ['address_error_currency', '50', 'USDT', 'ETH'],
      ['address_risk_address', '20', 'USDC', 'ETH'],
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
