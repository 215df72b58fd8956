import { HOUR } from '../../kernel/clock.ts'
import { type BlockId, listBlocks } from '../chain-queries.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { provenEndpoints } from '../endpoints/endpoints.ts'
import { type Hex, type Rpc, RpcError, toWord } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { readNewestBlock } from '../payout/payout-view.ts'
import { balanceCall } from '../payout/usdc-token.ts'
import { type ChainReader, listOutgoing, rescan } from '../rescan.ts'
import { blockCall, type RpcBlock } from '../transfer-logs.ts'
import { findBlockSince } from './block-since.ts'
import {
  claimAuditPage,
  type DepositFinding,
  listAuditPage,
  type RecordedDeposit,
  readRecordedDeposits,
  readRecordedUntil,
  updateAuditCursor,
  updateDifferencesClosed,
  upsertDepositFinding,
} from './deposit-audit-queries.ts'
import { noticeNative } from './native-coin.ts'
import { listWatchEnding } from './native-coin-queries.ts'

const PAGE = 500
const ROUND_MS = HOUR
/** Tolerance between block times and our clock. */
const CLOCK_MARGIN_MS = HOUR

/** Balances at one block, in the order of the addresses. @throws RpcError */
async function readBalances(
  rpc: Rpc,
  { network, blockHash }: { network: Network; blockHash: string },
  addresses: readonly string[],
): Promise<bigint[]> {
  const calls = addresses.map((address) => ({
    method: 'eth_call',
    params: [balanceCall(network, address), { blockHash }],
  }))
  return (await rpc.batch<Hex>(calls)).map(toWord)
}

/** Outflows of each address, continuing from the end of the last audit. @throws RpcError */
async function readOutflows(
  { network }: ChainReader,
  endpoint: Endpoint,
  { deposits, from, to }: { deposits: readonly RecordedDeposit[]; from: bigint; to: bigint },
): Promise<Map<string, bigint>> {
  const sums = new Map(deposits.map(({ address, outflowUnits }) => [address, outflowUnits]))
  const senders = deposits.map(({ address }) => address)
  const start = deposits.reduce((least, { outflowTo }) => (outflowTo < least ? outflowTo : least), to)
  const since = new Map(deposits.map(({ address, outflowTo }) => [address, outflowTo]))
  const range = { from: start + 1n > from ? start + 1n : from, to }
  for (const log of await listOutgoing(network, endpoint, { senders, ...range })) {
    const sender = `0x${log.topics[1]?.slice(26)}`.toLowerCase()
    if (BigInt(log.blockNumber) <= (since.get(sender) ?? 0n)) continue
    sums.set(sender, (sums.get(sender) ?? 0n) + toWord(log.data))
  }
  return sums
}

/**
 * Outflows of each address, counted anew by one of the endpoints: at block `from`, before it was given out, it held
 * what the chain says, whatever was recorded until then. Less than 0 where money came before that. None of an address
 * if endpoints are not of one mind about that block, or keep no state as old. From a later block on, this would explain
 * whatever was missed or invented before.
 * @throws RpcError
 */
async function readOutflowsAnew(
  reader: ChainReader,
  { endpoints, endpoint }: { endpoints: readonly Endpoint[]; endpoint: Endpoint },
  { deposits, from, to }: { deposits: readonly RecordedDeposit[]; from: bigint; to: bigint },
): Promise<Map<string, bigint>> {
  const { db, network } = reader
  const { chainId, usdcAddress: token } = network
  const addresses = deposits.map(({ address }) => address)
  if (deposits.length === 0) return new Map()
  const readHeld = async (): Promise<Balances | undefined> => {
    const { method, params } = blockCall(from)
    const block = await endpoint.rpc.call<RpcBlock | null>(method, ...params)
    return block ? askBalances({ network }, endpoints, { blockHash: block.hash, addresses }) : undefined
  }
  const held = await readHeld().catch((error: unknown) => {
    if (isRpcError(error)) return undefined
    throw error
  })
  // one alone could explain away what is missing: where a second one was asked, it must have the state too
  if (!held || held.endpoints.length < endpoints.length) return new Map()
  const recorded = await readRecordedUntil(db, { chainId, token, addresses, block: from })
  const anew = deposits.flatMap((deposit, index) => {
    const [units = 0n, ...others] = held.of(index)
    if (others.some((other) => other !== units)) return []
    return { ...deposit, outflowUnits: (recorded.get(deposit.address) ?? 0n) - units, outflowTo: from }
  })
  return readOutflows(reader, endpoint, { deposits: anew, from, to })
}

