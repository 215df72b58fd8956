import type { Channel } from '../channels/channel.ts'
import type { Queryable, Tx } from '../db/db.ts'
import type { RequestContext } from '../http/request-context.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { followClaimed, listVanished, missingChainWords, NAMING_MS } from '../ledger/claims.ts'
import type { MispaymentRefundDeps } from './mispayment-refund.ts'
import { writeRefundAudit } from './refund-audit.ts'
import { dropRefund, findRefundHold } from './refund-decisions.ts'
import type { RefundDeps } from './refund-deps.ts'
import { applyRefundReport, findPaymentOf, isPayable, refundRequestOf } from './refund-jobs.ts'
import { type Refund, updateRefund } from './refund-queries.ts'
import { isPaidOnChain, lockRefundWithOrder, withChainOf } from './refund-settle.ts'
import { rememberRefund } from './refund-views.ts'
import { wakeRefundUnpolled } from './waiting/wake-queries.ts'

/* A person says which transaction paid a refund, or rejects it. */

/** The channel, with the account that received the refund's payment, and its chain. */
const channelOfRefund = async (deps: RefundDeps, refund: Refund): Promise<Channel | undefined> =>
  withChainOf(refund, await deps.channels.forPayment(await findPaymentOf(deps, refund)))

/** @throws VALIDATION_FAILED */
export function readTxHash(hash: string): string {
  if (!/^0x[0-9a-fA-F]{64}$/.test(hash))
    throw invalid('txHash', 'must be a transaction hash: 0x and 64 hexadecimal digits')
  return hash.toLowerCase()
}

/**
 * A person sent the refund and names the transaction. It is checked on its chain and reserved for this refund, which is
 * settled once the transaction is final.
 * @throws VALIDATION_FAILED at `txHash`, OBJECT_CONFLICT
 */
export async function reportTransaction(
  deps: MispaymentRefundDeps,
  refund: Refund,
  txHash: string,
  context: RequestContext,
): Promise<void> {
  const channel = await channelOfRefund(deps, refund)
  const { companyId, network, address: toAddress, id: causeId } = refund
  if (!channel && isPaidOnChain(refund))
    throw new AppError('OBJECT_CONFLICT', {
      message: `The transaction cannot be checked here: ${missingChainWords(network)}.`,
    })
  if (!channel?.checkRefundTransaction || network === null || toAddress === null || !isPayable(refund)) {
    throw new AppError('OBJECT_CONFLICT', {
      message: `A ${refund.status} refund through ${refund.channel} cannot be settled by a transaction.`,
    })
  }
  const { checkRefundTransaction } = channel
  const request = await refundRequestOf(deps, refund)
  const nextCheckAt = new Date(deps.clock() + NAMING_MS)
  const begin = (tx: Tx) => wakeRefundUnpolled(tx, refund, nextCheckAt)
  const follow = async (tx: Tx): Promise<void> => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    if (current.status === 'refused' || current.status === 'rejected') {
      throw new AppError('OBJECT_CONFLICT', {
        message: `The refund was ${current.status} meanwhile. Start another one, and name the transaction there.`,
      })
    }
    if (current.status === 'settled' && current.txHash !== txHash) {
      throw new AppError('OBJECT_CONFLICT', {
        message: `The refund was settled by ${current.txHash ?? 'a person'} meanwhile: ${txHash} paid it again, and counts for nothing.`,
      })
    }
    const now = new Date(deps.clock())
    if (isPayable(current))
      await updateRefund(
        tx,
        current,
        { status: 'submitted', txHash, byHand: true, accountGoneAt: null, nextCheckAt: now },
        now,
      )
    await rememberRefund(deps, tx, context, current)
    await writeRefundAudit(deps, tx, context, { refund: current, action: 'refund.transaction', more: { txHash } })
  }
  const claim = { companyId, network, txHash, causeId, toAddress }
  const check = () => checkRefundTransaction(request, txHash)
  const isWithdrawn = (q: Queryable) => deps.isPayoutOver(q, causeId)
  const report = await followClaimed(deps.db, claim, { actor: context.actor, isWithdrawn, begin, check, follow })
  await applyRefundReport(deps, { ...refund, txHash, byHand: true }, report)
  await deps.db.tx((tx) => rememberRefund(deps, tx, context, refund))
}

/** The named transactions that cannot pay it; null: its chain is not set up here. */
async function listVanishedOf(deps: RefundDeps, refund: Refund): Promise<string[] | null> {
  const channel = isPayable(refund) ? await channelOfRefund(deps, refund) : undefined
  if (!channel?.checkRefundTransaction) return null
  const { checkRefundTransaction } = channel
  const request = await refundRequestOf(deps, refund)
  return listVanished(deps.db, refund, (txHash) => checkRefundTransaction(request, txHash))
}

/**
 * A person rejects a refund.
 * @throws OBJECT_CONFLICT, CHANNEL_UNAVAILABLE if the chain cannot be asked about the named transactions, or what left
 */
export async function rejectRefund(
  deps: MispaymentRefundDeps,
  refund: Refund,
  reason: string,
  by: RequestContext,
): Promise<void> {
  const hold = await findRefundHold(deps, refund)
  const vanished = await listVanishedOf(deps, refund)
  const remember = (tx: Tx) => rememberRefund(deps, tx, by, refund)
  await dropRefund(deps, refund, { status: 'rejected', by, vanished, hold, providerStatus: reason, remember })
}
