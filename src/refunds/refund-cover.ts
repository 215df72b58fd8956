import type { Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import { AppError } from '../kernel/errors.ts'
import { formatDecimal } from '../kernel/money.ts'
import { balanceOf, findPayable, lockCompanyBalance, settleableOf, sumOpenFees } from '../ledger/payable-queries.ts'
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

/** What a refund lacks. */
type Lack = {
  /** What it may take from the company's balance: nothing of a debt. */
  left: bigint
  /**
   * What the company owes the operator once it is made, earlier debts and the fees on it included: nothing of what is
   * lost and undecided, which it may never owe.
   */
  owedAfter: bigint
  undecided: bigint
}

/** What a refund lacks; null: it is covered. */
async function findLack(tx: Tx, { companyId, units, feeUnits, own }: Wanted): Promise<Lack | null> {
  if (own || units === 0n) return null
  await lockCompanyBalance(tx, companyId)
  const payable = await findPayable(tx, companyId)
  const most = settleableOf(payable) + feeUnits + (await sumOpenFees(tx, companyId))
  if (most >= units) return null
  const owedAfter = units - balanceOf(payable)
  const { undecided } = payable
  return { left: most > 0n ? most : 0n, owedAfter: owedAfter > 0n ? owedAfter : 0n, undecided }
}

/** Whether a refund that its provider has already made lacks cover: the company then owes the operator. */
export const lacksCover = async (tx: Tx, wanted: Wanted): Promise<boolean> => (await findLack(tx, wanted)) !== null

const ASK = 'ask the operator, who can refund without cover'
const INSIST = 'refund without cover (withoutCover)'

/** The figures stand in `details` too: a person confirms them, and a program need not read a sentence. */
function notCovered(units: bigint, { left, owedAfter, undecided }: Lack, isOperator: boolean): AppError {
  const lost = `${text(undecided)} left the chain, and nobody has decided who bears it`
  const why = undecided > 0n ? lost : 'the rest was paid out, or is set aside for a settlement'
  const message =
    `This refund needs ${text(units)}, but only ${text(left)} of the company’s balance is left: ${why}. ` +
    `Wait for new payments, refund less, or ${isOperator ? INSIST : ASK}. ` +
    `The company would then owe the operator ${text(owedAfter)} in all.`
  const figures = { needs: units, left, missing: units - left, owedAfter }
  const details = Object.entries(figures).map(([path, one]) => ({ path, message: formatDecimal(one, 6) }))
  return new AppError('REFUND_NOT_COVERED', { message, details })
}

/** What a SuperAdmin says: to refund without cover, and what the company may owe afterwards; null: whatever it is. */
export type Insisted = { insist: boolean; mostOwed: bigint | null; nowMs: number }

/**
 * A refund must be covered by what is owed to the company, its reserve included. What was paid out, or is set aside for
 * a settlement, covers nothing. Before the first settlement every refund is covered: an order refunds at most what it
 * received, and the operator still has its fees.
 * @returns whether the refund goes out without cover
 * @throws REFUND_NOT_COVERED, FORBIDDEN, STEP_UP_REQUIRED
 */
export async function checkCover(
  tx: Tx,
  actor: Actor,
  wanted: Wanted,
  { insist, mostOwed, nowMs }: Insisted,
): Promise<boolean> {
  const lack = await findLack(tx, wanted)
  if (lack === null) return false
  const isOperator = actor.role === 'SuperAdmin'
  if (!insist) throw notCovered(wanted.units, lack, isOperator)
  if (!isOperator) throw new AppError('FORBIDDEN', { message: 'Only a SuperAdmin can refund without cover.' })
  checkFreshFactor(actor, nowMs)
  // a confirmation is for the figures that were shown
  if (mostOwed !== null && lack.owedAfter > mostOwed) throw notCovered(wanted.units, lack, isOperator)
  return true
}
