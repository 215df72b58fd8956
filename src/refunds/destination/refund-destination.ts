import type { ChannelId } from '../../channels/channel.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import type { Actor, UserRole } from '../../http/actor.ts'
import { PERMISSIONS } from '../../http/permissions.ts'
import { readAddress } from '../../kernel/addresses.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import type { Order } from '../../orders/order.ts'
import { checkPayerAddress } from '../../payers/payer-address.ts'
import { findPayerContact, type PayerContact } from '../../payers/payer-service.ts'
import { speaksForPayer, staffWho, type Written, writerOf } from '../../payers/payer-word.ts'
import type { Payment } from '../../payments/payment-queries.ts'
import { findSpeaker, isOnlyStaff, listCommonMakers, listWriters, type Writer } from '../../users/maker-queries.ts'
import type { RefundDeps } from '../refund-deps.ts'
import { findMerchant, type Refund } from '../refund-queries.ts'
import { type AddressProof, type GivenProof, goesToAddress, noAddressWords, sameAddress } from './address-proof.ts'
import { checkProof } from './refund-proof.ts'

const ONE_MAKER =
  'One of the two accounts was invited or approved by the other, or both by one member of staff, so they count as one ' +
  'person. Leave addressProof out, and the payer is asked; or another Manager vouches for the address.'

/** Whoever compared another address with the payer has to compare anew. */
const changedTo = (address: string): string =>
  `The address was changed: ${address} is proposed now. Compare it with the payer, then confirm that one.`

const NO_PROPOSAL = { proposedAddress: null, proposedBy: null, confirmedBy: null } as const
const NONE_BEFORE = { ...NO_PROPOSAL, replacedAddresses: [] }

/** The requested destination and its proof. */
export type Wanted = { address?: string; addressProof?: GivenProof }

export type Destination = Pick<
  Refund,
  'address' | 'proposedAddress' | 'proposedBy' | 'confirmedBy' | 'addressProof'
> & {
  status: 'needs_address' | 'ready'
  /** Mail address of the payer. */
  email: string | null
  /** Who of the staff wrote it, where the payer is asked. */
  emailBy: string | null
}

type NewRefund = {
  order: Order
  payment: Payment
  number: number
  units: bigint
  actor: Actor
  now: Date
  /** Earlier proposal for this refund. */
  proposed?: Pick<Refund, 'proposedAddress' | 'proposedBy' | 'confirmedBy' | 'replacedAddresses'>
}

/** @throws VALIDATION_FAILED */
export function readWanted(wanted: Wanted): Wanted {
  if (wanted.address !== undefined) return { ...wanted, address: readAddress('address', wanted.address) }
  if (wanted.addressProof === undefined) return wanted
  throw invalid('addressProof', 'proves an address; send the address with it')
}

/** An address given before the refund was requested. */
type Statement = Written & { source: 'accept' | 'payerInformation'; address: string }

function listStatements(payment: Payment, known: PayerContact): Statement[] {
  const { userAddress, userAddressBy } = payment
  const statements: Statement[] = []
  if (userAddress !== null) {
    const by = userAddressBy ?? 'unknown'
    const isWord = userAddressBy !== null && speaksForPayer(by)
    statements.push({ source: 'accept', address: userAddress, by, at: payment.openedAt.toISOString(), isWord })
  }
  if (known.address !== null) {
    const written = known.addressWritten ?? { by: 'unknown', at: '', isWord: false }
    statements.push({ source: 'payerInformation', address: known.address, ...written })
  }
  return statements
}

/**
 * The payer's own word for this address, or for any; without one, what someone else stated. The only reading of the
 * statements: what a person is shown before a refund is what the refund does.
 */
function pick(statements: readonly Statement[], wanted: string | undefined): Statement | undefined {
  const fitting = statements.filter(({ address }) => wanted === undefined || sameAddress(address, wanted))
  return fitting.find(({ isWord }) => isWord) ?? fitting[0]
}

/** Where a refund goes that names no address. Without any the payer is asked, or the provider knows. */
export type Goal = {
  /** Whose order it is, as payers know it. */
  company: string
  /** Through which the money goes back; null: nothing can be refunded. */
  channel: ChannelId | null
  network: number | null
  /** The payer's own: the money goes there. */
  address: string | null
  /** Someone else's: it has to be confirmed first, and the payer may name another. */
  proposedAddress: string | null
  /** Who of the staff wrote the e-mail where the payer is asked. */
  emailWriter: Writer | null
  /** All that the payer stated: a refund to one of them needs no other proof. */
  statedAddresses: string[]
}

const NOWHERE = { address: null, proposedAddress: null, emailWriter: null, statedAddresses: [] }

/** @param payment null: nothing can be refunded */
export async function findGoal(
  deps: Pick<RefundDeps, 'payers'>,
  q: Queryable,
  order: Order,
  payment: Payment | null,
): Promise<Goal> {
  const { name: company } = await findMerchant(q, order.companyId)
  const channel = payment?.channel ?? null
  const unknown = { company, channel, network: null, ...NOWHERE }
  if (payment === null || !goesToAddress(payment)) return unknown
  const known = await findPayerContact(deps.payers, q, order)
  const statements = listStatements(payment, known)
  const { address = null, isWord = false } = pick(statements, undefined) ?? {}
  const statedAddresses = statements.filter((one) => one.isWord).map((one) => one.address)
  const { network } = payment
  const by = isWord ? null : staffWho(known.asked)
  const emailWriter = by === null ? null : ((await listWriters(q, [by])).get(by) ?? null)
  return { ...unknown, network, emailWriter, statedAddresses, [isWord ? 'address' : 'proposedAddress']: address }
}

