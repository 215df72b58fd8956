import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { auditDeposits as auditBalances } from '../src/chain/deposits/balance-audit.ts'
import { auditDeposits } from '../src/chain/deposits/deposit-audit.ts'
import { sql } from '../src/db/db.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* A node that is a block behind knows nothing of what left in that block: no difference, and none that stays. */

type Nodes = Awaited<ReturnType<ScannedChain['openNodes']>>
type RpcLog = { blockNumber: string }
type At = { blockHash?: string }

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

const hashOf = async (block: bigint): Promise<string> =>
  (await world.chain.call<{ hash: string }>('eth_getBlockByNumber', `0x${block.toString(16)}`, false)).hash

/** A deposit that was audited, and swept in the newest block. */
async function openSwept(nodes: Nodes) {
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
  const reader = { db: world.db, network: world.network, endpoints: nodes.endpoints, log }
  const address = (await world.payNew(800n)).toLowerCase()
  await world.chain.mine(3)
  await nodes.lookOn(2)
  await auditDeposits(reader, [address])
  await world.chain.call('anvil_impersonateAccount', address)
  await world.chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
  await world.chain.pay({ to: world.chain.payer, units: 800n, from: address })
  const swept = await world.chain.blockNumber()
  await nodes.lookOn(1)
  assert.equal(await world.head(), swept)
  return { address, swept, reader, lines, audit: () => auditDeposits(reader, [address]) }
}

const open = (address: string) =>
  world.db.many<{ recordedUnits: string; outflowTo: bigint }>(sql`
    select recorded_units, outflow_to from deposit_differences where address = ${address} and closed_at is null`)

const lackLogs = (from: bigint) => (logs: unknown) =>
  (logs as RpcLog[]).filter(({ blockNumber }) => BigInt(blockNumber) < from)

/** Nodes keep the state of the last blocks only, 128 as a rule. */
async function prune(nodes: Nodes, count: number): Promise<void> {
  const head = await world.chain.blockNumber()
  const kept = await Promise.all(Array.from({ length: 5 }, (_, back) => hashOf(head - BigInt(back))))
  for (let number = 1; number <= count; number += 1) {
    const { faults } = nodes.proxy(number)
    faults.refusalCode = -32000
    faults.refuses = ({ method, params }) => method === 'eth_call' && !isKept(params[1], kept)
  }
}

function isKept(at: unknown, kept: readonly string[]): boolean {
  const { blockHash } = at as At
  return blockHash === undefined || kept.includes(blockHash)
}

test('the first of three nodes is a block behind: what was swept in the newest block is no difference', async (t) => {
  const nodes = await world.openNodes(t, 3)
  const { address, swept, audit, lines } = await openSwept(nodes)
  const hash = await hashOf(swept)
  const older = await world.chain.call('eth_getBlockByNumber', `0x${(swept - 1n).toString(16)}`, false)
  const { faults } = nodes.proxy(1)
  faults.refusalCode = -32000
  faults.refuses = ({ method, params }) => method === 'eth_call' && (params[1] as At).blockHash === hash
  faults.alter = ({ method, params }, result) => {
    if (method === 'eth_getLogs') return lackLogs(swept)(result)
    const isNewest = method.startsWith('eth_getBlockBy') && (result as { hash?: string } | null)?.hash === hash
    return isNewest ? (params[0] === 'latest' ? older : null) : result
  }
  await audit()
  assert.deepEqual([await open(address), lines], [[], []])
  const books = (await auditBalances({ db: world.db, network: world.network, endpoints: nodes.endpoints })).faults
  assert.deepEqual(books, [])
})

test('what a node did not show of an outflow is read again: the difference closes, also without an older state', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const { address, swept, audit, lines, reader } = await openSwept(nodes)
  // another machine behind the same address answers that question
  nodes.proxy(1).faults.alter = ({ method }, result) => (method === 'eth_getLogs' ? lackLogs(swept)(result) : result)
  await audit()
  assert.deepEqual(await open(address), [{ recordedUnits: '800', outflowTo: 0n }])
  assert.equal(lines.filter((line) => /a deposit balance differs/.test(line)).length, 1)
  nodes.proxy(1).heal()
  await world.chain.mine(10)
  await prune(nodes, 2)
  await nodes.lookOn(2)
  await audit()
  assert.deepEqual(await open(address), [])
  assert.deepEqual((await auditBalances(reader)).faults, [])
})

test('what explained a balance once is kept when a later audit explains nothing', async (t) => {
  const nodes = await world.openNodes(t, 1)
  const { address, swept, audit } = await openSwept(nodes)
  await audit()
  const outflows = () =>
    world.db.one<{ outflowUnits: string; outflowTo: bigint; isOpen: boolean }>(sql`
      select outflow_units, outflow_to, closed_at is null as is_open from deposit_differences where address = ${address}`)
  assert.deepEqual(await outflows(), { outflowUnits: '800', outflowTo: swept, isOpen: false })
  await world.chain.pay({ to: address, units: 5n })
  await nodes.lookOn(1)
  await world.db.run(sql`delete from chain_transfers where to_address = ${address} and units = 5`)
  nodes.proxy(1).faults.hidesLogs = true
  await audit()
  assert.deepEqual(await outflows(), { outflowUnits: '800', outflowTo: swept, isOpen: true })
  nodes.proxy(1).heal()
  await audit()
  assert.deepEqual((await outflows()).isOpen, false)
})
