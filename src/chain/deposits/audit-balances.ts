import type { Endpoint } from '../endpoints/endpoint.ts'
import { verifyChain } from '../endpoints/endpoints.ts'
import { type Hex, isRpcError, type Rpc, type RpcError, toWord } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { balanceCall } from '../payout/usdc-token.ts'
import type { ChainReader } from '../rescan.ts'

type Asked = { blockHash: string; addresses: readonly string[] }

/** Why one that was asked did not answer. */
export type Unheard = { endpoint: Endpoint; error: RpcError }

/**
 * What `endpoints` say of the balances; the first of them is asked for more. `unheard`: those that did not answer,
 * where fewer than two did.
 */
export type Balances = {
  endpoints: readonly Endpoint[]
  unheard: readonly Unheard[]
  of(index: number): bigint[]
}

/** One alone may hide what it hid when the blocks were read. */
const ENOUGH = 2

/** Balances at one block, in the order of the addresses. @throws RpcError */
async function readBalances(rpc: Rpc, network: Network, { blockHash, addresses }: Asked): Promise<bigint[]> {
  const calls = addresses.map((address) => ({
    method: 'eth_call',
    params: [balanceCall(network, address), { blockHash }],
  }))
  return (await rpc.batch<Hex>(calls)).map(toWord)
}

/**
 * Asks the next ones until two have answered. One that answers is enough where the others do not: they may not know so
 * old a state any more.
 * @throws RpcError if none answers
 */
export async function askBalances(
  { network }: Pick<ChainReader, 'network'>,
  endpoints: readonly Endpoint[],
  question: Asked,
): Promise<Balances> {
  const answers: { endpoint: Endpoint; balances: bigint[] }[] = []
  const silent: Unheard[] = []
  const ask = async (endpoint: Endpoint): Promise<void> => {
    try {
      await verifyChain(endpoint, network)
      answers.push({ endpoint, balances: await readBalances(endpoint.rpc, network, question) })
    } catch (error) {
      if (!isRpcError(error)) throw error
      silent.push({ endpoint, error })
    }
  }
  for (let next = 0; next < endpoints.length && answers.length < ENOUGH; ) {
    const asked = endpoints.slice(next, next + ENOUGH - answers.length)
    next += asked.length
    await Promise.all(asked.map(ask))
  }
  const [first] = silent
  if (first && answers.length === 0) throw first.error
  const inOrder = answers.toSorted(
    (left, right) => endpoints.indexOf(left.endpoint) - endpoints.indexOf(right.endpoint),
  )
  return {
    endpoints: inOrder.map(({ endpoint }) => endpoint),
    unheard: answers.length < ENOUGH ? silent : [],
    of: (index) => inOrder.map(({ balances }) => balances[index] ?? 0n),
  }
}
