import { keccak256 } from 'viem/utils'
import { crashPoint } from '../../kernel/crash-point.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import { tokenOf } from '../networks.ts'
import { fillNonce, isOfFormerRelayer, keepNonce, submit } from './account-nonces.ts'
import { isSeenByAll } from './agreement.ts'
import { change, needsCheck, type PayoutDeps, PayoutTaken } from './payout-deps.ts'
import { type Payout, updatePayout } from './payout-queries.ts'
import { type ChainView, findClockFault, isAuthorizationOver, isSigned, readChainView } from './payout-view.ts'
import { estimateGas, findPause, PAYOUT_GAS } from './relayer/attempts.ts'
import { aboveSigned, atMostAStepMore, type Fees, findGasFault, readMeans } from './relayer/fees.ts'
import { readGasPrice } from './relayer/gas-price.ts'
import { presentOf } from './relayer/present.ts'
import {
  insertPayoutTransaction,
  listPayoutTransactions,
  type PayoutTransaction,
  updatePayoutTransactionSent,
} from './relayer/transaction-queries.ts'
import { UNSIGNED } from './state/states.ts'
import {
  type Authorization,
  authorizationData,
  authorizedTransferData,
  isAuthorizationUsed,
  isBlacklisted,
  isPaused,
  readBalance,
  tryTransfer,
} from './usdc-token.ts'

/** How often a temporary refusal is retried before the payout fails. */
const MOST_REFUSALS = 8

const text = (units: bigint): string => `${formatDecimal(units, 6)} USDC`

const authorizationOf = (payout: Payout, validBefore: bigint): Authorization => ({
  from: payout.fromAddress,
  to: payout.toAddress,
  units: payout.units,
  validAfter: payout.validAfter,
  validBefore,
  nonce: payout.authorizationNonce,
})

export const SWEEP_RAN_OUT = 'The signed authorization ran out unused. Plan the sweep again.'
/** Whoever asks for the payout checks it again before it is signed again: that is not this visit. */
const RAN_OUT = {
  providerStatus: 'What was signed ran out unused. It is checked again before it is signed again.',
  never: false,
}

export const UNCHECKED = {
  providerStatus: 'It is checked again before anything is signed or submitted for it.',
  never: false,
}

/**
 * `never`: waiting cannot help. `isRefusal`: the token itself refuses; such refusals are retried a limited number of
 * times.
 */
type Obstacle = { providerStatus: string; never: boolean; isRefusal?: boolean }

/** Why the token would refuse; `never` if waiting cannot help. Null if it would accept. */
async function findObstacle(deps: PayoutDeps, payout: Payout): Promise<Obstacle | null> {
  const { rpc, network } = deps
  const { fromAddress: from, toAddress: to, units } = payout
  if (await isBlacklisted(rpc, network, to))
    return { providerStatus: `The token’s issuer has blocked ${to}; nothing can be sent there.`, never: true }
  if (await isBlacklisted(rpc, network, from))
    return { providerStatus: `The token’s issuer has blocked our own wallet ${from}.`, never: false }
  const balance = await readBalance(rpc, network, from)
  if (balance < units) {
    const providerStatus = `The wallet ${from} on chain ${network.chainId} holds ${text(balance)}; ${text(units)} are needed. Fund it.`
    return { providerStatus, never: false }
  }
  if (await isPaused(rpc, network))
    return { providerStatus: 'The token’s issuer has paused all transfers.', never: false }
  try {
    await tryTransfer(rpc, network, { from, to, units })
    return null
  } catch (error) {
    if (!(error instanceof RpcError) || error.kind !== 'definite') throw error
    return {
      isRefusal: true,
      providerStatus: `The token refuses the transfer: ${error.message}`,
      never: payout.refusals >= MOST_REFUSALS,
    }
  }
}

/** Whether this node's token refuses the destination permanently, or any transfer. @throws RpcError */
async function isRefusedBy(rpc: Rpc, { network }: PayoutDeps, payout: Payout): Promise<boolean> {
  const { fromAddress: from, toAddress: to, units } = payout
  if (await isBlacklisted(rpc, network, to)) return true
  try {
    await tryTransfer(rpc, network, { from, to, units })
    return false
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'definite') return true
    throw error
  }
}

/**
 * Whether nothing that was signed can pay it any more, and `isRefused`. A refund that is given up is owed again and may
 * be paid another way. A node whose clock is wrong must not cause that while the authorization can still be used, nor
 * may a single node that claims a refusal.
 */
async function isOverForAll(
  deps: PayoutDeps,
  payout: Payout,
  isRefused: (rpc: Rpc) => Promise<boolean> = async () => true,
): Promise<boolean> {
  const { network } = deps
  const key = { from: payout.fromAddress, nonce: payout.authorizationNonce }
  const isOver = async (rpc: Rpc, view: ChainView): Promise<boolean> => {
    if (!isAuthorizationOver(payout, view)) return false
    if (await isAuthorizationUsed(rpc, network, key)) return false
    return isRefused(rpc)
  }
  return isSeenByAll(deps, `payout ${payout.id}`, isOver)
}

