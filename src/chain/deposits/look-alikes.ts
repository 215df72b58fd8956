import { MINUTE } from '../../kernel/clock.ts'
import { findHead } from '../chain-queries.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { provenEndpoints } from '../endpoints/endpoints.ts'
import { type Hex, RpcError } from '../endpoints/rpc.ts'
import { confirmTransfers } from '../hearing/checked-logs.ts'
import { type ChainReader, fetchCanonical, panelOf, readLogRange, recordMissed } from '../rescan.ts'
import { type Block, type LogFilter, type RpcLog, readTransfers, TRANSFER_TOPIC, tokensOf } from '../transfer-logs.ts'
import { findBlockSince } from './block-since.ts'
import { listAskedTokens } from './deposit-queries.ts'
import { listKeyedSince } from './native-coin-queries.ts'
import { readTokenNames } from './token-name.ts'

/** How far back to look, in queries of the node's own maximum range. */
const MOST_QUESTIONS = 20n
/** Tolerance between block times and our clock. */
const CLOCK_MARGIN_MS = MINUTE

/** Transfers of contracts that are not among the known ones (lower case), grouped by contract. */
export function strangersAmong(known: LogFilter['tokens'], logs: readonly RpcLog[]): Map<string, RpcLog[]> {
  const strange = logs.filter(
    ({ address, topics }) => topics[0] === TRANSFER_TOPIC && topics.length === 3 && !known.has(address.toLowerCase()),
  )
  return Map.groupBy(strange, ({ address }) => address.toLowerCase())
}

async function readStrangers(
  { network }: ChainReader,
  endpoint: Endpoint,
  { addresses, since, newest, head }: { addresses: readonly string[]; since: Date; newest: bigint; head: bigint },
): Promise<Map<string, RpcLog[]>> {
  const filter: LogFilter = { addresses, tokens: new Map(), at: since }
  const { number: first } = await findBlockSince(endpoint.rpc, new Date(since.getTime() - CLOCK_MARGIN_MS), newest)
  const least = head - MOST_QUESTIONS * endpoint.limits.blockSpan
  return strangersAmong(
    tokensOf(network),
    await readLogRange(endpoint, filter, { from: first > least ? first : least, to: head }),
  )
}

type Shown = { filter: LogFilter; logs: readonly RpcLog[]; blocks: ReadonlyMap<string, Block> }

/**
 * Transfers of a contract that an order asked for pay it, so the other endpoints confirm them, as they do for the
 * scanner. One that only calls itself USDC pays nothing: one endpoint's word is enough. @throws ChainDoubt
 */
async function confirmAsked(reader: ChainReader, endpoint: Endpoint, { filter, logs, blocks }: Shown): Promise<void> {
  const asked = new Set(await listAskedTokens(reader.db, reader.network.chainId))
  const tokens = new Map([...filter.tokens].filter(([token]) => asked.has(token)))
  const paying = logs.filter(({ address }) => tokens.has(address.toLowerCase()))
  if (paying.length === 0) return
  const question = { logs: paying, blocks: [...blocks.values()] }
  const halt = await confirmTransfers(panelOf(reader, endpoint), { ...filter, tokens }, question)
  if (halt) throw halt.doubt
}

/**
 * Looks for tokens that call themselves USDC and are not, at deposit addresses derived from keys. No list is complete,
 * least of all on test networks, so it reads the transfers of every contract to these addresses and asks the contracts
 * for their names. @returns addresses that received one @throws RpcError if no endpoint answers, or if one arrived in a
 * block that the scanner has yet to read
 */
export async function noticeLookAlikes(reader: ChainReader, addresses: readonly string[]): Promise<string[]> {
  const { db, network, log } = reader
  const { chainId } = network
  const keyed = await listKeyedSince(db, addresses)
  const head = keyed.length === 0 ? undefined : await findHead(db, chainId)
  if (!head) return []
  const [endpoint] = await provenEndpoints(reader)
  if (!endpoint) return []
  const since = new Date(Math.min(...keyed.map(({ createdAt }) => createdAt.getTime())))
  const asked = keyed.map(({ address }) => address)
  // include blocks that the scanner has yet to read: the payment's last seconds are in them
  const newest = BigInt(await endpoint.rpc.call<Hex>('eth_blockNumber'))
  const to = newest > head.number ? newest : head.number
  const strangers = await readStrangers(reader, endpoint, { addresses: asked, since, newest, head: to })
  const names = await readTokenNames(endpoint.rpc, [...strangers.keys()])
  const tokens = new Map([...names].flatMap(([token, { label, isLookAlike }]) => (isLookAlike ? [[token, label]] : [])))
  if (tokens.size === 0) return []
  const logs = [...tokens.keys()].flatMap((token) => strangers.get(token) ?? [])
  const blocks = await fetchCanonical(endpoint, logs)
  const standing = logs.filter(({ blockHash }) => blocks.has(blockHash))
  const filter: LogFilter = { addresses: asked, tokens, at: since }
  const found = await readTransfers(db, { chainId, filter }, standing, blocks)
  if (found.some(({ blockNumber }) => blockNumber > head.number))
    throw new RpcError('unknown', `blocks of chain ${chainId} in which a token came are not read yet`)
  await confirmAsked(reader, endpoint, { filter, logs: standing, blocks })
  if ((await recordMissed(reader, found)) === 0) return []
  const receivers = [...new Set(found.map(({ toAddress }) => toAddress))]
  log.warn(
    { chainId, tokens: [...tokens.keys()], receivers },
    'a token that only calls itself USDC arrived; it pays at most orders that asked for its contract',
  )
  return receivers
}
