import { findHead } from './chain-queries.ts'
import { strangersAmong } from './deposits/look-alikes.ts'
import { noticeNative } from './deposits/native-coin.ts'
import { readTokenNames } from './deposits/token-name.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { provenEndpoints } from './endpoints/endpoints.ts'
import { type Rpc, RpcError } from './endpoints/rpc.ts'
import { confirmationsNeeded, confirmationsOf, isFinal } from './finality.ts'
import { confirm } from './hearing/vote.ts'
import { usdcOf } from './networks.ts'
import type { Receipt } from './payout/receipt.ts'
import { type ChainReader, panelOf, recordMissed } from './rescan.ts'
import type { FoundTransfer, Transfer } from './transfer.ts'
import {
  type Block,
  blockCall,
  ChainDoubt,
  type LogFilter,
  type RpcBlock,
  type RpcLog,
  readTokens,
  readTransfers,
  toBlock,
  toTopic,
} from './transfer-logs.ts'
import { listTransfersTo, listUsdcAmong } from './transfer-queries.ts'

export type TransactionVerdict = {
  found: boolean
  counted: boolean
  waiting: boolean
  reason: string
  addresses: readonly string[]
}

const verdict = (
  found: boolean,
  counted: boolean,
  reason: string,
  addresses: readonly string[] = [],
): TransactionVerdict => ({ found, counted, waiting: false, reason, addresses })

const waits = (reason: string): TransactionVerdict => ({ ...verdict(true, false, reason), waiting: true })

/** The finality status of a transaction's recorded transfers. */
async function describe({ db, network }: ChainReader, transfers: readonly Transfer[]): Promise<TransactionVerdict> {
  const ids = transfers.map(({ id }) => id)
  const counted = await listUsdcAmong(db, ids, usdcOf([network]))
  const usdc = transfers.filter(({ id, status }) => counted.has(id) && status === 'seen')
  const addresses = [...new Set(transfers.map(({ toAddress }) => toAddress))]
  const [first] = usdc
  if (!first) {
    const [other] = transfers
    if (other?.status === 'orphaned')
      return verdict(true, false, 'Its block is no longer part of the chain.', addresses)
    return verdict(true, false, `It sent ${other?.symbol}, not USDC. The shop has been informed.`, addresses)
  }
  const units = usdc.reduce((sum, transfer) => sum + transfer.units, 0n)
  const head = await findHead(db, network.chainId)
  if (!head || isFinal(network, { units, transfer: first, head }))
    return verdict(true, true, 'It is recorded for this order.', addresses)
  const needed = confirmationsNeeded(network, units)
  const done = confirmationsOf(first, head)
  const progress = needed === null ? `${done} confirmations` : `${done} of ${needed} confirmations`
  return verdict(true, true, `It is recorded for this order and has ${progress}.`, addresses)
}

const ofTransaction = (transfers: readonly Transfer[], chainId: number, txHash: string): Transfer[] =>
  transfers.filter((transfer) => transfer.chainId === chainId && transfer.txHash === txHash)

/** The receiver of a transaction's native coin, which is recorded; undefined: none of these addresses. */
async function findNativeReceiver(
  reader: ChainReader,
  rpc: Rpc,
  { addresses, txHash }: { addresses: readonly string[] | 'all'; txHash: string },
): Promise<string | undefined> {
  const sent = await rpc.call<{ to: string | null; value: string } | null>('eth_getTransactionByHash', txHash)
  const to = sent?.to?.toLowerCase() ?? ''
  if (addresses === 'all' || !addresses.includes(to) || BigInt(sent?.value ?? 0) === 0n) return undefined
  await noticeNative(reader, [to])
  return to
}

/** Transfers of tokens that are not on the network's list, each under the name that the token gives itself. */
async function readStrangers(
  { db, network: { chainId } }: ChainReader,
  rpc: Rpc,
  { filter, logs, blocks }: { filter: LogFilter; logs: readonly RpcLog[]; blocks: ReadonlyMap<string, Block> },
): Promise<FoundTransfer[]> {
  const receivers = new Set(filter.addresses === 'all' ? [] : filter.addresses.map(toTopic))
  const ours = logs.filter(({ topics }) => receivers.has(topics[2]?.toLowerCase() ?? ''))
  const strangers = strangersAmong(filter.tokens, ours)
  const names = await readTokenNames(rpc, [...strangers.keys()])
  const tokens = new Map([...names].map(([token, { label }]) => [token, label]))
  return readTransfers(db, { chainId, filter: { ...filter, tokens } }, [...strangers.values()].flat(), blocks)
}

/** The parts of a receipt that endpoints must agree on; an endpoint that knows no receipt contradicts one that does. */
const receiptKey = (receipt: Receipt | 'none'): string => {
  if (receipt === 'none') return receipt
  // honest ones count logs from the start of the block or of the transaction: the distance is the same
  const first = BigInt(receipt.logs[0]?.logIndex ?? 0)
  const logs = receipt.logs.map(({ transactionHash, logIndex, address, topics, data }) =>
    [transactionHash, BigInt(logIndex) - first, address, topics.join(), data].join(),
  )
  return [receipt.status, receipt.blockHash, ...logs].join(';').toLowerCase()
}

