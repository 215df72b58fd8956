import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { openAccounts } from '../../assembly/accounts.ts'
import { type Commerce, openCommerce } from '../../assembly/commerce.ts'
import type { ServiceBase } from '../../assembly/service-base.ts'
import type { Audit } from '../../audit/audit.ts'
import { openAddresses } from '../../chain/after-backup.ts'
import { type ChainStanding, listStandings } from '../../chain/chain-queries.ts'
import { listKeys } from '../../chain/deposits/deposit-key-queries.ts'
import { CHANNEL_KINDS } from '../../channels/kinds.ts'
import type { Config } from '../../config/config.ts'
import { findMasterKey } from '../../config/master-key.ts'
import { openDb } from '../../db/db.ts'
import {
  findIsRehearsal,
  findRestored,
  findSameRestore,
  type Restored,
  updateReconciledRestore,
} from '../../db/restored-queries.ts'
import { systemContext } from '../../http/request-context.ts'
import { DAY, systemClock } from '../../kernel/clock.ts'
import { openVaultOf } from '../../keys/sandbox-vault.ts'
import { verifyLedger } from '../../ledger/ledger-verify.ts'
import { readOpenOrders } from '../../orders/order-queries.ts'
import { reconcileEveryPayment } from '../../payments/reconcile.ts'
import { countRefundsUnderWay, wakeRefundsUnderWay } from '../../refunds/refund-queries.ts'
import type { OperatorCommand } from '../admin.ts'
import { UsageError } from '../command.ts'
import { refuseForeignDatabase } from '../database.ts'
import { withServiceSettings } from '../operator-chains.ts'
import { withDatabaseServer } from '../operator-database.ts'
import { type ChainReport, type ReconciledChain, reconcileChain } from './reconcile-chain.ts'
import { describe, type Reconciled } from './reconcile-words.ts'

export const RECONCILE_USAGE = `comptoir reconcile [--without-chain <id>] [--json]

After a restore, while the service runs: compares what the backup knows with the chains and the providers, finishes the
refunds that left meanwhile, lists money that can no longer be assigned, and lets refunds and settlements go again.
Exit code 1 while something needs a person. Doing it again changes nothing.

  --without-chain <id>   do not compare this chain, which is gone for good, as its settings are; may be repeated
  --json                 for programs`

type Say = (line: string) => void

/** Orders that are named, of those that are open; the back office lists all. */
const NAMED_ORDERS = 50

/** Refunds sent after the backup find their own transaction within this time. */
const REFUNDS_MS = 30_000

async function finishRefunds({ db, clock }: ServiceBase): Promise<number> {
  await wakeRefundsUnderWay(db, new Date(clock()))
  const until = Date.now() + REFUNDS_MS
  for (;;) {
    const left = await countRefundsUnderWay(db)
    if (left === 0 || Date.now() > until) return left
    await sleep(250)
  }
}

