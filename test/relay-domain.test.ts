import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { pino } from 'pino'
import { domainSeparator } from 'viem'
import { encodeAbiParameters, parseAbiParameters } from 'viem/utils'
import { mint } from '../sandbox/chain/token.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { openRelay } from '../src/chain/payout/relay.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { authorizationTypedData } from '../src/chain/payout/usdc-token.ts'
import { openDb } from '../src/db/db.ts'
import { MINUTE, SECOND } from '../src/kernel/clock.ts'
import { startTestChain } from './harness/chain.ts'
import { createTestDatabase } from './harness/database.ts'
import { startRpcProxy } from './harness/rpc-proxy.ts'

const newHex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}` as const

test('a token that is upgraded to another version is signed for under that one, without a restart', async (t) => {
  const [chain, database] = await Promise.all([startTestChain(), createTestDatabase()])
  const db = openDb({ connectionString: database.connectionString, max: 2 })
  const proxy = await startRpcProxy(chain.rpcUrl)
  const rpc = createRpc({ url: proxy.url })
  t.after(async () => {
    await rpc.close()
    await Promise.all([proxy.stop(), db.close()])
    await Promise.all([chain.stop(), database.drop()])
  })
  const { chainId, usdcAddress } = chain
  const token = usdcAddress as `0x${string}`
  const time = { nowMs: Date.now() }
  const relayerSigner = localSigner(newHex(32))
  await chain.call('anvil_setBalance', relayerSigner.address, '0x8ac7230489e80000')
  const relay = openRelay({
    ...{ db, rpc, agree: agreeAlone(rpc), network: networkFor({ chainId, usdcAddress }) },
    ...{ relayerSigner, minUnits: 0n, clock: () => time.nowMs },
    log: pino({ level: 'silent' }),
  })
  const earlier = { name: 'USD Coin', version: '1' }
  const answers: Record<string, string> = {
    '0x54fd4d50': encodeAbiParameters(parseAbiParameters('string'), [earlier.version]),
    '0x3644e515': domainSeparator({ domain: { ...earlier, chainId, verifyingContract: token } }),
  }
  const isBefore = () => {
    proxy.faults.forges = ({ method, params: [call] }) =>
      method === 'eth_call' ? answers[(call as { data: string }).data] : undefined
  }
  isBefore()
  assert.equal((await relay.domain()).version, '1')
  proxy.heal()
  time.nowMs += MINUTE
  assert.equal((await relay.domain()).version, '2')
  // what was read last counts while the chain is away
  proxy.faults.status = 503
  time.nowMs += MINUTE
  assert.equal((await relay.domain()).version, '2')
  proxy.heal()
  // at once, where the token refuses what was signed under the earlier one
  isBefore()
  time.nowMs += MINUTE
  assert.equal((await relay.domain()).version, '1')
  proxy.heal()
  const payer = localSigner(newHex(32))
  await mint(chain.call, payer.address, 2_000_000n)
  const validBefore = BigInt(Math.floor(time.nowMs / 1000) + 300)
  const authorization = { from: payer.address, to: newHex(20), units: 1_000_000n, validBefore, nonce: newHex(32) }
  const data = authorizationTypedData({ ...earlier, chainId, token }, authorization)
  const signed = { ...authorization, reference: 'o', signature: await payer.signTypedData(data) }
  const refused = { outcome: 'refused', reason: 'invalid_transaction_state' }
  assert.deepEqual(await relay.submit(signed, async () => {}), refused)
  assert.equal((await relay.domain()).version, '2')
  // a payer's wallet knew of the upgrade before this service did
  const later = { name: earlier.name, version: '2' }
  const sign = async (named: typeof later) => {
    const one = { ...authorization, nonce: newHex(32) }
    const typed = authorizationTypedData({ ...named, chainId, token }, one)
    return { ...one, reference: 'o', signature: await payer.signTypedData(typed) }
  }
  isBefore()
  time.nowMs += MINUTE
  assert.equal((await relay.domain()).version, '1')
  proxy.heal()
  time.nowMs += 5 * SECOND
  const paid = await sign(later)
  const submitting = relay.submit(paid, async () => {})
  const mining = setInterval(() => void chain.mine(), 200)
  const done = await submitting.finally(() => clearInterval(mining))
  assert.equal(done.outcome, 'done')
  // the token is upgraded again: what was submitted is the same as before, and only that
  isBefore()
  time.nowMs += MINUTE
  assert.deepEqual(await relay.submit(paid, async () => assert.fail('it is not new')), done)
  const forged = { ...paid, signature: (await sign(later)).signature }
  const unsigned = { outcome: 'refused', reason: 'invalid_exact_evm_payload_signature' }
  assert.deepEqual(await relay.submit(forged, async () => {}), unsigned)
})
