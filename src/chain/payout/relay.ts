import type { FastifyBaseLogger } from 'fastify'
import { recoverTypedDataAddress } from 'viem/utils'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import { type Clock, isYounger, MINUTE, SECOND } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { readDomain } from '../endpoints/network-check.ts'
import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import { type Network, tokenOf } from '../networks.ts'
import type { Agree } from './agreement.ts'
import { PAYOUT_LEASE_MS, PAYOUT_TIMES, workOn } from './payout.ts'
import type { FindStop } from './payout-deps.ts'
import { claimPayout, findPayout, type Payout } from './payout-queries.ts'
import { type ChainView, EXPIRY_MARGIN_SECONDS, readChainView } from './payout-view.ts'
import {
  findReference,
  findSubmitted,
  findUnderWay,
  insertRelayed,
  listRelayed,
  lockReference,
  type RelayedPayment,
  updateRelayedEnded,
} from './relayer/relayed-queries.ts'
import { listPayoutTransactions } from './relayer/transaction-queries.ts'
import type { Signer } from './signer.ts'
import {
  type Authorization,
  authorizationTypedData,
  isAuthorizationUsed,
  readBalance,
  tryAuthorization,
} from './usdc-token.ts'

/** `reference`: what it pays, as the caller names it. */
export type RelayRequest = Authorization & { signature: Hex; reference: string }

/** `refused`: nothing was sent; `reason` is an error code of x402. `pending`: sent, or about to be. */
export type RelayResult =
  | { outcome: 'refused'; reason: string }
  | { outcome: 'pending' | 'done'; txHash: string | null; providerStatus: string }

/** Submits payers' authorizations: payers need no native coin, and our scanner sees the money arrive. */
export type Relay = {
  readonly chainId: number
  readonly token: string
  /** The smallest amount that it submits, because gas costs the same for a cent. */
  readonly minUnits: bigint
  domain(): Promise<{ name: string; version: string }>
  /**
   * So that a payer does not sign while an earlier signature for the same can still be used.
   * @throws ORDER_STATE_CONFLICT with the seconds until it has run out; RpcError
   */
  checkNoneUnderWay(asked: Pick<RelayRequest, 'reference' | 'to' | 'units'>): Promise<void>
  /**
   * Submits an authorization once, however often it is called, and waits a while for its block. Until it has ended, no
   * other one is taken for the same.
   * @param beforeNew may refuse, by throwing, an authorization that the token would accept and that was not submitted
   * yet
   * @throws ORDER_STATE_CONFLICT as above; RpcError
   */
  submit(request: RelayRequest, beforeNew: () => Promise<void>): Promise<RelayResult>
  /** Continues what a killed process left behind. @returns whether there may be more */
  follow(): Promise<boolean>
}

/**
 * Whether what is paid is still open, counts what arrives on this chain, and misses at least this. Nothing changes that
 * until the transaction of the database ends.
 */
export type IsStillDue = (
  tx: Tx,
  asked: Pick<RelayRequest, 'reference' | 'to' | 'units'> & { chainId: number },
) => Promise<boolean>

type RelayDeps = {
  db: Db
  rpc: Rpc
  agree: Agree
  network: Network
  relayerSigner: Signer
  minUnits: bigint
  clock: Clock
  log: FastifyBaseLogger
  /** Absent: for commands, which submit nothing. */
  isStillDue?: IsStillDue | undefined
}

/** Time for a block to include it. */
const MARGIN_SECONDS = 6n
/**
 * x402 and the payment page ask for minutes. An authorization valid for years could pay an order that ended long ago,
 * as soon as its wallet holds money again.
 */
const LONGEST_SECONDS = 3600n
/**
 * One that ran out is ended by its next check, once `EXPIRY_MARGIN_SECONDS` have passed. This long it may still turn
 * out to have been used; after that no payer waits for a check that fails.
 */
const ENDING_SECONDS = 2n * EXPIRY_MARGIN_SECONDS
const SHORTEST_WAIT_SECONDS = 5n
const WAIT_MS = 20 * SECOND
const LOOK_MS = 250
const BATCH = 20

const idOf = ({ chainId }: Network, { from, nonce }: RelayRequest): string =>
  `x402:${chainId}:${from.toLowerCase()}:${nonce.toLowerCase()}`

