import { getAddress } from 'viem/utils'
import { ON_CHAIN_CHANNELS } from '../../channels/channel.ts'
import { formatDecimal } from '../../kernel/money.ts'

export const PROOF_KINDS = ['stated', 'payer', 'signature', 'attested'] as const

/** Whether its refunds go out on a chain, from a wallet of ours or of the company. */
export const leavesOnChain = ({ channel }: { channel: string }): boolean =>
  (ON_CHAIN_CHANNELS as readonly string[]).includes(channel)

/**
 * Whether a refund needs a destination, and a proof that it is the payer's. At a provider only where the payer paid
 * from a wallet on a known chain, which no provider sends back: a person does, to a wallet. Any other provider knows
 * where the money came from, and no address says so.
 */
export const goesToAddress = (place: { channel: string; network: number | null }): boolean =>
  leavesOnChain(place) || place.network !== null

/** Why a refund is refused that names an address where none is needed. */
export const noAddressWords = (channel: string): string =>
  `cannot be named: this money goes back the way it came, through ${channel}. Leave address and addressProof out`

/** Why a refund’s destination is trusted. */
export type AddressProof = {
  /** Given by the payer earlier, confirmed on the refund page, signed by a key, or attested by a person. */
  kind: (typeof PROOF_KINDS)[number]
  /** Who gave it: `user:<id>`, `apiKey:<id>`, `service:<id>`, `payer`, or `payer:<code>` of the pay page. */
  by: string
  /** ISO 8601. */
  at: string
  /** `stated`: where it was given. */
  source?: 'accept' | 'payerInformation'
  /** `signature`: the address whose key signed, and the kind of address. */
  signer?: string
  signerIs?: 'destination' | 'sender'
  /** `attested` */
  statement?: string
  evidence?: string
}

/** A signature, or the word of a person with its evidence. */
export type GivenProof = { signature: string; message?: string } | { statement: string; evidence: string }

/** The facts of a refund that a signature covers. */
export type RefundFacts = { code: string; number: number; units: bigint; network: number | null }

/** The text that a payer signs. The refund's number ties the signature to one refund of the order. */
export const addressMessage = ({ code, number, units, network }: RefundFacts, address: string): string =>
  [
    'I want this refund to be sent to this address.',
    '',
    `Order: ${code}`,
    `Refund: ${number}`,
    `Amount: ${formatDecimal(units, 6)} USDC`,
    `Network: ${network}`,
    `Address: ${getAddress(address)}`,
  ].join('\n')

export const sameAddress = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()
