import type { FastifyBaseLogger } from 'fastify'
import { keccak256, stringToHex } from 'viem/utils'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Hex, Rpc } from '../endpoints/rpc.ts'
import { inToken, type Network, tokenOf } from '../networks.ts'
import type { Agree } from './agreement.ts'
import { type Payout, type PayoutChange, updatePayout } from './payout-queries.ts'
import { hasSignature } from './payout-view.ts'
import { NOBODY, type Signer } from './signer.ts'

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
  /** Absent: no person can name what paid it. */
  findNamedHold?: FindNamedHold | undefined
  /**
   * Whoever asks has just checked that it may be paid. Absent: nothing is signed for it, nor submitted for the first
   * time; what is under way goes on.
   */
  isChecked?: boolean
  /** Someone else submits it: we follow it and never send it. */
  watchOnly?: boolean
  /** It was started in a token that the settings no longer name. */
  isFormerToken?: boolean
  /** Maximum price of one gas, in wei; null: no limit. */
  maxFeeWei?: bigint | null
  /** A transaction that has been pending for this many blocks is sent again with higher fees. */
  stuckBlocks: bigint
}

/**
 * Why nothing may be signed for a payout: a person named, or is naming, the transaction that paid it. None is named
 * from then on until the transaction of the database ends. Null: it may be signed.
 */
export type FindNamedHold = (tx: Tx, payout: { chainId: number; id: string }) => Promise<string | null>

/** The token's own nonce of a payout: it pays once. */
export const nonceOf = (id: string): Hex => keccak256(stringToHex(id))

/** It has not left, or nothing is signed for it: nothing is signed or submitted unless whoever asks has checked it. */
export const needsCheck = ({ refundSigner, isChecked }: PayoutDeps, payout: Payout): boolean =>
  refundSigner !== null && isChecked !== true && (payout.status === 'reserved' || !hasSignature(payout))

/** For a payout that cannot be sent here: nothing is signed. */
export const KEYLESS = { refundSigner: null, relayerSigner: NOBODY, watchOnly: true }

/**
 * A payout is followed in the token that it was started in, whatever the settings name since. Our own money is only
 * watched then: what was signed may be used, and nothing more is signed. Others signed a sweep or a payment.
 */
export function inOwnToken(deps: PayoutDeps, { kind, tokenAddress }: Payout): PayoutDeps {
  if (tokenAddress === null || tokenAddress === tokenOf(deps.network)) return deps
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
