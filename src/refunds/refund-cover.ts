import type { Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import { AppError } from '../kernel/errors.ts'
import { formatDecimal } from '../kernel/money.ts'
import { findSettleable, lockCompanyBalance, sumOpenFees } from '../ledger/payable-queries.ts'
import { listMispaymentsOfOrder } from '../payments/mispayments/mispayment-queries.ts'
import { openLossUnits } from '../payments/mispayments/standing.ts'
import { checkFreshFactor } from './limits/refund-limits.ts'
import type { Refund } from './refund-queries.ts'
import type { Returned } from './refund-records.ts'

const text = (units: bigint): string => `${formatDecimal(units, 6)} USDC`

/** Blocks refunds until a person decides who bears a loss. @throws PAYMENT_ORPHANED */
export function checkNothingLost({ openLoss }: Pick<Returned, 'openLoss'>): void {
  if (openLoss === 0n) return
  const message =
    `${text(openLoss)} paid for this order left the chain. Before anything can be refunded, decide who ` +
    'bears the loss: POST /mispayments/{id}/bear.'
  throw new AppError('PAYMENT_ORPHANED', { message })
}

/** Why an approved refund may not be sent yet; null: it may be sent. */
export async function findLossOf(tx: Tx, { companyId, orderId }: Pick<Refund, 'companyId' | 'orderId'>) {
  const openLoss = openLossUnits(await listMispaymentsOfOrder(tx, companyId, orderId))
  return openLoss === 0n ? null : `${text(openLoss)} paid for this order left the chain`
}

type Wanted = {
  companyId: string
  /** What the company's balance must cover. */
  units: bigint
  /** The service's fee on it, which the company owes after the refund. */
  feeUnits: bigint
  /** Whether the payment arrived at the company's own account and is refunded from there. */
  own: boolean
}

/** The maximum that a refund may take from the company's balance if it needs more; null: it is covered. */
async function findLack(tx: Tx, { companyId, units, feeUnits, own }: Wanted): Promise<bigint | null> {
  if (own || units === 0n) return null
  await lockCompanyBalance(tx, companyId)
  const free = await findSettleable(tx, companyId)
  const most = free + feeUnits + (await sumOpenFees(tx, companyId))
  if (most >= units) return null
  return most > 0n ? most : 0n
}

/** Whether a refund that its provider has already made lacks cover: the company then owes the operator. */
export const lacksCover = async (tx: Tx, wanted: Wanted): Promise<boolean> => (await findLack(tx, wanted)) !== null

const ASK = 'ask the operator, who can refund without cover'
const INSIST = 'refund without cover (withoutCover): the company then owes the operator what is missing'

/**
 * A refund of settled money must be covered by what is owed to the company, its reserve included. Before the first
 * settlement it always is: an order refunds at most what it received, and the operator still has its fees.
 * @param insist a SuperAdmin refunds without cover
 * @returns whether the refund goes out without cover
 * @throws REFUND_NOT_COVERED, FORBIDDEN, STEP_UP_REQUIRED
 */
export async function checkCover(
  tx: Tx,
  actor: Actor,
  wanted: Wanted,
  { insist, nowMs }: { insist: boolean; nowMs: number },
): Promise<boolean> {
  const most = await findLack(tx, wanted)
  if (most === null) return false
  const isOperator = actor.role === 'SuperAdmin'
  if (!insist) {
    const message =
      `This refund needs ${text(wanted.units)}, but only ${text(most)} of the company’s balance is left: the money was ` +
      `already settled. Wait for new payments, refund less, or ${isOperator ? INSIST : ASK}.`
    throw new AppError('REFUND_NOT_COVERED', { message })
  }
  if (!isOperator) throw new AppError('FORBIDDEN', { message: 'Only a SuperAdmin can refund without cover.' })
  checkFreshFactor(actor, nowMs)
  return true
}
