import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Order } from '../../orders/order.ts'

type Named = Pick<Order, 'companyId' | 'id' | 'code'>

/** Bytes of each of the two ids. */
const ID_BYTES = 12
const PROOF_BYTES = 16

/** Keyed with the order's own secret, its code, which it does not reveal: the link survives every key rotation. */
const proofOf = ({ id, code }: Named): Buffer =>
  createHmac('sha256', code).update(`receipt:${id}`).digest().subarray(0, PROOF_BYTES)

/** The last part of a receipt's URL: which order, and 128 bits that cannot be guessed. */
const receiptToken = (order: Named): string =>
  Buffer.concat([Buffer.from(order.companyId + order.id, 'hex'), proofOf(order)]).toString('base64url')

/** The order that a token names; null: not a valid token. */
export function orderOfToken(token: string): { companyId: string; id: string } | null {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== 2 * ID_BYTES + PROOF_BYTES || bytes.toString('base64url') !== token) return null
  const idAt = (at: number): string => bytes.subarray(at, at + ID_BYTES).toString('hex')
  return { companyId: idAt(0), id: idAt(ID_BYTES) }
}

export const isReceiptToken = (order: Named, token: string): boolean => {
  const [expected, given] = [Buffer.from(receiptToken(order)), Buffer.from(token)]
  return expected.length === given.length && timingSafeEqual(expected, given)
}

export const openReceiptUrl =
  (payUrl: string) =>
  (order: Named): string =>
    `${payUrl}/receipt/${receiptToken(order)}`
