import type { Audit } from '../../audit/audit.ts'
import { lockActor } from '../../companies/company-scope.ts'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import { type Actor, companyOf, sees } from '../../http/actor.ts'
import { PERMISSIONS } from '../../http/permissions.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { firstIdAt, idFrom } from '../../kernel/ids.ts'
import { formatDecimal } from '../../kernel/money.ts'
import type { ScreeningGate, Standing } from '../../screening/screening-gate.ts'
import { payoutMessageFor, SETTLEMENT_BLOCKED, SETTLEMENT_WAITS } from '../../screening/screening-words.ts'
import { findSpeaker, listCommonMakers, lockApprovers } from '../../users/maker-queries.ts'
import type { Books } from '../books.ts'
import { listNamed } from '../claims.ts'
import { LONGEST_BOOKING_MS } from '../ledger-queries.ts'
import { bookSettlement } from '../ledger-service.ts'
import { findPayableWith, findReserve, findSettleable, settleableOf } from '../payable-queries.ts'
import type { PayoutPorts } from '../payout-ports.ts'
import { findUnconfirmed } from './restored-address.ts'
import {
  findDayLimit,
  findTooLarge,
  findUnlisted,
  needsTwoPersons,
  type SettlementLimits,
  unitsWithin,
  usdcText,
} from './settlement-limits.ts'
import {
  type AddressSet,
  countSettlements,
  existsCompany,
  findCompanyCreatedAt,
  findSettlement,
  findUnfinishedSettlement,
  insertSettlement,
  lockSettlement,
  lockSettlementTarget,
  type NewSettlement,
  type Settlement,
  updateSettlement,
  updateSettlementFirstApproved,
  updateSettlementReleased,
} from './settlement-queries.ts'

export type SettlementRequest = { id: string; to: string; units: bigint }
export type SettlementReport = {
  outcome: 'settled' | 'pending' | 'refused' | 'unknown'
  txHash: string | null
  providerStatus: string
  /** What left under its own authorization before a restore. Null destination: it was cancelled, and nothing left. */
  left?: Left
}
export type Left = { to: string | null; units: bigint }

/** What a settlement needs from the chain that it is paid on. */
export type SettlementChain = {
  network: number
  /**
   * Sends it, or returns its state; idempotent. Not checked just before: what is under way goes on, and nothing is
   * signed. Null if a person sends.
   */
  pay: ((request: SettlementRequest, isChecked: boolean) => Promise<SettlementReport>) | null
  /** Follows a transfer that a node with the keys began; null: there is none, and a person sends. */
  watch(id: string): Promise<SettlementReport | null>
  /**
   * Checks a transaction that a person names. @throws VALIDATION_FAILED at `txHash`
   * @param accepts may refuse, by throwing, that something else left than was asked
   */
  check(
    /** `isFollowed`: it was accepted before, and is looked at again. */
    request: SettlementRequest & { isFollowed?: boolean },
    txHash: string,
    accepts: (left: Left) => Promise<void>,
  ): Promise<SettlementReport>
}

export type SettlementDeps = PayoutPorts & {
  db: Db
  clock: Clock
  audit: Audit
  chains: readonly SettlementChain[]
  /** The operator's limits on payouts. */
  limits: SettlementLimits
  /** Blocks payouts while the books differ from the facts. */
  books: Books
  /** Screens the company's address before anything is sent. */
  screening: ScreeningGate
}

/** Null: it is not paid, or nothing left. */
const paidTo = ({ status, leftUnits, leftTo, address }: Settlement): string | null =>
  status === 'paid' && leftUnits !== 0n ? (leftTo ?? address) : null

/** What an approver should know: the last payout went elsewhere, or there was none. */
function addressChangeOf(settlement: Settlement) {
  const { status, address, network, addressSetAt, addressSetBy, lastTo, lastNetwork } = settlement
  if (status !== 'open' && status !== 'approved') return null
  const isSameAddress = lastTo?.toLowerCase() === address.toLowerCase()
  if (isSameAddress && lastNetwork === network) return null
  // who wrote the address did not choose the network
  if (isSameAddress) return { at: null, by: null, lastTo, lastNetwork }
  return { at: addressSetAt?.toISOString() ?? null, by: addressSetBy, lastTo, lastNetwork }
}

