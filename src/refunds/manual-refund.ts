import type { Channel } from '../channels/channel.ts'
import type { RequestContext } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import { findPayment } from '../payments/payment-queries.ts'
import type { MispaymentRefundDeps } from './mispayment-refund.ts'
import { type ProofFile, proofAuditFacts } from './proof/proof-file.ts'
import { keepProof } from './proof/proof-service.ts'
import { isRefundReferenceUsed, type Refund } from './refund-queries.ts'
import { lockRefundWithOrder, settleRefundIn } from './refund-settle.ts'

/** Whether a person must settle it: the channel cannot refund, has handed it over, or cannot report its state. */
function isForPerson(channel: Channel | undefined, { status, nextCheckAt }: Refund): boolean {
  if (channel?.checkRefundTransaction) return false
  if (!channel?.refundPayment || (status === 'ready' && nextCheckAt === null)) return true
  return channel.refundsByCallback === true && status === 'submitted'
}

/**
 * A person sent the money another way (provider withdrawal, bank, wallet) and gives a proof. One proof settles one
 * refund.
 * @throws OBJECT_CONFLICT where the chain or the provider proves the refund
 */
export async function settleByHand(
  deps: MispaymentRefundDeps,
  context: RequestContext,
  refund: Refund,
  proof: { reference: string; statement: string; file: ProofFile | null },
): Promise<void> {
  const { actor } = context
  const payment = await findPayment(deps.db, refund.companyId, refund.paymentId)
  const channel = payment && (await deps.channels.forPayment(payment))
  if (!isForPerson(channel, refund)) {
    const message = channel?.checkRefundTransaction
      ? 'This refund is proved by its transaction: POST /refunds/{id}/transaction.'
      : `${refund.channel} sends its own refunds; no proof is needed.`
    throw new AppError('OBJECT_CONFLICT', { message })
  }
  const by = `${actor.kind}:${actor.id}`
  const { reference, statement, file } = proof
  await deps.db.tx(async (tx) => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    if (current.status !== 'ready' && current.status !== 'submitted') {
      throw new AppError('OBJECT_CONFLICT', {
        message: `The refund is ${current.status}; it cannot be settled by hand.`,
      })
    }
    if (await isRefundReferenceUsed(tx, current.companyId, current.channel, reference)) {
      throw new AppError('OBJECT_CONFLICT', { message: 'This reference already settled another refund.' })
    }
    // nodes of 0.1.0 know it by these words
    const providerStatus = `sent by hand: ${statement}`
    await settleRefundIn(deps, tx, current, { actor: by, reference, txHash: null, providerStatus, isByHand: true })
    if (file) await keepProof(deps, tx, current, { ...file, by })
    await context.remember(tx, null)
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
