import { findReservation } from '../../chain/deposits/reservation-queries.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import { lockOrderById } from '../../orders/order-queries.ts'
import { isOpen } from '../../orders/order-states.ts'
import { findPayment, type Payment } from '../payment-queries.ts'
import { findMissing } from './create-at-provider.ts'
import { findCompanyAt } from './reopen-queries.ts'

/**
 * On which chains money at the address of a payment counts for it. A shared address keeps the networks that its shop
 * named when the payment got it, whatever the shop names today; one that a key made is the shop's on each of them.
 */
export async function readTaken(
  q: Queryable,
  { companyId, merchantReference: reference, network }: Payment,
): Promise<(chainId: number) => boolean> {
  const reserved = await findReservation(q, { companyId, reference })
  if (!reserved) return () => true
  // of an order that a node of an earlier version placed, only its own network is certain
  const networks = reserved.networks ?? [network]
  return (chainId) => networks.length === 0 || networks.includes(chainId)
}

/**
 * Whether this order is open, is paid at this address on this chain, and misses at least this: until then, what its
 * payer signed may be submitted there. Locks the order.
 * @param asked `reference`: the order's id
 */
export async function isStillDue(
  tx: Tx,
  { reference: orderId, chainId, to, units }: { reference: string; chainId: number; to: string; units: bigint },
): Promise<boolean> {
  const companyId = await findCompanyAt(tx, { orderId, address: to.toLowerCase() })
  const order = companyId === undefined ? undefined : await lockOrderById(tx, companyId, orderId)
  if (!order || !isOpen(order.status) || order.paymentId === null) return false
  const payment = await findPayment(tx, order.companyId, order.paymentId)
  if (payment?.instructions?.toAddress?.toLowerCase() !== to.toLowerCase()) return false
  const takes = await readTaken(tx, payment)
  return takes(chainId) && (await findMissing(tx, payment)) >= units
}
