import type { Tx } from '../db/db.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import { parseDecimal } from '../kernel/money.ts'
import type { Vault } from '../kernel/vault.ts'
import type { Order } from '../orders/order.ts'
import type { PayerDeps } from '../payers/payer-service.ts'
import type { Kyc } from './kyc.ts'
import { lockKycOfPayer, lockPayer, type PayerName } from './kyc-queries.ts'
import { openPayerKeys } from './payer-key.ts'
import { findKycPolicy, findSpending, insertSpending, type KycPolicy, sumSpendings } from './payer-queries.ts'

/** The window over which a payer's orders add up. */
const WINDOW_MS = 30 * DAY

const ceilDiv = (left: bigint, right: bigint): bigint => (left + right - 1n) / right

/**
 * The order's value in cents of EUR, rounded up; without a rate one USDC counts as one EUR, which errs on the high
 * side.
 */
export function euroUnits(order: Pick<Order, 'from' | 'to'>, euroRate: bigint | null): bigint {
  if (order.from.asset === 'EUR') return order.from.units
  return euroRate === null ? ceilDiv(order.to.units, 10_000n) : ceilDiv(order.to.units * 100_000_000n, euroRate)
}

export const readEuro = (text: string): bigint => parseDecimal(text, 2) ?? 0n

/** What an approved payer may spend; null: no limit. */
function limitOf({ spendingLimit }: Kyc, kycLimitAmount: string | null): bigint | null {
  const limit = spendingLimit ?? kycLimitAmount
  return limit === null ? null : readEuro(limit)
}

export type Assessment = {
  kyc: Kyc | undefined
  /** Cents of EUR in the window, with this order. */
  total: bigint
  /** Of an approved payer; null: no limit, or not approved. */
  limit: bigint | null
  fits: boolean
}

/** Whether this order fits what its payer may spend now. The payer must be locked, and stays so. */
export async function assess(
  tx: Tx,
  payer: PayerName,
  { orderId, worth, policy, now }: { orderId: string; worth: bigint; policy: KycPolicy; now: Date },
): Promise<Assessment> {
  const spent = await sumSpendings(tx, payer, new Date(now.getTime() - WINDOW_MS), orderId)
  const kyc = await lockKycOfPayer(tx, payer)
  const total = spent + worth
  if (kyc?.status === 'approved') {
    const limit = limitOf(kyc, policy.kycLimitAmount)
    return { kyc, total, limit, fits: limit === null || total <= limit }
  }
  const { kycThresholdAmount } = policy
  return { kyc, total, limit: null, fits: kycThresholdAmount === null || total < readEuro(kycThresholdAmount) }
}

/** Under a new master key a payer without a check is found by what was counted, too. */
export function openCountResealed({ vault }: { vault: Vault }): NonNullable<PayerDeps['onReseal']> {
  const payerKeysOf = openPayerKeys(vault)
  return async (tx, { companyId, orderId }, email) => {
    const keys = payerKeysOf(email)
    const spending = await findSpending(tx, companyId, orderId)
    if (spending && spending.payerKey !== keys.present) await lockPayer(tx, companyId, keys)
  }
}

/** Counts an order that was accepted before its payer's e-mail was known. */
export function openCountKnown({ vault, clock }: { vault: Vault; clock: Clock }): NonNullable<PayerDeps['onEmail']> {
  const payerKeysOf = openPayerKeys(vault)
  return async (tx, order, { email, euroRate }) => {
    const isAccepted = order.paymentId !== null
    if (!isAccepted || (await findKycPolicy(tx, order.companyId)).kycThresholdAmount === null) return
    const payer = await lockPayer(tx, order.companyId, payerKeysOf(email))
    const at = order.paidAt ?? new Date(clock())
    await insertSpending(tx, payer, { orderId: order.id, euroUnits: euroUnits(order, euroRate), at })
  }
}
