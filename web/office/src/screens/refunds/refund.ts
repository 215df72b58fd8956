import type { Data } from '../../api/call.ts'

export type Refund = Data<'getRefund'>

/** Whose word stands behind the address that is proposed while the refund waits for one. */
export function namedBy(
  { status, proposedAddress, proposedBy }: Refund,
  me: string,
): 'payer' | 'mine' | 'other' | null {
  if (status !== 'needs_address' || proposedAddress === null) return null
  if (proposedBy === 'payer') return 'payer'
  return proposedBy === `user:${me}` ? 'mine' : 'other'
}

/** A second person is asked, so whoever named the address, or confirmed it first, is not. */
export function asksForWord(refund: Refund, me: string): boolean {
  const by = namedBy(refund, me)
  return by === 'payer' || by === 'other'
}
