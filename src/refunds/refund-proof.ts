import { getAddress } from 'viem/utils'
import type { Queryable } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { formatDecimal } from '../kernel/money.ts'
import { findMessageSigner } from '../kernel/signed-message.ts'
import { listPayingAddresses } from '../payments/paying-addresses.ts'
import type { Payment } from '../payments/payment-queries.ts'
import { checkFreshFactor } from './refund-limits.ts'

export const PROOF_KINDS = ['stated', 'payer', 'signature', 'attested'] as const

/** Why the destination of a refund is believed to be what the payer wants. */
export type AddressProof = {
  /** Said by the payer before, confirmed on the refund page, signed for, or vouched for by a person. */
  kind: (typeof PROOF_KINDS)[number]
  /** Who said so: `user:<id>`, `apiKey:<id>`, `service:<id>`, `payer`, or `payer:<code>` of the pay page. */
  by: string
  /** ISO 8601. */
  at: string
  /** `stated`: where it was said. */
  source?: 'accept' | 'payerInformation'
  /** `signature`: the address whose key signed, and what it is. */
  signer?: string
  signerIs?: 'destination' | 'sender'
  /** `attested` */
  statement?: string
  evidence?: string
}

export type GivenProof = { message?: string; signature?: string; statement?: string; evidence?: string }

/** What one refund is, as far as a signature must name it. */
export type RefundFacts = { code: string; number: number; units: bigint; network: number | null }

/** The text that a payer signs. The number makes it good for one refund: the order's next one has another text. */
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

type ProofRequest = { facts: RefundFacts; payment: Payment; address: string; actor: Actor; now: Date }

async function readSignature(q: Queryable, claim: ProofRequest, given: GivenProof & { signature: string }) {
  const { facts, payment, address } = claim
  const message = addressMessage(facts, address)
  const expected = `The message to sign is ${JSON.stringify(message)}.`
  if (given.message !== undefined && given.message !== message)
    throw invalid('addressProof.message', `is not the message of this refund. ${expected}`)
  const signer = await findMessageSigner(message, given.signature)
  if (signer !== undefined && sameAddress(signer, address)) return { signer, signerIs: 'destination' as const }
  // who paid less than goes back could have sent a little only to be heard here
  const senders = signer === undefined ? [] : await listPayingAddresses(q, payment, facts.units)
  if (signer !== undefined && senders.includes(signer)) return { signer, signerIs: 'sender' as const }
  throw invalid(
    'addressProof.signature',
    `must be by the destination or by the address that paid (EIP-191, 65 bytes in hex). ${expected}`,
  )
}

/**
 * Checks what a request brings as proof that its address is what the payer wants.
 * @throws VALIDATION_FAILED with the text to sign, FORBIDDEN and STEP_UP_REQUIRED for a statement
 */
export async function checkProof(q: Queryable, claim: ProofRequest, given: GivenProof): Promise<AddressProof> {
  const { actor, now } = claim
  const { signature, statement, evidence } = given
  const base = { by: `${actor.kind}:${actor.id}`, at: now.toISOString() }
  if (signature !== undefined)
    return { kind: 'signature', ...base, ...(await readSignature(q, claim, { ...given, signature })) }
  if (statement === undefined || evidence === undefined)
    throw invalid('addressProof', 'needs a signature, or a statement together with its evidence')
  if (actor.kind !== 'user' || actor.role === 'Service') {
    throw new AppError('FORBIDDEN', {
      message:
        'Only a person can vouch for an address. Send a signature, or leave addressProof out: the payer is asked.',
    })
  }
  checkFreshFactor(actor, now.getTime())
  return { kind: 'attested', ...base, statement, evidence }
}
