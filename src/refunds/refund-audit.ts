import type { Audit } from '../audit/audit.ts'
import type { Tx } from '../db/db.ts'
import type { AnyContext } from '../http/request-context.ts'
import type { Refund } from './refund-queries.ts'

type Audited = Pick<
  Refund,
  'companyId' | 'id' | 'orderId' | 'units' | 'approval' | 'address' | 'proposedAddress' | 'proposedBy' | 'addressProof'
>

/** Writes the audit entry of a refund; must be the last statement of its transaction. */
export const writeRefundAudit = (
  { audit }: { audit: Audit },
  tx: Tx,
  context: AnyContext,
  entry: {
    refund: Audited
    action: string
    /** Facts that this action adds to those of the refund. */
    more?: Record<string, string | null>
  },
): Promise<void> => {
  const { refund, action, more = {} } = entry
  const { kind = null, statement = null, evidence = null, signer = null } = refund.addressProof ?? {}
  const { companyId, id: refundId, orderId, approval, address, proposedAddress, proposedBy } = refund
  const facts = { refundId, orderId, units: refund.units.toString(), approval, address, proposedAddress, proposedBy }
  const detail = {
    ...facts,
    addressProof: kind,
    writtenBy: refund.addressProof?.by ?? null,
    statement,
    evidence,
    signer,
    ...more,
  }
  return audit.write(tx, context, { companyId, action, object: `refund:${refundId}`, detail })
}