/** Why the token would refuse it, as an error code of x402's scheme `exact`; null if it would accept. */
async function findRefusal(deps: RelayDeps, request: RelayRequest, { timestamp }: ChainView): Promise<string | null> {
  const { rpc, network, relayerSigner, clock } = deps
  const { from, units, validAfter = 0n, validBefore } = request
  const ours = BigInt(Math.floor(clock() / SECOND))
  const latest = (ours > timestamp ? ours : timestamp) + LONGEST_SECONDS
  if (validBefore < timestamp + MARGIN_SECONDS || validBefore > latest)
    return 'invalid_exact_evm_payload_authorization_valid_before'
  if (validAfter > timestamp) return 'invalid_exact_evm_payload_authorization_valid_after'
  if (await isAuthorizationUsed(rpc, network, request)) return 'invalid_transaction_state'
  if ((await readBalance(rpc, network, from)) < units) return 'insufficient_funds'
  try {
    await tryAuthorization(rpc, network, { request, sender: relayerSigner.address })
    return null
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'definite') return 'invalid_transaction_state'
    throw error
  }
}

type Asked = Pick<RelayedPayment, 'reference' | 'chainId' | 'to' | 'units'> & { id: string | null }

/** @throws ORDER_STATE_CONFLICT if another authorization for the same may still be used, or was and is not counted */
async function checkAlone(q: Queryable, asked: Asked, { clock }: RelayDeps, { timestamp }: ChainView): Promise<void> {
  const ours = BigInt(Math.floor(clock() / SECOND))
  // the earlier of the two: a chain that stands still may take what is old by our clock
  const now = ours < timestamp ? ours : timestamp
  const last = await findUnderWay(q, asked, now - ENDING_SECONDS)
  if (last === null) return
  const until = last + EXPIRY_MARGIN_SECONDS
  const message =
    'A payment of this order was signed before and is under way. Do not sign another one: it could be charged as well. ' +
    `If it does not arrive, pay again after ${new Date(Number(until) * SECOND).toISOString()}.`
  const wait = until - now > SHORTEST_WAIT_SECONDS ? until - now : SHORTEST_WAIT_SECONDS
  throw new AppError('ORDER_STATE_CONFLICT', { message, retryAfter: Number(wait) })
}

/**
 * Stores an authorization that the token would accept, if none for the same is under way.
 * @returns why the token would refuse it @throws what `checkAlone` and `beforeNew` throw
 */
async function take(
  deps: RelayDeps,
  payment: RelayRequest & RelayedPayment,
  beforeNew: () => Promise<void>,
): Promise<string | null> {
  const { db, rpc, network, clock } = deps
  const view = await readChainView(rpc, network)
  const reason = await findRefusal(deps, payment, view)
  if (reason !== null) return reason
  // one that is refused anyway counts for no limit
  await checkAlone(db, payment, deps, view)
  await beforeNew()
  await db.tx(async (tx) => {
    await lockReference(tx, payment.reference)
    await checkAlone(tx, payment, deps, view)
    await insertRelayed(tx, payment, new Date(clock()))
  })
  return null
}

const NOT_DUE =
  'What it was to pay has ended, misses less by now, or counts nothing on this chain; it was not submitted.'
const ENDED = 'What it was to pay has ended, or is paid another way; it was not submitted.'

/** What was signed by the relayer may be on its way, so it goes on. */
const openFindStop =
  ({ isStillDue }: Pick<RelayDeps, 'isStillDue'>): FindStop =>
  async (tx, { id, chainId, presentTxHash, toAddress: to, units }) => {
    if (!isStillDue || presentTxHash !== null || (await listPayoutTransactions(tx, id)).length > 0) return null
    const reference = await findReference(tx, id)
    return reference === null || (await isStillDue(tx, { reference, chainId, to, units })) ? null : NOT_DUE
  }

/**
 * Ends what payers signed for this and what was never submitted: it is paid another way, or not at all.
 * @returns until when one that may be on its way can be used; null: none is
 */
export async function endRelayed(tx: Tx, reference: string, now: Date): Promise<Date | null> {
  await updateRelayedEnded(tx, reference, ENDED, now)
  const last = await findSubmitted(tx, reference)
  const until = last === null ? 0 : Number(last + EXPIRY_MARGIN_SECONDS) * SECOND
  return until > now.getTime() ? new Date(until) : null
}

type Domain = { name: string; version: string }

/** The token is upgraded in place, and may sign under another version afterwards. */
const DOMAIN_MS = MINUTE
/** What is signed wrongly is looked at again under a domain no older than this: anyone can ask for it so often. */
const DOUBTED_MS = 5 * SECOND

