import type { Queryable } from '../db/db.ts'
import { isDepositAddress } from './deposits/deposit-queries.ts'
import type { OpenChain } from './open-chains.ts'

/** Kinds of known addresses; no refund may be sent to any of them. */
export type KnownAddress = 'reserved' | 'token' | 'wallet' | 'deposit'

export type FindKnownAddress = (q: Queryable, address: string) => Promise<KnownAddress | null>

/**
 * The zero address, where tokens are burned, and addresses that chains reserve for precompiled contracts (EIP-1352).
 */
const RESERVED = /^0x0{36}/

type Known = readonly Pick<OpenChain, 'network' | 'payouts' | 'relayerSigner'>[]

const inLowerCase = (addresses: (string | undefined)[]): Set<string> =>
  new Set(addresses.flatMap((address) => address?.toLowerCase() ?? []))

/** The wallets that pay, in lower case. */
export const walletsOf = (chains: Known): Set<string> =>
  inLowerCase(chains.flatMap(({ payouts, relayerSigner }) => [payouts?.address, relayerSigner?.address]))

/**
 * Recognises addresses that cannot be a payer's: reserved ones, tokens, our own wallets, any deposit address.
 * @param isDeposit for payers: whether a payment had it. A company can name any address as its own, without a proof
 */
export function openKnownAddresses(chains: Known, isDeposit = isDepositAddress): FindKnownAddress {
  const tokens = inLowerCase(
    chains.flatMap(({ network }) => [network.usdcAddress, ...network.otherTokens.map(({ address }) => address)]),
  )
  const wallets = walletsOf(chains)
  return async (q, given) => {
    const address = given.toLowerCase()
    if (RESERVED.test(address)) return 'reserved'
    if (tokens.has(address)) return 'token'
    if (wallets.has(address)) return 'wallet'
    return (await isDeposit(q, address)) ? 'deposit' : null
  }
}

/** For a sentence that begins with the address or the field. */
export const KNOWN_ADDRESS_WORDS: Readonly<Record<KnownAddress, string>> = {
  reserved: 'belongs to nobody: money that is sent there is lost',
  token: 'is the contract of a token: money that is sent there is lost',
  wallet: 'is a wallet of this service',
  deposit: 'is the deposit address of an order: money that is sent there would pay that order',
}
