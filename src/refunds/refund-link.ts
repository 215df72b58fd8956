import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Vault } from '../kernel/vault.ts'

/** Links to the page where a payer sets the destination of one refund. */
export type RefundLinks = {
  urlOf(orderCode: string, refundId: string): string
  /** Whether a link was made for this refund, in constant time. */
  fits(refundId: string, token: string): boolean
  tokenOf(refundId: string): string
}

export function openRefundLinks({ vault, payUrl }: { vault: Vault; payUrl: string }): RefundLinks {
  const key = vault.derive('refund-link')
  const tokenOf = (refundId: string): string => createHmac('sha256', key).update(refundId).digest('base64url')
  return {
    tokenOf,
    urlOf: (orderCode, refundId) => `${payUrl}/refund?code=${orderCode}&token=${tokenOf(refundId)}`,
    fits(refundId, token) {
      const [expected, given] = [Buffer.from(tokenOf(refundId)), Buffer.from(token)]
      return expected.length === given.length && timingSafeEqual(expected, given)
    },
  }
}
