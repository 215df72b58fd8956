import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { keccak256, parseTransaction, stringToHex } from 'viem/utils'
import { word } from '../sandbox/chain/rpc.ts'
import { DEPLOYER } from '../sandbox/chain/throwaway-keys.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { checkEndpoints } from '../src/chain/endpoints/start-check.ts'
import { networkFor } from '../src/chain/networks.ts'
import { openAgree } from '../src/chain/payout/agreement.ts'
import { startScanner } from '../src/chain/scanner.ts'
import { blockCall, TRANSFER_TOPIC, toHex, toTopic } from '../src/chain/transfer-logs.ts'
import { sql } from '../src/db/db.ts'
import { type PayoutWorld, request, startPayoutWorld } from './harness/payout-world.ts'
import { type Faults, startRpcProxy } from './harness/rpc-proxy.ts'

/* One of three nodes shows newer blocks than the honest ones: its word alone still decides nothing about a payout. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

type Alter = NonNullable<Faults['alter']>
const log = pino({ level: 'silent' })

/** Three nodes whose newest blocks are compared as soon as the third one lies. */
async function openNodes(t: { after(work: () => unknown): void }, alter: Alter) {
  const { db, chain, aheadMs } = world
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const proxies = await Promise.all([1, 2, 3].map(() => startRpcProxy(chain.rpcUrl)))
  const rpcs = proxies.map(({ url }) => createRpc({ url }))
  const clock = () => Date.now() + aheadMs()
  const endpoints = openEndpoints(network, rpcs, { clock })
  await checkEndpoints({ endpoints, network }, log)
  const scanner = startScanner({ db, network, endpoints, log, pollMs: 0, onChange() {}, clock })
  t.after(async () => {
    await scanner.stop()
    await Promise.all([...rpcs.map((one) => one.close()), ...proxies.map((one) => one.stop())])
  })
  Object.assign(proxies[2]?.faults ?? {}, { alter })
  await scanner.tick()
  return { rpc: endpoints.rpc, agree: openAgree({ endpoints, network, log }) }
}

/** Its newest block is this much later than it is. */
const later = (seconds: () => bigint): Alter => {
  return ({ method, params }, result) => {
    if (method !== 'eth_getBlockByNumber' || params[0] !== 'latest') return result
    const block = result as { timestamp: string }
    return { ...block, timestamp: toHex(BigInt(block.timestamp) + seconds()) }
  }
}

const callToken = async (data: string): Promise<void> => {
  const { chain } = world
  await chain.call('eth_sendTransaction', { from: DEPLOYER, to: chain.usdcAddress, data, gas: '0x30d40' })
  await chain.mine()
}

test('no refund that can still be paid is given up because one node says that its time is over', async (t) => {
  let seconds = 60n
  const nodes = await openNodes(
    t,
    later(() => seconds),
  )
  const wallet = await world.openWallet(15_000_000n)
  const asked = request()
  await wallet.open(nodes).send(asked)
  const { raw } = await world.db.one<{ raw: `0x02${string}` }>(sql`
    select raw from chain_payout_transactions where payout_id = ${asked.id}`)
  await world.chain.call('anvil_dropAllTransactions')
  await callToken(`0xf9f92be4${word(asked.to)}`) // blacklists the receiver
  seconds = 7200n
  await wallet.open(nodes).send(asked)
  assert.notEqual((await world.rowOf(asked)).status, 'failed')
  await callToken(`0x1a895266${word(asked.to)}`)
  // whoever saw the transaction in a pool hands its authorization in
  await callToken(parseTransaction(raw).data ?? '0x')
  assert.equal(await world.chain.balanceOf(asked.to), asked.units)
})

test('no refund that was never paid is settled because one node shows its payment', async (t) => {
  const wallet = await world.openWallet(15_000_000n)
  const asked = request()
  await world.chain.mine(6)
  const number = (await world.chain.blockNumber()) - 5n
  const [block] = await world.rpc.batch<{ hash: string; number: string }>([blockCall(number)])
  const from = wallet.refundSigner.address
  const address = world.chain.usdcAddress
  const used = [
    keccak256(stringToHex('AuthorizationUsed(address,bytes32)')),
    toTopic(from),
    keccak256(stringToHex(asked.id)),
  ]
  const paid = [TRANSFER_TOPIC, toTopic(from), toTopic(asked.to)]
  const logs = [
    { address, topics: used, data: '0x', logIndex: '0x0' },
    { address, topics: paid, data: `0x${word(asked.units)}`, logIndex: '0x1' },
  ]
  const ahead = later(() => 60n)
  const nodes = await openNodes(t, (question, result) => {
    if (question.method !== 'eth_getTransactionReceipt') return ahead(question, result)
    const place = { transactionHash: question.params[0], blockHash: block?.hash, blockNumber: block?.number }
    return { ...place, status: '0x1', logs: logs.map((one) => ({ ...one, ...place })) }
  })
  await wallet.open(nodes).send(asked)
  await world.chain.call('anvil_dropAllTransactions')
  for (let poll = 0; poll < 3; poll += 1) await wallet.open(nodes).send(asked)
  assert.notEqual((await world.rowOf(asked)).status, 'final')
})
