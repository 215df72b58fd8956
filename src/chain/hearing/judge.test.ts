import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keccak256, toRlp } from 'viem/utils'
import { openEndpoints } from '../endpoints/endpoints.ts'
import type { Hex, Rpc } from '../endpoints/rpc.ts'
import { type RpcBlock, type RpcLog, TRANSFER_TOPIC, toBlock, toTopic } from '../transfer-logs.ts'
import { isProven } from './header-proof.ts'
import { judge } from './judge.ts'
import { placeOf } from './receipts.ts'

const hashOf = (digit: string): Hex => `0x${digit.repeat(64)}`

/** A header under its true hash, of a chain that hashes as Ethereum does and fills no bloom filter. */
function headerWithoutBloom(): RpcBlock {
  const texts = {
    ...{ parentHash: hashOf('1'), sha3Uncles: hashOf('2'), miner: `0x${'3'.repeat(40)}`, stateRoot: hashOf('4') },
    ...{ transactionsRoot: hashOf('5'), receiptsRoot: hashOf('6'), logsBloom: `0x${'0'.repeat(512)}` },
  }
  const numbers = { difficulty: '0x1', number: '0x10', gasLimit: '0x20', gasUsed: '0x11', timestamp: '0x66' }
  const rest = { extraData: '0x', mixHash: hashOf('7'), nonce: '0x0000000000000000' }
  const fields = { ...texts, ...numbers, ...rest }
  const bytes = Object.entries(fields).map(([name, value]) =>
    name in numbers ? (`0x${value.slice(2).padStart(2, '0')}` as Hex) : (value as Hex),
  )
  return { ...fields, hash: keccak256(toRlp(bytes)) } as unknown as RpcBlock
}

test('an empty bloom filter under a true hash convicts nobody: some chains fill none', async () => {
  const header = headerWithoutBloom()
  assert.ok(isProven(header))
  const silent: Rpc = { call: async () => null as never, batch: async () => [] as never[], close: async () => {} }
  const [honest, liar] = openEndpoints({ chainId: 1 }, [silent, silent]).all
  assert.ok(honest && liar)
  const [token, receiver] = [`0x${'8'.repeat(40)}`, `0x${'9'.repeat(40)}`]
  const paid: RpcLog = {
    ...{ address: token, topics: [TRANSFER_TOPIC, toTopic(token), toTopic(receiver)], data: hashOf('a') },
    ...{ blockHash: header.hash, blockNumber: '0x10', transactionHash: hashOf('b'), logIndex: '0x0' },
  }
  const place = placeOf(toBlock(header))
  const verdict = await judge({
    ...{ hash: header.hash, filter: { addresses: [receiver], tokens: new Map([[token, 'USDC']]), at: new Date() } },
    mine: { endpoint: liar, answer: { logs: [], header, place } },
    other: { endpoint: honest, answer: { logs: [paid], header, place } },
    silent: new Set(),
  })
  assert.deepEqual([verdict.wrong.size, verdict.late.size, verdict.isSettled], [0, 0, false])
})
