import type { Rpc } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { readChainView } from './payout-view.ts'
import { isReceiptFinal, readReceipts } from './receipt.ts'
import { unitsTo } from './usdc-token.ts'

/** `wrong`: this transaction is not the transfer that was asked about, and says why. */
export type TransferVerdict = { verdict: 'final' | 'pending' | 'wrong'; providerStatus: string }

const wrong = (providerStatus: string): TransferVerdict => ({ verdict: 'wrong', providerStatus })

/**
 * Whether a transaction sends exactly this many USDC units to an address, and is final.
 * @throws RpcError if the node does not answer
 */
export async function checkTransfer(
  { rpc, network }: { rpc: Rpc; network: Network },
  { txHash, to, units }: { txHash: string; to: string; units: bigint },
): Promise<TransferVerdict> {
  const view = await readChainView(rpc, network)
  const [receipt] = await readReceipts(rpc, [txHash])
  if (!receipt) {
    const waiting = await rpc.call<object | null>('eth_getTransactionByHash', txHash)
    if (waiting !== null) return { verdict: 'pending', providerStatus: `transaction ${txHash} is not in a block yet` }
    return wrong(`is not known on ${network.name} (chain ${network.chainId})`)
  }
  if (receipt.status !== '0x1') return wrong('was refused by the chain; it moved nothing')
  const arrived = unitsTo(receipt.logs, network, to)
  if (arrived !== units) return wrong(`brings ${arrived} units of USDC to ${to}, not ${units}`)
  const final = await isReceiptFinal(rpc, network, { receipt, view, units })
  return {
    verdict: final ? 'final' : 'pending',
    providerStatus: `transaction ${txHash} is ${final ? 'final' : 'not final yet'}`,
  }
}
