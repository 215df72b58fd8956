import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PaymentRequest } from '../channel.ts'
import { readSettings } from '../kind.ts'
import type { ProviderCall } from '../provider-http.ts'
import { gatepay } from './adapter.ts'

const NOW = 1_718_000_000_000

const REQUEST: PaymentRequest = {
  companyId: 'c'.repeat(24),
  merchantReference: '65f0c0ffee65f0c0ffee65f001',
  providerReference: null,
  network: null,
  due: { asset: 'USDC', units: 12_345_678n },
  fiat: { asset: 'EUR', units: 1140n },
  expiresAt: new Date(NOW + 600_000),
  description: 'Order K7P2',
  goods: null,
  returnUrl: null,
  cancelUrl: null,
  payerEmail: null,
  payerIp: null,
  userAddress: null,
  callbackUrl: 'https://pay.example/api/next/channels/gatepay/callback',
}

const valuesOf = (more: Record<string, string> = {}) => {
  const reading = readSettings(gatepay, { CLIENT_ID: 'id', SECRET: 'secret-of-gate', ...more })
  assert.ok(reading.outcome === 'set', JSON.stringify(reading))
  return reading.values
}

/** Gate's answers by path; what was sent is kept. */
function openWire(answers: Record<string, unknown>) {
  const calls: ProviderCall[] = []
  const http = async (call: ProviderCall) => {
    calls.push(call)
    const { pathname } = new URL(call.url)
    const answer = answers[pathname] ?? { status: 'FAIL', code: '400202', errorMessage: 'Order not found' }
    return { status: 200, headers: {}, text: typeof answer === 'string' ? answer : JSON.stringify(answer) }
  }
  return { context: { http, clock: () => NOW, live: true }, calls }
}
const success = (data: unknown) => ({ status: 'SUCCESS', code: '000000', errorMessage: '', data })

async function bodyOf(request: Partial<PaymentRequest> = {}, settings: Record<string, string> = {}) {
  const made = success({ prepayId: '65466648727916544', location: 'https://www.gate.com/cashier?prepayid=1' })
  const { context, calls } = openWire({ '/v1/pay/checkout/order': made })
  await gatepay.open(valuesOf(settings), context).createPayment({ ...REQUEST, ...request })
  return JSON.parse(calls[0]?.body ?? '') as Record<string, unknown>
}

// docs.gate.com, api-reference/version/100/en/endpoint/checkout/order and essentials/version/100/en/payments
test('an order names its payer by a whole number, the network, the coin on it, and where to call back', async () => {
  const body = await bodyOf()
  assert.equal(body.chain, 'MATIC')
  assert.equal(body.fullCurrType, 'USDC_MATIC')
  assert.equal(body.callbackUrl, REQUEST.callbackUrl)
  assert.equal(body.orderAmount, '12.345678')
  assert.equal(body.orderExpireTime, REQUEST.expiresAt.getTime(), 'in milliseconds')
  assert.ok(Number.isSafeInteger(body.merchantUserId) && Number(body.merchantUserId) > 0)
})

test('the number of the payer is the same in a repetition, and another one in another order', async () => {
  const { merchantUserId } = await bodyOf()
  assert.equal((await bodyOf()).merchantUserId, merchantUserId)
  const other = await bodyOf({ merchantReference: '65f0c0ffee65f0c0ffee65f002' })
  assert.notEqual(other.merchantUserId, merchantUserId)
})

test('an address of 256 characters is sent; a longer one is left out, so that the order can still be paid', async () => {
  const longest = `https://shop.example/${'x'.repeat(235)}`
  const sent = await bodyOf({ returnUrl: longest, cancelUrl: longest })
  assert.deepEqual([sent.returnUrl, sent.cancelUrl], [longest, longest])
  const { returnUrl, cancelUrl } = await bodyOf({ returnUrl: `${longest}x`, cancelUrl: `${longest}x` })
  assert.deepEqual([returnUrl, cancelUrl], [undefined, undefined])
})

test('network, coin and number can be set', async () => {
  const body = await bodyOf({}, { CHAIN: 'BSC', FULL_CURR_TYPE: 'USDC_BSC', MERCHANT_USER_ID: '17455498' })
  assert.deepEqual([body.chain, body.fullCurrType, body.merchantUserId], ['BSC', 'USDC_BSC', 17_455_498])
  const reading = readSettings(gatepay, { CLIENT_ID: 'id', SECRET: 's', MERCHANT_USER_ID: 'me' })
  assert.deepEqual(reading.outcome === 'faulty' && reading.faults.map(({ name }) => name), ['MERCHANT_USER_ID'])
})

const CHAINS = '/v1/pay/address/chains'
const offered = (...chains: string[]) =>
  success({
    currency: 'USDC',
    chains: chains.map((chain) => ({ chain, currency: 'USDC', full_curr_type: `USDC_${chain}`, symbol: '' })),
  })
const check = (answers: Record<string, unknown>, settings: Record<string, string> = {}) =>
  gatepay.probe?.(valuesOf(settings), openWire(answers).context, REQUEST)

test('the account check names the networks of Gate when the one that is set is not among them', async () => {
  await check({ [CHAINS]: offered('BSC', 'MATIC') })
  await assert.rejects(async () => check({ [CHAINS]: offered('BSC', 'SOL') }), {
    reason: 'account',
    message: /USDC on BSC \(USDC_BSC\), SOL \(USDC_SOL\), not on MATIC \(USDC_MATIC\)/,
  })
  const wrongCoin = { CHAIN: 'MATIC', FULL_CURR_TYPE: 'USDT_MATIC' }
  await assert.rejects(async () => check({ [CHAINS]: offered('MATIC') }, wrongCoin), { reason: 'account' })
})

test('the account check needs no list of networks, but working credentials', async () => {
  for (const silent of ['<html>', success({ currency: 'USDC', chains: [] }), success(null), success('text')])
    await check({ [CHAINS]: silent })
  const refused = { status: 'FAIL', code: '400002', errorMessage: 'Invalid signature' }
  for (const path of ['/v2/pay/order/query', CHAINS])
    await assert.rejects(async () => check({ [path]: refused }), { reason: 'credentials' })
})
