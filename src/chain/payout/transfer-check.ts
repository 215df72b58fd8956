import type { Hex, Rpc } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import type { Agree } from './agreement.ts'
import { readChainView } from './payout-view.ts'
import { isReceiptFinal, readReceipts } from './receipt.ts'
import { readTransferCall, unitsTo } from './usdc-token.ts'

/**
 * `wrong`: this transaction is not the requested transfer, with the reason. `unread`: it is in no block yet, and as the
 * call of a contract it shows what it pays only there.
 */
export type TransferVerdict = { verdict: 'final' | 'pending' | 'unread' | 'wrong'; providerStatus: string }

type Seen = TransferVerdict & { blockHash: string | null }
/** `orMore`: the transaction may bring more than these units. */
type Asked = { txHash: string; to: string; units: bigint; orMore?: boolean }

const wrong = (providerStatus: string): Seen => ({ verdict: 'wrong', providerStatus, blockHash: null })

/** In no block yet. */
function lookAtWaiting(
  network: Network,
  waiting: { to?: string | null; input?: Hex },
  { txHash, to, units }: Asked,
): Seen {
  const call = readTransferCall(network, waiting)
  if (call && (call.to !== to.toLowerCase() || call.units !== units))
    return wrong(`sends ${call.units} units of USDC to ${call.to}, not ${units} to ${to}`)
  const providerStatus = `transaction ${txHash} is not in a block yet`
  return { verdict: call ? 'pending' : 'unread', providerStatus, blockHash: null }
}

/** What one node reports about a transfer. @throws RpcError */
async function lookAt(rpc: Rpc, network: Network, asked: Asked): Promise<Seen> {
  const { txHash, to, units, orMore = false } = asked
  const view = await readChainView(rpc, network)
  const [receipt] = await readReceipts(rpc, [txHash])
  if (!receipt) {
    const waiting = await rpc.call<{ to?: string | null; input?: Hex } | null>('eth_getTransactionByHash', txHash)
    if (waiting === null) return wrong(`is not known on ${network.name} (chain ${network.chainId})`)
    return lookAtWaiting(network, waiting, asked)
  }
  const { blockHash } = receipt
  if (receipt.status !== '0x1') return { ...wrong('was refused by the chain; it moved nothing'), blockHash }
  const arrived = unitsTo(receipt.logs, network, to)
  if (arrived !== units && !(orMore && arrived > units))
    return { ...wrong(`brings ${arrived} units of USDC to ${to}, not ${units}`), blockHash }
  const verdict = (await isReceiptFinal(rpc, network, { receipt, view, units })) ? 'final' : 'pending'
  const providerStatus = `transaction ${txHash} is ${verdict === 'final' ? 'final' : 'not final yet'}`
  return { verdict, providerStatus, blockHash }
}

/** A node that is a moment behind, or serves another chain, does not know the block that another one calls final. */
async function lacks(rpc: Rpc, blockHash: string | null): Promise<boolean> {
  return blockHash !== null && (await rpc.call<object | null>('eth_getBlockByHash', blockHash, false)) === null
}

const isOpen = ({ verdict }: Seen): boolean => verdict === 'pending' || verdict === 'unread'

/**
 * Whether a transaction sends exactly this many USDC units to an address, and is final. A single node is trusted only
 * if it says pending or unread: whoever names a transaction may know which node lies.
 * @throws RpcError if no node answers; ChainDoubt while they do not agree
 */
export async function checkTransfer(
  { agree, network }: { agree: Agree; network: Network },
  asked: Asked,
): Promise<TransferVerdict> {
  const { verdict, providerStatus } = await agree<Seen>({
    own: (rpc) => lookAt(rpc, network, asked),
    async other(rpc, own) {
      if (isOpen(own)) return own
      const theirs = await lookAt(rpc, network, asked)
      if (theirs.verdict === own.verdict) return theirs
      return isOpen(theirs) || (await lacks(rpc, own.blockHash)) ? undefined : theirs
    },
    keyOf: (seen) => seen.verdict,
    subject: `transaction ${asked.txHash}`,
  })
  return { verdict, providerStatus }
}
