import { encodeFunctionData, parseAbi } from 'viem/utils'
import { readDomain } from '../../src/chain/endpoints/network-check.ts'
import type { Rpc } from '../../src/chain/endpoints/rpc.ts'
import { networkFor } from '../../src/chain/networks.ts'
import { nonceOf } from '../../src/chain/payout/payout-deps.ts'
import type { Signer } from '../../src/chain/payout/signer.ts'
import type { TestChain } from './chain.ts'

const ABI = parseAbi(['function cancelAuthorization(address,bytes32,bytes)'])
const FIELDS = [
  { name: 'authorizer', type: 'address' },
  { name: 'nonce', type: 'bytes32' },
]

/** The operator cancels a payout's authorization with the wallet's key. @returns the transaction, in no block yet */
export async function cancelAuthorization(chain: TestChain, rpc: Rpc, wallet: Signer, id: string): Promise<string> {
  const { chainId, usdcAddress } = chain
  const { name, version } = await readDomain(rpc, networkFor({ chainId, usdcAddress }))
  const to = usdcAddress as `0x${string}`
  const signature = await wallet.signTypedData({
    domain: { name, version, chainId, verifyingContract: to },
    types: { CancelAuthorization: FIELDS },
    primaryType: 'CancelAuthorization',
    message: { authorizer: wallet.address, nonce: nonceOf(id) },
  })
  const args = [wallet.address, nonceOf(id), signature] as const
  const data = encodeFunctionData({ abi: ABI, functionName: 'cancelAuthorization', args })
  // it pays more than ours, which is refused in the same block
  const fees = { maxFeePerGas: '0xe8d4a51000', maxPriorityFeePerGas: '0x746a528800' }
  const txHash = await chain.call<string>('eth_sendTransaction', {
    from: chain.payer,
    to,
    data,
    gas: '0x493e0',
    ...fees,
  })
  return txHash
}
