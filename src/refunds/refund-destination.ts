import type { Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import { readAddress } from '../kernel/addresses.ts'
import { invalid } from '../kernel/errors.ts'
import type { Order } from '../orders/order.ts'
import { findPayerContact } from '../payers/payer-service.ts'
import type { Payment } from '../payments/payment-queries.ts'
import { type AddressProof, checkProof, type GivenProof, sameAddress } from './refund-proof.ts'
import type { Refund } from './refund-queries.ts'
import type { RefundDeps } from './refund-service.ts'

/** Where a request wants the money to go, and what it brings as proof. */
export type Wanted = { address?: string; addressProof?: GivenProof }

export type Destination = Pick<Refund, 'address' | 'proposedAddress' | 'addressProof'> & {
  status: 'needs_address' | 'ready'
  /** Where the payer can be asked. */
  email: string | null
}

type NewRefund = { order: Order; payment: Payment; number: number; units: bigint; actor: Actor; now: Date }

/** @throws VALIDATION_FAILED */
export function readWanted(wanted: Wanted): Wanted {
  if (wanted.address !== undefined) return { ...wanted, address: readAddress('address', wanted.address) }
  if (wanted.addressProof === undefined) return wanted
  throw invalid('addressProof', 'proves an address; send the address with it')
}

/**
 * Where a refund goes. What the payer said is believed: the address given at accept or in the payer information.
 * Another one needs a proof, and without it waits as a proposal for the payer's word. Never blindly the sending
 * address: it may be an exchange's.
 * @throws VALIDATION_FAILED, FORBIDDEN, STEP_UP_REQUIRED for a proof that is none
 */
export async function findDestination(
  deps: RefundDeps,
  tx: Tx,
  scene: NewRefund,
  { address, addressProof }: Wanted,
): Promise<Destination> {
  const { order, payment, number, units, actor, now } = scene
  const known = await findPayerContact(deps.payers, tx, order)
  const believed = { email: known.email, proposedAddress: null, status: 'ready' } as const
  if ((await deps.channels.forPayment(payment, tx))?.refundsToAddress !== true)
    return { ...believed, address: address ?? payment.userAddress ?? known.address, addressProof: null }
  const stated = [
    { source: 'accept', own: payment.userAddress },
    { source: 'payerInformation', own: known.address },
  ] as const
  for (const { source, own } of stated) {
    if (own === null || (address !== undefined && !sameAddress(own, address))) continue
    const proof: AddressProof = { kind: 'stated', by: 'payer', at: now.toISOString(), source }
    return { ...believed, address: own, addressProof: proof }
  }
  const open = { address: null, addressProof: null, email: known.email, status: 'needs_address' } as const
  if (address === undefined) return { ...open, proposedAddress: null }
  if (addressProof === undefined) return { ...open, proposedAddress: address }
  const facts = { code: order.code, number, units, network: payment.network }
  const proof = await checkProof(tx, { facts, payment, address, actor, now }, addressProof)
  return { ...believed, address, addressProof: proof }
}
