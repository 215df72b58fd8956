import type { FastifyBaseLogger } from 'fastify'
import { keccak256, stringToHex } from 'viem/utils'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import { askFirst, type Hex, type Rpc } from '../endpoints/rpc.ts'
import { inToken, type Network, tokenOf } from '../networks.ts'
import type { Agree } from './agreement.ts'
import { type Payout, type PayoutChange, updatePayout } from './payout-queries.ts'
import { hasSignature } from './payout-view.ts'
import { listPresent, tokenOfTransaction } from './relayer/present.ts'
import { listPayoutTransactions } from './relayer/transaction-queries.ts'
import type { Signer } from './signer.ts'
import { answersOf } from './state/states.ts'
import { authorizationStateCall, toAuthorizationState } from './usdc-token.ts'
import { listPayingTokens } from './wallet-queries.ts'

export type PayoutDeps = {
  db: Db
  rpc: Rpc
  agree: Agree
  network: Network
  /** Holds the money, and no native coin. Null: the authorization came already signed, and we cannot make another. */
  refundSigner: Signer | null
  /** Pays for gas, and holds no money. */
  relayerSigner: Signer
  clock: Clock
  log: FastifyBaseLogger
  /** Validity of a signed authorization, in the chain's seconds. */
  validSeconds: number
  /** Absent: whoever signed it also sends it. */
  findStop?: FindStop
  /** Absent: no person can name what paid it. */
  findNamedHold?: FindNamedHold | undefined
  /**
   * Whoever asks has just checked that it may be paid. Absent: nothing is signed for it, nor submitted for the first
   * time; what is under way goes on.
   */
  isChecked?: boolean
  /** Someone else submits it: we follow it and never send it. */
  watchOnly?: boolean
  /** Nothing of it is changed but what the chain shows: whoever sends it goes on. */
  looksOnly?: boolean
  /** In lower case: the wallet whose key is set up here, also where a payout is only followed. */
  ownWallet?: string | undefined
  /** It was started in a token that the settings no longer name. */
  isFormerToken?: boolean
  /** A transaction that has been pending for this many blocks is sent again with higher fees. */
  stuckBlocks: bigint
}

/**
 * Why nothing may be signed for a payout, nor submitted for the first time: a person named, or is naming, another
 * transaction as what paid it. Null: none is named from then on until the transaction of the database ends.
 */
export type FindNamedHold = (tx: Tx, payout: { chainId: number; id: string }) => Promise<string | null>

/**
 * Why a payer's authorization must not be submitted for the first time. Null: it may, and nothing changes that until
 * the transaction of the database ends.
 */
export type FindStop = (tx: Tx, payout: Payout) => Promise<string | null>

/** The token's own nonce of a payout: it pays once. */
export const nonceOf = (id: string): Hex => keccak256(stringToHex(id))

/**
 * It has not left, or nothing is signed for it: nothing is signed, or submitted for the first time, unless whoever asks
 * has checked it.
 */
export const needsCheck = ({ refundSigner, isChecked }: PayoutDeps, payout: Payout): boolean =>
  refundSigner !== null && isChecked !== true && (answersOf(payout).needsCheck || !hasSignature(payout))

/** For a payout that cannot be sent here: nothing is signed. */
export const KEYLESS = { refundSigner: null, watchOnly: true }

/** The token of the transaction that paid it, or in which it is signed now; undefined: that is in none. */
async function findCalledToken(db: Queryable, payout: Payout): Promise<Hex | undefined> {
  const { status, txHash, validBefore, tokenAddress } = payout
  const transactions = await listPayoutTransactions(db, payout.id)
  const paying =
    status === 'mined' || status === 'final' ? transactions.find((one) => one.txHash === txHash) : undefined
  // what ran out may be in the token of earlier settings
  const newest = tokenAddress === null && validBefore === null ? transactions.at(-1) : undefined
  const signed = paying ?? listPresent(payout, transactions).at(-1) ?? newest
  return signed && tokenOfTransaction(signed)
}

/** Whether one node says that the token knows it; one without a contract there does not. @throws RpcError */
function isKnownIn(rpc: Rpc, network: Network, payout: Payout): Promise<boolean> {
  const key = { from: payout.fromAddress, nonce: payout.authorizationNonce }
  return askFirst(rpc, async (node) => {
    const state = await node.call<Hex>('eth_call', authorizationStateCall(network, key), 'latest')
    return toAuthorizationState(state) === true
  })
}

/**
 * The token in which a payout was signed or is to be. A node of an earlier version, which may run beside this one,
 * stores none and signs in that of its own settings: so its transaction is believed before the row. Null: something was
 * signed, and nothing says in which.
 * @throws RpcError
 */
export async function findOwnToken(
  { db, rpc, network }: Pick<PayoutDeps, 'rpc' | 'network'> & { db: Queryable },
  payout: Payout,
): Promise<Hex | null> {
  const { kind, usedAt, tokenAddress } = payout
  const { isUnsigned } = answersOf(payout)
  const called = isUnsigned && tokenAddress !== null ? undefined : await findCalledToken(db, payout)
  if (called !== undefined) return called
  if (tokenAddress !== null) return tokenAddress
  // others signed a sweep or a payment, and no other token takes their signature
  if (kind !== 'payout' || (isUnsigned && usedAt === null)) return tokenOf(network)
  for (const one of await listPayingTokens(db, network)) if (await isKnownIn(rpc, one, payout)) return tokenOf(one)
  return null
}

/**
 * A payout is followed in the token that it was started in, whatever the settings name since. Our own money is only
 * watched then: what was signed may be used, and nothing more is signed; so too where nothing says which token that is.
 * Others signed a sweep or a payment.
 */
export function inOwnToken(deps: PayoutDeps, { kind, tokenAddress }: Payout): PayoutDeps {
  if (tokenAddress === null) return { ...deps, ...KEYLESS }
  if (tokenAddress === tokenOf(deps.network)) return deps
  const network = inToken(deps.network, tokenAddress)
  return kind === 'payout' ? { ...deps, ...KEYLESS, network, isFormerToken: true } : { ...deps, network }
}

/** Another worker has taken over the payout; nothing was written. */
export class PayoutTaken extends Error {
  override readonly name = 'PayoutTaken'
}

/** Stores the result of a step. @throws PayoutTaken */
export async function change(
  { db, clock }: Pick<PayoutDeps, 'clock'> & { db: Queryable },
  payout: Payout,
  what: PayoutChange,
): Promise<Payout> {
  const changed = await updatePayout(db, payout, what, new Date(clock()))
  if (!changed) throw new PayoutTaken()
  return changed
}