/** What payers sign for the token, kept for a minute; while the chain cannot be asked, what was read last. */
function openTokenDomain({ rpc, network, clock }: Pick<RelayDeps, 'rpc' | 'network' | 'clock'>) {
  let kept: { answer: Promise<Domain>; askedAt: number } | undefined
  let last: Domain | undefined
  const forget = (): void => {
    kept = undefined
    last = undefined
  }
  const readFresh = async (): Promise<Domain> => {
    const before = last
    try {
      last = await readDomain(rpc, network)
      return last
    } catch (error) {
      if (!before) throw error
      return before
    }
  }
  return {
    /** The token refused what was signed for it. */
    forget,
    /** @throws RpcError, NetworkMismatch if it was never read */
    read(maxAgeMs = DOMAIN_MS): Promise<Domain> {
      if (kept && isYounger(kept.askedAt, maxAgeMs, clock())) return kept.answer
      const answer = readFresh()
      kept = { answer, askedAt: clock() }
      answer.catch(() => {
        if (kept?.answer === answer) kept = undefined
      })
      return answer
    },
  }
}

export function openRelay(deps: RelayDeps): Relay {
  const { db, rpc, network, clock, log } = deps
  const token = network.usdcAddress as Hex
  const domain = openTokenDomain(deps)
  const isSignedFor = async (request: RelayRequest, named: Domain): Promise<boolean> => {
    const data = authorizationTypedData({ ...named, chainId: network.chainId, token }, request)
    const signer = await recoverTypedDataAddress({ ...data, signature: request.signature }).catch(() => null)
    return signer?.toLowerCase() === request.from.toLowerCase()
  }
  const isSigned = async (request: RelayRequest): Promise<boolean> => {
    const kept = await domain.read()
    if (await isSignedFor(request, kept)) return true
    const fresh = await domain.read(DOUBTED_MS)
    return fresh.version !== kept.version && (await isSignedFor(request, fresh))
  }

  const findStop = openFindStop(deps)
  const work = async (id: string): Promise<Payout | undefined> => {
    const now = clock()
    const claimed = await claimPayout(db, id, new Date(now), new Date(now + PAYOUT_LEASE_MS))
    if (claimed) await workOn({ ...deps, ...PAYOUT_TIMES, refundSigner: null, findStop }, claimed)
    return findPayout(db, id)
  }

  return {
    chainId: network.chainId,
    token,
    minUnits: deps.minUnits,
    domain: () => domain.read(),
    async checkNoneUnderWay(asked) {
      const view = await readChainView(rpc, network)
      await checkAlone(db, { ...asked, id: null, chainId: network.chainId }, deps, view)
    },
    async submit(request, beforeNew) {
      const id = idOf(network, request)
      const earlier = await findPayout(db, id)
      // what was submitted goes on, also once the token signs under another version
      const isRepeated = earlier?.signature?.toLowerCase() === request.signature.toLowerCase()
      if (!isRepeated && !(await isSigned(request)))
        return { outcome: 'refused', reason: 'invalid_exact_evm_payload_signature' }
      if (!earlier) {
        const payment = { ...request, id, chainId: network.chainId, token: tokenOf(network) }
        const reason = await take(deps, payment, beforeNew)
        if (reason !== null) {
          // the token may sign under another version by now, and then takes nothing that was signed under this one
          domain.forget()
          return { outcome: 'refused', reason }
        }
      }
      // the same nonce may have been signed for another order and submitted at the same moment
      const known = earlier ?? (await findPayout(db, id))
      const isSame = known?.toAddress === request.to.toLowerCase() && known.units === request.units
      if (!isSame || (known.tokenAddress ?? tokenOf(network)) !== tokenOf(network))
        return { outcome: 'refused', reason: 'invalid_transaction_state' }
      const untilMs = performance.now() + WAIT_MS
      for (;;) {
        const { status = 'reserved', txHash = null, providerStatus = '' } = (await work(id)) ?? {}
        if (status === 'mined' || status === 'final') return { outcome: 'done', txHash, providerStatus }
        if (status === 'failed') return { outcome: 'refused', reason: 'invalid_transaction_state' }
        if (performance.now() > untilMs) return { outcome: 'pending', txHash, providerStatus }
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      }
    },
    async follow() {
      const ids = await listRelayed(db, network.chainId, new Date(clock()), BATCH)
      // one that fails keeps no other waiting
      for (const id of ids)
        await work(id).catch((error: unknown) =>
          log.error({ err: error, payoutId: id, chainId: network.chainId }, 'a relayed payment was not followed'),
        )
      return false
    },
  }
}
