import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { findHead } from '../chain/chain-queries.ts'
import { auditDeposits } from '../chain/deposits/deposit-audit.ts'
import { countDeposits, countDifferences, listDepositPage } from '../chain/deposits/deposit-audit-queries.ts'
import { openChains } from '../chain/open-chains.ts'
import { type ChainReader, rescan } from '../chain/rescan.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import { systemClock } from '../kernel/clock.ts'
import type { SandboxVault } from '../kernel/vault.ts'
import { UsageError } from './command.ts'
import { withDatabase } from './database.ts'
import { namingSilent } from './endpoint-advice.ts'
import { startOver } from './new-chain.ts'
import { listOperatorChains } from './operator-chains.ts'
import { startProgress } from './progress.ts'

type Say = (line: string) => void

export const RESCAN_USAGE = `comptoir rescan --chain <id> --from <block>   read deposits again from a block on, and compare the balances
  --new-chain   the chain was reset (test chains): start over; its old transfers count as orphaned, and what they
                paid as gone. Refused while the first block is the one that was read
  --yes         skip the question before that; live mode wants it
  --json        for programs`

const PAGE = 1000

function findChain(config: Config, vault: SandboxVault, chainId: number): ChainConfig {
  const chain = listOperatorChains(config, vault).find((one) => one.chainId === chainId)
  if (chain) return chain
  throw new UsageError(`Chain ${chainId} is not set up: CHAIN_${chainId}_RPC_URL is missing.`)
}

/** Includes every address ever assigned, expired ones too. @param range blocks that were read already */
export async function rescanAll(
  reader: ChainReader,
  range: { from: bigint; to: bigint },
  progress: (done: number, of: number) => void,
): Promise<{ checked: number; missed: number }> {
  const total = await countDeposits(reader.db)
  let checked = 0
  let missed = 0
  for (let after = ''; ; ) {
    const addresses = await listDepositPage(reader.db, after, PAGE)
    const last = addresses.at(-1)
    if (last === undefined) return { checked, missed }
    missed += await rescan(reader, { addresses, ...range })
    const [awaited] = (await auditDeposits(reader, addresses, { mayLag: true })).values()
    if (awaited) throw awaited
    checked += addresses.length
    progress(checked, total)
    after = last
  }
}

/** From a block on up to the last one read. @throws Error where that is nothing: it must not look like a success */
async function rangeFrom(db: Db, chainId: number, from: bigint): Promise<{ from: bigint; to: bigint }> {
  const head = await findHead(db, chainId)
  if (!head) throw new Error('This chain was never read. Start the service first.')
  if (from <= head.number) return { from, to: head.number }
  throw new Error(`Chain ${chainId} has been read up to block ${head.number}, not to ${from}. Name an earlier block.`)
}

function readArgs(args: string[]) {
  const options = {
    chain: { type: 'string' },
    from: { type: 'string' },
    'new-chain': { type: 'boolean', default: false },
    yes: { type: 'boolean', default: false },
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
  const log = pino({ level: 'silent' })
  await withDatabase(config, say, async (db, vault) => {
    const chain = findChain(config, vault, chainId)
    if (options['new-chain']) {
      const orphaned = await startOver({ config, chain, db, vault, yes: options.yes })
      const sentence = `Forgotten: ${orphaned} transfers are gone. A running service reads the chain again within a minute.`
      return print(options.json ? JSON.stringify({ chainId, orphaned }) : sentence)
    }
    const deps = { config: { chains: [chain] }, db, clock: systemClock, log, metrics: new Registry() }
    const [opened] = openChains(deps)
    if (!opened) throw new Error(`Chain ${chainId} cannot be opened.`)
    try {
      const range = await rangeFrom(db, chainId, BigInt(options.from ?? '0'))
      const progress = startProgress(say, `Chain ${chainId}`, 'addresses')
      const result = await namingSilent(chainId, rescanAll({ db, log, ...opened }, range, progress))
      const differences = await countDifferences(db, chainId)
      const facts = { chainId, ...result, differences }
      const sentence = `Chain ${chainId}: ${result.checked} addresses, ${result.missed} missed transfers recorded, ${differences} balances differ.`
      print(options.json ? JSON.stringify(facts) : sentence)
    } finally {
      await opened.rpc.close()
    }
  })
}
