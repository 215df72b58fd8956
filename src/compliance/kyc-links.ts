import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Vault } from '../kernel/vault.ts'

/** Links to the page where a payer goes through a check for one order. */
export type KycLinks = {
  urlOf(orderCode: string, kycId: string): string
  /** Is this the link of this check and this order? In constant time. */
  fits(orderCode: string, kycId: string, token: string): boolean
}

export function openKycLinks({ vault, payUrl }: { vault: Vault; payUrl: string }): KycLinks {
  const key = vault.derive('kyc-link')
  const tokenOf = (orderCode: string, kycId: string): string =>
    createHmac('sha256', key).update(`${orderCode}:${kycId}`).digest('base64url')
  return {
    urlOf: (orderCode, kycId) => `${payUrl}/kyc?code=${orderCode}&token=${tokenOf(orderCode, kycId)}`,
    fits(orderCode, kycId, token) {
      const [expected, given] = [Buffer.from(tokenOf(orderCode, kycId)), Buffer.from(token)]
      return expected.length === given.length && timingSafeEqual(expected, given)
    },
  }
}
