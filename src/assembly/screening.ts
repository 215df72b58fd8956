import { Counter } from 'prom-client'
import { openStoredGauge, shareFigures } from '../db/metrics/stored-gauge.ts'
import { hastenItem, wakeItem } from '../db/poll-queries.ts'
import { SETTLEMENT_POLLS } from '../ledger/settlements/settlement-queries.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import { returnBlock } from '../payments/mispayments/way-queries.ts'
import { PAYMENT_POLLS } from '../payments/payment-queries.ts'
import { REFUND_POLLS } from '../refunds/refund-queries.ts'
import { watchDenyList } from '../screening/deny-list-watch.ts'
import { openSources } from '../screening/open-sources.ts'
import type { DecisionDeps } from '../screening/screening-decisions.ts'
import { openScreeningGate } from '../screening/screening-gate.ts'
import type { ScreeningDeps, WakeSubject } from '../screening/screening-polls.ts'
import { countHeld } from '../screening/screening-queries.ts'
import type { ContractRead } from '../screening/sources/oracle.ts'
import type { Accounts } from './accounts.ts'
import type { Chains } from './chains.ts'
import type { PollWakes, ServiceBase } from './service-base.ts'

/** Queries every trusted node of the chain, so that one that lags, or lies, cannot clear an address alone. */
const readOn =
  (chains: Chains) =>
  (chainId: number): ContractRead | undefined => {
    const chain = chains.find(({ network }) => network.chainId === chainId)
    if (!chain) return undefined
    const { endpoints, network } = chain
    return async (call) => {
      const answers = await Promise.allSettled(
        endpoints.usable().map(async (endpoint) => {
          await endpoint.verify(network)
          return endpoint.rpc.call('eth_call', call, 'latest')
        }),
      )
      const words = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
      return words.length > 0 ? words : [await endpoints.rpc.call('eth_call', call, 'latest')]
    }
  }

/** Resumes what waited for an address. */
const openWakeSubject =
  (wakes: PollWakes): WakeSubject =>
  async (tx, { companyId, purpose, subjectId: id }, now) => {
    // money can arrive long after a payment was closed; payouts wait for their next poll
    if (purpose === 'payment') await wakeItem(tx, PAYMENT_POLLS.table, { companyId, id }, now)
    if (purpose === 'refund') await hastenItem(tx, REFUND_POLLS.table, { companyId, id }, now)
    if (purpose === 'settlement') await hastenItem(tx, SETTLEMENT_POLLS.table, { companyId, id }, now)
    tx.afterCommit(() => {
      wakes.pollPayments()
      wakes.pollRefunds()
    })
  }

/** Screening of addresses: sources, the gate for money, decisions. */
export function openScreening(
  { config, db, clock, log, metrics }: ServiceBase,
  parts: { accounts: Accounts; chains: Chains; alarm: RaiseAlarm; wakes: PollWakes },
) {
  const { accounts, chains, alarm, wakes } = parts
  const sources = openSources(config.kyt, { clock, readContract: readOn(chains) })
  const answers = new Counter({
    name: 'comptoir_screening_answers_total',
    help: 'Answers of screening sources, by verdict.',
    labelNames: ['source', 'verdict'],
    registers: [metrics],
  })
  openStoredGauge(
    {
      name: 'comptoir_screenings_held',
      help: 'Addresses that wait for a source or a person.',
      registers: [metrics],
    },
    shareFigures(() => countHeld(db)),
    (gauge, held) => gauge.set(held),
  )
  const wakeSubject = openWakeSubject(wakes)
  const polls: ScreeningDeps = {
    ...{ db, clock, log, sources: sources.all, wakeSubject, alarm },
    count: (source, verdict) => answers.inc({ source, verdict }),
  }
  const decisions: DecisionDeps = { db, clock, audit: accounts.audit, wakeSubject, returnBlock }
  const { denyList } = sources
  const gate = openScreeningGate({
    ...{ clock, alarm, screens: sources.all.length > 0, wake: () => wakes.pollScreenings() },
    findListing(address) {
      const answer = denyList?.answer(address)
      return answer?.verdict === 'blocked' ? answer : null
    },
  })
  return {
    gate,
    polls,
    decisions,
    watch: watchDenyList({ db, log, alarm, metrics, list: denyList }),
    close: sources.close,
  }
}
