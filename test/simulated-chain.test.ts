import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Hex, keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { seededRandom } from '../simulation/virtual/random.ts'
import { SimulatedChain } from '../simulation/world/chain.ts'
import { authorizedTransferData } from '../src/chain/payout/usdc-token.ts'

const relayer = privateKeyToAccount(`0x${'5'.repeat(64)}`)
const WALLET: Hex = `0x${'a'.repeat(40)}`
const SHOP: Hex = `0x${'b'.repeat(40)}`

test('a transaction that sends nothing uses up its account nonce: those after it wait no longer', async () => {
  const chain = new SimulatedChain(seededRandom(7), () => Date.parse('2030-03-01'))
  chain.fund(WALLET, 10n)
  const sign = (nonce: number, to: Hex, data: Hex): Promise<Hex> =>
    relayer.signTransaction({ type: 'eip1559', chainId: 31337, nonce, to, data, gas: 100_000n, maxFeePerGas: 2n })
  const once = { from: WALLET, to: SHOP, units: 4n, validAfter: 0n, validBefore: 9n, nonce: keccak256('0x01') }
  const payout = await chain.submit(await sign(1, chain.token, authorizedTransferData(once, `0x${'1'.repeat(130)}`)))
  chain.mine()
  assert.equal(chain.find(payout)?.block, null, 'the account nonce before it is missing')
  const filler = await chain.submit(await sign(0, relayer.address, '0x'))
  chain.mine()
  chain.mine()
  assert.notEqual(chain.find(filler)?.block, null)
  assert.notEqual(chain.find(payout)?.block, null)
  assert.deepEqual([chain.accountNonce(relayer.address), chain.balanceAt(SHOP)], [2, 4n])
  chain.reorganise(3, 1)
  for (let blocks = 0; blocks < 3; blocks += 1) chain.mine()
  assert.deepEqual([chain.accountNonce(relayer.address), chain.balanceAt(SHOP)], [2, 4n], 'after a reorganisation')
})
