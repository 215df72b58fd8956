import type { Queryable, Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import { PERMISSIONS } from '../http/permissions.ts'
import type { RequestContext } from '../http/request-context.ts'
import { formatDecimal } from '../kernel/money.ts'
import type { Static } from '../kernel/schema.ts'
import { findOrderById } from '../orders/order-queries.ts'
import { payoutMessageFor } from '../screening/screening-words.ts'
import { listWriters, type Writer } from '../users/maker-queries.ts'
import { addressMessage, sameAddress } from './destination/address-proof.ts'
import { findProof, listProofs, type ProofFacts } from './proof/proof-queries.ts'
import type { RefundLinks } from './refund-link.ts'
import { findMerchant, findRefund, type ListedRefund, type Refund } from './refund-queries.ts'
import type { RefundSchema } from './refund-schemas.ts'

type ViewDeps = { db: Queryable; links: RefundLinks }

/**
 * Whether this actor may start refunds, and so hands the payer's link over. Whoever only reads refunds could answer
 * for the payer with it.
 */
function mayRefund({ role, scopes }: Actor): boolean {
  const { roles, scope } = PERMISSIONS['refunds.revert']
  const isOfRole = (roles as readonly string[]).includes(role)
  return isOfRole && (scopes === null || scopes.includes(scope))
}

/**
 * The link and message for the payer while the destination is open. A link that was mailed to the payer is shown to no
 * one else; otherwise whoever started the refund could answer for the payer.
 */
function viewQuestion({ links }: ViewDeps, actor: Actor, refund: Refund, code: string) {
  const { status, proposedAddress, askedByMail } = refund
  if (status !== 'needs_address') return { addressUrl: null, addressMessage: null }
  return {
    addressUrl: askedByMail || !mayRefund(actor) ? null : links.urlOf(code, refund.id, 'handed'),
    addressMessage: proposedAddress && addressMessage({ ...refund, code }, proposedAddress),
  }
}

const NO_PROPOSAL = { proposedAddress: null, proposedBy: null, confirmedBy: null, replacedAddress: null }

function viewProposal({ address, proposedAddress, proposedBy, confirmedBy, replacedAddresses }: Refund) {
  if (address !== null || proposedAddress === null) return NO_PROPOSAL
  const replacedAddress = replacedAddresses.findLast((replaced) => !sameAddress(replaced, proposedAddress)) ?? null
  return { proposedAddress, proposedBy, confirmedBy, replacedAddress }
}

const viewProof = ({ mime, size, sha256, by, at, erasedAt }: ProofFacts) => ({
  ...{ mime, size, sha256, by },
  at: at.toISOString(),
  erasedAt: erasedAt?.toISOString() ?? null,
})

export type RefundView = Static<typeof RefundSchema>

type Known = {
  code: string
  shortCode: string
  company: string
  proof: ProofFacts | undefined
  writers: ReadonlyMap<string, Writer>
}

/** Who named the address that waits for a second person, unless that was the payer. */
const proposerOf = (refund: Refund): string | null => {
  const { proposedBy } = viewProposal(refund)
  return proposedBy === 'payer' ? null : proposedBy
}

/** Who of the staff wrote the e-mail where the payer is to be asked, or was. */
function emailWriterOf({ emailBy, address, addressProof }: Refund): string | null {
  return address === null || addressProof?.kind === 'payer' ? emailBy : null
}

/** The people and keys that stand behind these refunds, for whoever may confirm them. */
function listWritersOf({ db }: ViewDeps, actor: Actor, refunds: readonly Refund[]) {
  const names = refunds.flatMap((refund) => [proposerOf(refund), emailWriterOf(refund)]).filter((by) => by !== null)
  return names.length > 0 && mayRefund(actor) ? listWriters(db, names) : new Map<string, Writer>()
}

const describeRefund = (deps: ViewDeps, actor: Actor, refund: Refund, known: Known): RefundView => ({
  ...viewQuestion(deps, actor, refund, known.code),
  _id: refund.id,
  orderId: refund.orderId,
  code: known.code,
  shortCode: known.shortCode,
  company: known.company,
  mispaymentId: refund.mispaymentId,
  status: refund.status,
  amount: formatDecimal(refund.units, 6),
  excessAmount: formatDecimal(refund.excessUnits, 6),
  withoutCover: refund.withoutCover,
  channel: refund.channel,
  address: refund.address,
  ...viewProposal(refund),
  proposer: known.writers.get(proposerOf(refund) ?? '') ?? null,
  addressProof: refund.addressProof,
  network: refund.network,
  askedByMail: refund.askedByMail,
  emailWriter: known.writers.get(emailWriterOf(refund) ?? '') ?? null,
  reason: refund.reason,
  approvalReason: refund.approval,
  requestedBy: refund.requestedBy,
  decidedBy: refund.decidedBy,
  txHash: refund.txHash,
  message: payoutMessageFor(actor, refund.providerStatus),
  toSendByHand: refund.toSendByHand,
  heldBy: refund.heldBy,
  settledByHand: refund.settledByHand,
  proof: known.proof ? viewProof(known.proof) : null,
  createdAt: refund.createdAt.toISOString(),
  updatedAt: refund.updatedAt.toISOString(),
  settledAt: refund.settledAt?.toISOString() ?? null,
})

/**
 * Stores the refund as this transaction leaves it as the answer to the request; after the last change of the refund.
 */
export async function rememberRefund(
  { links }: Pick<ViewDeps, 'links'>,
  tx: Tx,
  context: RequestContext,
  { id }: Pick<Refund, 'id'>,
): Promise<void> {
  const refund = await findRefund(tx, id)
  if (!refund) throw new Error(`the refund ${id} was not stored`)
  await context.remember(tx, await viewRefund({ db: tx, links }, context.actor, refund))
}

export async function viewRefund(deps: ViewDeps, actor: Actor, refund: Refund): Promise<RefundView> {
  const { db } = deps
  // one after another: within a transaction they share its connection
  const order = await findOrderById(db, refund.companyId, refund.orderId)
  const { name: company } = await findMerchant(db, refund.companyId)
  const proof = await findProof(db, refund)
  const writers = await listWritersOf(deps, actor, [refund])
  if (!order) throw new Error(`a refund without its order ${refund.orderId}`)
  const { code, shortCode } = order
  return describeRefund(deps, actor, refund, { code, shortCode, company, proof, writers })
}

export async function viewRefunds(deps: ViewDeps, actor: Actor, rows: readonly ListedRefund[]): Promise<RefundView[]> {
  const [files, writers] = await Promise.all([listProofs(deps.db, rows), listWritersOf(deps, actor, rows)])
  const proofs = new Map(files.map((proof) => [proof.refundId, proof]))
  return rows.map((row) => {
    const { orderCode: code, orderShortCode: shortCode, company } = row
    return describeRefund(deps, actor, row, { code, shortCode, company, proof: proofs.get(row.id), writers })
  })
}
