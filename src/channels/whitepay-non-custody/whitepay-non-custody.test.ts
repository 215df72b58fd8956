import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PaymentKey, PaymentRequest } from '../channel.ts'
import { readSettings } from '../kind.ts'
import { ProviderRefusal } from '../provider-errors.ts'
import type { ProviderAnswer, ProviderCall } from '../provider-http.ts'
import { whitepay } from '../whitepay/adapter.ts'
import { whitepayNonCustody } from './adapter.ts'

const NOW = Date.UTC(2026, 0, 1)
const payment: PaymentKey = {
  companyId: 'c',
  merchantReference: 'a'.repeat(26),
  providerReference: 'w1',
  network: null,
  due: { asset: 'USDC', units: 13_330_000n },
  fiat: { asset: 'EUR', units: 1234n },
  expiresAt: new Date(NOW + 1000),
}

// docs.whitepay.com, "host to host": order.wallet{address, network, memo}, order.currency{id, ticker}
describe('whitepay: host to host', () => {
  const kept = {
    id: 'w1',
    status: 'OPEN',
    value: '13.33',
    expected_amount: '13.3300001',
    deposited_currency: 'USDC',
    external_order_id: payment.merchantReference,
    payment_url: 'https://page.example/w1',
  }
  const wallet = { address: '0xabc', network: 'BASE' }
  const currency = { id: 'c1', ticker: 'USDC' }
  const offers = { currencies: [{ id: 'c1', ticker: 'USDC', networks: { BASE: { min_amount: '1' } } }] }

  const openWith = (order: unknown, hosted?: unknown, refused?: object, network = 'BASE') => {
    const answers: Record<string, unknown> = {
      '/acquiring/shop/currencies': offers,
      '/acquiring/shop/pay': { order: { id: 'w1' } },
      '/acquiring/shop/order/w1': order,
      '/private-api/crypto-orders/shop/w1': hosted,
    }
    const http = async ({ url, method }: ProviderCall): Promise<ProviderAnswer> => {
      if (refused && method === 'POST') return { status: 422, headers: {}, text: JSON.stringify(refused) }
      return { status: 200, headers: {}, text: JSON.stringify(answers[new URL(url).pathname]) }
    }
    const hostToHost = { NON_CUSTODY: 'true', HOST_TO_HOST: 'true', HOST_TO_HOST_NETWORK: network }
    const reading = readSettings(whitepayNonCustody, { TOKEN: 't', SLUG: 'shop', WEBHOOK_TOKEN: 'w', ...hostToHost })
    assert.ok(reading.outcome === 'set')
    return whitepayNonCustody.open(reading.values, { http, clock: () => NOW, live: false })
  }
  const create = (order: unknown, hosted?: unknown) =>
    openWith(order, hosted).createPayment({ ...payment, returnUrl: null } as PaymentRequest)

  it('reads the address from the documented nesting, and from both older ones', async () => {
    for (const answer of [
      { order: { ...kept, currency, wallet } },
      { order: { ...kept, currency: 'USDC', ...wallet } },
      { order: { ...kept, currency: 'USDC' }, ...wallet },
    ]) {
      const told = await create(answer)
      assert.deepEqual([told.toAddress, told.network], ['0xabc', 8453])
      assert.equal(told.tokenAmount, '13.330001', 'what is to be deposited, rounded up')
    }
  })

  it('names what Whitepay does not take: the network of the setting, or a field of the order', async () => {
    const request = { ...payment, returnUrl: null } as PaymentRequest
    const elsewhere = openWith({}, undefined, undefined, 'SOLANA')
    await assert.rejects(elsewhere.createPayment(request), {
      reason: 'account',
      message: 'Whitepay takes no USDC on SOLANA; it offers: BASE.',
    })
    const errors = { network: ['The selected network is invalid.'] }
    const refusing = openWith({}, undefined, { message: 'The given data was invalid.', errors })
    await assert.rejects(refusing.createPayment(request), {
      reason: 'request',
      message: 'Whitepay: network: The selected network is invalid.',
    })
  })

  it('shows no address without its memo, wherever the memo stands', async () => {
    const page = kept.payment_url
    for (const answer of [
      { order: { ...kept, currency, wallet: { ...wallet, memo: '77' } } },
      { order: { ...kept, ...wallet, memo: '77' } },
      { order: kept, ...wallet, memo: '77' },
      { order: { ...kept, wallet }, memo: '77' },
    ]) {
      const told = await create(answer)
      assert.deepEqual([told.toAddress, told.qrData, told.checkoutUrl], [null, page, page])
    }
    const { payment_url: _, ...withoutPage } = kept
    const documented = { order: { ...withoutPage, payment_url: null, wallet: { ...wallet, memo: '77' } } }
    await assert.rejects(create(documented, { order: withoutPage }), ProviderRefusal)
    const found = await create(documented, { order: { ...withoutPage, acquiring_url: page } })
    assert.deepEqual([found.toAddress, found.qrData, found.checkoutUrl], [null, page, page])
  })

  // docs.whitepay.com, http-api/static-wallets, "Receive order details": these fields and no others
  it('reads a payment where its reference and its price are documented', async () => {
    const documented = {
      ...{ id: 'w1', min_deposit_amount: '5', amount: null, expected_amount: '13.33', network_fee: '1' },
      ...{ status: 'OPEN', order_type: 'CRYPTO_DONATION', exchange_rate: null, received_total: '0' },
      ...{ invoice_reminder: '0', payment_url: null, successful_link: null, failure_link: null },
      ...{ fixated_at: '2024-07-17 13:07:07', wallet: { ...wallet, memo: null }, currency },
    }
    assert.equal((await create({ order: documented })).toAddress, '0xabc')
    const hosted = { ...kept, currency: 'USDC', acquiring_url: kept.payment_url, transactions: [] }
    const ask = (status: string) =>
      openWith({ order: { ...documented, status } }, { order: { ...hosted, status } }).fetchPayment({
        ...payment,
        providerReference: 'w1',
      })
    assert.equal((await ask('OPEN')).outcome, 'waiting')
    const told = await ask('COMPLETE')
    assert.ok(told.outcome === 'seen', told.providerStatus)
    assert.equal(told.final, payment.due.units)
  })
})

describe('whitepay: settings', () => {
  const given = { TOKEN: 't', SLUG: 's', WEBHOOK_TOKEN: 'w' }

  it('offers the second channel only when it is switched on', () => {
    assert.equal(readSettings(whitepay, given).outcome, 'set')
    assert.equal(readSettings(whitepayNonCustody, given).outcome, 'absent')
    assert.equal(readSettings(whitepayNonCustody, { ...given, NON_CUSTODY: 'true' }).outcome, 'set')
    assert.equal(readSettings(whitepayNonCustody, { ...given, NON_CUSTODY: 'yes' }).outcome, 'faulty')
    assert.equal(readSettings(whitepay, {}).outcome, 'absent')
  })
})