/** A node with the key may sign it again, a person may take it back. */
export const SIGNABLE = { status: 'reserved', authorization: null, relayer: null } as const

/** Whether nothing that was signed can pay it, which all nodes say. */
export const isUnusable = async (deps: PayoutDeps, payout: Payout, view: ChainView): Promise<boolean> =>
  isAuthorizationOver(payout, view) && isOverForAll(deps, payout)

/** Whether its authorization ran out unused, which all nodes say. */
export const hasRunOut = async (deps: PayoutDeps, payout: Payout, view: ChainView): Promise<boolean> =>
  payout.validBefore !== null && isUnusable(deps, payout, view)

/** Whether it can be given up: nothing that was signed can be used, and every node says that it is refused. */
async function isHopeless(deps: PayoutDeps, payout: Payout, view: ChainView): Promise<boolean> {
  if (!isAuthorizationOver(payout, view)) return false
  // without a signer, only expiry ends it
  return deps.refundSigner === null
    ? isOverForAll(deps, payout)
    : isOverForAll(deps, payout, (rpc) => isRefusedBy(rpc, deps, payout))
}

/**
 * Records why the payout is stuck; gives up only once no signed authorization can be used. What ran out unused is
 * forgotten, so that a person can take the payout back while it waits.
 */
async function hold(
  deps: PayoutDeps,
  payout: Payout,
  view: ChainView,
  { providerStatus, never, isRefusal = false }: Obstacle,
): Promise<Payout> {
  if (never && (await isHopeless(deps, payout, view))) {
    if (payout.relayerNonce !== null) await fillNonce(deps, view, payout.relayerNonce)
    return change(deps, payout, { status: 'failed', providerStatus, relayer: null })
  }
  // nothing was signed with its account nonce, and other transactions need later nonces
  const gap = payout.status === 'reserved' && payout.relayerNonce !== null ? { relayer: null } : {}
  const end = payout.kind === 'payout' && (await hasRunOut(deps, payout, view)) ? SIGNABLE : gap
  return change(deps, payout, { providerStatus, ...end, ...(isRefusal && { refusals: payout.refusals + 1 }) })
}

/** What must not be submitted any more is forgotten with its signature. Null: it may be submitted. */
async function stop({ db, clock, findStop }: PayoutDeps, payout: Payout): Promise<Payout | null> {
  if (!findStop) return null
  return db.tx(async (tx) => {
    const providerStatus = await findStop(tx, payout)
    if (providerStatus === null) return null
    const end = { status: 'failed', authorization: null, relayer: null, providerStatus } as const
    return change({ db: tx, clock }, payout, end)
  })
}

/**
 * The first step, repeated after a failed try: check, sign the authorization, keep a nonce, sign the transaction,
 * store.
 */
export async function prepare(deps: PayoutDeps, given: Payout, view: ChainView): Promise<Payout> {
  // the token takes one of the two transactions
  const isFormer = isOfFormerRelayer(deps, given)
  const payout = isFormer ? await change(deps, given, { status: 'reserved', relayer: null }) : given
  const stopped = await stop(deps, payout)
  if (stopped) return stopped
  const canAuthorize = deps.refundSigner !== null || isSigned(payout, view)
  const obstacle = canAuthorize ? await findObstacle(deps, payout) : { providerStatus: SWEEP_RAN_OUT, never: true }
  if (obstacle) return hold(deps, payout, view, obstacle)
  if (needsCheck(deps, given)) return hold(deps, payout, view, UNCHECKED)
  const pause = await findPause(deps, payout)
  if (pause !== null) return hold(deps, payout, view, { providerStatus: pause, never: false })
  // while gas is missing nothing is signed, so that it can be taken back
  const means = await readMeans(deps)
  const price = await readGasPrice(deps.rpc)
  const offer = { ...means, ...(await aboveSigned(deps, price, means, payout.relayerNonce)) }
  const dear = findGasFault(deps, price, { ...offer, gas: PAYOUT_GAS })
  if (dear) return hold(deps, payout, view, dear)
  const authorized = await authorize(deps, payout, view)
  if ('never' in authorized) return hold(deps, payout, view, authorized)
  const { signature, validBefore } = authorized
  if (signature === null || validBefore === null) throw new Error(`payout ${payout.id} is not authorized`)
  const data = authorizedTransferData(authorizationOf(payout, validBefore), signature)
  const gas = await estimateGas(deps, payout, data)
  if (gas instanceof RpcError) {
    const providerStatus = `The token refuses the authorization: ${gas.message}`
    return hold(deps, authorized, view, { providerStatus, never: payout.refusals >= MOST_REFUSALS, isRefusal: true })
  }
  const fault = findGasFault(deps, price, { ...offer, gas })
  if (fault) return hold(deps, authorized, view, fault)
  const numbered = await keepNonce(deps, authorized)
  if (numbered.relayerNonce === payout.relayerNonce) return signAndStore(deps, numbered, { data, gas, ...offer })
  // whoever gave the nonce up may have signed something with it
  const fees = atMostAStepMore(await aboveSigned(deps, price, means, numbered.relayerNonce), price, means)
  const dearer = findGasFault(deps, price, { ...means, ...fees, gas })
  if (dearer) return hold(deps, numbered, view, dearer)
  return signAndStore(deps, numbered, { data, gas, ...fees })
}

