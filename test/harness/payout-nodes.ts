import pino from 'pino'
import { type Endpoints, openEndpoints } from '../../src/chain/endpoints/endpoints.ts'
import { createRpc, type Rpc } from '../../src/chain/endpoints/rpc.ts'
import { checkEndpoints } from '../../src/chain/endpoints/start-check.ts'
import { type Network, networkFor } from '../../src/chain/networks.ts'
import { type Agree, openAgree } from '../../src/chain/payout/agreement.ts'
import type { PayoutWorld } from './payout-world.ts'
import { type Faults, type RpcProxy, startRpcProxy } from './rpc-proxy.ts'

export type Alter = NonNullable<Faults['alter']>

export type PayoutNodes = {
  proxies: readonly RpcProxy[]
  endpoints: Endpoints
  network: Network
  /** What `openWallet(…).open` takes. */
  options: { rpc: Rpc; agree: Agree }
}

const log = pino({ level: 'silent' })

/** Several nodes of the world's chain, each of which may have faults, and all of which have proved their token. */
export async function withNodes<Result>(
  world: PayoutWorld,
  count: number,
  work: (nodes: PayoutNodes) => Promise<Result>,
): Promise<Result> {
  const clock = () => Date.now() + world.aheadMs()
  const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const proxies = await Promise.all(Array.from({ length: count }, () => startRpcProxy(world.chain.rpcUrl)))
  const rpcs = proxies.map(({ url }) => createRpc({ url }))
  const endpoints = openEndpoints(network, rpcs, { clock })
  try {
    await checkEndpoints({ endpoints, network }, log)
    const agree = openAgree({ endpoints, network, log })
    return await work({ proxies, endpoints, network, options: { rpc: endpoints.rpc, agree } })
  } finally {
    await Promise.all([...rpcs.map((one) => one.close()), ...proxies.map((one) => one.stop())])
  }
}
