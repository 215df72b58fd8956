import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toTopic } from '../src/chain/transfer-logs.ts'
import { type Faults, type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { type OrderData, openShop, type Shop } from './harness/shop.ts'

/* Of two nodes the first lies, and the second shows all but the proof of its token. It is not believed, but asked. */

const UNPROVEN: Record<string, Partial<Faults>> = {
  refuses: { refuses: ({ method }) => method === 'eth_call' },
  'leaves unanswered': { hangsOn: 'eth_call' },
}

async function openWith(fault: Partial<Faults>): Promise<{ shop: Shop; liar: RpcProxy; stop(): Promise<void> }> {
  const nodes: RpcProxy[] = []
  const shop = await openShop({
    env: async (chain) => {
      for (let node = 0; node < 2; node += 1) nodes.push(await startRpcProxy(chain.rpcUrl))
      Object.assign(nodes[1]?.faults ?? {}, fault)
      return { CHAIN_31337_RPC_URL: nodes.map(({ url }) => url).join() }
    },
  })
  const stop = async (): Promise<void> => {
    await shop.stop()
    for (const node of nodes) await node.stop()
  }
  return { shop, liar: nodes[0] as RpcProxy, stop }
}

for (const [what, fault] of Object.entries(UNPROVEN))
  test(`money that one of two nodes invents pays no order where the other ${what} the question about its token`, async () => {
    const { shop, liar, stop } = await openWith(fault)
    try {
      const order = await shop.createAwaiting()
      liar.faults.inventsFor = toTopic(order.toAddress)
      for (let block = 0; block < 12; block += 1) {
        await shop.chain.mine()
        await new Promise((resolve) => setTimeout(resolve, 400))
      }
      liar.heal()
      const { data } = await shop.host.call<OrderData>('GET', `status/${order.code}`)
      assert.equal(data.status, 'AWAITING')
    } finally {
      await stop()
    }
  })
