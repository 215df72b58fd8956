import type { ServiceBase } from '../../assembly/service-base.ts'
import {
  type AddressesOf,
  findSkippedDeposits,
  findUnknownPayouts,
  type UnknownTransfer,
} from '../../chain/after-backup.ts'
import { listWallets } from '../../chain/deposits/balance-audit-queries.ts'
import { findBlockSince } from '../../chain/deposits/block-since.ts'
import type { Endpoint } from '../../chain/endpoints/endpoint.ts'
import { provenEndpoints } from '../../chain/endpoints/endpoints.ts'
import type { OpenChain } from '../../chain/open-chains.ts'
import type { ChainReader } from '../../chain/rescan.ts'
import { type Restored, skippedOf } from '../../db/restored-queries.ts'
import { HOUR } from '../../kernel/clock.ts'
import { namingSilent } from '../endpoint-advice.ts'
import { startProgress } from '../progress.ts'
import { rescanAll } from '../rescan.ts'
import { awaitComparable } from './await-chain.ts'
import { openPatient } from './patience.ts'

export type ChainReport = {
  chainId: number
  /** First and last block that were checked. */
  from: string
  to: string
  missed: number
  skippedDeposits: UnknownTransfer[]
  unknownPayouts: UnknownTransfer[]
  /** Numbers of endpoints that refused logs as old, and showed nothing in those blocks. */
  keptLess: number[]
  /** Indexes from which on not all addresses of a key were looked at: more seem to be paid than were given out. */
  cutAt: number[]
}

/** Tolerance between block times and our clock. */
const CLOCK_MARGIN_MS = HOUR

type Say = (line: string) => void

/** `listUnknownPayouts`: compares those once more, over the same blocks by the same endpoints. */
export type ReconciledChain = { report: ChainReport; listUnknownPayouts(): Promise<UnknownTransfer[]> }

/** `xpubs`: all keys of deposit addresses, also those that the backup does not know; `addressesOf`: for all chains. */
type Comparison = { restored: Restored; xpubs: readonly string[]; addressesOf: AddressesOf; say: Say }

/** The first block to compare of what happened since a time, by the earliest word of those that keep such old ones. */
async function findStart(reader: ChainReader, since: Date, to: bigint): Promise<bigint | undefined> {
  const at = new Date(since.getTime() - CLOCK_MARGIN_MS)
  const endpoints = await provenEndpoints(reader)
  const starts = await Promise.all(endpoints.map(({ rpc }) => findBlockSince(rpc, at, to)))
  const whole = starts.filter(({ isCutOff }) => !isCutOff).map(({ number }) => number)
  return whole.length === 0 ? undefined : whole.reduce((least, start) => (start < least ? start : least))
}

const expiredWords = (chainId: number, since: Date): string =>
  `no node of CHAIN_${chainId}_RPC_URL keeps the blocks since the backup of ${since.toISOString()}: add one that does`

/**
 * What happened on a chain since the backup, by every endpoint.
 * @throws RpcError, Error with a sentence for the operator: also where a node or the service lags, or a node is silent
 */
export const reconcileChain = (...all: Parameters<typeof compareChain>): Promise<ReconciledChain> =>
  namingSilent(all[1].network.chainId, compareChain(...all))

async function compareChain(
  base: ServiceBase,
  chain: OpenChain,
  { restored, xpubs, addressesOf, say }: Comparison,
): Promise<ReconciledChain> {
  const { db, log } = base
  const { network, payouts } = chain
  const { chainId } = network
  const { facts, backupMadeAt, restoredAt } = restored
  const head = facts.heads.find((one) => one.chainId === chainId)
  const known = head && BigInt(head.number)
  const to = await awaitComparable(base, chain, { known: known ?? 0n, restoredAt, say })
  const keptLess = new Set<number>()
  const cutAt: number[] = []
  const reader = {
    ...{ db, log, ...chain, endpoints: openPatient(network, chain.endpoints) },
    onRefused: (endpoint: Endpoint) => void keptLess.add(endpoint.number),
  }
  // a chain that the backup has not read may have been set up, and paid on, since
  const from = known ?? (await findStart(reader, backupMadeAt, to))
  if (from === undefined) throw new Error(expiredWords(chainId, backupMadeAt))
  const range = { from, to }
  const { missed } = await rescanAll(reader, range, startProgress(say, `Chain ${chainId}`, 'addresses'))
  const skippedDeposits = await findSkippedDeposits(reader, range, {
    ...{ ranges: skippedOf(facts, xpubs), times: restored, addressesOf },
    async findBlock(since) {
      const start = (await findStart(reader, since, to)) ?? from
      return start > from ? start : from
    },
    onCut: (index) => void cutAt.push(index),
    progress: startProgress(say, `Chain ${chainId}`, 'indexes of keys, for orders that the backup does not know'),
  })
  const listUnknownPayouts = async (): Promise<UnknownTransfer[]> => {
    const wallets = new Set(await listWallets(db, chainId))
    if (payouts) wallets.add(payouts.address.toLowerCase())
    const found: UnknownTransfer[] = []
    for (const wallet of wallets) found.push(...(await findUnknownPayouts(reader, range, wallet)))
    return found
  }
  const blocks = { from: `${range.from}`, to: `${to}` }
  const unknownPayouts = await listUnknownPayouts()
  const report = { chainId, ...blocks, missed, skippedDeposits, unknownPayouts, keptLess: [...keptLess], cutAt }
  return { report, listUnknownPayouts: () => namingSilent(chainId, listUnknownPayouts()) }
}
