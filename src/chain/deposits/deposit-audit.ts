import { HOUR } from '../../kernel/clock.ts'
import { type BlockId, listBlocks } from '../chain-queries.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { audibleEndpoints, verifyChain } from '../endpoints/endpoints.ts'
import { isRpcError, RpcError, toWord } from '../endpoints/rpc.ts'
import { tokenOf } from '../networks.ts'
import { readNewestBlock } from '../payout/payout-view.ts'
import { type ChainReader, listOutgoing, type Reread, rereadEach } from '../rescan.ts'
import { blockCall, type RpcBlock } from '../transfer-logs.ts'
import { askBalances, type Balances, type Unheard } from './audit-balances.ts'
import {
  claimAuditPage,
  type DepositFinding,
  deleteDepositDoubts,
  insertDepositDoubts,
  listAuditPage,
  type RecordedDeposit,
  readRecordedDeposits,
  readRecordedUntil,
  updateAuditCursor,
  updateDifferencesClosed,
  upsertDepositFinding,
} from './deposit-audit-queries.ts'
import { findKeeper } from './log-keeper.ts'
import { noticeNative } from './native-coin.ts'
import { listWatchEnding } from './native-coin-queries.ts'

const PAGE = 500
const ROUND_MS = HOUR
/** Tolerance between block times and our clock. */
const CLOCK_MARGIN_MS = HOUR

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
  { heard, endpoint }: { heard: Balances; endpoint: Endpoint },
  { deposits, from, to }: { deposits: readonly RecordedDeposit[]; from: bigint; to: bigint },
): Promise<Map<string, bigint>> {
  const { db, network } = reader
  const { chainId, usdcAddress: token } = network
  const addresses = addressesOf(deposits)
  // one alone could explain away what is missing: where others are set, a second one must have the state too
  if (deposits.length === 0 || heard.unheard.length > 0) return new Map()
  const readHeld = async (): Promise<Balances | undefined> => {
    const { method, params } = blockCall(from)
    const block = await endpoint.rpc.call<RpcBlock | null>(method, ...params)
    return block ? askBalances(reader, heard.endpoints, { blockHash: block.hash, addresses }) : undefined
  }
  const held = await readHeld().catch((error: unknown) => {
    if (isRpcError(error)) return undefined
    throw error
  })
  if (!held || held.endpoints.length < heard.endpoints.length) return new Map()
  const recorded = await readRecordedUntil(db, { chainId, token, addresses, block: from })
  const anew = deposits.flatMap((deposit, index) => {
    const [units = 0n, ...others] = held.of(index)
    if (others.some((other) => other !== units)) return []
    return { ...deposit, outflowUnits: (recorded.get(deposit.address) ?? 0n) - units, outflowTo: from }
  })
  return readOutflows(reader, endpoint, { deposits: anew, from, to })
}

const remainder = ({ units, outflowUnits }: RecordedDeposit): bigint => units - outflowUnits

/** `balances`: what endpoints say that it holds. */
type Weighed = { deposit: RecordedDeposit; balances: readonly bigint[] }

/** `unheard`: who should have said what it holds, and did not; the rest: who said what came in, or why one did not. */
type Silence = Pick<Reread, 'whole' | 'silent'> & { unheard: readonly Unheard[] }

/** What is due at an address, read again. `isWhole`: since the address was given out. */
type Again = Silence & {
  recorded: ReadonlyMap<string, bigint>
  outflows: ReadonlyMap<string, bigint>
  isWhole: boolean
}

/** One that did not say what it holds may be the one that showed the difference. */
const isOpen = ({ differed, isUnsure }: RecordedDeposit): boolean => differed || isUnsure

/** What an endpoint may know of an address that was left open: it said neither what it holds nor all that came in. */
const missingOf = (deposit: RecordedDeposit, { unheard, whole }: Silence): RpcError | undefined =>
  isOpen(deposit) ? unheard.find(({ endpoint }) => !whole.has(endpoint))?.error : undefined

/**
 * Whether the balances are what is due. What two endpoints confirmed was recorded: one that says the same of the
 * balance explains it. Where an endpoint did not say what came in, it may be what is missing: then all must say the
 * same.
 */
function fits({ deposit, balances }: Weighed, due: bigint, silence: Silence): boolean {
  const isDue = (units: bigint): boolean => units === due
  if (missingOf(deposit, silence)) return false
  return silence.silent ? balances.every(isDue) : balances.some(isDue)
}

