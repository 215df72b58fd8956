import type { Tx } from '../../db/db.ts'
import { lockOrderById } from '../../orders/order-queries.ts'
import { isOpen } from '../../orders/order-states.ts'
import { findPayment } from '../payment-queries.ts'
import { findMissing } from './create-at-provider.ts'
import { findCompanyAt } from './reopen-queries.ts'

/**
 * Whether this order is open, is paid at this address, and misses at least this: until then, what its payer signed may
 * be submitted. Locks the order.
 * @param asked `reference`: the order's id
 */
export async function isStillDue(
  tx: Tx,
  { reference: orderId, to, units }: { reference: string; to: string; units: bigint },
): Promise<boolean> {
  const companyId = await findCompanyAt(tx, { orderId, address: to.toLowerCase() })
  const order = companyId === undefined ? undefined : await lockOrderById(tx, companyId, orderId)
  if (!order || !isOpen(order.status) || order.paymentId === null) return false
  const payment = await findPayment(tx, order.companyId, order.paymentId)
  const isThere = payment?.instructions?.toAddress?.toLowerCase() === to.toLowerCase()
  return payment !== undefined && isThere && (await findMissing(tx, payment)) >= units
}
