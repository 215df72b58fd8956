import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type ImitationWorld, startImitations } from './harness/imitation.ts'

/* The imitation of Whitepay against its documentation; no adapter of ours takes part. */
let world: ImitationWorld
before(async () => {
  world = await startImitations()
})
after(() => world?.stop())

const ORDERS = '/private-api/crypto-orders/sandbox-shop'

type Transaction = {
  id: string
  type: string
  currency: string
  value: string
  status: string
  completed_at: string | null
  is_internal: boolean
  stock_orders: { pair: string }[]
}
type Order = Record<string, unknown> & { id: string; transactions: Transaction[] }

async function call<Answer>(path: string, body?: unknown): Promise<Answer> {
  const answer = await fetch(world.credential('CHANNEL_WHITEPAY_BASE_URL') + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${world.credential('CHANNEL_WHITEPAY_TOKEN')}`,
      'content-type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  assert.ok(answer.ok, `${path}: ${answer.status} ${text}`)
  return JSON.parse(text) as Answer
}

let made = 0
async function create(amount = '50.00', currency = 'EUR'): Promise<Order> {
  made += 1
  const fields = { amount, currency, external_order_id: `order-${made}-${currency}` }
  return (await call<{ order: Order }>(ORDERS, fields)).order
}
const read = async (id: string): Promise<Order> => (await call<{ order: Order }>(`${ORDERS}/${id}`)).order
const amounts = ({ status, expected_amount, deposited_currency, received_total, received_currency }: Order) => [
  status,
  expected_amount,
  deposited_currency,
  received_total,
  received_currency,
]

test('before a coin is chosen, nothing says how much of which coin is expected', async () => {
  const order = await create()
  assert.deepEqual([order.value, order.currency, order.is_internal], ['50.00', 'EUR', null])
  assert.deepEqual(amounts(order), ['INIT', null, null, '0', null])
})

test('paid in full in USDT: the deposit is in USDT, the balance grows by 4.5 % less', async () => {
  const { id } = await create()
  await world.act(id, 'pay', { currency: 'USDT' })
  const order = await read(id)
  assert.deepEqual(amounts(order), ['COMPLETE', '54.1', 'USDT', '51.6655', 'USDT'])
  assert.deepEqual([order.value, order.currency], ['50.00', 'EUR'])
  assert.deepEqual(
    order.transactions.map(({ currency, value }) => [currency, value]),
    [['USDT', '54.1']],
  )
})

test('paid in full in BTC: expected in BTC, received in USDT, sold on the exchange', async () => {
  const { id } = await create()
  await world.act(id, 'pay', { currency: 'BTC' })
  const order = await read(id)
  assert.deepEqual(amounts(order), ['COMPLETE', '0.00084532', 'BTC', '51.665958', 'USDT'])
  assert.equal(order.transactions[0]?.stock_orders[0]?.pair, 'BTC_USDT')
})

test('a dust deposit in BTC pays next to nothing', async () => {
  const { id } = await create('30.00')
  await world.act(id, 'pay', { amount: '0.00000017', currency: 'BTC' })
  const order = await read(id)
  assert.deepEqual(amounts(order).slice(0, 3), ['PARTIALLY_FULFILLED', '0.00050719', 'BTC'])
  assert.equal(order.received_total, '0.01039')
})

test('too little, then the rest: PARTIALLY_FULFILLED, then COMPLETE with both transactions', async () => {
  const { id } = await create()
  await world.act(id, 'pay', { amount: '20', currency: 'USDT' })
  const part = await read(id)
  assert.deepEqual(amounts(part), ['PARTIALLY_FULFILLED', '54.1', 'USDT', '19.1', 'USDT'])
  const other = await world.post(`/payments/${id}/pay`, { amount: '0.001', currency: 'BTC' })
  assert.equal(other.status, 409, 'the order waits for the coin that was chosen first')
  assert.equal((await read(id)).transactions.length, 1)
  await world.act(id, 'pay')
  const whole = await read(id)
  assert.deepEqual(
    whole.transactions.map(({ value }) => value),
    ['20', '34.1'],
  )
  assert.equal(whole.status, 'COMPLETE')
})

test('too much: COMPLETE, and Whitepay announces what it sends back', async () => {
  const { id } = await create()
  await world.act(id, 'pay', { amount: '60', currency: 'USDT' })
  const order = await read(id)
  assert.deepEqual(amounts(order), ['COMPLETE', '54.1', 'USDT', '57.3', 'USDT'])
  const events = (await world.callbacks('whitepay', id, 3)).map(({ body }) => JSON.parse(body).event_type)
  assert.deepEqual(events, ['transaction::complete', 'order::completed', 'rollback::to_client'])
})

test('too much goes back to the client or to our account: a transaction of its own, never a deposit', async () => {
  for (const overpaymentTo of ['merchant', 'client']) {
    await world.post('/whitepay/console', { overpaymentTo })
    const { id } = await create()
    await world.act(id, 'pay', { amount: '60', currency: 'USDT' })
    const [deposit, rollback] = (await read(id)).transactions
    assert.deepEqual([deposit?.type, deposit?.value], ['DEPOSIT', '60'])
    const type = `ROLLBACK_TO_${overpaymentTo.toUpperCase()}`
    assert.deepEqual([rollback?.type, rollback?.value, rollback?.currency], [type, '5.9', 'USDT'])
    assert.notEqual(rollback?.id, deposit?.id)
    const callback = (await world.callbacks('whitepay', id, 3)).find(({ body }) => body.includes('rollback::'))
    const { transaction, event_type } = JSON.parse(callback?.body ?? '')
    assert.equal(event_type, `rollback::to_${overpaymentTo}`)
    assert.deepEqual(transaction, { ...rollback, order_id: id, external_order_id: null })
    const token = world.credential('CHANNEL_WHITEPAY_MERCHANT_WEBHOOK_TOKEN')
    const signature = createHmac('sha256', token).update(callback?.body ?? '')
    assert.equal(callback?.headers.signature, signature.digest('hex'))
  }
})

test('a transaction is OPEN until the chain confirms it, and until then fulfils nothing', async () => {
  const shown = async (id: string) => {
    const { status, received_total, transactions } = await read(id)
    return [status, received_total, ...transactions.map((one) => [one.value, one.status, one.completed_at !== null])]
  }
  const { id } = await create()
  await world.act(id, 'pay-unconfirmed', { amount: '10', currency: 'USDT' })
  assert.deepEqual(await shown(id), ['OPEN', '0', ['10', 'OPEN', false]])
  await world.act(id, 'confirm')
  assert.deepEqual(await shown(id), ['PARTIALLY_FULFILLED', '9.55', ['10', 'COMPLETE', true]])
  await world.act(id, 'pay-unconfirmed', { amount: '20', currency: 'USDT' })
  const both = [
    ['10', 'COMPLETE', true],
    ['20', 'OPEN', false],
  ]
  assert.deepEqual(await shown(id), ['PARTIALLY_FULFILLED', '9.55', ...both])
  await world.act(id, 'expire')
  assert.deepEqual(await shown(id), ['DECLINED', '9.55', ...both])
  await world.act(id, 'confirm')
  assert.deepEqual(await shown(id), ['DECLINED', '28.65', ['10', 'COMPLETE', true], ['20', 'COMPLETE', true]])
  const events = (await world.callbacks('whitepay', id, 2)).map(({ body }) => JSON.parse(body).event_type)
  assert.deepEqual(events, ['order::partially_fulfilled', 'order::declined'])
})

test('the whole price, not confirmed yet: OPEN, then COMPLETE', async () => {
  const parts = await create()
  await world.act(parts.id, 'pay', { amount: '20', currency: 'USDT' })
  await world.act(parts.id, 'pay-unconfirmed')
  assert.equal((await read(parts.id)).status, 'PARTIALLY_FULFILLED')
  const { id } = await create()
  await world.act(id, 'pay-unconfirmed', { currency: 'BTC' })
  const open = await read(id)
  assert.deepEqual([open.status, open.transactions[0]?.status], ['OPEN', 'OPEN'])
  assert.deepEqual(open.transactions[0]?.stock_orders, [])
  await world.act(id, 'confirm')
  const complete = await read(id)
  assert.deepEqual([complete.status, complete.transactions[0]?.status], ['COMPLETE', 'COMPLETE'])
  assert.equal(complete.transactions[0]?.stock_orders.length, 1)
})

test('an order in USDC paid in USDC is sold for USDT as well', async () => {
  const { id } = await create('10.00', 'USDC')
  await world.act(id, 'pay')
  assert.deepEqual(amounts(await read(id)), ['COMPLETE', '10', 'USDC', '9.54045', 'USDT'])
})

test('order events carry the page’s signature, transaction events the merchant’s', async () => {
  const { id } = await create()
  await world.act(id, 'pay', { currency: 'BTC' })
  const [transaction, order] = await world.callbacks('whitepay', id, 2)
  const sign = (name: string, body = ''): string =>
    createHmac('sha256', world.credential(name)).update(body).digest('hex')
  assert.equal(transaction?.headers.signature, sign('CHANNEL_WHITEPAY_MERCHANT_WEBHOOK_TOKEN', transaction?.body))
  assert.equal(order?.headers.signature, sign('CHANNEL_WHITEPAY_WEBHOOK_TOKEN', order?.body))
  assert.equal(JSON.parse(order?.body ?? '').order.status, 'COMPLETE')
})

test('with conversion events on, money that is being sold is announced before COMPLETE', async () => {
  await world.post('/whitepay/console', { announcesConversion: true })
  const { id } = await create()
  await world.post('/whitepay/console', { announcesConversion: false })
  await world.act(id, 'pay', { currency: 'BTC' })
  const events = (await world.callbacks('whitepay', id, 4)).map(({ body }) => JSON.parse(body).event_type)
  assert.deepEqual(events, [
    'transaction::complete',
    'order::final_amount_was_received',
    'transaction::was_final_exchange',
    'order::completed',
  ])
})

test('escaped bodies: the signature covers \\/ and \\uXXXX, the sent bytes are plain', async () => {
  await world.post('/whitepay/console', { escapedSlashes: true })
  const link = 'https://shop.example/größe'
  const fields = { amount: '12.00', currency: 'EUR', external_order_id: 'escaped-1', successful_link: link }
  const { order } = await call<{ order: Order }>(ORDERS, fields)
  await world.act(order.id, 'expire')
  const [declined] = await world.callbacks('whitepay', order.id, 1)
  await world.post('/whitepay/console', { escapedSlashes: false })
  const body = declined?.body ?? ''
  assert.ok(body.includes('größe') && !body.includes('\\/'))
  const php = body.replaceAll('/', '\\/').replace('ö', '\\u00f6').replace('ß', '\\u00df')
  const token = world.credential('CHANNEL_WHITEPAY_WEBHOOK_TOKEN')
  assert.equal(declined?.headers.signature, createHmac('sha256', token).update(php).digest('hex'))
})

test('DECLINED, and COMPLETE afterwards', async () => {
  const { id } = await create()
  await world.act(id, 'expire')
  assert.equal((await read(id)).status, 'DECLINED')
  await world.act(id, 'pay')
  assert.equal((await read(id)).status, 'COMPLETE')
})

type Wallet = { address?: string; network?: string; memo?: string }
type HostToHost = Wallet & {
  order: Wallet & { id: string; wallet?: Wallet; currency: unknown; expected_amount: string }
}

async function hostToHost(network: string): Promise<HostToHost> {
  const listed = await call<Record<string, { id: string; ticker: string }[]>>('/acquiring/sandbox-wallets/currencies')
  const [currencies] = Object.values(listed)
  const currency_id = currencies?.find(({ ticker }) => ticker === 'USDC')?.id
  made += 1
  const pay = { amount: '50.00', currency_id, method: 'WALLET', network, external_order_id: `wallet-${made}` }
  const { order } = await call<{ order: { id: string } }>('/acquiring/sandbox-wallets/pay', pay)
  return call<HostToHost>(`/acquiring/sandbox-wallets/order/${order.id}`)
}

test('host to host: the address stands in order.wallet, the currency is an object, and a memo comes with it', async () => {
  await world.post('/whitepay/console', { acquiringShape: 'extended' })
  const { order } = await hostToHost('XLM')
  assert.deepEqual(order.currency, { id: 'b1f0a1f2-0000-4000-8000-000000000001', ticker: 'USDC' })
  assert.deepEqual([order.wallet?.network, order.expected_amount], ['XLM', '50'])
  assert.match(order.wallet?.memo ?? '', /^\d{7,9}$/)
  assert.equal(order.address, undefined)
  const plain = await hostToHost('BASE')
  assert.deepEqual(Object.keys(plain.order.wallet ?? {}), ['address', 'network'])
})

test('host to host, older shapes: the address under the order, or at the root', async () => {
  await world.post('/whitepay/console', { acquiringShape: 'under-order' })
  const under = await hostToHost('XLM')
  assert.ok(under.order.address && under.order.memo && !under.order.wallet && !under.address)
  await world.post('/whitepay/console', { acquiringShape: 'at-root' })
  const root = await hostToHost('XLM')
  assert.ok(root.address && root.memo && !root.order.address && !root.order.wallet)
  await world.post('/whitepay/console', { acquiringShape: 'documented' })
})

test('host to host, as documented: no reference, price, coin or transactions; the order itself has them', async () => {
  const { order } = await hostToHost('BASE')
  await world.act(order.id, 'pay', { amount: '20' })
  const path = `/acquiring/sandbox-wallets/order/${order.id}`
  const { wallet, currency, fixated_at, ...rest } = (await call<{ order: Order & { wallet: Wallet } }>(path)).order
  assert.deepEqual(rest, {
    ...{ id: order.id, status: 'PARTIALLY_FULFILLED', order_type: 'CRYPTO_DONATION' },
    ...{ amount: null, expected_amount: '50', received_total: '19.0809', invoice_reminder: '30' },
    ...{ min_deposit_amount: '0.10', network_fee: '0', exchange_rate: null },
    ...{ payment_url: null, successful_link: null, failure_link: null },
  })
  assert.deepEqual([wallet.network, wallet.memo, typeof fixated_at], ['BASE', null, 'string'])
  assert.deepEqual(currency, { id: 'b1f0a1f2-0000-4000-8000-000000000001', ticker: 'USDC' })
  const whole = await call<{ order: Order }>(`/private-api/crypto-orders/sandbox-wallets/${order.id}`)
  assert.deepEqual([whole.order.external_order_id, whole.order.value], [`wallet-${made}`, '50.00'])
})
