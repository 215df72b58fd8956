import { unitsOf } from './decimal.ts'

/** What a merchant may ask a session with, after it was checked. */
export type Session = {
  address: string
  network: string
  amount: string
  partnerUserRef: string
  redirectUrl: string | null
  clientIp: string | null
}

const NETWORKS = ['base', 'ethereum', 'polygon', 'arbitrum', 'optimism']
/** Ranges that no payer on the internet has. */
const PRIVATE =
  /^(0\.|10\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|::|f[cde])/i

const isAddress = (text: unknown): text is string => typeof text === 'string' && /^0x[0-9a-fA-F]{40}$/.test(text)
const isAmount = (text: unknown): boolean => typeof text === 'string' && (unitsOf(text, 6) ?? 0n) > 0n

/** Only the sandbox's own rule: a domain under `.invalid` is on nobody's list. */
function redirectFault(url: unknown): string | null {
  if (url === undefined) return null
  if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:/.test(url)) return 'redirectUrl is no URI'
  return new URL(url).hostname.endsWith('.invalid') ? 'redirectUrl: the domain is not allow-listed' : null
}

/** The first thing that is wrong with the fields of a session, or null. */
export function sessionFault(fields: Record<string, unknown>): string | null {
  const { purchaseAmount, paymentAmount, partnerUserRef, clientIp } = fields
  if (fields.purchaseCurrency !== 'USDC') return 'purchaseCurrency must be USDC here'
  if (!isAddress(fields.destinationAddress)) return 'destinationAddress is not a valid address'
  if (!NETWORKS.includes(String(fields.destinationNetwork))) return 'destinationNetwork is not supported'
  if (purchaseAmount !== undefined && paymentAmount !== undefined)
    return 'only one of purchaseAmount and paymentAmount may be given'
  if (!isAmount(purchaseAmount)) return 'purchaseAmount must be a decimal string above zero'
  if (typeof partnerUserRef !== 'string' || partnerUserRef.length === 0 || partnerUserRef.length >= 50)
    return 'partnerUserRef must be shorter than 50 characters'
  if (clientIp !== undefined && (typeof clientIp !== 'string' || PRIVATE.test(clientIp)))
    return 'clientIp must be a public address'
  return redirectFault(fields.redirectUrl)
}

export const readSession = (fields: Record<string, unknown>): Session => ({
  address: String(fields.destinationAddress),
  network: String(fields.destinationNetwork),
  amount: String(fields.purchaseAmount),
  partnerUserRef: String(fields.partnerUserRef),
  redirectUrl: typeof fields.redirectUrl === 'string' ? fields.redirectUrl : null,
  clientIp: typeof fields.clientIp === 'string' ? fields.clientIp : null,
})
