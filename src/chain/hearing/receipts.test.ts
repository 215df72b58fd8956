import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RpcLog } from '../transfer-logs.ts'
import { withMore } from './receipts.ts'

const logAt = (logIndex: RpcLog['logIndex'], data = '0x01'): RpcLog => ({
  ...{ address: '0xAA', topics: ['0x0b'], data, blockHash: '0xcc', blockNumber: '0x1', transactionHash: '0xdd' },
  logIndex,
})
const placesOf = (logs: readonly RpcLog[]) => logs.map(({ logIndex, data }) => `${logIndex} ${data}`)

test('another answer adds what the logs lack, and takes nothing away', () => {
  assert.deepEqual(placesOf(withMore([logAt('0x1')], [])), ['0x1 0x01'])
  assert.deepEqual(placesOf(withMore([logAt('0x1')], [logAt('0x2', '0x02')])), ['0x1 0x01', '0x2 0x02'])
  assert.deepEqual(placesOf(withMore([], [logAt('0x1'), logAt('0x1')])), ['0x1 0x01'])
})

test('of equal transfers in one transaction it adds as many as are missing, wherever it places them', () => {
  const [first, second] = [logAt('0x7'), logAt('0x8')]
  assert.deepEqual(placesOf(withMore([second], [first, second])), ['0x8 0x01', '0x7 0x01'])
  assert.deepEqual(placesOf(withMore([first, second], [logAt('0x0'), logAt('0x1')])), ['0x7 0x01', '0x8 0x01'])
  assert.equal(withMore([first, first], [logAt('0x0'), logAt('0x1')]).length, 3, 'one that is shown twice is one')
})
