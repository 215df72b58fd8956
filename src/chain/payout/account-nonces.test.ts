import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { mnemonicToAccount } from 'viem/accounts'
import { type Rpc, RpcError } from '../endpoints/rpc.ts'
import { fillNonce } from './account-nonces.ts'
import type { PayoutDeps } from './payout-deps.ts'
import type { ChainView } from './payout-view.ts'

const VIEW: ChainView = { number: 9n, timestamp: 1n, baseFee: 10n ** 9n, safeNumber: null, finalizedNumber: null }

/** @returns the log lines after a node refused the transaction with this error */
async function fillAgainst(error: Error): Promise<string[]> {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) })
  const call = () => Promise.reject(error)
  const relayerSigner = mnemonicToAccount('test test test test test test test test test test test junk')
  const parts = { rpc: { call } as unknown as Rpc, network: { chainId: 1 }, relayerSigner, log }
  await fillNonce(parts as unknown as PayoutDeps, VIEW, 7n)
  return lines
}
const refused = (words: string): RpcError => new RpcError('definite', `eth_sendRawTransaction: ${words}`, -32000)

test('a gap that is being filled is no news each minute, one that cannot be filled is', async () => {
  for (const words of [
    'already known',
    'nonce too low: next nonce 8, tx nonce 7',
    'replacement transaction underpriced',
  ])
    assert.deepEqual(await fillAgainst(refused(words)), [], words)
  const [line, ...more] = await fillAgainst(refused('insufficient funds for gas * price + value'))
  assert.match(line ?? '', /was not filled/)
  assert.deepEqual(more, [])
})

test('a node that may have taken the filling is asked again', async () => {
  await assert.rejects(fillAgainst(new RpcError('unknown', 'no answer in 10 s', null)), /no answer/)
})
