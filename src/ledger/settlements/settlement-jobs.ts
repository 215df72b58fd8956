import type { PollSpec } from '../../db/polling.ts'
import { pollGapMs } from '../../kernel/poll-gaps.ts'
import { checkNamedAgain } from '../claims.ts'
import {
  findSettlement,
  lockSettlement,
  SETTLEMENT_POLLS,
  type Settlement,
  updateSettlement,
} from './settlement-queries.ts'
import {
  releaseSettlement,
  requestOf,
  type SettlementDeps,
  type SettlementReport,
  settlePaid,
} from './settlement-service.ts'

const waits = (providerStatus: string): SettlementReport => ({ outcome: 'pending', txHash: null, providerStatus })

const BY_HAND = 'the chain’s keys are not set up; send it by hand, then name the transaction'

async function askChain(deps: SettlementDeps, settlement: Settlement): Promise<SettlementReport> {
  const chain = deps.chains.find(({ network }) => network === settlement.network)
  if (!chain) return waits(`the chain ${settlement.network} is not set up; give it back, or cancel the settlement`)
  const { id, byHand, txHash } = settlement
  if (byHand && txHash !== null) return checkNamedAgain(txHash, () => chain.check(requestOf(settlement), txHash))
  if (!chain.pay) return (await chain.watch(id)) ?? waits(BY_HAND)
  const hold = await releaseSettlement(deps, settlement)
  if (hold !== null) return waits(`waits: ${hold}`)
  return chain.pay(requestOf(settlement))
}

async function pollSettlement(deps: SettlementDeps, settlement: Settlement): Promise<void> {
  const report = await askChain(deps, settlement)
  if (report.outcome === 'settled') return settlePaid(deps, settlement, report)
  await deps.db.tx(async (tx) => {
    const current = await lockSettlement(tx, settlement.companyId, settlement.id)
    if (current?.status !== 'approved') return
    // polled before a person named the transaction: that one is checked now
    if (current.byHand && (!settlement.byHand || settlement.txHash !== current.txHash)) return
    const now = new Date(deps.clock())
    const { outcome, txHash, providerStatus } = report
    const isOver = outcome === 'refused'
    const nextCheckAt = isOver ? null : new Date(now.getTime() + pollGapMs('settlement', current.checks))
    await updateSettlement(tx, current, { status: 'approved', txHash, providerStatus, nextCheckAt }, now)
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