/** Who proposed or confirmed an address, and the roles that may. */
type Word = { by: string | null; roles: readonly UserRole[] }

const proposed = (by: string | null): Word => ({ by, roles: PERMISSIONS['orders.payer'].roles })
const confirmed = (by: string | null): Word => ({ by, roles: PERMISSIONS['refunds.revert'].roles })

/** Whether an earlier word is that of another person of the shop, who may still give it. */
async function compare(
  q: Queryable,
  { actor, companyId }: { actor: Actor; companyId: string },
  { by, roles }: Word,
): Promise<'none' | 'related' | 'other'> {
  const id = by === null ? undefined : await findSpeaker(q, by, { companyId, roles })
  if (id === undefined || id === actor.id) return 'none'
  // an old key, whose creator was not recorded
  if (id === null) return 'other'
  const makers = await listCommonMakers(q, `user:${id}`, `user:${actor.id}`)
  return makers.some(isOnlyStaff) ? 'related' : 'other'
}

/**
 * Whether another person of the shop has proposed or confirmed the address before.
 * @throws OBJECT_CONFLICT if these created this account, or one person created both
 */
async function isSecondPerson(
  q: Queryable,
  second: { actor: Actor; companyId: string },
  earlier: readonly Word[],
): Promise<boolean> {
  let isRelated = false
  for (const word of earlier) {
    const compared = await compare(q, second, word)
    if (compared === 'other') return true
    isRelated ||= compared === 'related'
  }
  if (isRelated) throw new AppError('OBJECT_CONFLICT', { message: ONE_MAKER })
  return false
}

/**
 * Where a refund goes. An address that the payer gave before PAID is trusted: at accept, on the pay page, or from the
 * shop's server in the payer information. An address from staff, or from anyone after PAID, is a proposal: it needs the
 * payer's confirmation, a signature, or a second person; what the payer named through a link that anyone may hold needs
 * two, also when someone of the shop proposes it again, and so does a proposal of someone who may no longer make one. A
 * person vouches only for the address that is proposed at that moment. The sending address is never used unchecked,
 * because it may belong to an exchange. What goes back through its provider has no destination here, whoever named one.
 * @throws VALIDATION_FAILED, FORBIDDEN, STEP_UP_REQUIRED for an invalid proof; OBJECT_CONFLICT if another address is
 *   proposed, or the persons count as one
 */
export async function findDestination(
  deps: RefundDeps,
  tx: Tx,
  scene: NewRefund,
  wanted: Wanted,
): Promise<Destination> {
  const { order, payment, actor } = scene
  if (wanted.address !== undefined) {
    if (!goesToAddress(payment)) throw invalid('address', noAddressWords(payment.channel))
    await checkPayerAddress(deps.payers, tx, 'address', wanted.address)
  }
  const known = await findPayerContact(deps.payers, tx, order)
  const { email } = known.asked
  const believed = { email, emailBy: null, ...NO_PROPOSAL, status: 'ready' } as const
  if (!goesToAddress(payment)) return { ...believed, address: null, addressProof: null }
  const statements = listStatements(payment, known)
  const stated = pick(statements, wanted.address)
  // it was stored before such addresses were rejected
  if (stated) await checkPayerAddress(deps.payers, tx, 'address', stated.address)
  if (stated?.isWord) {
    const { by, at, source, address } = stated
    return { ...believed, address, addressProof: { kind: 'stated', by, at, source } }
  }
  const address = wanted.address ?? stated?.address
  const emailBy = staffWho(known.asked)
  const open = { address: null, addressProof: null, email, emailBy, status: 'needs_address' } as const
  if (address === undefined) return { ...open, ...NO_PROPOSAL }
  const { proposedAddress: now, proposedBy, confirmedBy, replacedAddresses } = scene.proposed ?? NONE_BEFORE
  const isProposed = now !== null && sameAddress(now, address)
  const earlier = isProposed ? { proposedBy, confirmedBy } : { proposedBy: null, confirmedBy: null }
  // whoever proposes what the payer named through the link speaks no other word than that link
  const isNamed = replacedAddresses.some((replaced) => sameAddress(replaced, address))
  const proposer = isNamed ? 'payer' : (earlier.proposedBy ?? stated?.by ?? null)
  const proposal = { ...open, ...earlier, proposedAddress: address, proposedBy: proposer ?? writerOf(actor) }
  if (wanted.addressProof === undefined) return proposal
  const proof = await prove(tx, scene, address, wanted.addressProof)
  if (proof.kind !== 'attested') return { ...believed, address, addressProof: proof }
  if (now !== null && !isProposed) throw new AppError('OBJECT_CONFLICT', { message: changedTo(now) })
  const second = { actor, companyId: order.companyId }
  if (await isSecondPerson(tx, second, [proposed(proposer), confirmed(earlier.confirmedBy)]))
    return { ...believed, address, addressProof: proof }
  return { ...proposal, confirmedBy: writerOf(actor) }
}

function prove(tx: Tx, scene: NewRefund, address: string, given: GivenProof): Promise<AddressProof> {
  const { order, payment, number, units, actor, now } = scene
  const facts = { code: order.code, number, units, network: payment.network }
  return checkProof(tx, { facts, payment, address, actor, now }, given)
}
