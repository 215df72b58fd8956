import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { binance } from '../src/channels/binance/adapter.ts'
import type { RefundRequest } from '../src/channels/channel.ts'
import { cryptopay } from '../src/channels/cryptopay/adapter.ts'
import { gatepay } from '../src/channels/gatepay/adapter.ts'
import { kucoinpay } from '../src/channels/kucoinpay/adapter.ts'
import { isOtherAccount } from '../src/channels/provider-errors.ts'
import { newRequest, type ProviderWorld, startProviderWorld } from './harness/providers.ts'

// the account that is asked knows neither the payment nor its refund: those are another one's

let world: ProviderWorld

before(async () => {
  world = await startProviderWorld()
})
after(() => world?.stop())

const refundOf = (fields: Pick<RefundRequest, 'reference' | 'attempted'>): RefundRequest => {
  const { merchantReference } = newRequest()
  return {
    ...{ companyId: 'a'.repeat(24), refundId: 'b'.repeat(24), merchantReference },
    ...{ providerReference: `P${merchantReference}`, units: 20_000_000n, fiat: { asset: 'EUR', units: 1800n } },
    ...{ paidUnits: 54_210_000n, paidFiat: { asset: 'EUR', units: 5025n }, openedAt: new Date() },
    ...{ earlierUnits: 0n, earlierFiat: { asset: 'EUR', units: 0n }, network: null, address: null, reason: null },
    ...fields,
  }
}

for (const kind of [binance, kucoinpay, gatepay])
  test(`${kind.id}: a refund that it has taken, or may have, waits for its account`, async () => {
    const channel = world.open(kind)
    for (const fields of [
      { reference: 'taken-before', attempted: true },
      { reference: 'taken-before', attempted: false },
      { reference: null, attempted: true },
    ])
      await assert.rejects(
        async () => channel.refundPayment?.(refundOf(fields)),
        isOtherAccount,
        JSON.stringify(fields),
      )
  })

test('cryptopay: callbacks tell of a refund that it has taken, and one that it may have is not sent again', async () => {
  const channel = world.open(cryptopay)
  const outcomes: unknown[] = []
  for (const fields of [
    { reference: 'taken-before', attempted: true },
    { reference: null, attempted: true },
  ])
    outcomes.push((await channel.refundPayment?.(refundOf(fields)))?.outcome)
  assert.deepEqual(outcomes, ['pending', 'unknown'])
})