const remainder = ({ units, outflowUnits }: RecordedDeposit): bigint => units - outflowUnits

/** What two endpoints say of the balances, or one where no other answers; the first is asked for more. */
type Balances = { endpoints: readonly Endpoint[]; of(index: number): bigint[] }

/** One that answers is enough: another one may not know so old a state any more. @throws RpcError if none answers */
async function askBalances(
  { network }: Pick<ChainReader, 'network'>,
  endpoints: readonly Endpoint[],
  { blockHash, addresses }: { blockHash: string; addresses: readonly string[] },
): Promise<Balances> {
  const asked = await Promise.allSettled(
    endpoints.map(({ rpc }) => readBalances(rpc, { network, blockHash }, addresses)),
  )
  const answers = asked.flatMap((one, index) => {
    const endpoint = endpoints[index]
    return one.status === 'fulfilled' && endpoint ? [{ endpoint, balances: one.value }] : []
  })
  const failed = asked.find((one) => one.status === 'rejected' && (answers.length === 0 || !isRpcError(one.reason)))
  if (failed?.status === 'rejected') throw failed.reason
  const of = (index: number): bigint[] => answers.map(({ balances }) => balances[index] ?? 0n)
  return { endpoints: answers.map(({ endpoint }) => endpoint), of }
}

const isRpcError = (error: unknown): error is RpcError => error instanceof RpcError

type Since = { addresses: readonly string[]; at: Date; to: bigint }
type Keeper = { endpoint: Endpoint; from: bigint; isWhole: boolean }

/**
 * The last block before a time, whose state holds nothing of later; or the first one of which the endpoint keeps the
 * logs: nodes expire old ones, some with the headers. @throws RpcError, also where it refuses them for a moment
 */
async function findKept({ network }: ChainReader, endpoint: Endpoint, { addresses, at, to }: Since): Promise<Keeper> {
  const { number: since, isCutOff } = await findBlockSince(endpoint.rpc, at, to)
  const first = isCutOff || since === 0n ? since : since - 1n
  const senders = addresses.slice(0, 1)
  const lacks = (block: bigint): Promise<boolean> =>
    listOutgoing(network, endpoint, { senders, from: block, to: block }).then(
      () => false,
      (error: unknown) => {
        if (error instanceof RpcError && error.kind === 'definite') return true
        throw error
      },
    )
  if (!(await lacks(first))) return { endpoint, from: first, isWhole: !isCutOff }
  let [lacked, from] = [first, to]
  while (from - lacked > 1n) {
    const middle = (lacked + from) / 2n
    if (await lacks(middle)) lacked = middle
    else from = middle
  }
  // only age has an edge: what it refuses for a moment is not expired
  const refuses = `endpoint ${endpoint.number} refuses logs up to block`
  if (await lacks(to)) throw new RpcError('unknown', `${refuses} ${to}`)
  if (!(await lacks(lacked))) throw new RpcError('unknown', `${refuses} ${lacked} only for a moment`)
  return { endpoint, from, isWhole: false }
}

/** Which of them to ask about the blocks since a time: one that keeps all of them, or the most. @throws RpcError */
async function findKeeper(reader: ChainReader, endpoints: readonly Endpoint[], since: Since): Promise<Keeper> {
  const keepers: Keeper[] = []
  let failed: unknown
  for (const endpoint of endpoints) {
    const keeper = await findKept(reader, endpoint, since).catch((error: unknown) => {
      if (!isRpcError(error)) throw error
      failed = error
      return undefined
    })
    if (keeper?.isWhole) return keeper
    if (keeper) keepers.push(keeper)
  }
  const [first, ...others] = keepers
  if (!first) throw failed
  return others.reduce((best, one) => (one.from < best.from ? one : best), first)
}

/**
 * Explains addresses whose balance differs: reads incoming and outgoing transfers again. Where an endpoint did not say
 * what came in, it may be what is missing: then all that were asked must say the same of a balance to explain it.
 * @throws RpcError if one did not say that, and something stays unexplained
 */
