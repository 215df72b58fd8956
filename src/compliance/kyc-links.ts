import { openHmac, type Vault } from '../kernel/vault.ts'

/** Links to the page where a payer goes through a check for one order. */
export type KycLinks = {
  urlOf(orderCode: string, kycId: string): string
  /** Is this the link of this check and this order? In constant time. */
  fits(orderCode: string, kycId: string, token: string): boolean
}

export function openKycLinks({ vault, payUrl }: { vault: Vault; payUrl: string }): KycLinks {
  const tokens = openHmac(vault, 'kyc-link', 'base64url')
  return {
    urlOf: (orderCode, kycId) => `${payUrl}/kyc?code=${orderCode}&token=${tokens.of(`${orderCode}:${kycId}`)}`,
    fits: (orderCode, kycId, token) => tokens.fits(`${orderCode}:${kycId}`, token),
  }
}
