import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bloomOf } from '../bloom.ts'
import { ReceiptsGiven } from '../endpoints/receipts-given.ts'
import { type Rpc, RpcError } from '../endpoints/rpc.ts'
import type { RpcLog } from '../transfer-logs.ts'
import { TRANSFER_TOPIC, toTopic } from '../transfer-logs.ts'
import { readWords, withMore } from './receipts.ts'

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

/** Words about blocks that all indicate a transfer, of a node that takes so long for each receipt and gives none. */
async function wordsOf(count: number, tookMs: number): Promise<{ lacks: string[]; asked: number }> {
  let asked = 0
  const fail = async (): Promise<never> => {
    asked += 1
    await new Promise((resolve) => setTimeout(resolve, tookMs))
    throw new RpcError('unknown', 'no answer')
  }
  const optional: Rpc = { call: fail, batch: fail, close: async () => {} }
  const [token, receiver] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`]
  const bloom = bloomOf([{ address: token, topics: [TRANSFER_TOPIC, toTopic(receiver)] }])
  const filter = { addresses: [receiver], tokens: new Map([[token, 'USDC']]), at: new Date() }
  const shown = Array.from({ length: count }, (_, index) => {
    const block = { hash: `0x${String(index).padStart(64, '0')}`, logsBloom: `0x${bloom.toString('hex')}` }
    return { block, logs: [], filter }
  })
  const words = await readWords({ optional, receipts: new ReceiptsGiven(() => 0) }, shown)
  return { lacks: [...new Set(words.map(([, { lacks }]) => lacks))], asked }
}

test('a node that takes long to give no receipts is asked for those of a few blocks at once, and no more', async () => {
  assert.deepEqual(await wordsOf(40, 1), { lacks: ['answer'], asked: 40 })
  assert.deepEqual(await wordsOf(40, 1010), { lacks: ['answer'], asked: 8 })
})
