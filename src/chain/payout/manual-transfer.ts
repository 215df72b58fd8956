import type { Db } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { type Rpc, RpcError } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { ChainDoubt } from '../transfer-logs.ts'
import { type Agree, agreeAlone } from './agreement.ts'
import { type PayoutRequest, type WatchPayout, withdrawPayout } from './payout.ts'
import { findPayout, findPayoutOfTransaction, type Payout } from './payout-queries.ts'
import { checkTransfer, checkUsed } from './transfer-check.ts'
import type { AuthorizedTransfer } from './usdc-token.ts'

/** `agree` is absent where `rpc` is the only node. */
export type ManualTransferDeps = {
  db: Db
  clock: Clock
  rpc: Rpc
  agree?: Agree
  network: Network
  watchPayout: WatchPayout
}

const BY_HAND = { isPaid: true, providerStatus: 'paid by hand' }

/** Blocks our own payout. @throws OBJECT_CONFLICT if it is in progress */
async function keepFromSending({ db, clock, network }: ManualTransferDeps, request: PayoutRequest): Promise<void> {
  const { chainId } = network
  if (await withdrawPayout(db, { ...request, chainId }, BY_HAND, new Date(clock()))) return
  const payout = await findPayout(db, request.id)
  const state = payout?.txHash ? `in transaction ${payout.txHash}` : `(${payout?.providerStatus})`
  throw new AppError('OBJECT_CONFLICT', { message: `The service is already paying this ${state}. Wait for it.` })
}

/** `left`: what its own authorization moved before the database was restored, which may be something else. */
type ManualTransfer = {
  outcome: 'settled' | 'pending'
  txHash: string
  providerStatus: string
  left?: AuthorizedTransfer
}

/** A node that does not answer, or nodes that do not agree. @throws CHANNEL_UNAVAILABLE, or the error itself */
function refuseUnchecked({ network }: ManualTransferDeps, error: unknown): never {
  if (!(error instanceof RpcError) && !(error instanceof ChainDoubt)) throw error
  const why = error instanceof RpcError ? 'does not answer now' : 'has nodes that do not agree about it'
  throw new AppError('CHANNEL_UNAVAILABLE', {
    message: `${network.name} ${why}, so the transaction cannot be checked. Try again in a moment.`,
    cause: error,
  })
}

/** Accepts, by not throwing, that something else left than was asked. */
export type AcceptLeft = (left: AuthorizedTransfer) => Promise<void>

/** Nothing was signed for it here, and the token says that its authorization was used. */
const isHeld = ({ kind, status, usedAt, validBefore }: Payout): boolean =>
  kind === 'payout' && (status === 'reserved' || status === 'failed') && usedAt !== null && validBefore === null

/** The chain proves what left under this payout's own authorization: nobody states an amount. */
async function followUse(
  deps: ManualTransferDeps,
  request: PayoutRequest,
  { txHash, accepts }: { txHash: string; accepts: AcceptLeft },
): Promise<ManualTransfer | null> {
  const { db, network, agree = agreeAlone(deps.rpc) } = deps
  const payout = await findPayout(db, request.id)
  if (!payout || !isHeld(payout)) return null
  const asked = { txHash, authorization: { from: payout.fromAddress, nonce: payout.authorizationNonce } }
  const use = await checkUsed({ agree, network }, asked).catch((error: unknown) => refuseUnchecked(deps, error))
  if (!use) return null
  if (!use.isFinal) throw invalid('txHash', 'is not final yet. Wait for it.')
  const left = { to: use.to, units: use.units }
  await accepts(left)
  await keepFromSending(deps, request)
  return { outcome: 'settled', txHash, providerStatus: `left in transaction ${txHash}`, left }
}

/** The person names our own transaction, which counts only once it is final: until then another may replace it. */
async function followOwn({ watchPayout }: ManualTransferDeps, { id }: PayoutRequest): Promise<ManualTransfer> {
  const seen = await watchPayout(id)
  const { txHash = null, providerStatus = '' } = seen ?? {}
  if (seen?.outcome === 'settled' && txHash !== null) return { outcome: 'settled', txHash, providerStatus }
  throw invalid(
    'txHash',
    `is the service’s own payout of this, which is not final yet (${providerStatus}). Wait for it.`,
  )
}

/**
 * Accepts a transaction that a person entered, if it sends exactly these USDC units to the address. Afterwards we never
 * pay it ourselves. Our own transaction counts once it is final.
 * @param notBefore an older transfer is refused
 * @param accepts absent: nothing but the amount and the address asked
 * @param txHash 0x and 64 hexadecimal digits in lower case
 * @throws VALIDATION_FAILED at `txHash`, OBJECT_CONFLICT, CHANNEL_UNAVAILABLE
 */
export async function checkManualTransfer(
  deps: ManualTransferDeps,
  { notBefore, accepts, ...request }: PayoutRequest & { notBefore?: Date; accepts?: AcceptLeft },
  txHash: string,
): Promise<ManualTransfer> {
  const { to, units } = request
  const owner = await findPayoutOfTransaction(deps.db, deps.network.chainId, txHash)
  if (owner === request.id) return followOwn(deps, request)
  if (owner !== undefined) throw invalid('txHash', 'is a payout that this service made')
  const used = accepts ? await followUse(deps, request, { txHash, accepts }) : null
  if (used) return used
  const { network, agree = agreeAlone(deps.rpc) } = deps
  const asked = { txHash, to, units, notBefore }
  const { verdict, providerStatus } = await checkTransfer({ agree, network }, asked).catch((error: unknown) =>
    refuseUnchecked(deps, error),
  )
  if (verdict === 'wrong') throw invalid('txHash', providerStatus)
  if (verdict === 'unread')
    throw new AppError('OBJECT_CONFLICT', {
      message: `The ${providerStatus}, and shows what it pays only there. Name it again once it is.`,
    })
  await keepFromSending(deps, request)
  return { outcome: verdict === 'final' ? 'settled' : 'pending', txHash, providerStatus }
}
