import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AddressesOf, findSkippedDeposits } from '../src/chain/after-backup.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { type Rpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import type { ChainReader } from '../src/chain/rescan.ts'
import { TRANSFER_TOPIC, toHex, toTopic } from '../src/chain/transfer-logs.ts'
import { newTestXpub } from './harness/chain.ts'

/* How far `reconcile` walks through the indexes of a key, by what two nodes show. */

const network = networkFor({ chainId: 1 })
const hashOf = (number: number): string => `0x${String(number).padStart(64, '0')}`
const addressOf = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`
const addressesOf: AddressesOf = (_, indexes) => indexes.map(addressOf)

const blockOf = (index: number): number => index % 1000

/** One unit to an address. */
const logAt = (index: number, blockHash = hashOf(blockOf(index))) => ({
  ...{ address: network.usdcAddress, topics: [TRANSFER_TOPIC, toTopic(addressOf(1)), toTopic(addressOf(index))] },
  ...{
    data: `0x${'1'.padStart(64, '0')}`,
    blockHash,
    blockNumber: toHex(BigInt(blockOf(index))),
    transactionHash: hashOf(index),
  },
  logIndex: '0x0',
})
type Log = ReturnType<typeof logAt>

type Node = {
  /** What it shows of these indexes. */
  shows(indexes: readonly number[]): Log[]
  /** Null: it refuses them. */
  receipts?: ((block: number) => Log[]) | null
  keepsBlocks?: boolean
}

/** @returns what is found, and how often the nodes are asked for logs */
async function walk(nodes: readonly Node[], end = 3_000_000) {
  let questions = 0
  const rpcs = nodes.map(({ shows, receipts = () => [], keepsBlocks = true }): Rpc => {
    const answer = (method: string, [what]: readonly unknown[]): unknown => {
      if (method === 'eth_chainId') return '0x1'
      if (method === 'eth_getBlockByNumber') return keepsBlocks ? { hash: hashOf(Number(what)), number: what } : null
      if (method === 'eth_getBlockReceipts' && receipts)
        return [{ blockHash: what, logs: receipts(Number(String(what).slice(2))) }]
      if (method !== 'eth_getLogs') throw new RpcError('definite', `${method}: not here`, -32601)
      questions += 1
      const [, , receivers = []] = (what as { topics: string[][] }).topics
      return shows(receivers.map((topic) => Number(BigInt(topic))))
    }
    return {
      call: async (method, ...params) => answer(method, params) as never,
      batch: async (calls) => calls.map(({ method, params }) => answer(method, params)) as never,
      close: async () => {},
    }
  })
  const endpoints = { ...openEndpoints(network, rpcs), isEachHeard: true }
  const reader = { db: { many: async () => [] }, network, endpoints, log: console } as unknown as ChainReader
  const restoredAt = new Date('2026-11-28T12:00:00Z')
  const cuts: number[] = []
  const found = await findSkippedDeposits(
    reader,
    { from: 0n, to: 999n },
    {
      ranges: [{ xpub: newTestXpub(), from: '5', to: String(end) }],
      times: { backupMadeAt: new Date('2026-11-28T11:00:00Z'), restoredAt },
      findBlock: async () => 0n,
      addressesOf,
      onCut: (index) => void cuts.push(index),
    },
  )
  const paid = found
    .map(({ index, shownBy }) => [index, shownBy])
    .sort(([left], [right]) => Number(left) - Number(right))
  const unchecked = found.filter(({ isChecked }) => !isChecked).map(({ shownBy }) => shownBy)
  return { paid, questions: questions / nodes.length, cuts, unchecked }
}

const honest: Node = { shows: () => [] }
const lastOf = (indexes: readonly number[]): number => indexes.at(-1) ?? 0
const paidAt =
  (...paid: number[]): Node['shows'] =>
  (indexes) =>
    indexes.filter((index) => paid.includes(index)).map((index) => logAt(index))

test('what one node alone invents is listed with its number, and makes nobody look further', async () => {
  const usual = await walk([honest, honest])
  for (const hash of [undefined, `0x${'d'.repeat(64)}`])
    for (const receipts of [null, (number: number) => [logAt(number)]]) {
      const liar: Node = { shows: (indexes) => [logAt(lastOf(indexes), hash)], receipts }
      const { paid, questions } = await walk([honest, liar])
      assert.equal(questions, usual.questions)
      assert.deepEqual([paid.length, paid[0]], [questions, [1004, 2]])
    }
})

test('what one node alone shows beyond the 20 that are checked is listed as not checked', async () => {
  const many = Array.from({ length: 25 }, (_, at) => 10 + at)
  const { paid, unchecked } = await walk([honest, { shows: paidAt(...many) }])
  assert.deepEqual([paid, unchecked], [many.map((index) => [index, 2]), Array(5).fill(2)])
  const both = await walk([{ shows: paidAt(...many) }, { shows: paidAt(...many) }])
  assert.deepEqual([both.paid, both.unchecked], [many.map((index) => [index, null]), []])
})

test('a payment in another block than was asked for is none, though nobody has that block', async () => {
  const elsewhere = (indexes: readonly number[]) => [{ ...logAt(lastOf(indexes)), blockNumber: toHex(10n ** 9n) }]
  const { paid, cuts } = await walk([honest, { shows: elsewhere }])
  assert.deepEqual([paid, cuts], [[], []])
})

test('a payment that the receipts of the other node show moves the search on, as one that both show', async () => {
  const shows = paidAt(900, 1800)
  const hole: Node = {
    ...honest,
    receipts: (block) => [900, 1800].filter((index) => blockOf(index) === block).map((index) => logAt(index)),
  }
  const both = await walk([{ shows }, { shows }])
  assert.deepEqual(both.paid, [
    [900, null],
    [1800, null],
  ])
  assert.deepEqual((await walk([hole, { shows }])).paid, both.paid)
  assert.deepEqual((await walk([honest, { shows }])).paid, [[900, 2]])
})

test('one node alone, or one beside another that keeps no blocks, is believed', async () => {
  const shows = paidAt(900, 1800)
  const expected = [
    [900, null],
    [1800, null],
  ]
  assert.deepEqual((await walk([{ shows }])).paid, expected)
  assert.deepEqual((await walk([{ ...honest, keepsBlocks: false }, { shows }])).paid, expected)
})

test('more payments than orders can have been placed in the lost time end the search, and are told', async () => {
  const liar: Node = { shows: (indexes) => [logAt(lastOf(indexes))] }
  const { questions, cuts } = await walk([liar])
  assert.ok(questions < 1000, `${questions} questions about 3,000,000 indexes`)
  assert.equal(cuts[0], 5 + 1000 + 61 * 6000)
})
