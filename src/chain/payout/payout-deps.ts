import type { FastifyBaseLogger } from 'fastify'
import { keccak256, stringToHex } from 'viem/utils'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Hex, Rpc } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import type { Agree } from './agreement.ts'
import { type Payout, type PayoutChange, updatePayout } from './payout-queries.ts'
import type { Signer } from './signer.ts'

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
  /** Someone else submits it: we follow it and never send it. */
  watchOnly?: boolean
  /** Maximum price of one gas, in wei; null: no limit. */
  maxFeeWei?: bigint | null
  /** A transaction that has been pending for this many blocks is sent again with higher fees. */
  stuckBlocks: bigint
}

/** The token's own nonce of a payout: it pays once. */
export const nonceOf = (id: string): Hex => keccak256(stringToHex(id))

/** Another worker has taken over the payout; nothing was written. */
export class PayoutTaken extends Error {
  override readonly name = 'PayoutTaken'
}

/** Stores the result of a step. @throws PayoutTaken */
export async function change(deps: PayoutDeps, payout: Payout, what: PayoutChange): Promise<Payout> {
  const changed = await updatePayout(deps.db, payout, what, new Date(deps.clock()))
  if (!changed) throw new PayoutTaken()
  return changed
}
