import type { Queryable } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { findMessageSigner } from '../../kernel/signed-message.ts'
import { listPayingAddresses } from '../../payments/paying-addresses.ts'
import type { Payment } from '../../payments/payment-queries.ts'
import { checkFreshFactor } from '../limits/refund-limits.ts'
import { type AddressProof, addressMessage, type GivenProof, type RefundFacts, sameAddress } from './address-proof.ts'

type ProofRequest = { facts: RefundFacts; payment: Payment; address: string; actor: Actor; now: Date }

async function readSignature(q: Queryable, claim: ProofRequest, given: Extract<GivenProof, { signature: string }>) {
  const { facts, payment, address } = claim
  const message = addressMessage(facts, address)
  const expected = `The message to sign is ${JSON.stringify(message)}.`
  if (given.message !== undefined && given.message !== message)
    throw invalid('addressProof.message', `is not the message of this refund. ${expected}`)
  const signer = await findMessageSigner(message, given.signature)
  if (signer !== undefined && sameAddress(signer, address)) return { signer, signerIs: 'destination' as const }
  // whoever sent less than the refund may have paid only to qualify here
  const senders = signer === undefined ? [] : await listPayingAddresses(q, payment, facts.units)
  if (signer !== undefined && senders.includes(signer)) return { signer, signerIs: 'sender' as const }
  throw invalid(
    'addressProof.signature',
    `must be by the destination or by the address that paid (EIP-191, 65 bytes in hex). ${expected}`,
  )
}

/**
 * Checks the proof that the payer chose this address.
 * @throws VALIDATION_FAILED with the text to sign, FORBIDDEN and STEP_UP_REQUIRED for a statement
 */
export async function checkProof(q: Queryable, claim: ProofRequest, given: GivenProof): Promise<AddressProof> {
  const { actor, now } = claim
  const base = { by: `${actor.kind}:${actor.id}`, at: now.toISOString() }
  if ('signature' in given) return { kind: 'signature', ...base, ...(await readSignature(q, claim, given)) }
  if (actor.kind !== 'user' || actor.role === 'Service') {
    throw new AppError('FORBIDDEN', {
      message:
        'Only a person can vouch for an address. Send a signature, or leave addressProof out: the payer is asked.',
    })
  }
  checkFreshFactor(actor, now.getTime())
  const { statement, evidence } = given
  return { kind: 'attested', ...base, statement, evidence }
}
