import { MINUTE, SECOND } from '../../kernel/clock.ts'
import type { Hex, Rpc } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import type { Agree, AnsweredBlock } from './agreement.ts'
import { readChainView } from './payout-view.ts'
import { isReceiptFinal, placeOf, type Receipt, readReceipts } from './receipt.ts'
import { checkKept } from './state/use-search.ts'
import {
  type AuthorizationKey,
  type AuthorizedTransfer,
  isAuthorizationUsed,
  listAuthorizations,
  readTransferCall,
  transferOfAuthorization,
  unitsTo,
} from './usdc-token.ts'

/**
 * `wrong`: this transaction is not the requested transfer, with the reason. `unread`: it is in no block yet, and as the
 * call of a contract it shows what it pays only there.
 */
export type TransferVerdict = { verdict: 'final' | 'pending' | 'unread' | 'wrong'; providerStatus: string }

type Seen = TransferVerdict & { block: AnsweredBlock | null }
type Asked = {
  txHash: string
  to: string
  units: bigint
  /** Only the transfer that it allowed counts. */
  authorization?: AuthorizationKey
  /** An older transfer paid something else. */
  notBefore?: Date | undefined
}

/** A block's time may be this much earlier than ours: the chain sets it when the block begins. */
const CLOCK_MARGIN_MS = MINUTE

const wrong = (providerStatus: string): Seen => ({ verdict: 'wrong', providerStatus, block: null })

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
  return { verdict: call ? 'pending' : 'unread', providerStatus, block: null }
}

function arrivedIn({ logs }: Receipt, network: Network, { to, authorization }: Asked): bigint {
  if (!authorization) return unitsTo(logs, network, to)
  const left = transferOfAuthorization(logs, network, authorization)
  return left?.to === to.toLowerCase() ? left.units : 0n
}

/** The receipt's block, if it is older than what it should pay. @throws RpcError */
async function findOlder(rpc: Rpc, { blockHash }: Receipt, notBefore: Date): Promise<Date | null> {
  const block = await rpc.call<{ timestamp: Hex } | null>('eth_getBlockByHash', blockHash, false)
  if (block === null) return null
  const at = new Date(Number(BigInt(block.timestamp)) * SECOND)
  return at.getTime() + CLOCK_MARGIN_MS < notBefore.getTime() ? at : null
}

/** What one node reports about a transfer. @throws RpcError */
async function lookAt(rpc: Rpc, network: Network, asked: Asked, shown?: Seen): Promise<Seen> {
  const { txHash, to, units, notBefore, authorization } = asked
  const view = await readChainView(rpc, network)
  const [receipt] = await readReceipts(rpc, [txHash])
  if (!receipt) {
    const waiting = await rpc.call<{ to?: string | null; input?: Hex } | null>('eth_getTransactionByHash', txHash)
    if (waiting === null && authorization)
      await checkKept({ rpc, network }, authorization, { txHash, shown: shown?.block })
    if (waiting === null) return wrong(`is not known on ${network.name} (chain ${network.chainId})`)
    return lookAtWaiting(network, waiting, asked)
  }
  const block = placeOf(receipt)
  if (receipt.status !== '0x1') return { ...wrong('was refused by the chain; it moved nothing'), block }
  const arrived = arrivedIn(receipt, network, asked)
  if (arrived !== units) return { ...wrong(`brings ${arrived} units of USDC to ${to}, not ${units}`), block }
  const older = notBefore ? await findOlder(rpc, receipt, notBefore) : null
  if (older)
    return { ...wrong(`is of ${older.toISOString()}, which is before the payment that it should return`), block }
  const verdict = (await isReceiptFinal(rpc, network, { receipt, view, units })) ? 'final' : 'pending'
  const providerStatus = `transaction ${txHash} is ${verdict === 'final' ? 'final' : 'not final yet'}`
  return { verdict, providerStatus, block }
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
    look: (rpc, own) => lookAt(rpc, network, asked, own),
    keyOf: (seen) => seen.verdict,
    isHarmless: isOpen,
    isEarlier: isOpen,
    blockOf: ({ block }) => block,
    subject: `transaction ${asked.txHash}`,
  })
  return { verdict, providerStatus }
}

/** How a transaction used an authorization. */
export type AuthorizationUse = AuthorizedTransfer & { isFinal: boolean; block: AnsweredBlock }
type AskedUse = { txHash: string; authorization: AuthorizationKey }

async function lookAtUse(
  rpc: Rpc,
  network: Network,
  { txHash, authorization }: AskedUse,
  shown?: AuthorizationUse | null,
): Promise<AuthorizationUse | null> {
  const view = await readChainView(rpc, network)
  const [receipt] = await readReceipts(rpc, [txHash])
  if (!receipt) await checkKept({ rpc, network }, authorization, { txHash, shown: shown?.block })
  if (receipt?.status !== '0x1') return null
  const left = transferOfAuthorization(receipt.logs, network, authorization)
  if (!left || !(await isAuthorizationUsed(rpc, network, authorization))) return null
  const isFinal = await isReceiptFinal(rpc, network, { receipt, view, units: left.units })
  return { ...left, isFinal, block: placeOf(receipt) }
}

/**
 * What a transaction moved under an authorization, whatever was asked; null if it did not use it. The nodes agree on
 * all of it; one that has forgotten it is not heard.
 * @throws RpcError when the node does not answer; ChainDoubt while the nodes do not agree
 */
export const checkUsed = (
  { agree, network }: { agree: Agree; network: Network },
  asked: AskedUse,
): Promise<AuthorizationUse | null> =>
  agree<AuthorizationUse | null>({
    look: (rpc, own) => lookAtUse(rpc, network, asked, own),
    keyOf: (use) => JSON.stringify(use && [use.to, String(use.units), use.block.hash]),
    isEarlier: (theirs, own) => own?.isFinal === true && theirs?.isFinal === false,
    blockOf: (use) => (use?.isFinal ? use.block : null),
    subject: `transaction ${asked.txHash}`,
  })

type Uses = { keys: AuthorizationKey[]; block: AnsweredBlock | null }

/**
 * The authorizations that a transaction used or cancelled; none while it is in no block. The nodes agree on them.
 * @throws RpcError when the node does not answer; ChainDoubt while the nodes do not agree
 */
export async function readAuthorizations(
  { agree, network }: { agree: Agree; network: Network },
  txHash: string,
): Promise<AuthorizationKey[]> {
  const look = async (rpc: Rpc): Promise<Uses> => {
    const [receipt] = await readReceipts(rpc, [txHash])
    return { keys: receipt ? listAuthorizations(receipt.logs, network) : [], block: receipt ? placeOf(receipt) : null }
  }
  const { keys } = await agree<Uses>({
    look,
    keyOf: (uses) => JSON.stringify(uses.keys),
    isHarmless: ({ block }) => block === null,
    blockOf: ({ block }) => block,
    subject: `transaction ${txHash}`,
  })
  return keys
}

/** Whether the token knows an authorization. The nodes agree on it. @throws RpcError, ChainDoubt */
export function checkAuthorizationUsed(
  { agree, network }: { agree: Agree; network: Network },
  key: AuthorizationKey,
): Promise<boolean> {
  const look = (rpc: Rpc) => isAuthorizationUsed(rpc, network, key)
  return agree({ look, keyOf: String, subject: `authorization ${key.nonce}` })
}
