import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FoundTransfer } from './transfer.ts'
import { numberWithin } from './transfer-numbers.ts'

const found = (blockHash: string, logIndex: number, units: bigint, toAddress = '0x7'): FoundTransfer => ({
  ...{ chainId: 1, txHash: '0xaa', token: '0xcc', symbol: 'USDC', fromAddress: '0x5', blockNumber: 9n },
  ...{ blockHash, logIndex, units, toAddress, blockAt: new Date(0) },
})
type Row = [nth: number, ...Parameters<typeof found>]
/** What is known, then what is found: each log's place and number. */
const number = (known: Row[], logs: FoundTransfer[]) =>
  numberWithin(
    known.map(([nth, ...where]) => ({ ...found(...where), nth })),
    logs,
  ).map(({ logIndex, nth, units }) => [logIndex, nth, units])

test('the logs of one transaction are numbered in their order, those of each address by themselves', () => {
  const logs = [found('A', 5, 50n), found('A', 3, 4n), found('A', 4, 9n, '0x8')]
  assert.deepEqual(number([], logs), [
    [3, 0, 4n],
    [5, 1, 50n],
    [4, 0, 9n],
  ])
})

test('a log keeps its number when an earlier one is found later, also when only that one is shown', () => {
  const known: Row[] = [[0, 'A', 5, 50n]]
  assert.deepEqual(number(known, [found('A', 3, 4n), found('A', 5, 50n)]), [
    [3, 1, 4n],
    [5, 0, 50n],
  ])
  assert.deepEqual(number(known, [found('A', 3, 4n)]), [[3, 1, 4n]])
  assert.deepEqual(number(known, [found('A', 3, 50n), found('A', 5, 50n)]), [
    [3, 1, 50n],
    [5, 0, 50n],
  ])
})

test('a log that an endpoint places elsewhere in its block is no further one', () => {
  assert.deepEqual(number([[0, 'A', 5, 50n]], [found('A', 9, 50n)]), [[9, 0, 50n]])
  const known: Row[] = [
    [0, 'A', 3, 4n],
    [1, 'A', 5, 50n],
  ]
  assert.deepEqual(
    number(known, [found('A', 5, 4n), found('A', 7, 50n)]),
    [
      [5, 0, 4n],
      [7, 1, 50n],
    ],
    'each at the place of another one',
  )
  assert.deepEqual(number(known, [found('A', 9, 50n), found('A', 11, 50n)]), [
    [9, 1, 50n],
    [11, 2, 50n],
  ])
})

test('in another block, a log takes the number of the row that says the same, else the lowest that is free', () => {
  const known: Row[] = [
    [0, 'A', 5, 50n],
    [1, 'A', 3, 4n],
  ]
  assert.deepEqual(number(known, [found('B', 8, 4n), found('B', 9, 50n)]), [
    [8, 1, 4n],
    [9, 0, 50n],
  ])
  assert.deepEqual(number(known, [found('B', 8, 4n)]), [[8, 1, 4n]], 'the first is not shown')
  assert.deepEqual(number(known, [found('B', 8, 5n), found('B', 9, 51n)]), [
    [8, 0, 5n],
    [9, 1, 51n],
  ])
})

test('of two rows that an earlier version made of one log, the second is the one that it lost', () => {
  const doubled: Row[] = [
    [0, 'A', 5, 50n],
    [1, 'A', 5, 50n],
  ]
  assert.deepEqual(number(doubled, [found('A', 3, 4n), found('A', 5, 50n)]), [
    [3, 1, 4n],
    [5, 0, 50n],
  ])
})
