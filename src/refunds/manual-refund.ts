import type { Channel } from '../channels/channel.ts'
import { lockActor } from '../companies/company-scope.ts'
import type { Tx } from '../db/db.ts'
import type { RequestContext } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import { checkNoneHolds } from '../ledger/claims.ts'
import { noticeToldRefunds } from './foreign/foreign-refund.ts'
import type { MispaymentRefundDeps } from './mispayment-refund.ts'
import { type ProofFile, proofAuditFacts } from './proof/proof-file.ts'
import { keepProof } from './proof/proof-service.ts'
import { findAsking, findRefundHold, stopPayout } from './refund-decisions.ts'
import type { RefundDeps } from './refund-deps.ts'
import { findPaymentOf, isHandedOver } from './refund-jobs.ts'
import { isRefundReferenceUsed, lockRefundReference, type Refund } from './refund-queries.ts'
import { isPaidOnChain, lockRefundWithOrder, settleRefundIn, withChainOf } from './refund-settle.ts'
import { rememberRefund } from './refund-views.ts'
import { findAnswering } from './waiting/account-wait.ts'
import { isHeldFound } from './waiting/before-restore.ts'

const conflict = (message: string): AppError => new AppError('OBJECT_CONFLICT', { message })

/**
 * Why a refund that only callbacks report, or whose account is gone, may not be settled with this reference: the
 * provider accepted it or is being asked to, and would pay it a second time.
 */
async function findTaken(deps: RefundDeps, tx: Tx, current: Refund, reference: string): Promise<string | null> {
  const { channel, providerReference } = current
  if (providerReference === reference) return null
  if (providerReference !== null)
    return (
      `${channel} has taken this refund as ${providerReference} and reports its transfer by itself. Only if its ` +
      `dashboard shows that one as transferred, settle it with ${providerReference} as the reference.`
    )
  return findAsking(deps, tx, current)
}

const ELSEWHERE =
  'Its channel is not set up on this server, but another one may have it and may have sent the refund. If none has it, ' +
  'the refund says so after its next poll, and can be settled a quarter of an hour later.'

/**
 * Only a person can settle a refund if the channel cannot refund, has handed it over, or lost track of it. One that is
 * paid on a chain that is not set up here is not sent from then on, by any node.
 * @throws OBJECT_CONFLICT
 */
async function checkIsForPerson(
  deps: RefundDeps,
  tx: Tx,
  {
    answering,
    current,
    reference,
    hold,
  }: { answering: Channel | 'gone' | 'elsewhere'; current: Refund; reference: string; hold: string | null },
): Promise<void> {
  const { status, nextCheckAt } = current
  const channel = typeof answering === 'string' ? undefined : answering
  if (channel?.checkRefundTransaction)
    throw conflict('This refund is proved by its transaction: POST /refunds/{id}/transaction.')
  if (status !== 'ready' && status !== 'submitted')
    throw conflict(`The refund is ${status}; it cannot be settled by hand.`)
  if (channel && (!channel.refundPayment || (status === 'ready' && (nextCheckAt === null || isHandedOver(current)))))
    return
  if (channel && isHeldFound(current)) {
    const asking = await findAsking(deps, tx, current)
    if (asking !== null) throw conflict(asking)
    return
  }
  if (channel && (channel.refundsByCallback !== true || status !== 'submitted'))
    throw conflict(`${current.channel} sends its own refunds; no proof is needed.`)
  if (answering === 'elsewhere') throw conflict(ELSEWHERE)
  const taken = await findTaken(deps, tx, current, reference)
  if (taken !== null) throw conflict(taken)
  if (!isPaidOnChain(current)) return
  await checkNoneHolds(tx, { asked: current, current }, null)
  await stopPayout(deps, tx, current, { why: 'settled by hand', isChainGone: channel === undefined, hold })
}

/**
 * A person sent the money another way (provider withdrawal, bank, wallet) and provides a proof. One proof settles one
 * refund.
 * @throws OBJECT_CONFLICT if the chain or the provider proves the refund, or will pay it
 */
export async function settleByHand(
  deps: MispaymentRefundDeps,
  context: RequestContext,
  refund: Refund,
  proof: { reference: string; statement: string; file: ProofFile | null },
): Promise<void> {
  const { actor } = context
  const by = `${actor.kind}:${actor.id}`
  const { reference, statement, file } = proof
  const hold = await findRefundHold(deps, refund)
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, refund.companyId)
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    const payment = await findPaymentOf({ db: tx }, current)
    // read under the lock: an account that is saved meanwhile has its refunds asked about after this
    const channel = withChainOf(current, await deps.channels.forPayment(payment, tx))
    const answering = await findAnswering(deps, tx, { payment, refund: current, channel })
    await checkIsForPerson(deps, tx, { answering, current, reference, hold })
    await lockRefundReference(tx, current, reference)
    if (await isRefundReferenceUsed(tx, current, reference))
      throw conflict('This reference already settled another refund.')
    // nodes of 0.1.0 recognise it by this text
    const providerStatus = `sent by hand: ${statement}`
    await settleRefundIn(deps, tx, current, { actor: by, reference, txHash: null, providerStatus, isByHand: true })
    await noticeToldRefunds(deps, tx, current)
    if (file) await keepProof(deps, tx, current, { ...file, by })
    await rememberRefund(deps, tx, context, current)
    const detail = { refundId: current.id, reference, statement, ...(file && proofAuditFacts(file)) }
    const { companyId } = current
    await deps.audit.write(tx, context, {
      companyId,
      action: 'refund.settled_by_hand',
      object: `refund:${current.id}`,
      detail,
    })
  })
}
