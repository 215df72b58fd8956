import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { keccak256, stringToHex } from 'viem/utils'
import { word } from '../sandbox/chain/rpc.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { checkEndpoints } from '../src/chain/endpoints/start-check.ts'
import { networkFor } from '../src/chain/networks.ts'
import { openAgree } from '../src/chain/payout/agreement.ts'
import { checkManualTransfer } from '../src/chain/payout/manual-transfer.ts'
import type { PayoutRequest } from '../src/chain/payout/payout.ts'
import { blockCall, TRANSFER_TOPIC, toTopic } from '../src/chain/transfer-logs.ts'
import { type PayoutWorld, request, startPayoutWorld } from './harness/payout-world.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'

/* Payouts where one of two nodes lies and the other shows all but the proof of its token. */

type Wallet = Awaited<ReturnType<PayoutWorld['openWallet']>>
type Options = NonNullable<Parameters<Wallet['open']>[0]>

let world: PayoutWorld
let wallet: Wallet
before(async () => {
  world = await startPayoutWorld()
  wallet = await world.openWallet(1_000_000_000n)
})
after(() => world?.stop())

/** Two endpoints: the first may lie, the second is honest and shows all but the proof of its token. */
async function withTwo(
  isProofRefused: boolean,
  work: (two: { liar: RpcProxy; options: Required<Pick<Options, 'rpc' | 'agree'>> }) => Promise<void>,
) {
  const [liar, honest] = await Promise.all([startRpcProxy(world.chain.rpcUrl), startRpcProxy(world.chain.rpcUrl)])
  // as a node without the tag `finalized`, or with a plan without eth_call
  honest.faults.refuses = ({ method }) => isProofRefused && method === 'eth_call'
  const rpcs = [createRpc({ url: liar.url }), createRpc({ url: honest.url })]
  const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const endpoints = openEndpoints(network, rpcs, { clock: Date.now })
  const log = pino({ level: 'silent' })
  await checkEndpoints({ endpoints, network }, log)
  assert.deepEqual(
    endpoints.all.map((one) => one.fault()),
    [null, isProofRefused ? 'unproven' : null],
  )
  const agree = openAgree({ endpoints, network, log })
  try {
    await work({ liar, options: { rpc: endpoints.rpc, agree } })
  } finally {
    await Promise.all([...rpcs.map((one) => one.close()), liar.stop(), honest.stop()])
  }
}

/** Shows a transaction as mined five blocks ago, with the authorization and the transfer that is asked about. */
async function showsPaid({ id, to, units }: PayoutRequest): Promise<RpcProxy['faults']['alter']> {
  await world.chain.mine(6)
  const [block] = await world.rpc.batch<{ hash: string; number: string }>([
    blockCall((await world.chain.blockNumber()) - 5n),
  ])
  const from = toTopic(wallet.refundSigner.address)
  const used = [keccak256(stringToHex('AuthorizationUsed(address,bytes32)')), from, keccak256(stringToHex(id))]
  const logs = [
    { address: world.chain.usdcAddress, topics: used, data: '0x', logIndex: '0x0' },
    {
      address: world.chain.usdcAddress,
      topics: [TRANSFER_TOPIC, from, toTopic(to)],
      data: `0x${word(units)}`,
      logIndex: '0x1',
    },
  ]
  return ({ method, params }, result) => {
    if (method !== 'eth_getTransactionReceipt') return result
    const place = { transactionHash: params[0], blockHash: block?.hash, blockNumber: block?.number }
    return { ...place, status: '0x1', logs: logs.map((log) => ({ ...log, ...place })) }
  }
}

for (const isProofRefused of [false, true])
  test(`a payment which never was, shown by one of two nodes, settles nothing${isProofRefused ? ', also where the other is unproven' : ''}`, () =>
    withTwo(isProofRefused, async ({ liar, options }) => {
      const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
      const [asked, named] = [request(), request()]
      const lied = wallet.open(options)
      liar.faults.alter = await showsPaid(asked)
      await lied.send(asked)
      // nothing leaves: only the first node says so
      await world.chain.call('anvil_dropAllTransactions')
      const { outcome } = await lied.send(asked)
      liar.faults.alter = await showsPaid(named)
      const check = checkManualTransfer(
        { db: world.db, clock: Date.now, network, watchPayout: async () => null, ...options },
        named,
        `0x${randomBytes(32).toString('hex')}`,
      ).then(
        ({ outcome }) => outcome,
        () => 'refused',
      )
      assert.deepEqual(
        { outcome, named: await check, arrived: await world.chain.balanceOf(asked.to) },
        { outcome: 'pending', named: 'refused', arrived: 0n },
      )
    }))
