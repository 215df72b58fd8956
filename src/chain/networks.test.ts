import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isAddress } from 'viem/utils'
import { paymentUri } from './eip681.ts'
import { KNOWN_NETWORKS, networkFor } from './networks.ts'
import { tokensOf } from './transfer-logs.ts'

describe('the known networks', () => {
  it('have tokens whose checksums are right, none of them twice', () => {
    for (const { chainId, usdcAddress, otherTokens } of KNOWN_NETWORKS.values()) {
      const addresses = [usdcAddress, ...otherTokens.map(({ address }) => address)]
      for (const address of addresses) assert.ok(isAddress(address, { strict: true }), `${chainId} ${address}`)
      assert.equal(new Set(addresses.map((address) => address.toLowerCase())).size, addresses.length)
    }
  })

  it('are the six main nets and their test nets', () => {
    const main = [...KNOWN_NETWORKS.values()].filter(({ testnet }) => !testnet).map(({ chainId }) => chainId)
    assert.deepEqual(main, [1, 10, 137, 8453, 42161, 43114])
    assert.equal(KNOWN_NETWORKS.size, 12)
  })

  it('can be replaced by the operator’s own token, and an unknown chain needs one', () => {
    const lower = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
    assert.equal(networkFor({ chainId: 999, usdcAddress: lower }).usdcAddress, KNOWN_NETWORKS.get(1)?.usdcAddress)
    assert.throws(() => networkFor({ chainId: 999 }), /CHAIN_999_USDC/)
    assert.throws(() => networkFor({ chainId: 1, usdcAddress: '0x1' }), /CHAIN_1_USDC: "0x1" is not an address/)
    const wrongChecksum = '0xa0B86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
    assert.throws(() => networkFor({ chainId: 1, usdcAddress: wrongChecksum }), /checksum/)
  })

  it('have a ceiling for gas above what their chains ask for, and the setting replaces it', () => {
    const gweiOf = (options: { chainId: number; usdcAddress?: string; maxFeeGwei?: number | null }) =>
      Number(networkFor(options).maxFeeWei / 10n ** 9n)
    const unknown = { chainId: 999, usdcAddress: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48' }
    assert.deepEqual(
      [1, 137, 8453, 80002].map((chainId) => gweiOf({ chainId })),
      [100, 3000, 10, 3000],
    )
    assert.deepEqual([gweiOf(unknown), gweiOf({ ...unknown, maxFeeGwei: null })], [500, 500])
    assert.equal(gweiOf({ chainId: 1, maxFeeGwei: 7 }), 7)
  })

  it('call USDC what the operator says is USDC, also where it is known by another name', () => {
    const [bridged] = networkFor({ chainId: 137 }).otherTokens
    assert.equal(bridged?.symbol, 'USDC.e')
    const tokens = tokensOf(networkFor({ chainId: 137, usdcAddress: bridged.address }))
    assert.equal(tokens.get(bridged.address.toLowerCase()), 'USDC')
    assert.equal([...tokens.values()].filter((symbol) => symbol === 'USDC').length, 1)
  })
})

describe('the payment URI', () => {
  it('is what ERC-681 says for a token transfer, in smallest units', () => {
    const uri = paymentUri({
      token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      chainId: 8453,
      to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      units: 54_000_000n,
    })
    const to = 'address=0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    assert.equal(uri, `ethereum:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913@8453/transfer?${to}&uint256=54000000`)
  })
})
