import { getAddress } from 'viem/utils'
import { parseAddress } from '../../kernel/addresses.ts'
import { parseDecimal } from '../../kernel/money.ts'
import { parseXpub } from '../../kernel/xpub.ts'
import { integer, optional, optionalInteger, optionalUrl, type Setting, SettingFault } from '../setting.ts'

type Token = { symbol: string; address: string }

const readToken = (entry: string): Token => {
  const [, symbol, address] = /^([\w.]{1,20}):(0x[0-9a-fA-F]{40})$/.exec(entry.trim()) ?? []
  if (symbol === 'USDC') throw new SettingFault('names another token USDC; give it a symbol of its own, as USDC.e')
  if (symbol !== undefined && address !== undefined) return { symbol, address }
  throw new SettingFault(`"${entry}" is not of the form SYMBOL:0x<40 hex digits>`)
}

/** An encrypted keystore, or a bare key of 64 hexadecimal digits. A message contains neither. */
const signingKey = (name: string, description: string): Setting<string | null> => ({
  ...{ name, description, fallback: null, absent: null, secret: true },
  read(given) {
    if (/^(0x)?[0-9a-fA-F]{64}$/.test(given) || given.trimStart().startsWith('{')) return given
    throw new SettingFault('must be a keystore (version 3, JSON) or a private key of 64 hexadecimal digits')
  },
})

const address = (name: string, description: string): Setting<string | null> => ({
  ...{ name, description, fallback: null, absent: null },
  read(given) {
    const address = parseAddress(given)
    if (address !== undefined) return getAddress(address)
    throw new SettingFault('must be an address: 0x and 40 hexadecimal digits, with a right checksum')
  },
})

/** Only a public account key: a private key here would expose the deposits. */
const xpub = (name: string): Setting<string | null> => ({
  ...{ name, fallback: null, absent: null },
  description:
    "Public key of the account m/44'/60'/0' that makes the deposit addresses (xpub…); required. Never one that another installation uses.",
  read(given) {
    try {
      return parseXpub(given).text
    } catch (error) {
      throw new SettingFault((error as Error).message)
    }
  },
})

export type NodeUrls = { http: string[]; heads: string[] }

/** The URLs may contain secrets: the fault describes the expected form, never the text. */
const endpoints = (name: string): Setting<NodeUrls> => ({
  ...{ name, fallback: null, absent: { http: [], heads: [] }, secret: true },
  description:
    'A node’s address enables the chain; several, separated by commas, are compared and replace each other. ' +
    'Addresses that start with ws:// or wss:// only announce new blocks.',
  read(given) {
    const urls = given.split(',').map((part) => part.trim())
    const protocolOf = (one: string): string => (URL.canParse(one) ? new URL(one).protocol : '')
    const http = urls.filter((one) => /^https?:$/.test(protocolOf(one)))
    const heads = urls.filter((one) => /^wss?:$/.test(protocolOf(one)))
    if (http.length > 0 && http.length + heads.length === urls.length) return { http, heads }
    throw new SettingFault(
      'must be one or more URLs that start with http:// or https://, separated by commas, and beside them any that ' +
        'start with ws:// or wss://',
    )
  },
})

const usdc = (name: string, description: string): Setting<bigint | null> => ({
  ...{ name, description, fallback: null, absent: null, example: '1000' },
  read(given) {
    const units = parseDecimal(given, 6)
    if (units !== undefined) return units
    throw new SettingFault('must be an amount of USDC, for example 1000 or 99.50')
  },
})

const addresses = (name: string, description: string): Setting<string[]> => ({
  ...{ name, description, fallback: null, absent: [] },
  read(given) {
    const list = given.split(',').map((part) => parseAddress(part.trim())?.toLowerCase())
    if (list.every((one) => one !== undefined)) return list
    throw new SettingFault('must be addresses, separated by commas, each with a right checksum')
  },
})