/** Whoever names a transaction may know which node lies, so no endpoint is trusted alone where there are others. */
async function isConfirmed(
  reader: ChainReader,
  endpoint: Endpoint,
  { txHash, receipt }: { txHash: string; receipt: Receipt },
): Promise<boolean> {
  const ask = async (rpc: Rpc): Promise<Receipt | 'none' | undefined> => {
    const known = await rpc.call<Receipt | null>('eth_getTransactionReceipt', txHash)
    if (known !== null) return known
    // it may only be a moment behind, and cannot know yet
    return (await rpc.call<object | null>('eth_getBlockByHash', receipt.blockHash, false)) ? 'none' : undefined
  }
  try {
    await confirm<Receipt | 'none'>(panelOf(reader, endpoint), {
      ...{ own: receipt, ask, keyOf: receiptKey, subject: `transaction ${txHash}`, isMoney: true },
      block: { number: BigInt(receipt.blockNumber), hash: receipt.blockHash },
    })
    return true
  } catch (error) {
    if (error instanceof ChainDoubt) return false
    throw error
  }
}

type Known = { endpoint: Endpoint; receipt: Receipt | null; isWaiting: boolean }

/**
 * The first endpoint that has the transaction in a block: it is unknown only if all that answer say so.
 * @throws RpcError when no endpoint answers
 */
async function findReceipt(reader: ChainReader, txHash: string): Promise<Known> {
  let known: Known | undefined
  let last: unknown
  for (const endpoint of await provenEndpoints(reader)) {
    const params = [txHash]
    const calls = ['eth_getTransactionReceipt', 'eth_getTransactionByHash'].map((method) => ({ method, params }))
    try {
      const [receipt = null, sent] = await endpoint.rpc.batch<object | null>(calls)
      if (receipt) return { endpoint, receipt: receipt as Receipt, isWaiting: false }
      if (!known?.isWaiting) known = { endpoint, receipt: null, isWaiting: Boolean(sent) }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      last = error
    }
  }
  if (!known) throw last
  return known
}

/**
 * Looks up a transaction that a person names, and records what it pays to these addresses as the scanner would: only
 * from blocks that were read, each proven to be part of the chain.
 * @param txHash 0x and 64 hexadecimal digits in lower case
 * @throws RpcError when no endpoint answers
 */
export async function recordNamedTransaction(
  reader: ChainReader,
  { addresses, txHash }: { addresses: readonly string[]; txHash: string },
): Promise<TransactionVerdict> {
  const { db, network } = reader
  const { chainId, name } = network
  const recorded = ofTransaction(await listTransfersTo(db, addresses), chainId, txHash)
  if (recorded.some(({ status }) => status === 'seen')) return describe(reader, recorded)
  const { endpoint, receipt, isWaiting } = await findReceipt(reader, txHash)
  if (!receipt)
    return isWaiting
      ? waits(`It waits on ${name} for its first block.`)
      : verdict(false, false, `${name} does not know this transaction.`)
  const { rpc } = endpoint
  if (receipt.status !== '0x1') return verdict(true, false, `${name} refused it: it moved nothing.`)
  const head = await findHead(db, chainId)
  if (!head || BigInt(receipt.blockNumber) > head.number)
    return waits(`It is in a block of ${name} that is being read. Look again in a moment.`)
  const { method, params } = blockCall(BigInt(receipt.blockNumber))
  const answer = await rpc.call<RpcBlock | null>(method, ...params)
  if (answer?.hash !== receipt.blockHash) return verdict(true, false, 'Its block is no longer part of the chain.')
  const block = toBlock(answer)
  const filter: LogFilter = {
    addresses: addresses.map((one) => one.toLowerCase()),
    tokens: await readTokens(db, network),
    at: block.at,
  }
  const scope = { chainId, filter }
  const blocks = new Map([[block.hash, block]])
  const known = await readTransfers(db, scope, receipt.logs, blocks)
  const found = known.length > 0 ? known : await readStrangers(reader, rpc, { filter, logs: receipt.logs, blocks })
  if (found.length === 0) {
    const other = await findNativeReceiver(reader, rpc, { addresses: filter.addresses, txHash })
    if (other === undefined) return verdict(true, false, `It pays nothing to this order on ${name}.`)
    return verdict(true, false, `It sent ${network.coin}, not USDC. The shop has been informed.`, [other])
  }
  if (!(await isConfirmed(reader, endpoint, { txHash, receipt })))
    return verdict(true, false, `The nodes of ${name} do not agree about it. Look again in a moment.`)
  const mined = await recordMissed(reader, found)
  const now = ofTransaction(await listTransfersTo(db, addresses), chainId, txHash)
  if (mined === 0 && now.every(({ status }) => status !== 'seen'))
    return verdict(true, false, 'Its block is no longer part of the chain.')
  return describe(reader, now)
}
