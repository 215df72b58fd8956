import type { FastifyBaseLogger } from 'fastify'
import { keccak256, stringToHex } from 'viem/utils'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { followSent, followUsed } from './payout-follow.ts'
import {
  claimPayout,
  findPayout,
  insertPayout,
  type Payout,
  type PayoutStatus,
  releasePayout,
  updatePayoutWithdrawn,
} from './payout-queries.ts'
import { broadcast, lookAtChain, type PayoutDeps, PayoutTaken, prepare } from './payout-steps.ts'
import type { Signer } from './signer.ts'

export type PayoutRequest = {
  /** The caller's id: at most one payment is ever made for it. */
  id: string
  to: string
  /** USDC units. */
  units: bigint
}

/** `refused`: not paid, and never will be. `unknown`: the node did not answer; ask again. */
export type PayoutResult = {
  outcome: 'pending' | 'settled' | 'refused' | 'unknown'
  txHash: string | null
  words: string
}

export type Payouts = {
  /** The wallet that pays. */
  readonly address: string
  /**
   * Starts a payout, or goes on with it and says how it stands; settled only when it is final. Safe to repeat, also
   * at once.
   */
  send(request: PayoutRequest): Promise<PayoutResult>
  /** It is paid some other way, so never send it. @returns false if it is already under way */
  withdraw(request: PayoutRequest, words: string): Promise<boolean>
}

const LEASE_MS = 60_000
const VALID_SECONDS = 3600
const STUCK_BLOCKS = 10n
/** Within one poll a payout only moves forward; one that fell back waits for the next poll. */
const WAY: readonly PayoutStatus[] = ['reserved', 'signed', 'sent', 'mined', 'final']

const OUTCOMES: Record<PayoutStatus, PayoutResult['outcome']> = {
  reserved: 'pending',
  signed: 'pending',
  sent: 'pending',
  mined: 'pending',
  final: 'settled',
  failed: 'refused',
}

const view = ({ status, txHash, words }: Payout): PayoutResult => ({ outcome: OUTCOMES[status], txHash, words })

async function step(deps: PayoutDeps, payout: Payout): Promise<Payout> {
  const chain = await lookAtChain(deps)
  if (payout.status === 'reserved')
    return (await followUsed(deps, payout, chain)) ?? (await prepare(deps, payout, chain))
  if (payout.status === 'signed') return broadcast(deps, payout, chain)
  return followSent(deps, payout, chain)
}

/** Takes steps until the status no longer changes. */
async function advance(deps: PayoutDeps, payout: Payout): Promise<Payout> {
  const next = await step(deps, payout)
  const forward = WAY.indexOf(next.status) > WAY.indexOf(payout.status)
  return forward && next.status !== 'final' ? advance(deps, next) : next
}

/**
 * Pays USDC out of one wallet by EIP-3009: the refund key signs an authorization whose nonce is the hash of the
 * payout's id, the relayer key submits it. The token itself refuses a second payment for the same id, even after a
 * restored backup.
 * @throws Error when an id is used again with another destination or amount
 */
export function openPayouts(options: {
  db: Db
  rpc: Rpc
  network: Network
  refundSigner: Signer
  relayerSigner: Signer
  clock: Clock
  log: FastifyBaseLogger
  validSeconds?: number
  stuckBlocks?: bigint
}): Payouts {
  const { db, network, clock, log } = options
  const deps: PayoutDeps = { validSeconds: VALID_SECONDS, stuckBlocks: STUCK_BLOCKS, ...options }
  const from = options.refundSigner.address.toLowerCase() as Hex

  const rowOf = ({ id, to, units }: PayoutRequest, status: PayoutStatus, words: string) => ({
    id,
    chainId: network.chainId,
    fromAddress: from,
    toAddress: to.toLowerCase() as Hex,
    units,
    authorizationNonce: keccak256(stringToHex(id)),
    status,
    words,
  })

  const read = async ({ id, to, units }: PayoutRequest): Promise<Payout> => {
    const payout = await findPayout(db, id)
    if (!payout) throw new Error(`payout ${id} was not stored`)
    const { chainId, toAddress } = payout
    if (chainId !== network.chainId || toAddress !== to.toLowerCase() || payout.units !== units)
      throw new Error(`payout ${id} was started with another chain, destination or amount`)
    return payout
  }

  const work = async (payout: Payout): Promise<PayoutResult> => {
    try {
      if (payout.fromAddress !== from)
        return { ...view(payout), words: `It was started from the wallet ${payout.fromAddress}. Give its key back.` }
      const after = await advance(deps, payout)
      const { status } = after
      if (status !== payout.status)
        log.info({ payoutId: payout.id, chainId: network.chainId, status, txHash: after.txHash }, after.words)
      return view(after)
    } catch (error) {
      if (error instanceof PayoutTaken) return { outcome: 'pending', txHash: payout.txHash, words: payout.words }
      if (!(error instanceof RpcError)) throw error
      return { outcome: 'unknown', txHash: payout.txHash, words: error.message }
    } finally {
      await releasePayout(db, payout)
    }
  }

  return {
    address: options.refundSigner.address,
    async send(request) {
      const now = clock()
      await insertPayout(db, rowOf(request, 'reserved', 'not sent yet'), new Date(now))
      const known = await read(request)
      const claimed = await claimPayout(db, request.id, new Date(now), new Date(now + LEASE_MS))
      return claimed ? work(claimed) : view(known)
    },
    async withdraw(request, words) {
      const now = new Date(clock())
      await insertPayout(db, rowOf(request, 'failed', words), now)
      return updatePayoutWithdrawn(db, request.id, words, now)
    },
  }
}