/** Reads incoming and outgoing transfers of these addresses again. @throws RpcError if no endpoint says what left */
async function readAgain(reader: ChainReader, page: Page, differing: readonly Weighed[]): Promise<Again> {
  const { db, network, log } = reader
  const { chainId, usdcAddress: token } = network
  const { head, heard } = page
  const deposits = differing.map(({ deposit }) => deposit)
  const addresses = addressesOf(deposits)
  const oldest = Math.min(...deposits.map(({ createdAt }) => createdAt.getTime()))
  const since = { addresses, at: new Date(oldest - CLOCK_MARGIN_MS), to: head.number }
  // one that lacks this block does not know what left in it
  const { endpoint, from, isWhole } = await findKeeper(reader, heard.endpoints, since)
  const { whole, silent } = await rereadEach(reader, { addresses, from, to: head.number })
  // where the range begins at a later block, no endpoint has said all that came in
  const silence = { unheard: heard.unheard, whole: isWhole ? whole : new Set<Endpoint>(), silent }
  const outflows = await readOutflows(reader, endpoint, { deposits, from, to: head.number })
  const again = await readRecordedDeposits(db, { chainId, token, addresses }, head.number)
  const recorded = new Map(again?.deposits.map(({ address, units }) => [address, units]))
  const isExplained = (one: Weighed, outflow = 0n): boolean =>
    fits(one, (recorded.get(one.deposit.address) ?? 0n) - outflow, silence)
  const open = differing.filter((one) => !isExplained(one, outflows.get(one.deposit.address)))
  const missing = isWhole ? open.map(({ deposit }) => deposit) : []
  const anew = await readOutflowsAnew(reader, { heard, endpoint }, { deposits: missing, from, to: head.number })
  for (const one of open) {
    const { address } = one.deposit
    const counted = anew.get(address)
    if (counted === undefined || !isExplained(one, counted)) continue
    if (counted < 0n) log.error({ chainId, address, units: `${-counted}` }, HELD_MONEY)
    outflows.set(address, counted)
  }
  return { ...silence, recorded, outflows, isWhole }
}

/** What is known of an address of which no endpoint says what left. */
const lastKnown = ({ address, units, outflowUnits }: RecordedDeposit, silence: Silence): Again => ({
  ...{ ...silence, isWhole: false },
  recorded: new Map([[address, units]]),
  outflows: new Map([[address, outflowUnits]]),
})

/**
 * Records what explains a balance, or that nothing does. What an endpoint did not say is waited for: for an hour, the
 * difference is no finding, unless less is there than is due, which nothing that came in explains.
 * @returns what is waited for, if anything is
 */
async function judge(reader: ChainReader, page: Page, one: Weighed, again: Again): Promise<RpcError | undefined> {
  const { db, network, log } = reader
  const { chainId } = network
  const { deposit, balances } = one
  const { address } = deposit
  const recordedUnits = again.recorded.get(address) ?? 0n
  const outflowUnits = again.outflows.get(address) ?? 0n
  const due = recordedUnits - outflowUnits
  const explained = fits(one, due, again)
  const awaited = explained ? undefined : (again.silent ?? missingOf(deposit, again))
  const isLess = again.isWhole && balances.every((units) => units < due)
  if (awaited && !isLess && !deposit.isLongUnsure) return awaited
  const [first = 0n] = balances
  const finding: DepositFinding = {
    ...{
      chainId,
      token: tokenOf(network),
      address,
      balanceUnits: explained ? due : first,
      recordedUnits,
      outflowUnits,
      explained,
    },
    blockNumber: page.head.number,
  }
  await upsertDepositFinding(db, finding)
  if (!explained && !deposit.differed)
    log.error(inText(finding), 'ALARM: a deposit balance differs from the recorded transfers')
  else if (!awaited && new Set(balances).size > 1)
    log.error(
      { chainId, address, balances: balances.map(String) },
      `ALARM: endpoints ${page.heard.endpoints.map(({ number }) => number).join(' and ')} show different balances`,
    )
  return awaited
}

/** Explains addresses whose balance differs. @returns those that stay unsure, and what is waited for */
async function explain(reader: ChainReader, page: Page, differing: readonly Weighed[]): Promise<Map<string, RpcError>> {
  const again = await readAgain(reader, page, differing).catch((error: unknown) => {
    if (isRpcError(error)) return error
    throw error
  })
  const unsure = new Map<string, RpcError>()
  for (const one of differing) {
    const { unheard } = page.heard
    const known = isRpcError(again) ? lastKnown(one.deposit, { unheard, whole: new Set(), silent: again }) : again
    const awaited = await judge(reader, page, one, known)
    if (awaited) unsure.set(one.deposit.address, awaited)
  }
  return unsure
}

const HELD_MONEY =
  'ALARM: an address held money over an hour before it was given to an order: another installation or program uses its ' +
  'key; `comptoir rescan` with an earlier block lists what came'

const inText = (finding: DepositFinding): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(finding).map(([name, value]) => [name, typeof value === 'bigint' ? `${value}` : value]),
  )

/** `later`: what a later block left open. */
type Page = Record<'deposits' | 'later', readonly RecordedDeposit[]> & { head: BlockId; heard: Balances }

const NOTHING: Balances = { endpoints: [], unheard: [], of: () => [] }

