import { sees } from '../http/actor.ts'
import type { Who } from '../http/request-context.ts'
import { openHmac, type Vault } from '../kernel/vault.ts'

/**
 * Who got a link: `mailed` only the payer's e-mail, `handed` the shop's own people and servers. `page` leads on from a
 * pay page, where anyone may type any e-mail.
 */
export type KycLinkKind = 'mailed' | 'handed' | 'page'

/** What a browser keeps once it was in a check: `proven` through a link that is not from a pay page. */
type Device = 'proven' | 'page'

/** Links to the page where a payer goes through a check for one order. */
export type KycLinks = {
  urlOf(orderCode: string, kycId: string, kind: KycLinkKind): string
  /** Which link of this check and this order it is, in constant time; null: none. */
  kindOf(orderCode: string, kycId: string, token: string): KycLinkKind | null
  /** A cookie for the browser of a payer who was let in by such a link. */
  deviceOf(kycId: string, kind: KycLinkKind): string
  /** By which link this cookie's browser was let into this check; null: it was not. */
  deviceKindOf(kycId: string, cookie: string): Device | null
}

/** What this actor may hand to a payer. */
export const linkKindFor = (who: Who, companyId: string): KycLinkKind =>
  who !== null && who.kind !== 'system' && sees(who, companyId) ? 'handed' : 'page'

export function openKycLinks({ vault, payUrl }: { vault: Vault; payUrl: string }): KycLinks {
  const tokens = openHmac(vault, 'kyc-link', 'base64url')
  // links of earlier versions, whoever got them, have no kind
  const textOf = (orderCode: string, kycId: string, kind: KycLinkKind): string =>
    `${kind === 'handed' ? '' : `${kind}:`}${orderCode}:${kycId}`
  const deviceTextOf = (kycId: string, device: Device): string => `device:${device}:${kycId}`
  return {
    urlOf: (orderCode, kycId, kind) =>
      `${payUrl}/kyc?code=${orderCode}&token=${tokens.of(textOf(orderCode, kycId, kind))}`,
    kindOf: (orderCode, kycId, token) =>
      (['mailed', 'handed', 'page'] as const).find((kind) => tokens.fits(textOf(orderCode, kycId, kind), token)) ??
      null,
    deviceOf: (kycId, kind) => tokens.of(deviceTextOf(kycId, kind === 'page' ? 'page' : 'proven')),
    deviceKindOf: (kycId, cookie) =>
      (['proven', 'page'] as const).find((device) => tokens.fits(deviceTextOf(kycId, device), cookie)) ?? null,
  }
}
