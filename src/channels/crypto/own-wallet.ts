import { parseAddress } from '../../kernel/addresses.ts'
import { deriveAddress, findSecretFault, parseXpub } from '../../kernel/xpub.ts'
import type { ChannelKind } from '../kind.ts'

/** How a company's own wallet tells its payments apart. */
const MODES = ['xpub', 'pool', 'static'] as const
type Mode = (typeof MODES)[number]

export type OwnWalletSettings = {
  mode: Mode
  /** For mode `xpub`. */
  xpub: string
  /** For the other modes; in lower case. */
  addresses: readonly string[]
  /** Chains on which the addresses belong to the company; empty: all configured ones. */
  networks: readonly number[]
}

const MAX_ADDRESSES = 1000

const split = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean)

function xpubFault(text: string): string | null {
  if (text === '') return null
  try {
    parseXpub(text)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

function addressesFault(text: string): string | null {
  const secret = findSecretFault(text)
  if (secret !== null) return secret
  const list = split(text)
  const wrong = list.findIndex((one) => parseAddress(one) === undefined)
  // it may be a key with a digit too many: no more of it than tells it apart
  const start = list[wrong]?.slice(0, 6)
  if (start !== undefined)
    return `entry ${wrong + 1}, "${start}…", is not an address, or its checksum (EIP-55) is wrong`
  if (new Set(list.map((one) => one.toLowerCase())).size !== list.length) return 'names an address twice'
  return list.length > MAX_ADDRESSES ? `are at most ${MAX_ADDRESSES}` : null
}

type Fault = { name: string; message: string }

const SHOWN = 3

function xpubFaults({ XPUB = '', CONFIRM_ADDRESS = '', ADDRESSES = '' }: Readonly<Record<string, string>>): Fault[] {
  if (XPUB === '') return [{ name: 'XPUB', message: 'is required in this mode' }]
  if (ADDRESSES !== '') return [{ name: 'ADDRESSES', message: 'belongs to the modes pool and static' }]
  const first = Array.from({ length: SHOWN }, (_, index) => deriveAddress(XPUB, index))
  const isOurs = first.some((one) => one.toLowerCase() === CONFIRM_ADDRESS.toLowerCase())
  if (CONFIRM_ADDRESS === '' || isOurs) return []
  const message =
    `This key makes other addresses; its first are ${first.join(', ')}. If your wallet shows none of them, ` +
    'export the public key of the account that shows your address.'
  return [{ name: 'CONFIRM_ADDRESS', message }]
}

function sharedFaults({ MODE, XPUB = '', ADDRESSES = '' }: Readonly<Record<string, string>>): Fault[] {
  const count = split(ADDRESSES).length
  if (XPUB !== '') return [{ name: 'XPUB', message: 'belongs to the mode xpub' }]
  if (count === 0) return [{ name: 'ADDRESSES', message: 'is required in this mode' }]
  if (MODE === 'static' && count > 1) return [{ name: 'ADDRESSES', message: 'is one address in the mode static' }]
  return []
}

export const readOwnWallet = (values: Readonly<Record<string, string>>): OwnWalletSettings => ({
  mode: MODES.find((mode) => mode === values.MODE) ?? 'xpub',
  xpub: values.XPUB ?? '',
  addresses: split(values.ADDRESSES ?? '').map((one) => one.toLowerCase()),
  networks: split(values.NETWORKS ?? '').map(Number),
})

/** A company's own wallet, which replaces the operator's: its deposits are its own money. */
export const ownWallet: Omit<ChannelKind, 'open'> = {
  id: 'crypto',
  env: 'CRYPTO',
  settings: {
    MODE: {
      description:
        'xpub: a fresh address for each payment. pool: one of your addresses for each open order. static: one ' +
        'address for all, orders told apart by the last digits of the amount.',
      fault: (text) => (MODES.some((mode) => mode === text) ? null : `must be one of: ${MODES.join(', ')}`),
    },
    XPUB: {
      description: "Mode xpub: public key of your wallet's account m/44'/60'/0', which begins with xpub.",
      fallback: '',
      fault: xpubFault,
    },
    CONFIRM_ADDRESS: {
      description:
        'Mode xpub: the first address that your wallet shows for this account. It proves that the key is right.',
      fallback: '',
      fault: (text) => (text === '' || parseAddress(text) ? null : 'must be an address with a right checksum'),
    },
    ADDRESSES: {
      description: 'Modes pool and static: addresses of your wallet, separated by commas. Static takes one.',
      fallback: '',
      fault: addressesFault,
    },
    NETWORKS: {
      description:
        'Chain ids on which these addresses are yours, separated by commas; empty: every network offered here. ' +
        'Contract wallets (Safe) exist on named networks only.',
      fallback: '',
      fault: (text) =>
        split(text).every((one) => /^[1-9]\d{0,14}$/.test(one)) ? null : 'must be chain ids, separated by commas',
    },
  },
  findFaults: (values) => (values.MODE === 'xpub' ? xpubFaults(values) : sharedFaults(values)),
}
