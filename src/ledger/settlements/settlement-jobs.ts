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

async function askChain(deps: SettlementDeps, settlement: Settlement): Promise<SettlementReport | null> {
  const chain = deps.chains.find(({ network }) => network === settlement.network)
  const { byHand, txHash } = settlement
  if (byHand && txHash !== null)
    return chain ? checkNamedAgain(txHash, () => chain.check(requestOf(settlement), txHash)) : null
  if (!chain?.pay) return null
  const hold = await releaseSettlement(deps, settlement)
  if (hold !== null) return { outcome: 'pending', txHash: null, providerStatus: `waits: ${hold}` }
  return chain.pay(requestOf(settlement))
}

async function pollSettlement(deps: SettlementDeps, settlement: Settlement): Promise<void> {
  const report = await askChain(deps, settlement)
  if (report?.outcome === 'settled') return settlePaid(deps, settlement, report)
  await deps.db.tx(async (tx) => {
    const current = await lockSettlement(tx, settlement.companyId, settlement.id)
    if (current?.status !== 'approved') return
    // polled before a person named the transaction: that one is checked now
    if (current.byHand && (!settlement.byHand || settlement.txHash !== current.txHash)) return
    const now = new Date(deps.clock())
    const over = report === null || report.outcome === 'refused'
    const nextCheckAt = over ? null : new Date(now.getTime() + pollGapMs('settlement', current.checks))
    const providerStatus =
      report?.providerStatus ?? 'the chain’s keys are no longer set up; send it by hand, then name the transaction'
    await updateSettlement(
      tx,
      current,
      { status: 'approved', txHash: report?.txHash ?? null, providerStatus, nextCheckAt },
      now,
    )
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
