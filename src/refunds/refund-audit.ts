import type { Audit } from '../audit/audit.ts'
import type { Tx } from '../db/db.ts'
import type { AnyContext } from '../http/request-context.ts'
import type { Refund } from './refund-queries.ts'

type Audited = Pick<
  Refund,
  | 'companyId'
  | 'id'
  | 'orderId'
  | 'units'
  | 'approval'
  | 'address'
  | 'proposedAddress'
  | 'proposedBy'
  | 'confirmedBy'
  | 'addressProof'
  | 'emailBy'
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
  const {
    companyId,
    id: refundId,
    orderId,
    units,
    approval,
    address,
    proposedAddress,
    proposedBy,
    confirmedBy,
  } = refund
  const proposal = { proposedAddress, proposedBy, confirmedBy }
  const facts = { refundId, orderId, units: units.toString(), approval, address, ...proposal }
  const detail = {
    ...facts,
    addressProof: kind,
    writtenBy: refund.addressProof?.by ?? null,
    statement,
    evidence,
    signer,
    ...(refund.emailBy !== null && { emailBy: refund.emailBy }),
    ...more,
  }
  return audit.write(tx, context, { companyId, action, object: `refund:${refundId}`, detail })
}
