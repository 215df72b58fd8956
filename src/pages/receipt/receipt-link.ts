import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Order } from '../../orders/order.ts'

type Named = Pick<Order, 'id' | 'code'>

const ID_BYTES = 12
const PROOF_BYTES = 16

/** Keyed with the order's own secret, its code: the link outlives every rotation of keys and gives the code away to nobody. */
const proofOf = ({ id, code }: Named): Buffer =>
  createHmac('sha256', code).update(`receipt:${id}`).digest().subarray(0, PROOF_BYTES)

/** What the address of a receipt ends with: the order's id, and 128 bits that cannot be guessed. */
export const receiptToken = (order: Named): string =>
  Buffer.concat([Buffer.from(order.id, 'hex'), proofOf(order)]).toString('base64url')

/** The id of the order that a token names; null: it is none. */
export function orderOfToken(token: string): string | null {
  const bytes = Buffer.from(token, 'base64url')
  return bytes.length === ID_BYTES + PROOF_BYTES && bytes.toString('base64url') === token
    ? bytes.subarray(0, ID_BYTES).toString('hex')
    : null
}

export const isReceiptToken = (order: Named, token: string): boolean => {
  const [expected, given] = [Buffer.from(receiptToken(order)), Buffer.from(token)]
  return expected.length === given.length && timingSafeEqual(expected, given)
}

export const openReceiptUrl =
  (payUrl: string) =>
  (order: Named): string =>
    `${payUrl}/receipt/${receiptToken(order)}`
