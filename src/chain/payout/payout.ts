import type { FastifyBaseLogger } from 'fastify'
import type { Db, Queryable } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import { type Network, tokenOf } from '../networks.ts'
import { type Agree, agreeAlone } from './agreement.ts'
import {
  change,
  type FindNamedHold,
  findOwnToken,
  inOwnToken,
  KEYLESS,
  nonceOf,
  type PayoutDeps,
  PayoutTaken,
} from './payout-deps.ts'
import { followReserved, followSent, followSigned, watch } from './payout-follow.ts'
import {
  claimPayout,
  findPayout,
  insertPayout,
  insertWithdrawn,
  type NewPayout,
  type Payout,
  releasePayout,
  updatePayoutWithdrawn,
  type Withdrawal,
} from './payout-queries.ts'
import { listReopened, reopenUnpaid } from './payout-recheck.ts'
import { lookAtChain, prepare } from './payout-steps.ts'
import { VALID_SECONDS } from './payout-view.ts'
import { NOBODY, type Signer } from './signer.ts'
import { isPayoutSigned } from './state/payout-answers.ts'
import { answersOf, PAYOUT_STATUSES } from './state/states.ts'
import { insertPayingToken } from './wallet-queries.ts'

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
  providerStatus: string
}

/** What every chain needs that payouts left on, also where its keys are not set up: there they are only followed. */
export type PayoutRechecks = {
  /** Sends payouts again that a reorganisation undid after they were settled, or only follows them. @throws RpcError */
  recheck(): Promise<void>
  /** Continues reopened payouts, which no refund or settlement polls. @throws RpcError */
  followReopened(): Promise<void>
}

export type Payouts = PayoutRechecks & {
  /** The wallet that pays. */
  readonly address: string
  /**
   * Starts or continues a payout that the caller has just checked, and returns its state; settled only once it is
   * final. Idempotent, also when called concurrently.
   */
  send(request: PayoutRequest): Promise<PayoutResult>
  /** The same without a check: only what is under way goes on; nothing is signed or submitted for the first time. */
  resume(request: PayoutRequest): Promise<PayoutResult>
}

export const PAYOUT_LEASE_MS = 60_000
/** A transaction that waits for ten blocks is sent again. */
export const PAYOUT_TIMES = { validSeconds: VALID_SECONDS, stuckBlocks: 10n }

const NOT_SENT = 'not sent yet'

export const viewPayout = (payout: Payout): PayoutResult => ({
  outcome: answersOf(payout).outcome,
  txHash: payout.txHash,
  providerStatus: payout.providerStatus,
})

/**
 * It is paid some other way or not at all, so no node may ever send it. Whether it is in progress is read
 * from what was stored: the answer does not depend on the keys and chains of the node that asks.
 * @returns false if it is already in progress
 */
export async function withdrawPayout(
  q: Queryable,
  { chainId, ...request }: Omit<PayoutRequest, 'to'> & { to: string | null; chainId: number },
  why: Withdrawal,
  now: Date,
): Promise<boolean> {
  const { id } = request
  await insertWithdrawn(q, { ...request, chainId, authorizationNonce: nonceOf(id) }, why.providerStatus, now)
  return updatePayoutWithdrawn(q, id, why, now)
}

async function step(deps: PayoutDeps, payout: Payout): Promise<Payout> {
  const chain = await lookAtChain(deps)
  if (deps.watchOnly) return watch(deps, payout, chain)
  if (payout.status === 'reserved')
    return (await followReserved(deps, payout, chain)) ?? (await prepare(deps, payout, chain))
  if (payout.status === 'signed') return followSigned(deps, payout, chain)
  return followSent(deps, payout, chain)
}

/** Takes steps while it moves forward; one that fell back waits for the next poll. */
async function advance(deps: PayoutDeps, payout: Payout): Promise<Payout> {
  const next = await step(deps, payout)
  const forward = PAYOUT_STATUSES.indexOf(next.status) > PAYOUT_STATUSES.indexOf(payout.status)
  return forward && answersOf(next).isOpen ? advance(deps, next) : next
}

/** Stores its token where an earlier version did not, or signed it in another. @throws RpcError */
async function withToken(deps: PayoutDeps, payout: Payout): Promise<Payout> {
  const tokenAddress = await findOwnToken(deps, payout)
  if (tokenAddress === null || tokenAddress === payout.tokenAddress) return payout
  if (payout.kind === 'payout') await insertPayingToken(deps.db, payout.chainId, tokenAddress)
  return change(deps, payout, { tokenAddress })
}

/**
 * Nothing is signed any more in the token of earlier settings, and that one does not know it: from the next step on it
 * is paid in the present one. One that was undone stays: a node that errs about the earlier token would pay it twice.
 */
async function takePresentToken(deps: PayoutDeps, payout: Payout): Promise<Payout> {
  const mayTake = payout.kind === 'payout' && payout.reopenedAt === null && answersOf(payout).mayTakePresentToken
  const tokenAddress = tokenOf(deps.network)
  if (deps.refundSigner === null || !mayTake || payout.tokenAddress === tokenAddress) return payout
  return change(deps, payout, { tokenAddress, providerStatus: NOT_SENT })
}

