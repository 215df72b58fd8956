import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { findHead, forgetChain } from '../chain/chain-queries.ts'
import { auditDeposits } from '../chain/deposits/deposit-audit.ts'
import { countDeposits, countDifferences, listDepositPage, lockHead } from '../chain/deposits/deposit-audit-queries.ts'
import { openChains } from '../chain/open-chains.ts'
import { type ChainReader, rescan } from '../chain/rescan.ts'
import { updateOrphaned } from '../chain/transfer-queries.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import { type Db, openDb } from '../db/db.ts'
import { migrate } from '../db/migrate.ts'
import { systemClock } from '../kernel/clock.ts'
import { UsageError } from './command.ts'
import { listOperatorChains } from './operator-chains.ts'
import { withDatabaseServer } from './operator-database.ts'
import { startProgress } from './progress.ts'

type Say = (line: string) => void

export const RESCAN_USAGE = `comptoir rescan --chain <id> --from <block>   read deposits again from a block on, and compare the balances
  --new-chain   the chain was reset (test chains): start over; its old transfers count as orphaned
  --json        print the result as JSON`

const PAGE = 1000

function findChain(config: Config, chainId: number): ChainConfig {
  const chain = listOperatorChains(config).find((one) => one.chainId === chainId)
  if (chain) return chain
  throw new UsageError(`Chain ${chainId} is not set up: CHAIN_${chainId}_RPC_URL is missing.`)
}

/** Orphans its transfers; reading then restarts automatically. */
const resetChain = (db: Db, chainId: number): Promise<number> =>
  db.tx(async (tx) => {
    await lockHead(tx, chainId)
    const orphaned = await updateOrphaned(tx, chainId, -1n)
    await forgetChain(tx, chainId)
    return orphaned
  })

/** Every address ever assigned, including expired ones. */
export async function rescanAll(
  reader: ChainReader,
  from: bigint,
  progress: (done: number, of: number) => void,
): Promise<{ checked: number; missed: number }> {
  const head = await findHead(reader.db, reader.network.chainId)
  if (!head) throw new Error('This chain was never read. Start the service first.')
  const total = await countDeposits(reader.db)
  let checked = 0
  let missed = 0
  for (let after = ''; ; ) {
    const addresses = await listDepositPage(reader.db, after, PAGE)
    const last = addresses.at(-1)
    if (last === undefined) return { checked, missed }
    missed += await rescan(reader, { addresses, from, to: head.number })
    await auditDeposits(reader, addresses)
    checked += addresses.length
    progress(checked, total)
    after = last
  }
}

const withDatabase = <Result>(config: Config, say: Say, work: (db: Db) => Promise<Result>): Promise<Result> =>
  withDatabaseServer(config, say, async (connectionString) => {
    await migrate(config.databaseDirectUrl ?? connectionString)
    const db = openDb({
      ...{ connectionString, max: 4, prepared: config.databasePrepared, applicationName: 'comptoir-rescan' },
    })
    try {
      return await work(db)
    } finally {
      await db.close()
    }
  })

function readArgs(args: string[]) {
  const options = {
    chain: { type: 'string' },
    from: { type: 'string' },
    'new-chain': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  } as const
  return parseArgs({ args, options }).values
}

/**
 * `rescan --chain <id> --from <block>`, even while the service runs: transfers that the scanner missed are recorded and
 * count as usual. @throws UsageError, Error with a sentence for the operator
 */
export async function runRescan(config: Config, args: string[], say: Say): Promise<undefined> {
  const options = readArgs(args)
  const print = (line: string): void => void process.stdout.write(`${line}\n`)
  const chainId = Number(options.chain)
  if (!/^\d+$/.test(options.from ?? '') || !Number.isInteger(chainId) || chainId < 1)
    throw new UsageError('Name a chain and a block.')
  const chain = findChain(config, chainId)
  const log = pino({ level: 'silent' })
  await withDatabase(config, say, async (db) => {
    if (options['new-chain']) {
      const orphaned = await resetChain(db, chainId)
      return print(
        `Forgotten: ${orphaned} transfers are gone. A running service reads the chain again within a minute.`,
      )
    }
    const deps = { config: { chains: [chain] }, db, clock: systemClock, log, metrics: new Registry() }
    const [opened] = openChains(deps)
    if (!opened) throw new Error(`Chain ${chainId} cannot be opened.`)
    try {
      const result = await rescanAll(
        { db, log, ...opened },
        BigInt(options.from ?? '0'),
        startProgress(say, `Chain ${chainId}`, 'addresses'),
      )
      const differences = await countDifferences(db, chainId)
      const facts = { chainId, ...result, differences }
      const sentence = `Chain ${chainId}: ${result.checked} addresses, ${result.missed} missed transfers recorded, ${differences} balances differ.`
      print(options.json ? JSON.stringify(facts) : sentence)
    } finally {
      await opened.rpc.close()
    }
  })
}
