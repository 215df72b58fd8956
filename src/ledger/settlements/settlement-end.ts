import { lockActor } from '../../companies/company-scope.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { pollGapMs } from '../../kernel/poll-gaps.ts'
import { closeScreenings } from '../../screening/screening-queries.ts'
import { listCommonMakers } from '../../users/maker-queries.ts'
import { isClaimedByOther, releaseClaims } from '../claim-queries.ts'
import {
  checkNoneHolds,
  claim,
  claimedWords,
  followClaimed,
  isNamedSince,
  listVanished,
  NAMING_MS,
  signedWords,
} from '../claims.ts'
import { bookSettlementCancelled, bookSettlementPaid } from '../ledger-service.ts'
import {
  findCompanyCreatedAt,
  findRestoredTarget,
  lockSettlement,
  type Settlement,
  updateSettlement,
  updateSettlementLeft,
  updateSettlementReleased,
  updateSettlementUnnamed,
  wakeSettlementUnpolled,
} from './settlement-queries.ts'
import {
  bookingOf,
  conflict,
  findReachableSettlement,
  finish,
  type Left,
  lockIn,
  ONE_MAKER,
  rememberSettlement,
  requestOf,
  type SettlementDeps,
  type SettlementReport,
  type SettlementView,
} from './settlement-service.ts'

/* How a settlement ends: paid, or cancelled. */

const isElsewhere = ({ address }: Settlement, { to }: Left): boolean =>
  to !== null && to.toLowerCase() !== address.toLowerCase()

const isOther = (settlement: Settlement, left: Left): boolean =>
  left.units !== settlement.units || isElsewhere(settlement, left)

/** What a person named was claimed for it; what our wallet paid may have been named for another one. */
const isClaimed = async (
  tx: Tx,
  { byHand, id: causeId, network, address: toAddress }: Settlement,
  txHash: string | null,
): Promise<boolean> =>
  !byHand && txHash !== null && (await isClaimedByOther(tx, { network, txHash, causeId, toAddress }))

/** Marks a settlement as paid. `left`: with what left before a restore; the difference is owed again. */
export async function settlePaid(
  deps: SettlementDeps,
  key: Settlement,
  { left, ...news }: Pick<SettlementReport, 'txHash' | 'providerStatus' | 'left'>,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const settlement = await lockSettlement(tx, key.companyId, key.id)
    if (settlement?.status !== 'approved') return
    if (isNamedSince(key, settlement) && settlement.txHash !== news.txHash) return
    const now = new Date(deps.clock())
    if (await isClaimed(tx, settlement, news.txHash)) {
      const nextCheckAt = new Date(now.getTime() + pollGapMs('settlement', settlement.checks))
      const providerStatus = claimedWords(news.txHash ?? '')
      return updateSettlement(tx, settlement, { status: 'approved', providerStatus, nextCheckAt }, now)
    }
    // it had left before a restore, and what the day may send no longer counted it
    if (settlement.releasedAt === null) await updateSettlementReleased(tx, settlement, now)
    await updateSettlement(tx, settlement, { status: 'paid', ...news, nextCheckAt: null }, now)
    const { companyId, id: causeId, network } = settlement
    await releaseClaims(tx, { companyId, network, causeId })
    if (left && isOther(settlement, left)) {
      const units = left.units === settlement.units ? null : left.units
      await updateSettlementLeft(tx, settlement, { units, to: isElsewhere(settlement, left) ? left.to : null })
    }
    await bookSettlementPaid(tx, bookingOf(settlement, now), settlement.units, left?.units)
  })
}

/** A settlement has the address that is saved when it is made, and so does the next one. */
function elsewhereSteps(to: string | null, today: string | null): string {
  const steps =
    'Cancel this settlement and make it again, have two persons approve the new one, and name this transaction for it.'
  if (today?.toLowerCase() === to?.toLowerCase()) return steps
  const own = today ?? 'the company’s own address'
  return `First the company saves ${to} as its settlement address. ${steps} Then it saves ${own} again, before the next payout.`
}

/** From the amount on that two persons approve, two also stand for an address that was not asked. */
async function checkElsewhere(
  { db, limits }: SettlementDeps,
  settlement: Settlement,
  { left, by }: { left: Left; by: string },
): Promise<void> {
  const { twoPersonsFromUnits } = limits
  const { approvedBy } = settlement
  if (twoPersonsFromUnits === null || !isElsewhere(settlement, left)) return
  if (left.units < twoPersonsFromUnits && settlement.units < twoPersonsFromUnits) return
  if (approvedBy === null)
    throw conflict(
      `It went to ${left.to}, which was not asked, and nobody has approved it here. ` +
        elsewhereSteps(left.to, (await findRestoredTarget(db, settlement)).today),
    )
  if (approvedBy === by)
    throw conflict(`It went to ${left.to}, which was not asked, and you approved it. A second person has to name it.`)
  if (approvedBy !== null && (await listCommonMakers(db, approvedBy, by)).length > 0) throw conflict(ONE_MAKER)
}

/**
 * A person sent an approved settlement and names the transaction, which must send exactly its USDC units to its
 * address. It is paid once the transaction is final. Or it had left with another amount or to another address before a
 * restore: then it is paid with what its own authorization moved. One that was open in a backup may have been approved
 * and have left since: naming what the chain shows is no decision to pay, and nothing is sent for it any more.
 * @throws OBJECT_CONFLICT, VALIDATION_FAILED at `txHash`, CHANNEL_UNAVAILABLE
 */
