import type { Queryable, Tx } from '../db/db.ts'
import type { AnyContext } from '../http/request-context.ts'
import { DAY } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { formatDecimal, parseDecimal } from '../kernel/money.ts'
import type { Order } from '../orders/order.ts'
import { findPayerContact, type PayerDeps } from '../payers/payer-service.ts'
import type { Kyc } from './kyc.ts'
import { lockKycOfPayer, lockPayer, upsertKycOrder } from './kyc-queries.ts'
import { askCheck, EMAIL_NEEDED, type KycDeps } from './kyc-service.ts'
import { findKycPolicy, sumSpendings, upsertSpending } from './payer-queries.ts'

/** The window over which a payer's orders add up. */
export const WINDOW_MS = 30 * DAY

export type Accepting = {
  /** Sent with this accept; null: use the saved one, if any. */
  email: string | null
  /** USDC for one EUR, scaled; null: no fresh rate. */
  euroRate: bigint | null
  by: AnyContext
}

/**
 * May this payer pay this order? Null: yes, and it counts. A refusal is returned, not thrown, because the check that
 * it starts must be committed before the refusal is sent; write nothing after one.
 */
export type PayerGate = (tx: Tx, order: Order, accepting: Accepting) => Promise<AppError | null>

const ceilDiv = (left: bigint, right: bigint): bigint => (left + right - 1n) / right

/**
 * The order's value in cents of EUR, rounded up; without a rate one USDC counts as one EUR, which errs on the high
 * side.
 */
export function euroUnits(order: Pick<Order, 'from' | 'to'>, euroRate: bigint | null): bigint {
  if (order.from.asset === 'EUR') return order.from.units
  return euroRate === null ? ceilDiv(order.to.units, 10_000n) : ceilDiv(order.to.units * 100_000_000n, euroRate)
}

const readEuro = (text: string): bigint => parseDecimal(text, 2) ?? 0n
/** Would accept refuse this order because the payer's e-mail is unknown? */
export async function needsEmail(
  payers: Pick<PayerDeps, 'vault'>,
  q: Queryable,
  order: Order,
  euroRate: bigint | null,
): Promise<boolean> {
  const { kycThresholdAmount } = await findKycPolicy(q, order.companyId)
  if (kycThresholdAmount === null || euroUnits(order, euroRate) < readEuro(kycThresholdAmount)) return false
  return (await findPayerContact(payers, q, order)).email === null
}

const showEuro = (units: bigint): string => `${formatDecimal(units, 2)} EUR`

/** What an approved payer may spend; null: no limit. */
function limitOf({ eddStatus, spendingLimit }: Kyc, kycLimitAmount: string | null): bigint | null {
  const limit = eddStatus === 'completed' ? spendingLimit : kycLimitAmount
  return limit === null ? null : readEuro(limit)
}

function required(kyc: Kyc, url: string): AppError {
  const message =
    kyc.status === 'refused'
      ? `This payer’s identity check was refused, so this payer cannot pay the order. See ${url}`
      : `The payer must pass an identity check before paying this order. Send the payer to ${url} and accept again ` +
        'once the check is approved (webhook kyc.approved).'
  const details = [
    { path: 'kycUrl', message: url },
    { path: 'kycId', message: kyc.id },
  ]
  return new AppError('KYC_REQUIRED', { message, details })
}

function exceeded(kyc: Kyc, url: string, total: bigint, limit: bigint): AppError {
  const message =
    `With this order the payer would spend ${showEuro(total)} in 30 days; the limit is ${showEuro(limit)}. ` +
    `Wait, or request enhanced due diligence: POST /api/next/kyc/${kyc.id}/edd.`
  const details = [
    { path: 'kycUrl', message: url },
    { path: 'kycId', message: kyc.id },
  ]
  return new AppError('SPENDING_LIMIT_EXCEEDED', { message, details })
}

/**
 * Applies the company's rule at accept. The law requires it, so it also holds for orders marked anonymous. A payer's
 * smaller orders add up: without a check their sum stays below the threshold. Without a known e-mail a payer can only
 * pay below it.
 */
export function openPayerGate(deps: KycDeps): PayerGate {
  return async (tx, order, accepting) => {
    const policy = await findKycPolicy(tx, order.companyId)
    if (policy.kycThresholdAmount === null) return null
    const threshold = readEuro(policy.kycThresholdAmount)
    const worth = euroUnits(order, accepting.euroRate)
    const email = accepting.email ?? (await findPayerContact(deps.payers, tx, order)).email
    if (email === null) {
      return worth < threshold ? null : new AppError('PAYER_IDENTITY_REQUIRED', { message: EMAIL_NEEDED })
    }
    const payer = await lockPayer(tx, order.companyId, deps.payerKeysOf(email))
    const now = new Date(deps.clock())
    const spent = await sumSpendings(tx, payer, new Date(now.getTime() - WINDOW_MS), order.id)
    const kyc = await lockKycOfPayer(tx, payer)
    const total = spent + worth
    if (kyc?.status === 'approved') {
      const limit = limitOf(kyc, policy.kycLimitAmount)
      if (limit !== null && total > limit) {
        await upsertKycOrder(tx, kyc, order.id, now)
        return exceeded(kyc, deps.links.urlOf(order.code, kyc.id), total, limit)
      }
    } else if (total >= threshold) {
      const asked = await askCheck(deps, tx, order, { email, by: accepting.by })
      return required(asked, deps.links.urlOf(order.code, asked.id))
    }
    await upsertSpending(tx, payer, { orderId: order.id, euroUnits: worth, at: now })
    return null
  }
}
