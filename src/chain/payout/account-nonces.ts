import { keccak256 } from 'viem/utils'
import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import { ChainDoubt } from '../transfer-logs.ts'
import { doubtWords } from './agreement.ts'
import { type PayoutDeps, PayoutTaken } from './payout-deps.ts'
import { type Payout, updatePayoutRelayer } from './payout-queries.ts'
import type { ChainView } from './payout-view.ts'
import {
  aboveSigned,
  atMostAStepMore,
  type Fees,
  findGasFault,
  isRaiseDue,
  isStuck,
  readMeans,
} from './relayer/fees.ts'
import { readGasPrice } from './relayer/gas-price.ts'
import { listSigned } from './relayer/signed-transactions.ts'
import {
  findNextNonce,
  insertPayoutTransaction,
  isRelayerNonceKept,
  type PayoutTransaction,
  updatePayoutTransactionSent,
} from './relayer/transaction-queries.ts'

/*
 * A relayer's transactions are mined in the order of its account nonces. Each payout keeps one; a nonce that no payout
 * keeps any longer blocks all after it.
 */

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
  const keyOf = (theirs: bigint, own: bigint) => String(isNear(own, theirs) ? own : theirs)
  try {
    return await agree({ look: ask, keyOf, subject: `the transactions of ${address}` })
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

/** The node already has the transaction, or something with this nonce is mined: the receipts show which. */
const HAS_IT = /already (known|imported)|nonce too low|known transaction/i
/** Another transaction with this nonce is pending: ours replaces it once its fees are high enough. */
const HAS_ANOTHER = /replacement/i

/** `occupied`: the node has another transaction with this account nonce. An error: it refuses. @throws RpcError */
export async function submit({ rpc }: PayoutDeps, raw: Hex): Promise<'taken' | 'known' | 'occupied' | RpcError> {
  try {
    await rpc.call('eth_sendRawTransaction', raw)
    return 'taken'
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (HAS_ANOTHER.test(error.message)) return 'occupied'
    if (HAS_IT.test(error.message)) return 'known'
    if (error.kind !== 'definite') throw error
    return error
  }
}

/**
 * Uses up the nonce by sending nothing to ourselves. Repeated every minute until it is mined: with the same bytes, and
 * with higher fees than all that was signed with the nonce once they do not suffice.
 * @throws RpcError when the node does not answer
 */
export async function fillNonce(deps: PayoutDeps, view: ChainView, nonce: bigint): Promise<void> {
  const newest = (await listSigned(deps, nonce)).at(-1)
  if (newest?.payoutId === null && !(await isRaiseDue(deps, view, newest))) {
    const answer = await submitFilling(deps, view, newest)
    if (answer === 'taken' || (answer === 'known' && !isStuck(deps, view, newest))) return
  }
  const price = await readGasPrice(deps.rpc)
  const means = await readMeans(deps, 'filling')
  const above = await aboveSigned(deps, price, means, nonce)
  const offer = newest?.payoutId === null ? above : atMostAStepMore(above, price, means)
  const fault = findGasFault(deps, price, { ...offer, ...means, gas: FILLING_GAS })
  if (fault) return warnOfGap(deps, nonce, fault.providerStatus)
  const answer = await submitFilling(deps, view, await signFilling(deps, nonce, offer))
  if (answer === 'occupied') warnOfGap(deps, nonce, 'the node has another transaction with it, which pays more')
  else if (answer instanceof RpcError) warnOfGap(deps, nonce, answer.message)
}

const warnOfGap = ({ log, network: { chainId } }: PayoutDeps, nonce: bigint, why: string): void =>
  log.warn({ chainId, nonce: nonce.toString() }, `a gap in the relayer’s account nonces was not filled: ${why}`)

const FILLING_GAS = 21_000n

/** Stored before it is submitted: whatever is signed with the nonce later pays more. */
async function signFilling(
  { db, clock, network: { chainId }, relayerSigner }: PayoutDeps,
  relayerNonce: bigint,
  { maxFeeWei, priorityFeeWei }: Fees,
): Promise<PayoutTransaction> {
  const raw = await relayerSigner.signTransaction({
    chainId,
    nonce: Number(relayerNonce),
    to: relayerSigner.address,
    data: '0x',
    gas: FILLING_GAS,
    maxFeePerGas: maxFeeWei,
    maxPriorityFeePerGas: priorityFeeWei,
  })
  const filling = {
    txHash: keccak256(raw),
    signerAddress: relayerSigner.address,
    payoutId: null,
    relayerNonce,
    raw,
    maxFeeWei,
    priorityFeeWei,
  }
  await db.tx((tx) => insertPayoutTransaction(tx, chainId, filling, new Date(clock())))
  return { ...filling, sentBlock: null }
}

async function submitFilling(deps: PayoutDeps, view: ChainView, { txHash, raw }: PayoutTransaction) {
  const answer = await submit(deps, raw)
  if (answer === 'taken' || answer === 'known')
    await updatePayoutTransactionSent(deps.db, deps.network.chainId, txHash, view.number)
  return answer
}
