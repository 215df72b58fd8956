import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { checkEndpoints } from '../src/chain/endpoints/start-check.ts'
import { networkFor } from '../src/chain/networks.ts'
import { openAgree } from '../src/chain/payout/agreement.ts'
import { type PayoutWorld, request, startPayoutWorld } from './harness/payout-world.ts'
import { type Faults, startRpcProxy } from './harness/rpc-proxy.ts'

/* Payouts where one of three nodes gives an answer that cannot be read: the others count. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

type Alter = NonNullable<Faults['alter']>
const log = pino({ level: 'silent' })

/** Three nodes of the chain. */
async function withThree<Result>(work: (nodes: Awaited<ReturnType<typeof open>>) => Promise<Result>): Promise<Result> {
  const nodes = await open()
  try {
    return await work(nodes)
  } finally {
    await Promise.all([...nodes.rpcs.map((one) => one.close()), ...nodes.proxies.map((one) => one.stop())])
  }
}
async function open() {
  const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const proxies = await Promise.all([1, 2, 3].map(() => startRpcProxy(world.chain.rpcUrl)))
  const rpcs = proxies.map(({ url }) => createRpc({ url }))
  const endpoints = openEndpoints(network, rpcs, { clock: Date.now })
  await checkEndpoints({ endpoints, network }, log)
  return { proxies, rpcs, endpoints, agree: openAgree({ endpoints, network, log }) }
}

const answers =
  (asked: string, answer: (result: unknown) => unknown, isAsked: (params: unknown[]) => boolean = () => true): Alter =>
  ({ method, params }, result) =>
    method === asked && isAsked(params) ? answer(result) : result

const without = (field: string) => (result: unknown) => result && { ...(result as object), [field]: undefined }

const ODD: Record<string, Alter> = {
  'no newest block': answers(
    'eth_getBlockByNumber',
    () => null,
    ([block]) => block === 'latest',
  ),
  'a block without its time': answers('eth_getBlockByNumber', without('timestamp')),
  'a receipt without logs': answers('eth_getTransactionReceipt', without('logs')),
  'a receipt without a status': answers('eth_getTransactionReceipt', without('status')),
  'a count that is no number': answers('eth_getTransactionCount', () => 'many'),
  'a balance that is no number': answers('eth_getBalance', () => null),
}

for (const [what, alter] of Object.entries(ODD))
  for (const index of [0, 2])
    test(`${what} of the ${index === 0 ? 'first' : 'last'} of three nodes stops no payout`, () =>
      withThree(async ({ proxies, endpoints, agree }) => {
        const wallet = await world.openWallet(15_000_000n)
        const odd = proxies[index]
        if (odd) odd.faults.alter = alter
        const asked = request()
        const said: string[] = []
        for (let poll = 0; poll < 6; poll += 1) {
          const { outcome, providerStatus } = await wallet.open({ rpc: endpoints.rpc, agree }).send(asked)
          said.push(`${outcome} ${providerStatus}`)
          await world.chain.mine(4)
        }
        assert.equal((await world.rowOf(asked)).status, 'final', said.join('\n'))
        assert.equal(await world.chain.balanceOf(asked.to), asked.units)
      }))