async function explain(
  reader: ChainReader,
  endpoints: readonly Endpoint[],
  { deposits, head }: { deposits: readonly RecordedDeposit[]; head: { number: bigint; hash: string } },
): Promise<void> {
  const { db, network, log } = reader
  const { chainId, usdcAddress: token } = network
  const addresses = deposits.map(({ address }) => address)
  const balances = await askBalances(reader, endpoints, { blockHash: head.hash, addresses })
  const oldest = Math.min(...deposits.map(({ createdAt }) => createdAt.getTime()))
  const since = { addresses, at: new Date(oldest - CLOCK_MARGIN_MS), to: head.number }
  // one that lacks this block does not know what left in it
  const { endpoint, from, isWhole } = await findKeeper(reader, balances.endpoints, since)
  const silent = await rescan(reader, { addresses, from, to: head.number }).then(
    () => undefined,
    (error: unknown) => {
      if (isRpcError(error)) return error
      throw error
    },
  )
  const outflows = await readOutflows(reader, endpoint, { deposits, from, to: head.number })
  const again = await readRecordedDeposits(db, { chainId, token, addresses }, head.number)
  const recordedOf = (address: string): bigint => again?.deposits.find((one) => one.address === address)?.units ?? 0n
  // what two endpoints confirmed was recorded: one that says the same of the balance explains it
  const fits = (index: number, address: string, outflow = 0n): boolean => {
    const isDue = (units: bigint): boolean => units === recordedOf(address) - outflow
    return silent ? balances.of(index).every(isDue) : balances.of(index).some(isDue)
  }
  const open = deposits.filter(({ address }, index) => !fits(index, address, outflows.get(address)))
  const asked = { deposits: isWhole ? open : [], from, to: head.number }
  const anew = await readOutflowsAnew(reader, { endpoints, endpoint }, asked)
  let unsure: RpcError | undefined
  for (const [index, address] of addresses.entries()) {
    const counted = anew.get(address)
    if (counted !== undefined && fits(index, address, counted)) {
      if (counted < 0n) log.error({ chainId, address, units: `${-counted}` }, HELD_MONEY)
      outflows.set(address, counted)
    }
    const recordedUnits = recordedOf(address)
    const outflowUnits = outflows.get(address) ?? 0n
    const explained = fits(index, address, outflowUnits)
    if (!explained && silent) {
      unsure = silent
      continue
    }
    const [first = 0n] = balances.of(index)
    const balanceUnits = explained ? recordedUnits - outflowUnits : first
    const finding: DepositFinding = {
      ...{ chainId, address, balanceUnits, recordedUnits, outflowUnits, explained },
      blockNumber: head.number,
    }
    await upsertDepositFinding(db, finding)
    const known = deposits[index]?.differed
    if (!explained && !known) log.error(inText(finding), 'ALARM: a deposit balance differs from the recorded transfers')
    else if (new Set(balances.of(index)).size > 1)
      log.error(
        { chainId, address, balances: balances.of(index).map(String) },
        `ALARM: endpoints ${balances.endpoints.map(({ number }) => number).join(' and ')} show different balances`,
      )
  }
  if (unsure) throw unsure
}

const HELD_MONEY =
  'ALARM: an address held money over an hour before it was given to an order: another installation or program uses its ' +
  'key; `comptoir rescan` with an earlier block lists what came'

const inText = (finding: DepositFinding): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(finding).map(([name, value]) => [name, typeof value === 'bigint' ? `${value}` : value]),
  )

/** `asked`: the endpoints whose balances these are, and one beside them that did not answer. */
type Page = { head: BlockId; deposits: readonly RecordedDeposit[]; asked: readonly Endpoint[]; balances: Balances }

/** Two, as one alone may hide what it hid when the blocks were read; the next two where neither has the block. */
async function askPairs(
  reader: ChainReader,
  endpoints: readonly Endpoint[],
  question: { blockHash: string; addresses: readonly string[] },
): Promise<Pick<Page, 'asked' | 'balances'>> {
  const [asked, next] = [endpoints.slice(0, 2), endpoints.slice(2)]
  try {
    return { asked, balances: await askBalances(reader, asked, question) }
  } catch (error) {
    if (!isRpcError(error) || next.length === 0) throw error
    return askPairs(reader, next, question)
  }
}

