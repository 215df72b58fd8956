import { textAt } from '../../kernel/json.ts'
import type { RefundReport, RefundRequest } from '../channel.ts'
import { isForOperator, otherAccount, ProviderTrouble } from '../provider-errors.ts'
import { shortText, usdcUnits } from '../usdc-text.ts'
import { type Answer, type KucoinClient, REFUND_RUNS, REPEATED } from './client.ts'
import { refundReportOf } from './status-map.ts'

const needsOperator = (answer: Answer): boolean => answer.outcome === 'refused' && isForOperator(answer.refusal.reason)

/** Values are signed unescaped, so separators and control characters become blanks. */
const plainReason = (text: string | null): string =>
  (text ?? '')
    .replace(/[^\p{L}\p{N}.,:;()/#+_ -]/gu, ' ')
    .trim()
    .slice(0, 128)
    .replace(/\p{Cs}/gu, '') || 'refund'

function reportOf(refund: RefundRequest, data: unknown): RefundReport {
  const { outcome, providerStatus } = refundReportOf(data)
  const reference = textAt(data, 'refundId') ?? refund.reference
  const report = { reference, txHash: null, providerStatus }
  const said = usdcUnits(textAt(data, 'refundAmount'))
  const isOther = textAt(data, 'requestId') !== refund.refundId || (said !== undefined && said !== refund.units)
  if (isOther) return { ...report, outcome: 'unknown', providerStatus: `${report.providerStatus} of another refund` }
  return { ...report, outcome }
}

/** Undefined: KuCoin does not know it. */
async function findRefund(client: KucoinClient, refund: RefundRequest): Promise<RefundReport | undefined> {
  const answer = await client.ask('refundInfo', { requestId: refund.refundId })
  if (needsOperator(answer) && answer.outcome === 'refused') throw answer.refusal
  if (answer.outcome === 'refused' || answer.data === null || answer.data === undefined) return undefined
  return reportOf(refund, answer.data)
}

/** The refund that is refused may have been taken: only the account that has the order can refuse it. */
async function checkAccount(client: KucoinClient, { providerReference }: RefundRequest): Promise<void> {
  const order = await client.ask('info', { payOrderId: providerReference })
  if (order.outcome === 'refused') throw needsOperator(order) ? order.refusal : otherAccount(order.refusal)
  if (textAt(order.data, 'payOrderId') !== providerReference) throw otherAccount()
}

/**
 * Sends a refund, or reports its state. KuCoin refuses a known `requestId`, so sending again after a query that did not
 * find it cannot pay twice.
 * @throws ProviderTrouble, ProviderRefusal for what the operator must fix
 */
export async function refundPayment(
  client: KucoinClient,
  refund: RefundRequest,
  subMerchantId: string,
): Promise<RefundReport> {
  const { refundId, providerReference, units, reason, reference, attempted } = refund
  const mayBeTaken = attempted || reference !== null
  const found = mayBeTaken ? await findRefund(client, refund) : undefined
  if (found) return { ...found, mayBeCounted: true }
  if (reference !== null) throw otherAccount()
  const answer = await client.ask('refund', {
    requestId: refundId,
    payID: providerReference,
    refundAmount: { literal: shortText({ asset: 'USDC', units }) },
    refundReason: plainReason(reason),
    subMerchantId,
    reference: refundId,
  })
  if (answer.outcome === 'done')
    return {
      outcome: 'pending',
      reference: textAt(answer.data, 'refundId') ?? null,
      txHash: null,
      providerStatus: 'accepted',
    }
  const { code, refusal } = answer
  if (needsOperator(answer)) throw refusal
  if (code === REPEATED || code === REFUND_RUNS) throw new ProviderTrouble(refusal.message, { cause: refusal })
  if (mayBeTaken) await checkAccount(client, refund)
  return { outcome: 'refused', reference: null, txHash: null, providerStatus: refusal.message }
}
