import { numberLiteral, textAt } from '../../kernel/json.ts'
import { formatDecimal } from '../../kernel/money.ts'
import type { RefundReport, RefundRequest } from '../channel.ts'
import { isForOperator, otherAccount } from '../provider-errors.ts'
import { address } from '../short-url.ts'
import { shortText, usdcUnits } from '../usdc-text.ts'
import { type Answer, type BinanceClient, NO_ATTEMPTS, PATHS } from './client.ts'

const STATUSES: ReadonlyMap<string, RefundReport['outcome']> = new Map([
  ['REFUND_SUCCESS', 'settled'],
  ['REFUND_FAIL', 'refused'],
  ['REFUND_PENDING', 'pending'],
])

const LONGEST_REASON = 256

/** Credentials and accounts are for the operator to fix; the refund is sent afterwards. */
const needsOperator = (answer: Answer): boolean => answer.outcome === 'refused' && isForOperator(answer.refusal.reason)

/**
 * Only a refund of the same money counts, otherwise unknown. On the last attempt for an order Binance sends everything
 * that is left, more than requested. api-order-refund-query: `refundedAmount` is "the total refunded amount included
 * this refund request", so it also includes refunds made elsewhere meanwhile.
 */
function reportOf(refund: RefundRequest, data: unknown, status: string | undefined): RefundReport {
  const { refundId, units, earlierUnits } = refund
  const report = { reference: refundId, txHash: null, providerStatus: status ?? 'no status' }
  const said = usdcUnits(textAt(data, 'refundAmount')) ?? units
  if (textAt(data, 'refundRequestId') !== refundId || said < units)
    return { ...report, outcome: 'unknown', providerStatus: `${report.providerStatus} of another refund` }
  const outcome = STATUSES.get(status ?? '') ?? 'unknown'
  const least = earlierUnits + said
  const total = usdcUnits(textAt(data, 'refundedAmount')) ?? least
  const refundedUnits = total > least ? total : least
  const isMore = refundedUnits > earlierUnits + units ? { refundedUnits } : {}
  if (said === units) return { ...report, outcome, ...isMore }
  const providerStatus = `${report.providerStatus}: it was the last attempt, so Binance sent ${formatDecimal(said, 6)} USDC, all that was left`
  return { ...report, outcome, providerStatus, ...isMore }
}

/** How many more refunds Binance accepts for the order; undefined: none was requested before. */
async function attemptsLeft(client: BinanceClient, { lastReference }: RefundRequest): Promise<number | undefined> {
  if (lastReference === undefined) return undefined
  const answer = await client.ask(PATHS.refundQuery, { refundRequestId: lastReference })
  if (needsOperator(answer) && answer.outcome === 'refused') throw answer.refusal
  const left = answer.outcome === 'done' ? Number(textAt(answer.data, 'remainingAttempts') ?? Number.NaN) : Number.NaN
  return Number.isInteger(left) ? left : undefined
}

const NO_MORE = 'Binance takes no more refunds of this order: send it another way, with a proof'

const byHand = (providerStatus: string): RefundReport => ({
  outcome: 'manual',
  reference: null,
  txHash: null,
  providerStatus,
})

/**
 * What Binance has under our id. Its total contains that one: where it is less than that and the earlier ones, one of
 * them is this one, or was never refunded.
 */
function foundReport(refund: RefundRequest, data: unknown): RefundReport {
  const report = reportOf(refund, data, textAt(data, 'refundStatus'))
  const told = usdcUnits(textAt(data, 'refundedAmount'))
  const least = refund.earlierUnits + (usdcUnits(textAt(data, 'refundAmount')) ?? refund.units)
  if (told !== undefined && told >= least) return report
  return { ...report, mayBeCounted: true }
}

async function findRefund(client: BinanceClient, refund: RefundRequest): Promise<RefundReport | undefined> {
  const answer = await client.ask(PATHS.refundQuery, { refundRequestId: refund.refundId })
  if (answer.outcome === 'done') return foundReport(refund, answer.data)
  if (needsOperator(answer)) throw answer.refusal
  return undefined
}

/** The refund that is refused may have been taken: only the account that has the order can refuse it. */
async function checkAccount(client: BinanceClient, { providerReference }: RefundRequest): Promise<void> {
  const order = await client.ask(PATHS.query, { prepayId: providerReference })
  if (order.outcome === 'refused') throw needsOperator(order) ? order.refusal : otherAccount(order.refusal)
}

/**
 * Sends a refund, or reports its state. Binance ignores a known `refundRequestId` (`duplicateRequest`), so sending
 * again after a query that did not find it is safe.
 * @throws ProviderTrouble, ProviderRefusal for what the operator must fix
 */
export async function refundPayment(client: BinanceClient, refund: RefundRequest): Promise<RefundReport> {
  const { refundId, providerReference, units, reason, callbackUrl = null } = refund
  const mayBeTaken = refund.attempted || refund.reference !== null
  const found = mayBeTaken ? await findRefund(client, refund) : undefined
  if (found) return found
  if (refund.reference !== null) throw otherAccount()
  const left = await attemptsLeft(client, refund)
  if (left === 0) return byHand(NO_MORE)
  // api-order-refund: with one attempt left "we will refund all the remaing amount", whatever is requested
  if (left === 1 && units !== refund.paidUnits - refund.earlierUnits)
    return byHand('Binance would send back all that is left: send this part another way, with a proof')
  const answer = await client.ask(PATHS.refund, {
    refundRequestId: refundId,
    prepayId: providerReference,
    refundAmount: numberLiteral(shortText({ asset: 'USDC', units })),
    ...(reason ? { refundReason: reason.slice(0, LONGEST_REASON).replace(/\p{Cs}/gu, '') } : {}),
    // api-order-refund: it wins over the address that is set in the console
    ...address('webhookUrl', callbackUrl),
  })
  if (answer.outcome === 'done') return reportOf(refund, answer.data, 'REFUND_PENDING')
  if (answer.code === NO_ATTEMPTS) return byHand(NO_MORE)
  if (needsOperator(answer)) throw answer.refusal
  if (mayBeTaken) await checkAccount(client, refund)
  return { outcome: 'refused', reference: null, txHash: null, providerStatus: answer.refusal.message }
}
