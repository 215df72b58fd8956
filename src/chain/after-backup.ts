import type { Db } from '../db/db.ts'
import { deriveAddress, parseXpub } from '../kernel/xpub.ts'
import { listOwnTransactions } from './deposits/balance-audit-queries.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { provenEndpoints } from './endpoints/endpoints.ts'
import { RpcError, toWord } from './endpoints/rpc.ts'
import { listPayingTokens } from './payout/wallet-queries.ts'
import { type ChainReader, listOutgoing, readLogRange } from './rescan.ts'
import { type RpcLog, tokensOf } from './transfer-logs.ts'

/** Money that moved after a backup was made and that the restored database cannot explain. */
export type UnknownTransfer = { chainId: number; txHash: string; address: string; units: bigint; index: number | null }

/** Both blocks included. */
export type BlockRange = { from: bigint; to: bigint }

const WINDOW = 500
/** After this many addresses in a row without money, no later one was assigned. */
const GAP = 5000

const isUsdc = ({ network }: ChainReader, log: RpcLog): boolean =>
  log.address.toLowerCase() === network.usdcAddress.toLowerCase()

const addressIn = (topic: string | undefined): string => `0x${(topic ?? '').slice(26)}`.toLowerCase()

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
  for (const endpoint of await provenEndpoints(reader)) {
    try {
      for (const log of await read(endpoint)) logs.set(`${log.blockHash} ${log.transactionHash} ${log.logIndex}`, log)
      answers += 1
    } catch (error) {
      if (!(error instanceof RpcError) || error.kind === 'unknown') throw error
      refused = error
    }
  }
  if (answers === 0) throw refused
  return [...logs.values()]
}

/**
 * Transfers to addresses that were assigned after the backup: their orders are lost, their money is not.
 * @param skipped indexes below the xpub: from (included) to (excluded)
 * @throws RpcError
 */
export async function findSkippedDeposits(
  reader: ChainReader,
  range: BlockRange,
  skipped: { xpub: string; from: string; to: string },
): Promise<UnknownTransfer[]> {
  const { text } = parseXpub(skipped.xpub)
  const found: UnknownTransfer[] = []
  let lastHit = Number(skipped.from)
  for (let start = lastHit; start < Number(skipped.to) && start - lastHit < GAP; start += WINDOW) {
    const count = Math.min(WINDOW, Number(skipped.to) - start)
    const indexes = new Map(
      Array.from({ length: count }, (_, offset) => [deriveAddress(text, start + offset).toLowerCase(), start + offset]),
    )
    const filter = { addresses: [...indexes.keys()], tokens: tokensOf(reader.network), at: new Date(0) }
    for (const log of await readEverywhere(reader, (endpoint) => readLogRange(endpoint, filter, range))) {
      const address = addressIn(log.topics[2])
      const index = indexes.get(address)
      if (index === undefined || !isUsdc(reader, log)) continue
      const units = toWord(log.data)
      if (units === 0n) continue
      lastHit = Math.max(lastHit, index)
      found.push({ chainId: reader.network.chainId, txHash: log.transactionHash, address, units, index })
    }
  }
  return found
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
