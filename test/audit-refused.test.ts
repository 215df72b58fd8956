import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { auditDeposits } from '../src/chain/deposits/deposit-audit.ts'
import { balanceCall } from '../src/chain/payout/usdc-token.ts'
import { rescan } from '../src/chain/rescan.ts'
import { openDepositChecks } from '../src/channels/crypto/deposit-checks.ts'
import { sql } from '../src/db/db.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* One node refuses logs as too often while balances are compared: what the other one explains is explained. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
  await world.chain.mine(20)
})
after(() => world?.stop())

/** "over rate limit" */
const TOO_OFTEN = -32016

type Nodes = Awaited<ReturnType<ScannedChain['openNodes']>>

function refuseLogs(nodes: Nodes, number: number): void {
  const { faults } = nodes.proxy(number)
  faults.refusalCode = TOO_OFTEN
  faults.refuses = ({ method }) => method === 'eth_getLogs'
}

function openReader({ endpoints }: Nodes) {
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { reader: { db: world.db, network: world.network, endpoints, log }, lines }
}

/** An owner moved his money on, after it was recorded. */
async function payAndSweep(nodes: Nodes, units: bigint): Promise<string> {
  const address = (await world.payNew(units)).toLowerCase()
  await world.chain.mine(3)
  await world.chain.call('anvil_impersonateAccount', address)
  await world.chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
  await world.chain.pay({ to: world.chain.payer, units, from: address })
  await world.chain.mine(5)
  await nodes.lookOn(2)
  assert.deepEqual(await world.seen(address), [`${units} seen`])
  return address
}

/** The service missed it. */
async function payUnseen(nodes: Nodes, units: bigint): Promise<string> {
  const address = (await world.payNew(units)).toLowerCase()
  await nodes.lookOn(2)
  await world.db.run(sql`delete from chain_transfers where to_address = ${address}`)
  return address
}

const differencesOf = (address: string) =>
  world.db.many<{ outflowUnits: string; isClosed: boolean }>(sql`
    select outflow_units, closed_at is not null as is_closed from deposit_differences where address = ${address}`)

for (const number of [1, 2])
  test(`what left is explained though node ${number} of 2 refuses logs`, async (t) => {
    const nodes = await world.openNodes(t, 2)
    const address = await payAndSweep(nodes, 700n)
    refuseLogs(nodes, number)
    const { reader, lines } = openReader(nodes)
    await auditDeposits(reader, [address])
    assert.deepEqual(await differencesOf(address), [{ outflowUnits: '700', isClosed: true }])
    assert.deepEqual(lines, [])
  })

test('the refusal holds what it leaves unexplained, is logged, and keeps nothing else from being recorded', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const moved = await payAndSweep(nodes, 701n)
  const missed = await payUnseen(nodes, 300n)
  refuseLogs(nodes, 2)
  // node 1 hides it wherever it can
  nodes.proxy(1).faults.alter = ({ method, params }, result) => {
    if (method === 'eth_call')
      return JSON.stringify(params[0]) === JSON.stringify(balanceCall(world.network, missed)) ? ZERO : result
    return method === 'eth_getLogs' ? (result as Log[]).filter(({ topics }) => !isTo(topics, missed)) : result
  }
  const { reader, lines } = openReader(nodes)
  const checks = openDepositChecks([reader])
  const audit = () => checks.auditDeposits(world.chain.chainId, [moved, missed])
  assert.deepEqual(await audit(), [missed])
  assert.deepEqual(await differencesOf(moved), [{ outflowUnits: '701', isClosed: true }])
  assert.deepEqual(await differencesOf(missed), [])
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['deposit addresses cannot be compared with their chain now; their orders do not expire'],
  )
  for (const number of [1, 2]) nodes.proxy(number).heal()
  nodes.time.nowMs += 60_000
  assert.deepEqual(await audit(), [])
  assert.deepEqual(await world.seen(missed), ['300 seen'])
})

test('a rescan reads the other nodes before it fails for one that refuses', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const missed = await payUnseen(nodes, 301n)
  const head = (await world.head()) ?? assert.fail()
  refuseLogs(nodes, 1)
  const { reader } = openReader(nodes)
  await assert.rejects(rescan(reader, { addresses: [missed], from: 0n, to: head }), /not this one/)
  assert.deepEqual(await world.seen(missed), ['301 seen'])
})

type Log = { topics: string[] }
const ZERO = `0x${'0'.repeat(64)}`
const isTo = (topics: string[], address: string): boolean => topics[2]?.endsWith(address.slice(2)) ?? false
