import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/db.ts'
import { INDEX_STEP, type IndexRange, STEP_BEGINNING, STEP_SECONDS } from '../db/restored-queries.ts'
import { DAY, SECOND } from '../kernel/clock.ts'
import { deriveAddress, parseXpub } from '../kernel/xpub.ts'
import { listOwnTransactions } from './deposits/balance-audit-queries.ts'
import { listAssignedAmong } from './deposits/deposit-queries.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { provenEndpoints } from './endpoints/endpoints.ts'
import { MAX_FILTER_VALUES, RpcError, toWord } from './endpoints/rpc.ts'
import { listPayingTokens } from './payout/wallet-queries.ts'
import { type ChainReader, listOutgoing, readLogRange } from './rescan.ts'
import { type RpcLog, tokensOf } from './transfer-logs.ts'

/** Money that moved after a backup was made and that the restored database cannot explain. */
export type UnknownTransfer = { chainId: number; txHash: string; address: string; units: bigint; index: number | null }

type Progress = (done: number, of: number) => void

/** Both blocks included. */
export type BlockRange = { from: bigint; to: bigint }

const STEP = Number(INDEX_STEP)
/** An earlier restore is looked for so long before the last one: later, its own backups are restored. */
export const EARLIER_RESTORE_MS = DAY
const EARLIER_STEPS = EARLIER_RESTORE_MS / (STEP_SECONDS * SECOND)

const isUsdc = ({ network }: ChainReader, log: RpcLog): boolean =>
  log.address.toLowerCase() === network.usdcAddress.toLowerCase()

const addressIn = (topic: string | undefined): string => `0x${(topic ?? '').slice(26)}`.toLowerCase()

const PAUSES_MS = [SECOND, 3 * SECOND, 9 * SECOND]

/** One request of thousands that fails ends nothing. */
async function patiently<Result>(read: () => Promise<Result>): Promise<Result> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof RpcError) || error.kind !== 'unknown') throw error
      await sleep(pauseMs)
    }
  }
  return read()
}

/**
 * The logs that any endpoint shows: a person looks at each, and one that hides some does not decide. One that keeps no
 * such old blocks says nothing. @throws RpcError
 */
async function readEverywhere(
  reader: ChainReader,
  read: (endpoint: Endpoint) => Promise<readonly RpcLog[]>,
): Promise<RpcLog[]> {
  const logs = new Map<string, RpcLog>()
  let answers = 0
  let refused: unknown
  for (const endpoint of await patiently(() => provenEndpoints(reader))) {
    try {
      for (const log of await patiently(() => read(endpoint)))
        logs.set(`${log.blockHash} ${log.transactionHash} ${log.logIndex}`, log)
      answers += 1
    } catch (error) {
      if (!(error instanceof RpcError) || error.kind === 'unknown') throw error
      refused = error
      reader.onRefused?.(endpoint)
    }
  }
  if (answers === 0) throw refused
  return [...logs.values()]
}

/** Indexes of deposit addresses: from (included) to (excluded). */
type Indexes = { from: number; to: number }

/** USDC that came to addresses of these indexes and that no order of this database explains. @throws RpcError */
async function findDeposits(
  reader: ChainReader,
  range: BlockRange,
  { xpub, from, to }: Indexes & { xpub: string },
): Promise<UnknownTransfer[]> {
  const { chainId } = reader.network
  const found: UnknownTransfer[] = []
  for (let start = from; start < to; start += MAX_FILTER_VALUES) {
    const count = Math.min(MAX_FILTER_VALUES, to - start)
    const indexes = new Map(
      Array.from({ length: count }, (_, offset) => [deriveAddress(xpub, start + offset).toLowerCase(), start + offset]),
    )
    const filter = { addresses: [...indexes.keys()], tokens: tokensOf(reader.network), at: new Date(0) }
    for (const log of await readEverywhere(reader, (endpoint) => readLogRange(endpoint, filter, range))) {
      const address = addressIn(log.topics[2])
      const index = indexes.get(address)
      if (index === undefined || !isUsdc(reader, log)) continue
      const units = toWord(log.data)
      if (units > 0n) found.push({ chainId, txHash: log.transactionHash, address, units, index })
    }
  }
  return found
}