/** The newest block of ours below the last one read that one of them has. */
async function findBelow({ db, network }: ChainReader, endpoints: readonly Endpoint[]): Promise<BlockId | undefined> {
  const readTop = (endpoint: Endpoint) => verifyChain(endpoint, network).then(() => readNewestBlock(endpoint.rpc))
  const tops = await Promise.allSettled(endpoints.map(readTop))
  const numbers = tops.flatMap((one) => (one.status === 'fulfilled' ? [one.value.number] : []))
  const [, ...below] = await listBlocks(db, network.chainId)
  return below.find((block) => numbers.some((number) => number >= block.number))
}

/** What is recorded of a page of addresses, and what the chain says. @throws RpcError if no endpoint answers */
async function readPage(reader: ChainReader, addresses: readonly string[], mayLag: boolean): Promise<Page | undefined> {
  const { db, network } = reader
  const { chainId, usdcAddress: token } = network
  const endpoints = audibleEndpoints(reader)
  const readAt = async (at: BlockId | null): Promise<Page | undefined> => {
    const recorded = await readRecordedDeposits(db, { chainId, token, addresses }, at?.number ?? null)
    if (!recorded) return undefined
    const head = at ?? recorded.head
    // what was audited at a later block already needs no older one
    const deposits = recorded.deposits.filter(({ auditedAt }) => auditedAt <= head.number)
    // an open difference is a finding, unless its block is no longer one of ours
    const later = recorded.deposits.filter(
      ({ auditedAt, isUnsure, differed }) => auditedAt > head.number && (isUnsure || (differed && !at)),
    )
    if (deposits.length === 0) return { head, deposits, later, heard: NOTHING }
    const question = { blockHash: head.hash, addresses: addressesOf(deposits) }
    return { head, deposits, later, heard: await askBalances(reader, endpoints, question) }
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
 * @returns addresses of which an endpoint that did not answer, or a block that is read again, may know more, and why
 * @throws RpcError if no endpoint answers
 */
export async function auditDeposits(
  reader: ChainReader,
  addresses: readonly string[],
  { mayLag = false }: { mayLag?: boolean } = {},
): Promise<ReadonlyMap<string, RpcError>> {
  const unsure = new Map<string, RpcError>()
  for (let start = 0; start < addresses.length; start += PAGE) {
    const page = await readPage(reader, addresses.slice(start, start + PAGE), mayLag)
    if (!page) continue
    for (const [address, awaited] of await auditPage(reader, page)) unsure.set(address, awaited)
  }
  return unsure
}

const addressesOf = (deposits: readonly RecordedDeposit[]): string[] => deposits.map(({ address }) => address)

async function auditPage(reader: ChainReader, page: Page): Promise<Map<string, RpcError>> {
  const { db, network } = reader
  const { chainId } = network
  const { deposits, heard } = page
  const weighed = deposits.map((deposit, index) => ({ deposit, balances: heard.of(index) }))
  const isEven = ({ deposit, balances }: Weighed): boolean =>
    balances.every((units) => units === remainder(deposit)) && !(heard.unheard.length > 0 && isOpen(deposit))
  const differing = weighed.filter((one) => !isEven(one))
  const even = weighed.filter((one) => isEven(one) && one.deposit.differed).map(({ deposit }) => deposit)
  if (even.length > 0) await updateDifferencesClosed(db, chainId, addressesOf(even))
  const unsure = differing.length > 0 ? await explain(reader, page, differing) : new Map<string, RpcError>()
  const settled = deposits.filter(({ address, isUnsure }) => isUnsure && !unsure.has(address))
  if (settled.length > 0) await deleteDepositDoubts(db, chainId, addressesOf(settled))
  const doubted = deposits.filter(({ address, isUnsure }) => !isUnsure && unsure.has(address))
  if (doubted.length > 0) await insertDepositDoubts(db, chainId, addressesOf(doubted))
  for (const { address, auditedAt } of page.later)
    unsure.set(address, new RpcError('unknown', `block ${auditedAt}, which left it open, is not read again yet`))
  return unsure
}

const UNSURE = 'deposit addresses cannot be compared with their chain now; the next round compares them again'

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
  const { db, network, log } = reader
  const { chainId } = network
  const due = await claimAuditPage(db, chainId, new Date(nowMs - ROUND_MS))
  if (!due) return false
  const from = due.auditCursor
  const page = await listAuditPage(db, { after: from, watchedAt: new Date(nowMs), limit: PAGE })
  const unsure = await auditDeposits(reader, page)
  const [awaited] = unsure.values()
  if (awaited) log.warn({ chainId, addresses: [...unsure.keys()], err: awaited }, UNSURE)
  // one last audit before watching ends; the previous round ended at most this long ago
  const ending = await listWatchEnding(db, page, new Date(nowMs + 2 * ROUND_MS))
  if (ending.length > 0) await onNative(await noticeNative(reader, ending))
  const last = page.length < PAGE
  const to = last ? '' : (page.at(-1) ?? '')
  const finishedAt = last ? new Date(nowMs) : null
  await updateAuditCursor(db, { chainId, from, to, finishedAt })
  return !last
}
