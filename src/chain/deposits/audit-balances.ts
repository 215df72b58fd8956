import type { Endpoint } from '../endpoints/endpoint.ts'
import { verifyChain } from '../endpoints/endpoints.ts'
import { type Hex, isRpcError, type Rpc, type RpcError, toWord } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { balanceCall } from '../payout/usdc-token.ts'
import type { ChainReader } from '../rescan.ts'

type Asked = { blockHash: string; addresses: readonly string[] }

/**
 * What `endpoints` say of the balances; the first of them is asked for more. `unheard`: why another one that was asked
 * said nothing.
 */
export type Balances = { endpoints: readonly Endpoint[]; unheard: RpcError | undefined; of(index: number): bigint[] }

/** Balances at one block, in the order of the addresses. @throws RpcError */
async function readBalances(rpc: Rpc, network: Network, { blockHash, addresses }: Asked): Promise<bigint[]> {
  const calls = addresses.map((address) => ({
    method: 'eth_call',
    params: [balanceCall(network, address), { blockHash }],
  }))
  return (await rpc.batch<Hex>(calls)).map(toWord)
}

/** One that answers is enough: another one may not know so old a state any more. @throws RpcError if none answers */
export async function askBalances(
  { network }: Pick<ChainReader, 'network'>,
  endpoints: readonly Endpoint[],
  question: Asked,
): Promise<Balances> {
  const answers: { endpoint: Endpoint; balances: bigint[] }[] = []
  let unheard: RpcError | undefined
  const ask = async (endpoint: Endpoint) => {
    await verifyChain(endpoint, network)
    return { endpoint, balances: await readBalances(endpoint.rpc, network, question) }
  }
  for (const one of await Promise.allSettled(endpoints.map(ask)))
    if (one.status === 'fulfilled') answers.push(one.value)
    else if (isRpcError(one.reason)) unheard ??= one.reason
    else throw one.reason
  if (unheard && answers.length === 0) throw unheard
  const of = (index: number): bigint[] => answers.map(({ balances }) => balances[index] ?? 0n)
  return { endpoints: answers.map(({ endpoint }) => endpoint), unheard, of }
}

/** Two, as one alone may hide what it hid when the blocks were read; the next two where neither has the block. */
export async function askPairs(
  reader: Pick<ChainReader, 'network'>,
  endpoints: readonly Endpoint[],
  question: Asked,
): Promise<{ asked: readonly Endpoint[]; heard: Balances }> {
  const [asked, next] = [endpoints.slice(0, 2), endpoints.slice(2)]
  try {
    return { asked, heard: await askBalances(reader, asked, question) }
  } catch (error) {
    if (!isRpcError(error) || next.length === 0) throw error
    return askPairs(reader, next, question)
  }
}
