import type { AuditLog } from '../audit/audit.ts'
import type { Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import type { Call } from '../http/idempotency.ts'
import type { Refund } from './refund-queries.ts'

type Audited = Pick<
  Refund,
  'companyId' | 'id' | 'orderId' | 'units' | 'approval' | 'address' | 'proposedAddress' | 'addressProof'
>

/** Who did what with a refund, in the transaction of it and as its last statement. */
export const writeRefundAudit = (
  { audit }: { audit: AuditLog },
  tx: Tx,
  entry: {
    actor: Pick<Actor, 'kind' | 'id'>
    refund: Audited
    action: string
    call: Pick<Call, 'requestId'>
    /** What this action adds to the facts of the refund. */
    more?: Record<string, string | null>
  },
): Promise<void> => {
  const { actor, refund, action, call, more = {} } = entry
  const { kind = null, statement = null, evidence = null, signer = null } = refund.addressProof ?? {}
  const { companyId, id: refundId, orderId, approval, address, proposedAddress } = refund
  const facts = { refundId, orderId, units: refund.units.toString(), approval, address, proposedAddress }
  const details = { ...facts, addressProof: kind, statement, evidence, signer, ...more }
  return audit(tx, { actor, companyId, action, object: `refund:${refundId}`, requestId: call.requestId, details })
}
