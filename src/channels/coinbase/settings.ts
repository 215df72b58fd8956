import { baseUrl, plain, secret } from '../kind.ts'
import { readCdpKey } from './jwt.ts'

export const V2 = 'https://api.cdp.coinbase.com/platform'
export const V1 = 'https://api.developer.coinbase.com'

function keyFault(text: string): string | null {
  try {
    readCdpKey('', text)
    return null
  } catch (error) {
    return `is no CDP key: ${error instanceof Error ? error.message : 'unreadable'}`
  }
}

export const settings = {
  BASE_URL: baseUrl(V2, 'where CDP v2 answers'),
  STATUS_BASE_URL: {
    operatorOnly: true as const,
    description: `where Onramp v1 tells transactions; empty: ${V1}, or BASE_URL when that is not Coinbase's own`,
    fallback: '',
    fault: (text: string) => (text === '' || /^https?:\/\/./.test(text) ? null : 'must be an http(s) address'),
  },
  KEY_ID: plain('id of the CDP API key'),
  KEY_SECRET: { ...secret('the CDP API key: Ed25519 in Base64, or EC P-256 as PEM'), fault: keyFault },
  WEBHOOK_SECRET: secret('`secret` of the webhook subscription'),
  NETWORK: {
    ...plain('chain id that Coinbase delivers on; empty: the first one that is set up here', ''),
    fault: (text: string) => (/^\d*$/.test(text) ? null : 'must be a chain id'),
  },
}

export type CoinbaseValues = Readonly<Record<keyof typeof settings, string>>