/** @param actor who reads it: not everyone may learn why it waits */
export const viewSettlement = (settlement: Settlement, actor: Actor) => ({
  _id: settlement.id,
  companyId: settlement.companyId,
  status: settlement.status,
  amount: formatDecimal(settlement.units, 6),
  heldBack: settlement.heldBackUnits ? formatDecimal(settlement.heldBackUnits, 6) : null,
  paidAmount: settlement.status === 'paid' ? formatDecimal(settlement.leftUnits ?? settlement.units, 6) : null,
  paidTo: paidTo(settlement),
  address: settlement.address,
  network: settlement.network,
  addressChange: addressChangeOf(settlement),
  fromBackup: settlement.isOfBackup,
  txHash: settlement.txHash,
  message: payoutMessageFor(actor, settlement.providerStatus),
  createdBy: settlement.createdBy,
  firstApprovedBy: settlement.firstApprovedBy,
  approvedBy: settlement.approvedBy,
  createdAt: settlement.createdAt.toISOString(),
  updatedAt: settlement.updatedAt.toISOString(),
  paidAt: settlement.paidAt?.toISOString() ?? null,
})
export type SettlementView = ReturnType<typeof viewSettlement>

export const requestOf = ({ id, address, units }: Settlement): SettlementRequest => ({ id, to: address, units })

export const bookingOf = ({ companyId, id }: Pick<Settlement, 'companyId' | 'id'>, at: Date) => ({
  companyId,
  causeId: id,
  orderId: null,
  at,
})

export const conflict = (message: string): AppError => new AppError('OBJECT_CONFLICT', { message })

/** The company of a request: the one it names, or the actor's own. @throws OBJECT_NOT_FOUND, FORBIDDEN */
export async function companyFor({ db }: { db: Db }, actor: Actor, companyId: string | undefined): Promise<string> {
  if (companyId === undefined) return companyOf(actor)
  if (!sees(actor, companyId) || !(await existsCompany(db, companyId))) throw new AppError('OBJECT_NOT_FOUND')
  return companyId
}

async function readTarget(
  deps: SettlementDeps,
  tx: Tx,
  companyId: string,
): Promise<{ address: string; network: number; set: AddressSet }> {
  const target = await lockSettlementTarget(tx, companyId)
  if (!target) throw new AppError('OBJECT_NOT_FOUND')
  const { settlementAddress: address, settlementNetwork: network } = target
  if (address === null)
    throw conflict('The company has no settlement address yet. Set settlementAddress and settlementNetwork first.')
  if (network === null) throw conflict('The company has no settlement network yet. Set settlementNetwork first.')
  if (!deps.chains.some((chain) => chain.network === network))
    throw conflict(`The chain ${network} is not set up here. Choose another settlementNetwork.`)
  return { address, network, set: { at: target.settlementSetAt, by: target.settlementSetBy } }
}

/**
 * Reserves what the company is owed, minus its reserve, for one transfer to its address; at most the limit of a day,
 * and the rest stays owed.
 * @throws OBJECT_CONFLICT without an address or a balance, or while another settlement is unfinished; BOOKS_DIFFER
 */
export async function createSettlement(
  deps: SettlementDeps,
  context: RequestContext,
  body: { companyId?: string },
): Promise<SettlementView> {
  const { actor } = context
  const companyId = await companyFor(deps, actor, body.companyId)
  await deps.books.check(companyId)
  return deps.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const target = await readTarget(deps, tx, companyId)
    const other = await findUnfinishedSettlement(tx, companyId)
    if (other)
      throw conflict(`The settlement ${other.id} of ${usdcText(other.units)} is ${other.status}; finish it first.`)
    const now = new Date(deps.clock())
    const before = firstIdAt(now.getTime() - LONGEST_BOOKING_MS)
    const { journals, ...payable } = await findPayableWith(tx, companyId, before)
    const kept = await findReserve(tx, companyId)
    const units = unitsWithin(deps.limits, settleableOf(payable) - kept)
    const number = (await countSettlements(tx, companyId)) + 1
    const createdBy = `${actor.kind}:${actor.id}`
    const settlement: NewSettlement = {
      companyId,
      // deterministic, so the same after a restored backup: the token refuses to pay it twice
      id: idOf(companyId, number),
      units,
      basis: { ...payable, kept },
      covers: { before, last: journals },
      ...target,
      createdBy,
      createdAt: now,
    }
    await insertSettlement(tx, settlement)
    await bookSettlement(tx, bookingOf(settlement, now), units)
    return finish(deps, tx, context, { settlement, action: 'settlement.create' })
  })
}

/** Stores the settlement, as this transaction leaves it, as the answer to the request. */
export async function rememberSettlement(
  tx: Tx,
  context: RequestContext,
  { companyId, id }: Pick<Settlement, 'companyId' | 'id'>,
): Promise<SettlementView> {
  const settlement = await lockSettlement(tx, companyId, id)
  if (!settlement) throw new Error(`settlement ${id} was not stored`)
  const view = viewSettlement(settlement, context.actor)
  await context.remember(tx, view)
  return view
}

