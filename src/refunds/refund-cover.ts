import type { Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import { AppError } from '../kernel/errors.ts'
import { formatDecimal } from '../kernel/money.ts'
import { findSettleable, lockCompanyBalance, sumOpenFees } from '../ledger/payable-queries.ts'
import { listMispaymentsOfOrder } from '../payments/mispayments/mispayment-queries.ts'
import { openLossUnits } from '../payments/mispayments/standing.ts'
import { checkFreshFactor } from './refund-limits.ts'
import type { Refund } from './refund-queries.ts'
import type { Returned } from './refund-records.ts'

const text = (units: bigint): string => `${formatDecimal(units, 6)} USDC`

/** Money that left the chain is not sent back before a person decided who bears the loss. @throws PAYMENT_ORPHANED */
export function checkNothingLost({ openLoss }: Pick<Returned, 'openLoss'>): void {
  if (openLoss === 0n) return
  const message =
    `${text(openLoss)} that were paid for this order left the chain. Nothing can be refunded before it is decided who ` +
    'bears the loss: POST /mispayments/{id}/bear.'
  throw new AppError('PAYMENT_ORPHANED', { message })
}

/** Why a refund that was decided may not be sent yet. */
export async function findLossOf(tx: Tx, { companyId, orderId }: Pick<Refund, 'companyId' | 'orderId'>) {
  const openLoss = openLossUnits(await listMispaymentsOfOrder(tx, companyId, orderId))
  return openLoss === 0n ? null : `${text(openLoss)} that were paid for this order left the chain`
}

type Wanted = {
  companyId: string
  /** What is taken out of the company's balance. */
  units: bigint
  /** The service's fee on it, which the company owes after the refund. */
  feeUnits: bigint
  /** It came to the company's own account and goes back from there. */
  own: boolean
}

/**
 * A refund of money that was settled already needs cover: what is owed to the company, its reserve included. Before the
 * first settlement there is always cover, because an order gives back at most what it brought in, and the fees on it
 * stay with the operator.
 * @param insist a SuperAdmin's word, who then pays out without cover
 * @returns whether it goes out without cover
 * @throws REFUND_NOT_COVERED, FORBIDDEN, STEP_UP_REQUIRED
 */
export async function checkCover(
  tx: Tx,
  actor: Actor,
  wanted: Wanted,
  { insist, nowMs }: { insist: boolean; nowMs: number },
): Promise<boolean> {
  if (wanted.own || wanted.units === 0n) return false
  const { companyId, units, feeUnits } = wanted
  await lockCompanyBalance(tx, companyId)
  const free = await findSettleable(tx, companyId)
  const fees = feeUnits + (await sumOpenFees(tx, companyId))
  if (free + fees >= units) return false
  if (!insist) {
    const most = free + fees > 0n ? free + fees : 0n
    const message =
      `This refund needs ${text(units)}, but only ${text(most)} of the company’s balance are left: the money was ` +
      'settled already. Wait for new payments, refund less, or ask the operator, who can refund without cover.'
    throw new AppError('REFUND_NOT_COVERED', { message })
  }
  if (actor.role !== 'SuperAdmin')
    throw new AppError('FORBIDDEN', { message: 'Only a SuperAdmin can refund without cover.' })
  checkFreshFactor(actor, nowMs)
  return true
}
