import type { FastifyBaseLogger } from 'fastify'
import { claimDueSettlements, lockSettlement, type Settlement, updateSettlement } from './settlement-queries.ts'
import {
  releaseSettlement,
  requestOf,
  type SettlementDeps,
  type SettlementReport,
  settlePaid,
} from './settlement-service.ts'

const LEASE_MS = 60_000
const BATCH = 10
const DELAYS_MS = [1000, 1000, 2000, 3000, 5000, 10_000, 30_000, 60_000, 300_000]

async function askChain(deps: SettlementDeps, settlement: Settlement): Promise<SettlementReport | null> {
  const chain = deps.chains.find(({ network }) => network === settlement.network)
  if (settlement.byHand && settlement.txHash !== null)
    return chain ? chain.check(requestOf(settlement), settlement.txHash) : null
  if (!chain?.pay) return null
  const hold = await releaseSettlement(deps, settlement)
  if (hold !== null) return { outcome: 'pending', txHash: null, words: `waits: ${hold}` }
  return chain.pay(requestOf(settlement))
}

async function pollSettlement(deps: SettlementDeps, settlement: Settlement): Promise<void> {
  const report = await askChain(deps, settlement)
  if (report?.outcome === 'settled') return settlePaid(deps, settlement, report)
  await deps.db.tx(async (tx) => {
    const current = await lockSettlement(tx, settlement.companyId, settlement.id)
    if (current?.status !== 'approved') return
    const now = new Date(deps.clock())
    const delayMs = DELAYS_MS[Math.min(current.checks, DELAYS_MS.length - 1)] ?? 300_000
    const over = report === null || report.outcome === 'refused'
    const nextCheckAt = over ? null : new Date(now.getTime() + delayMs)
    const words =
      report?.words ?? 'the chain’s keys are not set up any more; send it by hand, then name the transaction'
    await updateSettlement(tx, current, { status: 'approved', txHash: report?.txHash ?? null, words, nextCheckAt }, now)
  })
}

/** Sends and follows approved settlements. One that fails is tried again after its lease, with the same id. */
export async function pollDueSettlements(deps: SettlementDeps, log: FastifyBaseLogger): Promise<number> {
  const now = deps.clock()
  const due = await claimDueSettlements(deps.db, new Date(now), new Date(now + LEASE_MS), BATCH)
  for (const settlement of due) {
    await pollSettlement(deps, settlement).catch((error: unknown) =>
      log.warn({ err: error, settlementId: settlement.id }, 'settlement could not be sent'),
    )
  }
  return due.length
}
