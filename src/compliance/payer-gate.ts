import type { Queryable, Tx } from '../db/db.ts'
import type { AnyContext } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import { formatDecimal, proportionUp } from '../kernel/money.ts'
import type { Order } from '../orders/order.ts'
import { findPayerContact, type PayerDeps } from '../payers/payer-service.ts'
import type { Kyc } from './kyc.ts'
import { type KycLinkKind, linkKindFor } from './kyc-links.ts'
import { lockPayer, type PayerName, upsertKycOrder } from './kyc-queries.ts'
import { askCheck, EMAIL_NEEDED, type KycDeps, readSooner, refresh } from './kyc-service.ts'
import { findKycPolicy, findSpending, upsertSpending } from './payer-queries.ts'
import { assess, euroUnits, readEuro } from './payer-spending.ts'

export type Accepting = {
  /** Sent with this accept; null: use the saved one, if any. */
  email: string | null
  /** USDC for one EUR, scaled; null: no fresh rate. */
  euroRate: bigint | null
  /** The payer has the instructions already: only a check refused since then takes them back. */
  again?: boolean
  by: AnyContext
  /** What is accepted as its price, in units of USDC; absent: the whole price. */
  units?: bigint
}

export type PayerGate = {
  /**
   * May this payer pay this order? Null: yes, and it counts. A refusal is returned, not thrown, because the check that
   * it starts must be committed before the refusal is sent; write nothing after one.
   */
  admit(tx: Tx, order: Order, accepting: Accepting): Promise<AppError | null>
  /**
   * May money that arrived after the order ended pay it without a person? Ended orders do not count, so the sum is
   * formed again; if the order fits, it counts from now on. It starts no check.
   */
  admitLate(tx: Tx, order: Order): Promise<boolean>
}

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

/** Where the payer goes on. */
type Way = { url: string; kind: KycLinkKind }

const detailsOf = (kyc: Kyc, { url, kind }: Way) => [
  { path: 'kycUrl', message: url },
  ...(kind === 'page' ? [] : [{ path: 'kycId', message: kyc.id }]),
]

/** Says of a check nothing but that there is one, where anyone may have typed the e-mail. */
function required(kyc: Kyc, way: Way): AppError {
  const message =
    kyc.status === 'refused' && way.kind !== 'page'
      ? `This payer’s identity check was refused, so this payer cannot pay the order. See ${way.url}`
      : `The payer must pass an identity check before paying this order. Send the payer to ${way.url} and accept again ` +
        'once the check is approved (webhook kyc.approved).'
  return new AppError('KYC_REQUIRED', { message, details: detailsOf(kyc, way) })
}

function exceeded(kyc: Kyc, way: Way, total: bigint, limit: bigint): AppError {
  const details = detailsOf(kyc, way)
  if (way.kind === 'page') return new AppError('SPENDING_LIMIT_EXCEEDED', { details })
  const message =
    `With this order the payer would spend ${showEuro(total)} in 30 days; the limit is ${showEuro(limit)}. ` +
    `Wait, or request enhanced due diligence: POST /api/next/kyc/${kyc.id}/edd.`
  return new AppError('SPENDING_LIMIT_EXCEEDED', { message, details })
}

/** By their e-mail; once that is erased, as they were counted before. */
async function lockPayerOf(
  { payerKeysOf }: KycDeps,
  tx: Tx,
  { companyId, id }: Order,
  email: string | null,
): Promise<PayerName | null> {
  if (email !== null) return lockPayer(tx, companyId, payerKeysOf(email))
  const spending = await findSpending(tx, companyId, id)
  return spending ? lockPayer(tx, companyId, keysOf(spending)) : null
}

const keysOf = ({ payerKey }: { payerKey: string }) => ({ present: payerKey, all: [payerKey] })

/**
 * Applies the company's rule at accept and to late money. The law requires it, so it also holds for orders marked
 * anonymous. A payer's smaller orders add up: without a check their sum stays below the threshold. Without a known
 * e-mail a payer can only pay below it.
 */
export const openPayerGate = (deps: KycDeps): PayerGate => ({
  async admit(tx, order, { again = false, ...accepting }) {
    const policy = await findKycPolicy(tx, order.companyId)
    if (policy.kycThresholdAmount === null) return null
    const { units = order.to.units } = accepting
    const worth = proportionUp(euroUnits(order, accepting.euroRate), units, order.to.units)
    const email = accepting.email ?? (await findPayerContact(deps.payers, tx, order)).email
    const emailNeeded = new AppError('PAYER_IDENTITY_REQUIRED', { message: EMAIL_NEEDED })
    const payer = await lockPayerOf(deps, tx, order, email)
    if (!payer) return again || worth < readEuro(policy.kycThresholdAmount) ? null : emailNeeded
    const now = new Date(deps.clock())
    const kind = linkKindFor(accepting.by.actor, order.companyId)
    const wayTo = ({ id }: Kyc): Way => ({ kind, url: deps.links.urlOf(order.code, id, kind) })
    const { kyc, total, limit, fits } = await assess(tx, payer, { orderId: order.id, worth, policy, now })
    if (fits) {
      await upsertSpending(tx, payer, { orderId: order.id, euroUnits: worth, at: now })
      if (kyc) await readSooner(tx, kyc, now)
      return null
    }
    if (again && kyc?.status !== 'refused') return null
    if (kyc?.status === 'approved' && limit !== null) {
      await upsertKycOrder(tx, kyc, order.id, now)
      // an enhanced check that is requested now is mailed there
      if (email !== null) await refresh(deps, tx, kyc, email)
      return exceeded(kyc, wayTo(kyc), total, limit)
    }
    if (email === null) return emailNeeded
    const asked = await askCheck(deps, tx, order, { email, by: accepting.by })
    return required(asked, wayTo(asked))
  },
  async admitLate(tx, order) {
    const { companyId, id: orderId } = order
    const policy = await findKycPolicy(tx, companyId)
    const spending = policy.kycThresholdAmount === null ? undefined : await findSpending(tx, companyId, orderId)
    if (!spending) return true
    const payer = await lockPayer(tx, companyId, keysOf(spending))
    const now = new Date(deps.clock())
    const { fits } = await assess(tx, payer, { orderId, worth: spending.euroUnits, policy, now })
    if (fits) await upsertSpending(tx, payer, { ...spending, orderId, at: now })
    return fits
  },
})