type Asked = { skipped: IndexRange & { xpub: string }; most: number; earlier: bigint; progress?: Progress }

/**
 * Transfers to addresses that were assigned after the backup: their orders are lost, their money is not. The service
 * went on from the first index, or, after an earlier restore of the same backup, from the beginning of a later step.
 * That was a day before the last restore at most. Of the first step, all are read that it may have assigned, however
 * many were never paid; of each later one, the first addresses, and the rest where one of them, or of the step before,
 * was paid.
 * @param asked `most`: addresses that the service may have assigned between backup and restore; `earlier`: the first
 *   block in which an earlier restore counts
 * @throws RpcError
 */
export async function findSkippedDeposits(
  reader: ChainReader,
  range: BlockRange,
  { skipped, most, earlier, progress = () => {} }: Asked,
): Promise<UnknownTransfer[]> {
  const xpub = parseXpub(skipped.xpub).text
  const [first, end] = [Number(skipped.from), Number(skipped.to)]
  const found: UnknownTransfer[] = []
  let isUsed = false
  for (let from = first; from < end; ) {
    // a service continues two steps or more after the step of the backup
    const next = (Math.floor(from / STEP) + (from === first ? 2 : 1)) * STEP
    const to = Math.min(next, end)
    const isFirst = from === first
    const middle = Math.min(from + (isFirst ? most : STEP_BEGINNING), to)
    const blocks = isFirst || isUsed ? range : { from: earlier, to: range.to }
    const isLookedAt: boolean = isFirst || isUsed || end - from <= EARLIER_STEPS * STEP
    const inStep: UnknownTransfer[] = isLookedAt ? await findDeposits(reader, blocks, { xpub, from, to: middle }) : []
    const goesOn = !isFirst && (isUsed || inStep.length > 0)
    if (goesOn) inStep.push(...(await findDeposits(reader, blocks, { xpub, from: middle, to })))
    isUsed = inStep.length > 0 && (!isFirst || middle === to)
    found.push(...inStep)
    progress(to - first, end - first)
    from = to
  }
  return listUnassigned(reader.db, found)
}

/** A key of which nothing was known may be in use again. */
async function listUnassigned(db: Db, found: readonly UnknownTransfer[]): Promise<UnknownTransfer[]> {
  const assigned = await listAssignedAmong(
    db,
    found.map(({ address }) => address),
  )
  return found.filter(({ address }) => !assigned.has(address))
}

/**
 * Transfers out of a paying wallet that no payout of this database explains: refunds and settlements after the backup.
 * @throws RpcError
 */
export async function findUnknownPayouts(
  reader: ChainReader,
  range: BlockRange,
  wallet: string,
): Promise<UnknownTransfer[]> {
  const { chainId } = reader.network
  const logs: RpcLog[] = []
  for (const network of await listPayingTokens(reader.db, reader.network)) {
    const asked = { senders: [wallet], ...range }
    logs.push(...(await readEverywhere(reader, (endpoint) => listOutgoing(network, endpoint, asked))))
  }
  const own = await listOwn(reader.db, chainId, logs)
  return logs
    .filter(({ transactionHash }) => !own.has(transactionHash))
    .map((log) => {
      const [txHash, address] = [log.transactionHash, addressIn(log.topics[2])]
      return { chainId, txHash, address, units: toWord(log.data), index: null }
    })
}

const listOwn = (db: Db, chainId: number, logs: readonly RpcLog[]): Promise<Set<string>> =>
  listOwnTransactions(
    db,
    chainId,
    logs.map(({ transactionHash }) => transactionHash),
  )