/** Limits of what leaves through our own keys. */
export const SETTLEMENTS = {
  dayLimitUnits: usdc('SETTLEMENT_DAY_LIMIT', 'At most so much USDC is settled in 24 hours, all companies together.'),
  twoPersonsFromUnits: usdc('SETTLEMENT_TWO_PERSONS_FROM', 'From so much USDC on, two persons approve a settlement.'),
  allowList: addresses('SETTLEMENT_ALLOW_LIST', 'Settlements go to these addresses only. Default: any.'),
}

/** For all chains. */
export const CHAINS = {
  chainMaxLagSeconds: integer(
    'CHAIN_MAX_LAG_SECONDS',
    'After this many seconds without a new block, `crypto` is not offered on that chain.',
    { fallback: '60', min: 5, max: 86_400 },
  ),
  chainPollMs: integer('CHAIN_POLL_MS', 'Milliseconds between two questions for the newest block of a chain.', {
    ...{ fallback: '500', min: 20, max: 60_000 },
  }),
}

const secret = (name: string, description: string): Setting<string | null> =>
  optional(name, description, { secret: true })

/** The settings of one chain. @param id a chain id, or `<id>` for the documentation */
export const chainSettings = (id: string) => {
  const otherTokens: Setting<Token[]> = {
    name: `CHAIN_${id}_OTHER_TOKENS`,
    description: 'More tokens whose arrival is noticed, so that a payer’s mistake can be put right.',
    ...{ fallback: null, absent: [], example: 'EURC:0x0000000000000000000000000000000000000000' },
    read: (given) => given.split(',').filter(Boolean).map(readToken),
  }
  return {
    nodes: endpoints(`CHAIN_${id}_RPC_URL`),
    usdcAddress: optional(`CHAIN_${id}_USDC`, 'The USDC contract; only for chains that Comptoir does not know.'),
    otherTokens,
    xpub: xpub(`CHAIN_${id}_XPUB`),
    confirmations: optionalInteger(`CHAIN_${id}_CONFIRMATIONS`, 'Confirmations until a payment is final, any amount.', {
      ...{ min: 1, max: 10_000 },
    }),
    explorerUrl: optionalUrl(
      `CHAIN_${id}_EXPLORER_URL`,
      'Where payers look up a transaction, everything before /tx/; only for chains that Comptoir does not know.',
    ),
    refundKey: signingKey(
      `CHAIN_${id}_REFUND_KEY`,
      'Keystore (JSON) of the wallet that pays refunds and settlements; a bare private key for tests only.',
    ),
    refundPassword: secret(`CHAIN_${id}_REFUND_PASSWORD`, 'Opens the keystore of the wallet that pays.'),
    refundAddress: address(`CHAIN_${id}_REFUND_ADDRESS`, 'The wallet that pays, where Web3Signer has its key.'),
    relayerKey: signingKey(
      `CHAIN_${id}_RELAYER_KEY`,
      'Keystore (JSON) of the wallet that pays for gas; a bare private key for tests only.',
    ),
    relayerPassword: secret(`CHAIN_${id}_RELAYER_PASSWORD`, 'Opens the keystore of the wallet that pays for gas.'),
    relayerAddress: address(
      `CHAIN_${id}_RELAYER_ADDRESS`,
      'The wallet that pays for gas, where Web3Signer has its key.',
    ),
    walletMinUnits: usdc(
      `CHAIN_${id}_WALLET_MIN`,
      'Below so much USDC in the wallet that pays, the operator is warned. Always warned below three days of payouts.',
    ),
    maxFeeGwei: optionalInteger(
      `CHAIN_${id}_MAX_FEE_GWEI`,
      'Payouts wait while gas costs more; `comptoir admin allow-fee` lifts it for a while (docs/signers.md: defaults).',
      { min: 1, max: 1_000_000 },
    ),
    relayMinUnits: usdc(
      `CHAIN_${id}_RELAY_MIN`,
      'Payers of less USDC pay for gas themselves. Default: 10 on Ethereum, 0.10 elsewhere.',
    ),
    web3signerUrl: optionalUrl(`CHAIN_${id}_WEB3SIGNER_URL`, 'Web3Signer that keeps the keys (docs/signers.md).', {
      secret: true,
    }),
  }
}

export const CHAIN_EXAMPLES = chainSettings('8453')
