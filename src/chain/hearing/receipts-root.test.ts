import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RpcBlock } from '../transfer-logs.ts'
import { areProven, EMPTY_ROOT, type RpcReceipt, rootOf } from './receipts-root.ts'

const NO_BITS = `0x${'0'.repeat(512)}`
const receipt: RpcReceipt = {
  ...{ blockHash: `0x${'b'.repeat(64)}`, type: '0x0', status: '0x1', cumulativeGasUsed: '0x5208', logs: [] },
  logsBloom: NO_BITS,
}
/**
 * Of a block with one plain transfer of ether: ethereum/execution-apis, tests/eth_getBlockByNumber/get-latest.io, whose
 * receipts are in tests/eth_getBlockReceipts/get-block-receipts-latest.io.
 */
const PUBLISHED = '0x056b23fbba480696b65fe5a59b8f2148a1299103c4f57df839233af2cf4ca2d2'
const headerOf = (receiptsRoot: string, transactionsRoot = `0x${'1'.repeat(64)}`) =>
  ({ receiptsRoot, transactionsRoot }) as unknown as RpcBlock

test('the root of a published block proves its receipt, and no other one', () => {
  const header = headerOf(PUBLISHED)
  assert.equal(areProven(header, [receipt]), true)
  assert.equal(areProven(header, [{ ...receipt, status: '0x0' }]), false)
  assert.equal(areProven(header, [{ ...receipt, type: '0x2' }]), false)
  assert.equal(areProven(header, [receipt, receipt]), false)
  assert.equal(areProven(header, []), false)
})

test('the root of nothing is the published one, and proves a block without transactions alone', () => {
  assert.equal(EMPTY_ROOT, '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421')
  assert.equal(rootOf([]), EMPTY_ROOT)
  assert.equal(areProven(headerOf(EMPTY_ROOT, EMPTY_ROOT), []), true)
  assert.equal(areProven(headerOf(EMPTY_ROOT), []), false)
})

test('a receipt that is not made of whole bytes proves nothing, also where the bytes would be the same', () => {
  const header = headerOf(PUBLISHED)
  for (const bad of [{ logsBloom: `0x${'0'.repeat(511)}` }, { logsBloom: undefined }, { cumulativeGasUsed: 'many' }])
    assert.equal(areProven(header, [{ ...receipt, ...bad } as RpcReceipt]), false)
})

test('the receipt of a deposit of an OP chain is encoded as op-alloy’s example of one after Canyon', () => {
  const example = `0x7ef9010d0182b741b90100${'0'.repeat(512)}c0833d3bbf01` as const
  const deposit = { ...receipt, type: '0x7e', cumulativeGasUsed: '0xb741', depositNonce: '0x3d3bbf' }
  const header = headerOf(rootOf([example]))
  assert.equal(areProven(header, [{ ...deposit, depositReceiptVersion: '0x1' }]), true)
  assert.equal(areProven(header, [deposit]), false, 'before Canyon it holds neither field')
})
