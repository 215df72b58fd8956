import { encodeFunctionData, keccak256, parseAbi } from 'viem/utils'
import { askNodes, type Hex, type Rpc, RpcError } from '../../endpoints/rpc.ts'
import type { Network } from '../../networks.ts'
import { authorizedTransferData } from '../usdc-token.ts'
import { middleOf } from './wei.ts'

/*
 * On Base and OP a transaction also pays for its data on Ethereum (docs.optimism.io/stack/transactions/fees). Its gas
 * does not say that; the chain's own contract does.
 */

const ORACLE = '0x420000000000000000000000000000000000000f'
const ABI = parseAbi(['function getL1Fee(bytes) view returns (uint256)'])

/** As incompressible as addresses, nonces and signatures are: the contract counts the data as compressed. */
const noise = (name: string): Hex => keccak256(`0x${Buffer.from(name).toString('hex')}`)
const addressLike = (name: string): Hex => `0x${noise(name).slice(26)}`

/** A payout's call. The contract adds the transaction's signature; its other fields are few bytes. */
const EXAMPLE = authorizedTransferData(
  {
    ...{ from: addressLike('from'), to: addressLike('to'), units: 123_456_789n },
    ...{ validBefore: 1_800_000_000n, nonce: noise('nonce') },
  },
  `${noise('r')}${noise('s').slice(2)}1b`,
)
const callFor = (data: Hex) => ({
  to: ORACLE,
  data: encodeFunctionData({ abi: ABI, functionName: 'getL1Fee', args: [data] }),
})
const OF = { payout: callFor(EXAMPLE), filling: callFor('0x') }

/** `filling`: a transaction that only uses up an account nonce. It has no data, but its other fields cost something. */
export type DataOf = keyof typeof OF

const WORD = /^0x[0-9a-f]{64}$/i

/** Null: the node refuses the question, or answers with something else than a number. */
async function askOne(node: Rpc, of: DataOf): Promise<bigint | null> {
  try {
    const answer = await node.call<unknown>('eth_call', OF[of], 'latest')
    return typeof answer === 'string' && WORD.test(answer) ? BigInt(answer) : null
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'definite') return null
    throw error
  }
}

/**
 * What a transaction of the relayer pays for its data at present, in wei: what the node in the middle says. 0 where
 * the chain takes nothing for it, or no node says.
 * @throws RpcError if none answers
 */
export async function readDataFee(rpc: Rpc, { hasDataFee }: Network, of: DataOf = 'payout'): Promise<bigint> {
  if (!hasDataFee) return 0n
  const answers = await askNodes(rpc, (node) => askOne(node, of))
  return middleOf(answers.filter((fee) => fee !== null))
}