/** Stores the response for repeated requests and records who decided. */
export async function finish(
  deps: SettlementDeps,
  tx: Tx,
  context: RequestContext,
  { settlement: { companyId, id }, action }: { settlement: Pick<Settlement, 'companyId' | 'id'>; action: string },
): Promise<SettlementView> {
  const view = await rememberSettlement(tx, context, { companyId, id })
  const { amount, address, network, status } = view
  const detail = { settlementId: id, amount, address, network, status }
  await deps.audit.write(tx, context, { companyId, action, object: `settlement:${id}`, detail })
  return view
}

export async function findReachableSettlement({ db }: SettlementDeps, actor: Actor, id: string): Promise<Settlement> {
  const settlement = await findSettlement(db, id)
  if (!settlement || !sees(actor, settlement.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  return settlement
}

export async function lockIn(tx: Tx, key: Settlement, statuses: readonly Settlement['status'][]): Promise<Settlement> {
  const settlement = await lockSettlement(tx, key.companyId, key.id)
  if (!settlement) throw new AppError('OBJECT_NOT_FOUND')
  if (statuses.includes(settlement.status)) return settlement
  const wanted = statuses.join(' or ')
  throw conflict(`The settlement is ${settlement.status}; this needs one that is ${wanted}.`)
}

/** In its own transaction, so that a refusal does not roll back the question to the sources. */
const screenTarget = (deps: SettlementDeps, settlement: Settlement): Promise<Standing> =>
  deps.db.tx((tx) => {
    const { companyId, id: subjectId, network, address } = settlement
    return deps.screening.look(tx, { companyId, purpose: 'settlement', subjectId, orderId: null }, [
      { network, address },
    ])
  })

/** A person who sends by hand gets an error; what the signer sends waits on its own. @throws OBJECT_CONFLICT */
async function checkTarget(deps: SettlementDeps, settlement: Settlement): Promise<void> {
  const standing = await screenTarget(deps, settlement)
  if (standing === 'blocked') throw conflict(`It cannot be paid: ${SETTLEMENT_BLOCKED}.`)
  const pays = deps.chains.find(({ network }) => network === settlement.network)?.pay
  if (standing === 'waiting' && !pays)
    throw conflict('The settlement address is being screened. Try again in a moment; nothing was changed.')
}

/** Why sending it would leave the company in debt: lost money or later refunds. */
async function findShortfall(q: Queryable, { companyId }: Settlement): Promise<string | null> {
  const left = await findSettleable(q, companyId)
  return left < 0n ? `the company’s balance is short of ${usdcText(-left)}` : null
}

/** How many of the next numbers are asked about: as many could have been cancelled in a row before a restore. */
const NEXT = 16

const idOf = (companyId: string, number: number): string => idFrom('settlement', companyId, number)

/** Why it waits: another settlement of its company had left before the database was restored. */
const findOther = ({ db, findOtherPayout }: SettlementDeps, settlement: Settlement): Promise<string | null> =>
  findOtherPayout(settlement, async () => {
    const { companyId } = settlement
    const count = await countSettlements(db, companyId)
    const ids = Array.from({ length: count + NEXT }, (_, index) => idOf(companyId, index + 1))
    const since = await findCompanyCreatedAt(db, companyId)
    return { since, known: ids.slice(0, count), next: ids.slice(count) }
  })

const FOR_PERSON = 'a person sends it, or named what they sent'

/** A person was asked to send it, and it counts in the day's sum. */
const isReleasedByHand = ({ handedOverAt, releasedAt }: Settlement): boolean =>
  handedOverAt !== null && releasedAt !== null

/**
 * The check before an approved settlement is sent, or a person is asked to send it. As long as no transaction is signed
 * that can pay it, all of it is repeated, except the day's limit once a person was asked.
 * @returns `hold`: why it waits; null: it may be sent, or only resumed if it was not checked
 */
export async function releaseSettlement(
  deps: SettlementDeps,
  settlement: Settlement,
  sentBy: 'service' | 'person',
): Promise<{ hold: string | null; isChecked: boolean }> {
  const isChecked = !(await deps.mayPayoutHaveLeft(deps.db, settlement.id))
  const reason = isChecked ? await findReason(deps, settlement) : null
  if (reason !== null) return { hold: reason, isChecked }
  const hold = await deps.db.tx(async (tx) => {
    const current = await lockSettlement(tx, settlement.companyId, settlement.id)
    if (current?.status !== 'approved') return `it is ${current?.status}`
    if (sentBy === 'service' && (current.handedOverAt !== null || (await listNamed(tx, current)).length > 0))
      return FOR_PERSON
    if (!isChecked || isReleasedByHand(current)) return null
    const limit = await findDayLimit(deps, tx, settlement)
    if (limit === null) await updateSettlementReleased(tx, settlement, new Date(deps.clock()))
    return limit
  })
  return { hold, isChecked }
}

async function findReason(deps: SettlementDeps, settlement: Settlement): Promise<string | null> {
  const standing = await screenTarget(deps, settlement)
  if (standing !== 'clear') return standing === 'blocked' ? SETTLEMENT_BLOCKED : SETTLEMENT_WAITS
  return (
    (await deps.books.findHold(settlement.companyId)) ??
    (await findUnconfirmed(deps.db, settlement)) ??
    (await findShortfall(deps.db, settlement)) ??
    findUnlisted(deps.limits, settlement) ??
    (isReleasedByHand(settlement)
      ? null
      : (findTooLarge(deps.limits, settlement) ?? (await deps.db.tx((tx) => findDayLimit(deps, tx, settlement))))) ??
    (await findOther(deps, settlement))
  )
}

export const ONE_MAKER =
  'One of the two accounts made the other, or one person made both, so they count as one person. The second approval ' +
  'comes from an account that was made on the machine: comptoir admin create.'

const APPROVED_ALREADY =
  'You approved it already. A second person has to approve it, too: alone, you approve less than ' +
  'SETTLEMENT_TWO_PERSONS_FROM for one company in 24 hours.'

/** The first of two approvers; null if that person may no longer approve. */
async function findFirstApprover(tx: Tx, { companyId, firstApprovedBy }: Settlement): Promise<string | null> {
  if (firstApprovedBy === null) return null
  const standing = { companyId, roles: PERMISSIONS['settlements.approve'].roles }
  return (await findSpeaker(tx, firstApprovedBy, standing)) === undefined ? null : firstApprovedBy
}

/** Approves a settlement. Its poll sends it if the chain's keys are configured, otherwise a person does. */
export async function approveSettlement(
  deps: SettlementDeps,
  context: RequestContext,
  id: string,
): Promise<SettlementView> {
  const { actor } = context
  const key = await findReachableSettlement(deps, actor, id)
  await deps.books.check(key.companyId)
  if (key.status === 'open') await checkTarget(deps, key)
  return deps.db.tx(async (tx) => {
    await lockApprovers(tx, `${actor.kind}:${actor.id}`, (await findSettlement(tx, id))?.firstApprovedBy ?? null)
    await lockActor(tx, actor, key.companyId)
    const settlement = await lockIn(tx, key, ['open'])
    const shortfall = await findShortfall(tx, settlement)
    if (shortfall !== null)
      throw conflict(`It cannot be paid now: ${shortfall}. Cancel it, or settle what is missing first.`)
    const unfit =
      (await findUnconfirmed(tx, settlement)) ??
      findUnlisted(deps.limits, settlement) ??
      findTooLarge(deps.limits, settlement)
    if (unfit !== null) throw conflict(`It cannot be paid: ${unfit}.`)
    const by = `${actor.kind}:${actor.id}`
    const first = await findFirstApprover(tx, settlement)
    const needsTwo = await needsTwoPersons(deps, tx, { settlement, by })
    if (needsTwo && first === null) {
      await updateSettlementFirstApproved(tx, settlement, by)
      return finish(deps, tx, context, { settlement, action: 'settlement.approve-first' })
    }
    const isOther = first !== null && first !== by && (await listCommonMakers(tx, first, by)).length === 0
    if (needsTwo && !isOther) throw conflict(first === by ? APPROVED_ALREADY : ONE_MAKER)
    // the day passed, or the limit is another one: what is approved alone stands so, and counts
    if (!isOther && settlement.firstApprovedBy !== null) await updateSettlementFirstApproved(tx, settlement, null)
    const now = new Date(deps.clock())
    const isSentByHand = !deps.chains.some(({ network, pay }) => network === settlement.network && pay !== null)
    const limit = isSentByHand ? await findDayLimit(deps, tx, settlement) : null
    if (limit !== null) throw conflict(`It cannot be paid now: ${limit}. Approve it later.`)
    // the node that polls it knows whether it has the keys
    await updateSettlement(tx, settlement, { status: 'approved', approvedBy: by, nextCheckAt: now }, now)
    if (isSentByHand) await updateSettlementReleased(tx, settlement, now)
    return finish(deps, tx, context, { settlement, action: 'settlement.approve' })
  })
}
