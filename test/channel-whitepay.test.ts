import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Channel, PaymentRequest } from '../src/channels/channel.ts'
import { ProviderRefusal, ProviderTrouble } from '../src/channels/provider-errors.ts'
import { whitepay } from '../src/channels/whitepay/adapter.ts'
import { whitepayNonCustody } from '../src/channels/whitepay-non-custody/adapter.ts'
import { CallbackRefused } from '../src/kernel/callback.ts'
import { newRequest, type ProviderWorld, startProviderWorld } from './harness/providers.ts'

let world: ProviderWorld
let channel: Channel
before(async () => {
  world = await startProviderWorld()
  channel = world.open(whitepay)
})
after(() => world.stop())

const keyOf = (request: PaymentRequest, providerReference: string) => ({ ...request, providerReference })
const create = async (on: Channel, request: PaymentRequest = newRequest()) => {
  const { providerReference, checkoutUrl } = await on.createPayment(request)
  return { key: keyOf(request, providerReference), request, id: providerReference, checkoutUrl }
}
const newest = async (count: number) => {
  const before = world.receiver.at('/api/next/channels/whitepay/callback').length
  return { wait: async () => (await world.callbacks('whitepay', before + count)).slice(before) }
}

/** A request that is not the adapter's. */
const raw = (path: string, options: { method?: string; token?: string; body?: unknown } = {}) => {
  const { method = options.body === undefined ? 'GET' : 'POST', body } = options
  const { CHANNEL_WHITEPAY_TOKEN = '' } = world.providers.credentials
  const { token = CHANNEL_WHITEPAY_TOKEN } = options
  return fetch(`${world.providers.url}/whitepay${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}
const orders = '/private-api/crypto-orders/sandbox-shop'
const fault = async (body: Record<string, unknown>, path = orders): Promise<string[]> => {
  const answer = await raw(path, { body })
  assert.equal(answer.status, 422)
  return Object.keys(((await answer.json()) as { errors: Record<string, unknown> }).errors)
}

describe('the channel whitepay', () => {
  it('makes an order in fiat, waits, is paid and tells by a signed callback', async () => {
    const { key, id, checkoutUrl } = await create(channel)
    assert.equal(checkoutUrl, `${world.providers.url}/payments/${id}`)
    assert.equal((await channel.fetchPayment(key)).outcome, 'waiting')
    const callbacks = await newest(2)
    assert.equal((await world.act(`/payments/${id}/pay`)).status, 200)
    const [transaction, order] = await callbacks.wait()
    assert.ok(transaction && order && channel.readCallback)
    assert.deepEqual((await channel.readCallback(transaction)).report, null)
    const news = await channel.readCallback(order)
    assert.deepEqual([news.merchantReference, news.providerReference], [key.merchantReference, id])
    const report = await channel.fetchPayment(key)
    assert.ok(report.outcome === 'seen')
    assert.deepEqual(
      [report.final, report.pending, report.providerStatus],
      [54_210_000n, 0n, 'COMPLETE, inside WhiteBIT'],
    )
  })

  it('prices in USDC what is not listed in fiat', async () => {
    const fiat = { asset: 'CHF', units: 5025n } as const
    const { key, id } = await create(channel, newRequest({ fiat }))
    const payment = (await (await fetch(`${world.providers.url}/payments/${id}`)).json()) as Record<string, unknown>
    assert.deepEqual([payment.amount, payment.currency], ['54.210000', 'USDC'])
    await world.act(`/payments/${id}/pay`, { amount: '20.5' })
    const report = await channel.fetchPayment(key)
    assert.ok(report.outcome === 'seen')
    assert.equal(report.final, 20_500_000n)
    assert.deepEqual(await channel.findLimits?.({ due: key.due, fiat }), {
      min: { asset: 'USDC', units: 100_000n },
      max: { asset: 'USDC', units: 1_000_000_000_000n },
    })
  })

  it('refuses too little before it calls, and a bad token as the operator’s fault', async () => {
    const little = newRequest({ fiat: { asset: 'EUR', units: 9n } })
    await assert.rejects(channel.createPayment(little), (error) => {
      assert.ok(error instanceof ProviderRefusal)
      return error.reason === 'amount'
    })
    const wrong = world.open(whitepay, { values: { TOKEN: 'wrong' } })
    await assert.rejects(wrong.createPayment(newRequest()), (error) => {
      assert.ok(error instanceof ProviderRefusal)
      return error.reason === 'credentials'
    })
    const elsewhere = world.open(whitepay, { values: { SLUG: 'elsewhere' } })
    await assert.rejects(elsewhere.createPayment(newRequest()), (error) => {
      assert.ok(error instanceof ProviderRefusal)
      return error.reason === 'account'
    })
  })

  it('finds an order whose creation was never answered, and knows when there is none', async () => {
    const request = newRequest()
    assert.deepEqual(await channel.recoverPayment?.(request), { outcome: 'absent' })
    await world.act('/stories/timeout-after-acceptance', { provider: 'whitepay' })
    await assert.rejects(channel.createPayment(request), ProviderTrouble)
    const recovery = await channel.recoverPayment?.(request)
    assert.ok(recovery?.outcome === 'found')
    const { providerReference, checkoutUrl } = recovery.instructions
    assert.equal(checkoutUrl, `${world.providers.url}/payments/${providerReference}`)
    assert.equal((await channel.fetchPayment(keyOf(request, providerReference))).outcome, 'waiting')
  })

  it('tells declined, and complete after declined', async () => {
    const { key, id } = await create(channel)
    const callbacks = await newest(1)
    await world.act(`/payments/${id}/expire`)
    const [declined] = await callbacks.wait()
    assert.ok(declined)
    assert.match((await channel.readCallback?.(declined))?.providerStatus ?? '', /order::declined: DECLINED/)
    assert.equal((await channel.fetchPayment(key)).outcome, 'cancelled')
    assert.equal((await channel.fetchPayment({ ...key, expiresAt: new Date(0) })).outcome, 'expired')
    await world.act(`/payments/${id}/pay`)
    assert.equal((await channel.fetchPayment(key)).outcome, 'seen')
  })

  it('reports a part, also when the console completes the order with it', async () => {
    const { key, id } = await create(channel)
    await world.act(`/payments/${id}/pay`, { amount: '20.10' })
    const part = await channel.fetchPayment(key)
    assert.ok(part.outcome === 'seen')
    assert.equal(part.final, (54_210_000n * 2010n) / 5025n)
    assert.equal((await raw(`${orders}/${id}/complete`, { method: 'POST', body: {} })).status, 200)
    const completed = await channel.fetchPayment(key)
    assert.ok(completed.outcome === 'seen')
    assert.deepEqual([completed.final, completed.providerStatus], [part.final, 'COMPLETE, inside WhiteBIT'])
  })

  it('leaves words and orders that it does not know unknown', async () => {
    await world.act('/stories/unknown-status', { provider: 'whitepay' })
    const { key } = await create(channel)
    const report = await channel.fetchPayment(key)
    assert.deepEqual([report.outcome, report.providerStatus], ['unknown', 'UNDER_REVIEW'])
    const missing = await channel.fetchPayment({ ...key, providerReference: 'nobody' })
    assert.equal(missing.outcome, 'unknown')
  })

  it('takes callbacks with escaped slashes, refuses forged and changed ones', async () => {
    await world.act('/stories/forged-callback', { provider: 'whitepay' })
    const forged = await newest(1)
    const { id } = await create(channel)
    const [forgery] = await forged.wait()
    assert.ok(forgery && channel.readCallback)
    await assert.rejects(channel.readCallback(forgery), CallbackRefused)
    await raw('/console', { body: { escapedSlashes: true } })
    const callbacks = await newest(2)
    await world.act(`/payments/${id}/pay`)
    const [, order] = await callbacks.wait()
    await raw('/console', { body: { escapedSlashes: false } })
    assert.ok(order)
    assert.match((await channel.readCallback(order)).providerStatus, /signed escaped/)
    const changed = Buffer.from(order.rawBody.toString('utf8').replace('COMPLETE', 'COMPLETF'))
    await assert.rejects(channel.readCallback({ ...order, rawBody: changed }), CallbackRefused)
  })

  it('refuses order events signed with the merchant token', async () => {
    const { CHANNEL_WHITEPAY_MERCHANT_WEBHOOK_TOKEN: merchant = '', CHANNEL_WHITEPAY_WEBHOOK_TOKEN: page = '' } =
      world.providers.credentials
    const mixed = world.open(whitepay, { values: { WEBHOOK_TOKEN: merchant, MERCHANT_WEBHOOK_TOKEN: page } })
    const callbacks = await newest(2)
    const { id } = await create(channel)
    await world.act(`/payments/${id}/pay`)
    const orders = (await callbacks.wait()).filter(({ rawBody }) => rawBody.includes('order::'))
    assert.equal(orders.length, 1)
    for (const callback of orders)
      await assert.rejects(Promise.resolve(mixed.readCallback?.(callback)), /must be signed with/)
  })
})

describe('the channel whitepay-non-custody', () => {
  it('uses the page for outside wallets; either channel reads its callbacks', async () => {
    const other = world.open(whitepayNonCustody)
    const { key, id } = await create(other)
    const callbacks = await newest(2)
    await world.act(`/payments/${id}/pay`)
    const [, order] = await callbacks.wait()
    assert.ok(order)
    for (const reader of [channel, other])
      assert.equal((await reader.readCallback?.(order))?.merchantReference, key.merchantReference)
    const report = await other.fetchPayment(key)
    assert.ok(report.outcome === 'seen')
    assert.equal(report.providerStatus, 'COMPLETE, from an outside wallet')
  })

  it('shows the deposit address itself when host-to-host is on', async () => {
    const direct = world.open(whitepayNonCustody, { values: { HOST_TO_HOST: 'true' } })
    const request = newRequest()
    const instructions = await direct.createPayment(request)
    assert.match(instructions.toAddress ?? '', /^0x[0-9a-f]{40}$/)
    assert.deepEqual([instructions.tokenAmount, instructions.network], ['54.210000', 8453])
    const recovery = await direct.recoverPayment?.(request)
    assert.ok(recovery?.outcome === 'found')
    assert.deepEqual(recovery.instructions, instructions)
    const key = keyOf(request, instructions.providerReference)
    assert.equal((await direct.fetchPayment(key)).outcome, 'waiting')
    await world.act(`/payments/${key.providerReference}/pay`)
    const report = await direct.fetchPayment(key)
    assert.ok(report.outcome === 'seen')
    assert.equal(report.final, 54_210_000n)
    const limits = await direct.findLimits?.(request)
    assert.equal(limits?.min?.units, 100_000n)
    const other = world.open(whitepayNonCustody, { values: { HOST_TO_HOST: 'true', HOST_TO_HOST_NETWORK: 'SOL' } })
    await assert.rejects(other.createPayment(newRequest()), /it offers: BASE, ERC20/)
  })
})

describe('the imitation of Whitepay', () => {
  const good = { amount: '12.00', currency: 'EUR', external_order_id: 'abc_-1' }

  it('wants the token and a page that exists', async () => {
    assert.equal((await raw(orders, { body: good, token: 'wrong' })).status, 401)
    assert.equal((await raw('/private-api/order-statuses', { token: 'wrong' })).status, 401)
    assert.equal((await raw('/private-api/order-statuses')).status, 200)
    assert.equal((await raw('/private-api/crypto-orders/nowhere', { body: good })).status, 404)
    assert.equal((await raw(`${orders}/nobody`)).status, 404)
    assert.equal((await raw(orders, { body: good })).status, 201)
    assert.equal((await raw(orders, { body: '{' })).status, 400)
  })

  it('refuses bad references, amounts and tickers', async () => {
    assert.deepEqual(await fault({ ...good, external_order_id: 'a b' }), ['external_order_id'])
    assert.deepEqual(await fault({ ...good, external_order_id: '' }), ['external_order_id'])
    assert.deepEqual(await fault({ ...good, external_order_id: 'a'.repeat(256) }), ['external_order_id'])
    assert.deepEqual(await fault({ ...good, amount: '0.09' }), ['amount'])
    assert.deepEqual(await fault({ ...good, amount: '10000000.01' }), ['amount'])
    assert.deepEqual(await fault({ ...good, amount: 'ten' }), ['amount'])
    assert.deepEqual(await fault({ ...good, currency: 'XPF' }), ['currency'])
    assert.deepEqual(await fault({ ...good, failure_link: 'basket' }), ['failure_link'])
  })

  it('refuses host-to-host payments that are not complete', async () => {
    const [first] = (
      (await (await raw('/acquiring/sandbox-shop/currencies')).json()) as { currencies: { id: string }[] }
    ).currencies
    const pay = { amount: '10', currency_id: first?.id, method: 'WALLET', network: 'BASE' }
    const path = '/acquiring/sandbox-shop/pay'
    assert.deepEqual(await fault({ ...pay, currency_id: 'x', network: 'BASE' }, path), ['currency_id', 'network'])
    assert.deepEqual(await fault({ ...pay, method: 'CARD' }, path), ['method'])
    assert.deepEqual(await fault({ ...pay, network: 'ERC20', amount: '4.99' }, path), ['amount'])
  })

  it('completes only an order that is paid in part', async () => {
    const { id } = await create(channel)
    assert.deepEqual(await fault({}, `${orders}/${id}/complete`), ['order'])
  })
})
