import { numberLiteral, textAt } from '../../kernel/json.ts'
import type { RefundReport, RefundRequest } from '../channel.ts'
import { isForOperator } from '../provider-errors.ts'
import { shortText, usdcUnits } from '../usdc-text.ts'
import { type Answer, type BinanceClient, PATHS } from './client.ts'

const STATUSES: ReadonlyMap<string, RefundReport['outcome']> = new Map([
  ['REFUND_SUCCESS', 'settled'],
  ['REFUND_FAIL', 'refused'],
  ['REFUND_PENDING', 'pending'],
])

const LONGEST_REASON = 256

/** Credentials and accounts are put right by the operator, and the refund goes out then. */
const needsOperator = (answer: Answer): boolean => answer.outcome === 'refused' && isForOperator(answer.refusal.reason)

/** The same refund of the same money, or nobody knows what it is. */
function reportOf(refund: RefundRequest, data: unknown, status: string | undefined): RefundReport {
  const { refundId, units } = refund
  const report = { reference: refundId, txHash: null, words: status ?? 'no status' }
  const said = usdcUnits(textAt(data, 'refundAmount'))
  if (textAt(data, 'refundRequestId') !== refundId || (said !== undefined && said !== units))
    return { ...report, outcome: 'unknown', words: `${report.words} of another refund` }
  return { ...report, outcome: STATUSES.get(status ?? '') ?? 'unknown' }
}

async function findRefund(client: BinanceClient, refund: RefundRequest): Promise<RefundReport | undefined> {
  const answer = await client.ask(PATHS.refundQuery, { refundRequestId: refund.refundId })
  if (answer.outcome === 'done') return reportOf(refund, answer.data, textAt(answer.data, 'refundStatus'))
  if (needsOperator(answer)) throw answer.refusal
  return undefined
}

/**
 * Sends money back, or says what became of it. Binance does nothing for a `refundRequestId` that it has had
 * (`duplicateRequest`), so that sending again after a query that did not find it is safe.
 * @throws ProviderTrouble, ProviderRefusal for what the operator must put right
 */
export async function refundPayment(client: BinanceClient, refund: RefundRequest): Promise<RefundReport> {
  const { refundId, providerReference, units, reason } = refund
  const found = refund.attempted || refund.reference !== null ? await findRefund(client, refund) : undefined
  if (found) return found
  const answer = await client.ask(PATHS.refund, {
    refundRequestId: refundId,
    prepayId: providerReference,
    refundAmount: numberLiteral(shortText({ asset: 'USDC', units })),
    ...(reason ? { refundReason: reason.slice(0, LONGEST_REASON).replace(/\p{Cs}/gu, '') } : {}),
  })
  if (answer.outcome === 'done') return reportOf(refund, answer.data, 'REFUND_PENDING')
  if (needsOperator(answer)) throw answer.refusal
  return { outcome: 'refused', reference: null, txHash: null, words: answer.refusal.message }
}
