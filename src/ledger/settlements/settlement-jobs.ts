import type { Tx } from '../../db/db.ts'
import type { PollSpec } from '../../db/polling.ts'
import { pollGapMs } from '../../kernel/poll-gaps.ts'
import { checkNamedAgain, isNamedSince, listNamed, missingChainWords, namedWords } from '../claims.ts'
import { acceptAny, settlePaid } from './settlement-end.ts'
import {
  findCompanyCreatedAt,
  findSettlement,
  lockSettlement,
  SETTLEMENT_POLLS,
  type Settlement,
  updateSettlement,
  updateSettlementReleased,
} from './settlement-queries.ts'
import {
  releaseSettlement,
  requestOf,
  type SettlementChain,
  type SettlementDeps,
  type SettlementReport,
} from './settlement-service.ts'

/** `isHandedOver`: a person is asked to send it, or named what they sent. */
type Asked = SettlementReport & { isHandedOver?: true }
type Pay = NonNullable<SettlementChain['pay']>

const waits = (providerStatus: string): SettlementReport => ({ outcome: 'pending', txHash: null, providerStatus })

const BY_HAND =
  'the chain’s keys are not set up; send it by hand, then name the transaction. It stays so: to have it sent once they ' +
  'are, cancel it and settle again'

/**
 * What was signed for it may run out: once the chain says that it was not used, the settlement can be cancelled.
 * @returns null: it was not used, or nothing was signed
 */
async function followHeld(deps: SettlementDeps, chain: SettlementChain, id: string): Promise<SettlementReport | null> {
  const report = await chain.watch(id)
  return (await deps.mayPayoutHaveLeft(deps.db, id)) ? report : null
}

/**
 * Sends it if all checks pass. What could not be signed now, or had left before a restore as something else, takes
 * nothing of the day's limit from others.
 */
async function send(
  deps: SettlementDeps,
  { chain, pay }: { chain: SettlementChain; pay: Pay },
  settlement: Settlement,
): Promise<SettlementReport> {
  const { hold, isChecked } = await releaseSettlement(deps, settlement, 'service')
  if (hold !== null) return (await followHeld(deps, chain, settlement.id)) ?? waits(`waits: ${hold}`)
  const report = await pay(requestOf(settlement), isChecked)
  if (report.outcome !== 'settled' && !(await deps.isPayoutStarted(deps.db, settlement.id)))
    await updateSettlementReleased(deps.db, settlement, null)
  return report
}

async function askChain(deps: SettlementDeps, settlement: Settlement): Promise<Asked> {
  const chain = deps.chains.find(({ network }) => network === settlement.network)
  const named = await listNamed(deps.db, settlement)
  if (!chain) {
    const mayBePaid = named.length > 0 || (await deps.isPayoutSigned(deps.db, settlement.id))
    return waits(`${missingChainWords(settlement.network)}${mayBePaid ? '' : ', or cancel the settlement'}`)
  }
  const { id, network, companyId, byHand, txHash, handedOverAt } = settlement
  if (byHand && txHash !== null)
    return checkNamedAgain(txHash, () => chain.check({ ...requestOf(settlement), isFollowed: true }, txHash, acceptAny))
  await deps.recognisePayout({ ...requestOf(settlement), network }, () => findCompanyCreatedAt(deps.db, companyId))
  const pay = handedOverAt === null ? chain.pay : null
  if (pay && named.length === 0) return send(deps, { chain, pay }, settlement)
  const watched = await chain.watch(id)
  if (watched) return watched
  if (named.length > 0) return { ...waits(namedWords(named)), ...(!pay && { isHandedOver: true }) }
  const { hold } = await releaseSettlement(deps, settlement, 'person')
  return hold === null ? { ...waits(BY_HAND), isHandedOver: true } : waits(`waits: ${hold}`)
}

/** Our own payout is withdrawn once a person names what they sent. If naming was cut short, it says what to do. */
async function notePaidByHand(tx: Tx, current: Settlement, report: Asked): Promise<Asked> {
  if (report.outcome !== 'refused' && report.isHandedOver === undefined) return report
  const named = await listNamed(tx, current)
  return named.length > 0 ? { ...report, ...waits(namedWords(named)) } : report
}

async function pollSettlement(deps: SettlementDeps, settlement: Settlement): Promise<void> {
  const report = await askChain(deps, settlement)
  if (report.outcome === 'settled') return settlePaid(deps, settlement, report)
  await deps.db.tx(async (tx) => {
    const current = await lockSettlement(tx, settlement.companyId, settlement.id)
    if (current?.status !== 'approved') return
    if (isNamedSince(settlement, current)) return
    const now = new Date(deps.clock())
    const { outcome, txHash, providerStatus, isHandedOver = false } = await notePaidByHand(tx, current, report)
    const isOver = outcome === 'refused'
    const nextCheckAt = isOver ? null : new Date(now.getTime() + pollGapMs('settlement', current.checks))
    const handedOver = isHandedOver ? { handedOverAt: now } : {}
    await updateSettlement(tx, current, { status: 'approved', txHash, providerStatus, nextCheckAt, ...handedOver }, now)
  })
}

/** Approved settlements that are ready to send or have no final answer, for the polling engine. */
export const settlementPolls = (deps: SettlementDeps): PollSpec => ({
  ...SETTLEMENT_POLLS,
  async work(db, { id }) {
    const settlement = await findSettlement(db, id)
    if (settlement?.status === 'approved') await pollSettlement({ ...deps, db }, settlement)
  },
})
