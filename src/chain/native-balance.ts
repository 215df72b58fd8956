import type { Hex, Rpc } from './endpoints/rpc.ts'

/** Native coin on an address, in wei: it leaves no log, so it is found only by asking. @throws RpcError */
export async function checkNativeBalance(rpc: Rpc, address: string): Promise<bigint> {
  return BigInt(await rpc.call<Hex>('eth_getBalance', address, 'latest'))
}
