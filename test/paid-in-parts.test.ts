import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { openCryptoChannel } from '../src/channels/crypto/adapter.ts'
import { eventually } from './harness/service.ts'
import { openShop, TEST_XPUB } from './harness/shop.ts'

test('each part of a large payment needs as many confirmations as the whole', async (t) => {
  const shop = await openShop()
  const rpc = createRpc({ url: shop.chain.rpcUrl })
  t.after(async () => {
    await rpc.close()
    await shop.stop()
  })
  const base = networkFor({ chainId: 31337, usdcAddress: shop.chain.usdcAddress })
  const large = { kind: 'confirmations', confirmations: 40 } as const
  const network = { ...base, large, largeFromUnits: 50_000_000n }
  const { db } = shop.host
  const payable = [{ network, rpc, xpub: TEST_XPUB, payouts: null, watchPayout: async () => null }]
  const channel = openCryptoChannel({ db, clock: Date.now, payable })
  const { toAddress, orderId: merchantReference } = await shop.createAwaiting()
  const look = async () => {
    const report = await channel.fetchPayment({
      ...{ companyId: shop.merchant.companyId, merchantReference, providerReference: toAddress, network: 31337 },
      ...{ tokenAddress: null, due: { asset: 'USDC', units: 54_000_000n }, fiat: { asset: 'EUR', units: 5_000n } },
      expiresAt: new Date(),
    })
    assert.equal(report.outcome, 'seen')
    return report.outcome === 'seen' ? report.transfers.map(({ units, needed }) => `${units} ${needed}`) : []
  }
  await shop.chain.pay({ to: toAddress, units: 30_000_000n })
  assert.deepEqual(await eventually(look, ({ length }) => length === 1), ['30000000 3'])
  await shop.chain.pay({ to: toAddress, units: 24_000_000n })
  assert.deepEqual(await eventually(look, ({ length }) => length === 2), ['30000000 40', '24000000 40'])
})
