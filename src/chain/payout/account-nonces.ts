import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import { ChainDoubt } from '../transfer-logs.ts'
import { doubtWords } from './agreement.ts'
import { type PayoutDeps, PayoutTaken } from './payout-deps.ts'
import { findNextNonce, isRelayerNonceKept, type Payout, updatePayoutRelayer } from './payout-queries.ts'
import type { ChainView } from './payout-view.ts'

/*
 * A relayer's transactions are mined in the order of its account nonces. Each payout keeps one; a nonce that no payout
 * keeps any longer blocks all after it.
 */

/** The node already has the transaction, or something with this nonce is mined: the receipts show which. */
export const HAS_IT = /already (known|imported)|nonce too low|known transaction/i
/** Another transaction with this nonce is pending: ours replaces it once its fees are high enough. */
export const HAS_ANOTHER = /replacement/i

/** A jump larger than this by other programs' transactions is not trusted. */
const FAR = 100n

/**
 * How many transactions of the relayer the chain has. If one node claims far more than we know, it is not believed
 * alone where there are others: a gap of thousands cannot be filled, and all payouts would wait behind it.
 */
async function readAccountNonce({ db, rpc, agree, network, relayerSigner }: PayoutDeps): Promise<bigint> {
  const { address } = relayerSigner
  const ask = async (node: Rpc) => BigInt(await node.call<Hex>('eth_getTransactionCount', address, 'latest'))
  const count = await ask(rpc)
  if (count <= (await findNextNonce(db, network.chainId, address)) + FAR) return count
  const isNear = (left: bigint, right: bigint) => left - right <= FAR && right - left <= FAR
  const other = async (node: Rpc, own: bigint) => {
    const theirs = await ask(node)
    return isNear(own, theirs) ? own : theirs
  }
  try {
    return await agree({ own: ask, other, keyOf: String, subject: `the transactions of ${address}` })
  } catch (error) {
    if (error instanceof ChainDoubt) throw new RpcError('unknown', doubtWords(error), null, error)
    throw error
  }
}

/** Another key's account has its nonce: that count says nothing about ours, and ours cannot fill its gaps. */
export const isOfFormerRelayer = ({ relayerSigner }: PayoutDeps, { relayerAddress }: Payout): boolean =>
  relayerAddress !== null && relayerAddress !== relayerSigner.address.toLowerCase()

/**
 * Gives a payout the relayer's next nonce, unless it keeps one that no transaction has used: nodes refuse a used one in
 * words of their own. @throws PayoutTaken, RpcError
 */
export async function keepNonce(deps: PayoutDeps, payout: Payout): Promise<Payout> {
  const { address } = deps.relayerSigner
  const chainNonce = await readAccountNonce(deps)
  if (payout.relayerNonce !== null && payout.relayerNonce >= chainNonce) return payout
  const relayer = { address: address.toLowerCase() as Hex, chainNonce }
  const numbered = await deps.db.tx((tx) => updatePayoutRelayer(tx, payout, relayer, new Date(deps.clock())))
  if (!numbered) throw new PayoutTaken()
  return numbered
}

/** Transactions wait for an account nonce that no payout keeps any longer. */
export async function fillGap(deps: PayoutDeps, payout: Payout, view: ChainView, count: bigint): Promise<void> {
  if (payout.relayerAddress === null || isOfFormerRelayer(deps, payout)) return
  const place = { chainId: payout.chainId, address: payout.relayerAddress, nonce: count }
  if (!(await isRelayerNonceKept(deps.db, place))) await fillNonce(deps, view, count)
}

/** Uses up the nonce by sending nothing to ourselves. @throws RpcError when the node does not answer */
export async function fillNonce(
  { rpc, network, relayerSigner, log }: PayoutDeps,
  view: ChainView,
  nonce: bigint,
): Promise<void> {
  const fee = view.baseFee * 2n + 2_000_000_000n
  const raw = await relayerSigner.signTransaction({
    chainId: network.chainId,
    nonce: Number(nonce),
    to: relayerSigner.address,
    data: '0x',
    gas: 21_000n,
    maxFeePerGas: fee,
    maxPriorityFeePerGas: fee - view.baseFee * 2n,
  })
  await rpc.call('eth_sendRawTransaction', raw).catch((error: unknown) => {
    if (!(error instanceof RpcError) || error.kind !== 'definite') throw error
    // retried every minute until it is mined
    if (HAS_IT.test(error.message) || HAS_ANOTHER.test(error.message)) return
    log.warn({ err: error, chainId: network.chainId }, 'a gap in the relayer’s account nonces was not filled')
  })
}