/** The newest block of ours below the last one read that one of them has. */
async function findBelow({ db, network }: ChainReader, endpoints: readonly Endpoint[]): Promise<BlockId | undefined> {
  const tops = await Promise.allSettled(endpoints.map(({ rpc }) => readNewestBlock(rpc)))
  const numbers = tops.flatMap((one) => (one.status === 'fulfilled' ? [one.value.number] : []))
  const [, ...below] = await listBlocks(db, network.chainId)
  return below.find((block) => numbers.some((number) => number >= block.number))
}

/** What is recorded of a page of addresses, and what the chain says. @throws RpcError if no endpoint answers */
async function readPage(reader: ChainReader, addresses: readonly string[], mayLag: boolean): Promise<Page | undefined> {
  const { db, network } = reader
  const { chainId, usdcAddress: token } = network
  const endpoints = await provenEndpoints(reader)
  const readAt = async (at: BlockId | null): Promise<Page | undefined> => {
    const recorded = await readRecordedDeposits(db, { chainId, token, addresses }, at?.number ?? null)
    if (!recorded) return undefined
    const head = at ?? recorded.head
    // what was audited at a later block already needs no older one
    const deposits = recorded.deposits.filter(({ auditedAt }) => auditedAt <= head.number)
    if (deposits.length === 0) return undefined
    const question = { blockHash: head.hash, addresses: deposits.map(({ address }) => address) }
    return { head, deposits, ...(await askPairs(reader, endpoints, question)) }
  }
  try {
    return await readAt(null)
  } catch (error) {
    const below = mayLag && isRpcError(error) ? await findBelow(reader, endpoints) : undefined
    if (!below) throw error
    return readAt(below)
  }
}

/**
 * Compares the balances of deposit addresses with the recorded transfers, at the last block read. Missed transfers are
 * recorded; anything unexplained becomes a difference, with an alarm.
 * @param options `mayLag`: where all that answer are some blocks behind, at the newest block that one of them has
 * @throws RpcError if no endpoint answers
 */
export async function auditDeposits(
  reader: ChainReader,
  addresses: readonly string[],
  { mayLag = false }: { mayLag?: boolean } = {},
): Promise<void> {
  const { db, network } = reader
  const { chainId } = network
  for (let start = 0; start < addresses.length; start += PAGE) {
    const page = await readPage(reader, addresses.slice(start, start + PAGE), mayLag)
    if (!page) continue
    const { deposits, head, asked, balances } = page
    const isEven = (deposit: RecordedDeposit, index: number): boolean =>
      balances.of(index).every((units) => units === remainder(deposit))
    const differing = deposits.filter((deposit, index) => !isEven(deposit, index))
    const even = deposits.filter((deposit) => !differing.includes(deposit) && deposit.differed)
    if (even.length > 0)
      await updateDifferencesClosed(
        db,
        chainId,
        even.map(({ address }) => address),
      )
    if (differing.length > 0) await explain(reader, asked, { deposits: differing, head })
  }
}

/**
 * Audits one page of the hourly round over all watched addresses; `onNative` gets the addresses where native coin was
 * found.
 * @returns whether the round goes on
 */
export async function auditNextPage(
  reader: ChainReader,
  nowMs: number,
  onNative: (addresses: readonly string[]) => Promise<void> = async () => {},
): Promise<boolean> {
  const { db, network } = reader
  const { chainId } = network
  const due = await claimAuditPage(db, chainId, new Date(nowMs - ROUND_MS))
  if (!due) return false
  const from = due.auditCursor
  const page = await listAuditPage(db, { after: from, watchedAt: new Date(nowMs), limit: PAGE })
  if (page.length > 0) await auditDeposits(reader, page)
  // one last audit before watching ends; the previous round ended at most this long ago
  const ending = await listWatchEnding(db, page, new Date(nowMs + 2 * ROUND_MS))
  if (ending.length > 0) await onNative(await noticeNative(reader, ending))
  const last = page.length < PAGE
  const to = last ? '' : (page.at(-1) ?? '')
  const finishedAt = last ? new Date(nowMs) : null
  await updateAuditCursor(db, { chainId, from, to, finishedAt })
  return !last
}