/** Stores the expiry and the token before the signature exists, unless a person named what paid it. */
const announce = (deps: PayoutDeps, payout: Payout, validBefore: bigint) =>
  deps.db.tx(async (tx): Promise<Payout | Obstacle> => {
    const providerStatus = await deps.findNamedHold?.(tx, payout)
    if (providerStatus) return { providerStatus, never: false }
    return change({ db: tx, clock: deps.clock }, payout, {
      authorization: { signature: UNSIGNED, validBefore },
      tokenAddress: tokenOf(deps.network),
    })
  })

/**
 * Signs the authorization, or again one that was announced and whose signature is not stored: with the same expiry, or
 * a signer that is away would keep the payout in progress for ever.
 */
async function authorize(deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout | Obstacle> {
  const { rpc, network, refundSigner } = deps
  if (refundSigner === null || isSigned(payout, view)) return payout
  const validBefore = payout.validBefore ?? view.timestamp + BigInt(deps.validSeconds)
  if (view.timestamp >= validBefore) return RAN_OUT
  const clockFault = payout.validBefore === null ? findClockFault(network, view, deps.clock()) : null
  if (clockFault !== null) return { providerStatus: clockFault, never: false }
  const data = await authorizationData(rpc, network, authorizationOf(payout, validBefore))
  if (payout.validBefore === null) await refundSigner.check?.()
  const announced = await announce(deps, payout, validBefore)
  if ('never' in announced) return announced
  const signature = await refundSigner.signTypedData(data)
  return change(deps, announced, { authorization: { signature, validBefore } })
}

async function signAndStore(
  deps: PayoutDeps,
  payout: Payout,
  call: { data: Hex; gas: bigint } & Fees,
): Promise<Payout> {
  const { db, network, relayerSigner, clock } = deps
  if (payout.relayerNonce === null) throw new Error(`payout ${payout.id} has no account nonce`)
  const { maxFeeWei, priorityFeeWei, data, gas } = call
  const raw = await relayerSigner.signTransaction({
    chainId: network.chainId,
    nonce: Number(payout.relayerNonce),
    to: network.usdcAddress as Hex,
    data,
    gas,
    maxFeePerGas: maxFeeWei,
    maxPriorityFeePerGas: priorityFeeWei,
  })
  const { id: payoutId, relayerNonce } = payout
  const signerAddress = relayerSigner.address
  const transaction = { txHash: keccak256(raw), signerAddress, payoutId, relayerNonce, raw, maxFeeWei, priorityFeeWei }
  return db.tx(async (tx) => {
    const providerStatus = await deps.findStop?.(tx, payout)
    if (providerStatus) return change({ db: tx, clock }, payout, { status: 'reserved', relayer: null, providerStatus })
    const now = new Date(clock())
    const news = { status: 'signed', presentTxHash: transaction.txHash, providerStatus: 'signed' } as const
    const signed = await updatePayout(tx, payout, news, now)
    if (!signed) throw new PayoutTaken()
    await insertPayoutTransaction(tx, signed.chainId, transaction, now)
    return signed
  })
}

const overtaken = ({ relayerSigner }: PayoutDeps, { relayerNonce }: PayoutTransaction): string =>
  `The node has another transaction of the relayer ${relayerSigner.address} with the account nonce ${relayerNonce}. If it ` +
  'is not mined soon, it is replaced with higher fees. Does another program use this key?'

/**
 * Submits the bytes of its present transaction; submitting them twice is harmless.
 * @param isStuck it is replaced with higher fees, unless the node had lost it: that costs nothing but the same again
 */
export async function broadcast(deps: PayoutDeps, payout: Payout, view: ChainView, isStuck = false): Promise<Payout> {
  const present = presentOf(payout, await listPayoutTransactions(deps.db, payout.id))
  if (!present) throw new Error(`payout ${payout.id} is ${payout.status} without a transaction`)
  const answer = await submit(deps, present.raw)
  if (answer instanceof RpcError) {
    const providerStatus = `The node refuses the transaction: ${answer.message}`
    return change(deps, payout, { status: 'reserved', providerStatus })
  }
  if (isStuck && answer !== 'taken') return resend(deps, payout, view)
  crashPoint(payout.kind === 'payout' ? 'payout:after-submit' : 'sweep:after-submit')
  await updatePayoutTransactionSent(deps.db, payout.chainId, present.txHash, view.number)
  const providerStatus = answer === 'occupied' ? overtaken(deps, present) : `sent in transaction ${present.txHash}`
  return change(deps, payout, { status: 'sent', providerStatus })
}

/** Raises the fees of a pending transaction, keeping account nonce and authorization. */
export async function resend(deps: PayoutDeps, payout: Payout, view: ChainView): Promise<Payout> {
  const prepared = await prepare(deps, payout, view)
  return prepared.status === 'signed' ? broadcast(deps, prepared, view) : prepared
}

export const lookAtChain = (deps: PayoutDeps): Promise<ChainView> => readChainView(deps.rpc, deps.network)