export async function reportSettlementPaid(
  deps: SettlementDeps,
  context: RequestContext,
  id: string,
  txHash: string,
): Promise<SettlementView> {
  const { actor } = context
  if (!/^0x[0-9a-f]{64}$/.test(txHash))
    throw invalid('txHash', 'must be a transaction hash: 0x and 64 hexadecimal digits')
  const key = await findReachableSettlement(deps, actor, id)
  const chain = deps.chains.find(({ network }) => network === key.network)
  const statuses: Settlement['status'][] = key.isOfBackup ? ['open', 'approved'] : ['approved']
  if (!statuses.includes(key.status))
    throw conflict(`The settlement is ${key.status}; only an approved one can be paid.`)
  if (!chain) throw conflict(`The chain ${key.network} is not set up here, so the transaction cannot be checked.`)
  const { companyId, network, address: toAddress } = key
  const wanted = { companyId, network, txHash, causeId: id, toAddress }
  const by = `${actor.kind}:${actor.id}`
  const check = () => chain.check(requestOf(key), txHash, (left) => checkElsewhere(deps, key, { left, by }))
  const nextCheckAt = new Date(deps.clock() + NAMING_MS)
  const begin = (tx: Tx) => wakeSettlementUnpolled(tx, key, nextCheckAt)
  const follow = async (tx: Tx, { providerStatus, left }: SettlementReport): Promise<void> => {
    const settlement = await lockIn(tx, key, statuses)
    if (left?.to && isElsewhere(settlement, left)) await claim(tx, { ...wanted, toAddress: left.to })
    const now = new Date(deps.clock())
    await updateSettlement(
      tx,
      settlement,
      { status: 'approved', txHash, byHand: true, providerStatus, nextCheckAt: now },
      now,
    )
    if (settlement.releasedAt === null) await updateSettlementReleased(tx, settlement, now)
    await rememberSettlement(tx, context, settlement)
    const other = left && {
      asked: formatDecimal(settlement.units, 6),
      left: formatDecimal(left.units, 6),
      ...{ address: settlement.address, leftTo: left.to },
    }
    const detail = { settlementId: id, txHash, ...other }
    await deps.audit.write(tx, context, {
      ...{ companyId: key.companyId, action: 'settlement.paid', object: `settlement:${id}`, detail },
    })
  }
  const isWithdrawn = (q: Queryable) => deps.isPayoutOver(q, id)
  const report = await followClaimed(deps.db, wanted, { actor, isWithdrawn, begin, check, follow })
  // another one of its own payout may have paid it
  const paid = { ...report, txHash: report.txHash ?? txHash }
  if (report.outcome === 'settled') await settlePaid(deps, { ...key, byHand: true, txHash }, paid)
  return deps.db.tx((tx) => rememberSettlement(tx, context, key))
}

/** It was accepted when it was named. */
export const acceptAny = async (): Promise<void> => {}

/** The named transactions that cannot pay it; null: its chain is not set up here. */
async function listVanishedOf(deps: SettlementDeps, settlement: Settlement): Promise<string[] | null> {
  const chain = deps.chains.find(({ network }) => network === settlement.network)
  if (!chain) return null
  return listVanished(deps.db, settlement, (txHash) => chain.check(requestOf(settlement), txHash, acceptAny))
}

const UNDER_WAY = 'The settlement is already being paid and cannot be cancelled.'

/**
 * Cancels a settlement; its amount is owed to the company again.
 * @throws OBJECT_CONFLICT when a transfer is in progress, or a transaction that a person named may have paid it;
 * CHANNEL_UNAVAILABLE if the chain cannot be asked about that one
 */
export async function cancelSettlement(
  deps: SettlementDeps,
  context: RequestContext,
  id: string,
): Promise<SettlementView> {
  const { actor } = context
  const key = await findReachableSettlement(deps, actor, id)
  const isApproved = key.status === 'approved'
  // one that is open in a backup may have been approved and sent since, which the operator knows
  if ((isApproved || key.isOfBackup) && actor.role !== 'SuperAdmin') {
    const what = isApproved ? 'An approved settlement' : 'A settlement of a backup'
    throw new AppError('FORBIDDEN', { message: `${what} can only be cancelled by a SuperAdmin.` })
  }
  const since = await findCompanyCreatedAt(deps.db, key.companyId)
  const hold = await deps.findWithdrawalHold({ ...requestOf(key), network: key.network, since })
  const vanished = await listVanishedOf(deps, key)
  return deps.db.tx(async (tx) => {
    await lockActor(tx, actor, key.companyId)
    const settlement = await lockIn(tx, key, [isApproved ? 'approved' : 'open'])
    const { companyId, network } = settlement
    await checkNoneHolds(tx, { asked: key, current: settlement }, vanished)
    const asked = { ...requestOf(settlement), network, hold, isRejected: false }
    const isStopped = await deps.withdrawPayout(tx, asked, 'cancelled')
    if (!isStopped)
      throw conflict(vanished === null ? `It cannot be cancelled now. ${signedWords(network)}` : UNDER_WAY)
    if (settlement.byHand) await updateSettlementUnnamed(tx, settlement)
    await releaseClaims(tx, { companyId, network, causeId: id })
    const now = new Date(deps.clock())
    await updateSettlement(tx, settlement, { status: 'cancelled', providerStatus: 'cancelled', nextCheckAt: null }, now)
    await closeScreenings(tx, { companyId, purpose: 'settlement', subjectId: id })
    await bookSettlementCancelled(tx, bookingOf(settlement, now), settlement.units)
    return finish(deps, tx, context, { settlement, action: 'settlement.cancel' })
  })
}
