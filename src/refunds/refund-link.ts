import { openHmac, type Vault } from '../kernel/vault.ts'

/**
 * How the holder got the link. `mailed` went only to the payer's e-mail, so it identifies the payer; `handed` is shown
 * to the shop and on the pay page, so anyone may hold it.
 */
export type LinkKind = 'mailed' | 'handed'

/** Added to a link: the form, although an address was named. */
export const CHANGE = '&change=1'

/** Links to the page where a payer sets the destination of one refund. */
export type RefundLinks = {
  urlOf(orderCode: string, refundId: string, kind: LinkKind): string
  /** Kind of link that the token belongs to, compared in constant time; null: the token is wrong. */
  kindOf(refundId: string, token: string): LinkKind | null
}

export function openRefundLinks({ vault, payUrl }: { vault: Vault; payUrl: string }): RefundLinks {
  const tokens = openHmac(vault, 'refund-link', 'base64url')
  const textOf = (refundId: string, kind: LinkKind): string => (kind === 'mailed' ? refundId : `handed:${refundId}`)
  const fits = (refundId: string, token: string, kind: LinkKind): boolean => tokens.fits(textOf(refundId, kind), token)
  return {
    urlOf: (orderCode, refundId, kind) =>
      `${payUrl}/refund?code=${orderCode}&token=${tokens.of(textOf(refundId, kind))}`,
    kindOf(refundId, token) {
      if (fits(refundId, token, 'mailed')) return 'mailed'
      return fits(refundId, token, 'handed') ? 'handed' : null
    },
  }
}