/** Advances a claimed payout as far as possible now, then releases it. */
export async function workOn(deps: PayoutDeps, payout: Payout): Promise<PayoutResult> {
  const { db, network, log } = deps
  try {
    const known = await withToken(deps, payout)
    const after = await takePresentToken(deps, await advance(inOwnToken(deps, known), known))
    const { status } = after
    if (status === 'failed' && after.reopenedAt !== null)
      log.error(
        { payoutId: payout.id, chainId: network.chainId, txHash: after.txHash, units: after.units.toString() },
        `ALARM: a ${after.kind} that was undone is never sent again: ${after.providerStatus}`,
      )
    else if (status !== payout.status)
      log.info({ payoutId: payout.id, chainId: network.chainId, status, txHash: after.txHash }, after.providerStatus)
    return viewPayout(after)
  } catch (error) {
    if (error instanceof PayoutTaken)
      return { outcome: 'pending', txHash: payout.txHash, providerStatus: payout.providerStatus }
    if (!(error instanceof RpcError)) throw error
    return { outcome: 'unknown', txHash: payout.txHash, providerStatus: error.message }
  } finally {
    await releasePayout(db, payout)
  }
}

/**
 * Follows a payout that a node with the chain's keys started, to its end. `looksOnly`: that one goes on undisturbed.
 * @returns null if nothing was ever signed, or it failed: then a person can send it
 */
export type WatchPayout = (id: string, how?: { looksOnly: boolean }) => Promise<PayoutResult | null>

/** For a node without the keys of the chain, and for what is not to be sent. */
export function openWatchPayout(options: WatchOptions): WatchPayout {
  const { db, clock } = options
  const deps = watching(options)
  return async (id, how) => {
    if (!(await isPayoutSigned(db, id))) return null
    const now = clock()
    const claimed = await claimPayout(db, id, new Date(now), new Date(now + PAYOUT_LEASE_MS))
    if (claimed) return workOn({ ...deps, ...how }, claimed)
    const known = await findPayout(db, id)
    return known ? viewPayout(known) : null
  }
}

function rechecksOf(deps: PayoutDeps, work: (payout: Payout) => Promise<unknown>): PayoutRechecks {
  const { db, clock, log, network } = deps
  const workOnAll = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) {
      const now = clock()
      const claimed = await claimPayout(db, id, new Date(now), new Date(now + PAYOUT_LEASE_MS))
      if (!claimed) continue
      // one that fails keeps no other waiting
      await work(claimed).catch((error: unknown) =>
        log.error({ err: error, payoutId: id, chainId: network.chainId }, 'a reopened payout was not followed'),
      )
    }
  }
  return {
    recheck: async () => workOnAll(await reopenUnpaid(deps)),
    followReopened: async () => workOnAll(await listReopened(deps)),
  }
}

type WatchOptions = Pick<
  PayoutDeps,
  'db' | 'rpc' | 'agree' | 'network' | 'clock' | 'log' | 'findNamedHold' | 'ownWallet'
> & {
  /** Its transactions go on where they were submitted already. Null, or absent: it is not set up here. */
  relayerSigner?: Signer | null
}

const watching = ({ relayerSigner, ...options }: WatchOptions): PayoutDeps => ({
  ...{ ...PAYOUT_TIMES, ...options, ...KEYLESS },
  relayerSigner: relayerSigner ?? NOBODY,
})

/** For a node without the keys of the chain: what was undone may be mined again, or another node sends it. */
export function openRechecks(options: WatchOptions): PayoutRechecks {
  const deps = watching(options)
  return rechecksOf(deps, (payout) => workOn(deps, payout))
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
  agree?: Agree
  network: Network
  refundSigner: Signer
  relayerSigner: Signer
  clock: Clock
  log: FastifyBaseLogger
  findNamedHold?: FindNamedHold | undefined
  validSeconds?: number
  stuckBlocks?: bigint
}): Payouts {
  const { db, network, clock } = options
  const deps: PayoutDeps = { ...PAYOUT_TIMES, agree: agreeAlone(options.rpc), ...options }
  const from = options.refundSigner.address.toLowerCase() as Hex

  const rowOf = ({ id, to, units }: PayoutRequest): NewPayout => ({
    id,
    chainId: network.chainId,
    fromAddress: from,
    toAddress: to.toLowerCase() as Hex,
    units,
    authorizationNonce: nonceOf(id),
    tokenAddress: tokenOf(network),
    status: 'reserved',
    providerStatus: NOT_SENT,
  })

  const read = async ({ id, to, units }: PayoutRequest): Promise<Payout> => {
    const payout = await findPayout(db, id)
    if (!payout) throw new Error(`payout ${id} was not stored`)
    const { chainId, toAddress } = payout
    if (chainId !== network.chainId || toAddress !== to.toLowerCase() || payout.units !== units)
      throw new Error(`payout ${id} was started with another chain, destination or amount`)
    return payout
  }

  const work = (payout: Payout, isChecked: boolean): Promise<PayoutResult> =>
    workOn(payout.fromAddress === from ? { ...deps, isChecked } : { ...deps, ...KEYLESS }, payout)

  const visit = async (request: PayoutRequest, isChecked: boolean): Promise<PayoutResult> => {
    const now = clock()
    await insertPayout(db, rowOf(request), new Date(now))
    const known = await read(request)
    const claimed = await claimPayout(db, request.id, new Date(now), new Date(now + PAYOUT_LEASE_MS))
    return claimed ? work(claimed, isChecked) : viewPayout(known)
  }

  return {
    address: options.refundSigner.address,
    send: (request) => visit(request, true),
    resume: (request) => visit(request, false),
    // they were checked, and final once: to sign one again under its nonce is no new decision to pay
    ...rechecksOf(deps, (payout) => work(payout, true)),
  }
}