/** Asks every provider about each payment that it had called paid. @returns the payments without an answer */
async function askProviders(trade: Commerce): Promise<string[]> {
  const { payments, settlements } = trade
  const unanswered = await reconcileEveryPayment(payments, settlements.books)
  return [...unanswered].map(([channel, count]) => {
    const env = CHANNEL_KINDS.find(({ id }) => id === channel && !payments.channels.operator.find(id))?.env
    const missing =
      env === undefined
        ? ''
        : `; this command has no account of the operator there: give it the service’s CHANNEL_${env}_…`
    return `${channel}: asked in vain about ${count} paid payments${missing}`
  })
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Chains of the backup for which this command has no settings: nothing of them can be compared. */
const listUnset = ({ facts }: Restored, { chains }: Pick<Commerce, 'chains'>): Restored['facts']['heads'] =>
  facts.heads.filter(({ chainId }) => !chains.some(({ network }) => network.chainId === chainId))

/** @throws UsageError for a chain that is set up, or that the backup does not know: it would change nothing */
function readWithout(given: readonly string[], unset: readonly { chainId: number }[]): number[] {
  const unfit = given.find((one) => !unset.some(({ chainId }) => `${chainId}` === one))
  if (unfit === undefined) return [...new Set(given.map(Number))]
  throw new UsageError(
    `--without-chain ${unfit}: this is for a chain that the backup knows and that has no settings (CHAIN_${unfit}_…) here.`,
  )
}

const unsetFault = ({ chainId, number }: { chainId: number; number: string }): string =>
  `chain ${chainId}: the backup has read it up to block ${number}, and this command has no settings of it: give it the ` +
  `service’s CHAIN_${chainId}_RPC_URL, or, if the chain is gone for good, --without-chain ${chainId}`

/**
 * A chain is not gone where the service reads it: what left there meanwhile would be paid again. One whose nodes have
 * been silent for a day is, though it was read after the restore.
 */
function listStillRead(standings: readonly ChainStanding[], restoredAt: Date, nowMs: number): string[] {
  const settingsOf = (chainId: number) => `give this command its settings (CHAIN_${chainId}_RPC_URL)`
  return standings.flatMap(({ chainId, isLeased, isTried, readAt }) => {
    if (isLeased || isTried)
      return [
        `chain ${chainId}: the service reads this chain: ${settingsOf(chainId)}, or, if it is gone for good, take it ` +
          'out of the service’s settings first, and run this again three minutes after its start',
      ]
    if (!readAt || readAt < restoredAt || readAt.getTime() <= nowMs - DAY) return []
    return [
      `chain ${chainId}: the service has read this chain since the restore, last at ${readAt.toISOString()}: ` +
        `${settingsOf(chainId)}. If it is gone for good, it can be left out a day after that`,
    ]
  })
}

type Compared = { restored: Restored; withoutChains: readonly number[]; faults: string[] }

/** Lets refunds and settlements go, if nothing is in the way. @returns whether they go now */
async function release(
  { db, clock }: ServiceBase,
  audit: Audit,
  { restored, withoutChains, faults }: Compared,
): Promise<boolean> {
  const { backupMadeAt, restoredAt } = restored
  faults.push(...listStillRead(await listStandings(db, withoutChains), restoredAt, clock()))
  if (faults.length === 0)
    await db.tx(async (tx) => {
      if ((await updateReconciledRestore(tx, restored, new Date(clock()))) === 0) return
      const times = { backupMadeAt: backupMadeAt.toISOString(), restoredAt: restoredAt.toISOString() }
      const detail = { ...times, withoutChains: withoutChains.map(String) }
      await audit.write(tx, systemContext('operator'), { action: 'audit.reconciled', detail })
    })
  const same = await findSameRestore(db, restored)
  if (!same) faults.push('the database was restored again meanwhile; run this again')
  return same !== undefined && same.reconciledAt !== null
}

async function reconcileAll(
  base: ServiceBase,
  { audit, trade }: { audit: Audit; trade: Commerce },
  { restored, without, say }: { restored: Restored; without: readonly string[]; say: Say },
): Promise<Reconciled> {
  const { db } = base
  const unset = listUnset(restored, trade)
  const withoutChains = readWithout(without, unset)
  const faults = unset.filter(({ chainId }) => !withoutChains.includes(chainId)).map(unsetFault)
  const look = async <Result>(what: string, work: () => Promise<Result>): Promise<Result | undefined> =>
    work().catch((error: unknown) => {
      faults.push(`${what}: ${messageOf(error)}`)
      return undefined
    })
  const compared: ReconciledChain[] = []
  const xpubs = [...(await listKeys(db)), ...trade.chains.flatMap(({ xpub }) => xpub ?? [])]
  const addressesOf = openAddresses()
  for (const chain of trade.chains) {
    const comparison = { restored, xpubs, addressesOf, say }
    const done = await look(`chain ${chain.network.chainId}`, () => reconcileChain(base, chain, comparison))
    if (done) compared.push(done)
  }
  faults.push(...((await look('providers', () => askProviders(trade))) ?? []))
  // once released, those that are over end
  const openOrders = await readOpenOrders(db, restored.restoredAt, NAMED_ORDERS)
  // what fails afterwards holds nothing any more
  const released = await release(base, audit, { restored, withoutChains, faults })
  const refundsUnderWay = released ? await finishRefunds(base) : await countRefundsUnderWay(db)
  const chains: ChainReport[] = []
  for (const { report, listUnknownPayouts } of compared) {
    // a refund that found its transaction explains a previously unknown transfer
    const again = report.unknownPayouts.length > 0
    const unknownPayouts = again ? await look(`chain ${report.chainId}`, listUnknownPayouts) : undefined
    chains.push(unknownPayouts ? { ...report, unknownPayouts } : report)
  }
  const { difference } = await verifyLedger(db)
  const ledger = difference ? `${difference.subject}: ${difference.what}` : 'right'
  const backupMadeAt = restored.backupMadeAt.toISOString()
  return { backupMadeAt, chains, withoutChains, faults, openOrders, refundsUnderWay, ledger, released }
}

const isClean = ({ chains, faults, ledger }: Reconciled): boolean =>
  faults.length === 0 &&
  ledger === 'right' &&
  chains.every(({ skippedDeposits, unknownPayouts }) => skippedDeposits.length + unknownPayouts.length === 0)

const toJson = (done: Reconciled): string =>
  JSON.stringify(done, (_, value) => (typeof value === 'bigint' ? value.toString() : value))

/** `reconcile`: false while a person has to act. @throws Error with a sentence for the operator */
export const runReconcile: OperatorCommand = async (given: Config, args, say) => {
  const options = {
    json: { type: 'boolean', default: false },
    'without-chain': { type: 'string', multiple: true, default: [] as string[] },
  } as const
  const { json, 'without-chain': without } = parseArgs({ args, options }).values
  return withDatabaseServer(given, say, async (connectionString, serviceRuns) => {
    if (!serviceRuns) throw new Error('Start the service first; this command runs next to it.')
    const db = openDb({
      ...{ connectionString, max: 4, prepared: given.databasePrepared, applicationName: 'comptoir-reconcile' },
    })
    try {
      const restored = await findRestored(db)
      if (!restored) throw new Error('This database was not restored from a backup; there is nothing to reconcile.')
      const key = findMasterKey(given)
      if (!key) throw new Error('There is no master key. Set the MASTER_KEY that the service uses.')
      await refuseForeignDatabase(connectionString, given, key)
      if (await findIsRehearsal(db))
        throw new Error('This is a rehearsal: no chain is read and nothing is compared, and everything stays held.')
      const vault = await openVaultOf(db, given, key)
      const config = await withServiceSettings(given, vault)
      const log = pino({ level: 'silent' })
      const base: ServiceBase = { config, db, vault, clock: systemClock, log, metrics: new Registry() }
      const accounts = openAccounts(base)
      await accounts.keys.prepare()
      const done = await reconcileAll(
        base,
        { audit: accounts.audit, trade: openCommerce(base, accounts) },
        { restored, without, say },
      )
      process.stdout.write(`${json ? toJson(done) : describe(done).join('\n')}\n`)
      return isClean(done)
    } finally {
      await db.close()
    }
  })
}
