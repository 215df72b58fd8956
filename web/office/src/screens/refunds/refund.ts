import type { Data } from '../../api/call.ts'

export type Refund = Data<'getRefund'>

/** Its money moves between wallets: purchases at Coinbase also arrived at one, and are refunded from one. */
export const isOnChain = ({ channel }: Pick<Refund, 'channel'>): boolean =>
  channel === 'crypto' || channel === 'coinbase'

/**
 * It goes to an address of the payer; anything else goes back the way it came. A network is named of a provider only
 * where a wallet paid it.
 */
export const goesToAddress = (goal: Pick<Refund, 'channel' | 'network'>): boolean =>
  isOnChain(goal) || goal.network !== null

/** Its address, if it is more than what someone wrote: proven, or paid already. An older node shows any. */
export const destinationOf = ({ address, addressProof, status, channel }: Refund): string | null =>
  addressProof !== null || (isOnChain({ channel }) && status === 'settled') ? address : null

/**
 * Whether this person sends it where a person has to: whoever holds its money. An older node does not say who that is.
 * @param decides the right that only the operator has
 */
export const sendsIt = ({ heldBy }: Pick<Refund, 'heldBy'>, decides: boolean): boolean =>
  heldBy === undefined || (heldBy === 'operator') === decides

/** Whose word stands behind the address that is proposed while the refund waits for one. */
export function namedBy(
  { status, proposedAddress, proposedBy, confirmedBy }: Refund,
  me: string,
): 'payer' | 'mine' | 'other' | null {
  if (status !== 'needs_address' || proposedAddress === null) return null
  if ([proposedBy, confirmedBy].includes(`user:${me}`)) return 'mine'
  return proposedBy === 'payer' && confirmedBy === null ? 'payer' : 'other'
}

type KeyWords = { key(name: string, maker: string | null): string }

/** Who named the address: a person, or a key and who created it. */
export const writerWords = (t: KeyWords, { by, name, keyOf }: NonNullable<Refund['proposer']>): string =>
  by.startsWith('apiKey:') && name !== null ? t.key(name, keyOf) : (name ?? by)

/** A second person is asked, so whoever named the address, or confirmed it first, is not. */
export function asksForWord(refund: Refund, me: string): boolean {
  const by = namedBy(refund, me)
  return by === 'payer' || by === 'other'
}
