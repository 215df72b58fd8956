import type { Db } from '../db/db.ts'
import { INDEXES_A_MINUTE, type IndexRange, type RestoreTimes } from '../db/restored-queries.ts'
import { DAY, MINUTE } from '../kernel/clock.ts'
import { deriveAddresses, parseXpub } from '../kernel/xpub.ts'
import { countAssignedOf, listAssignedAmong } from './deposits/deposit-queries.ts'
import { withoutOwn } from './deposits/own-transfers.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { provenEndpoints } from './endpoints/endpoints.ts'
import { MAX_FILTER_VALUES, RpcError, toWord } from './endpoints/rpc.ts'
import { type Checked, checkShown, type Shown } from './hearing/borne-out.ts'
import { listPayingTokens } from './payout/wallet-queries.ts'
import { type ChainReader, listOutgoing, readLogRange } from './rescan.ts'
import { logKey, type RpcLog, tokensOf } from './transfer-logs.ts'

/**
 * Money that moved after a backup was made and that the restored database cannot explain. `shownBy`: the number of the
 * only endpoint that shows it, where nothing bears it out. `isChecked`: the others were asked about it.
 */
export type UnknownTransfer = {
  chainId: number
  txHash: string
  address: string
  units: bigint
  index: number | null
  shownBy: number | null
  isChecked: boolean
}

type Progress = (done: number, of: number) => void

/** Both blocks included. */
export type BlockRange = { from: bigint; to: bigint }

const STEP = Number(INDEXES_A_MINUTE)
/** An earlier restore is looked for so long before a later one: after that, its own backups are restored. */
const EARLIER_RESTORE_MS = DAY

const isUsdc = ({ network }: ChainReader, log: RpcLog): boolean =>
  log.address.toLowerCase() === network.usdcAddress.toLowerCase()

const addressIn = (topic: string | undefined): string => `0x${(topic ?? '').slice(26)}`.toLowerCase()

/** Who was heard, and what they show. */
type Heard = { heard: readonly Endpoint[]; shown: readonly Shown[] }

/**
 * The logs that any endpoint shows: a person looks at each, and one that hides some does not decide. One that keeps no
 * such old blocks says nothing. @throws RpcError
 */
async function readEverywhere(
  reader: ChainReader,
  { from, to }: BlockRange,
  read: (endpoint: Endpoint) => Promise<readonly RpcLog[]>,
): Promise<Heard> {
  // what is said to be elsewhere is no answer, and nobody could contradict it
  const isWithin = ({ blockNumber }: RpcLog): boolean => BigInt(blockNumber) >= from && BigInt(blockNumber) <= to
  const hear = async (endpoint: Endpoint) => {
    try {
      return { endpoint, logs: (await read(endpoint)).filter(isWithin) }
    } catch (error) {
      if (!(error instanceof RpcError) || error.kind === 'unknown') throw error
      reader.onRefused?.(endpoint)
      return error
    }
  }
  const answers = await Promise.all((await provenEndpoints(reader)).map(hear))
  const heard = answers.flatMap((answer) => (answer instanceof RpcError ? [] : [answer]))
  if (heard.length === 0) throw answers[0]
  const shown = new Map<string, Shown>()
  for (const { endpoint, logs } of heard)
    for (const log of logs) {
      const key = `${log.blockHash} ${logKey(log)}`.toLowerCase()
      const by = shown.get(key)?.by ?? []
      shown.set(key, { log, by: by.includes(endpoint) ? by : [...by, endpoint] })
    }
  return { heard: heard.map(({ endpoint }) => endpoint), shown: [...shown.values()] }
}

const wordOn = (one: Shown, { borneOut, unchecked }: Checked): Pick<UnknownTransfer, 'shownBy' | 'isChecked'> => ({
  shownBy: borneOut.has(one) ? null : (one.by[0]?.number ?? null),
  isChecked: !unchecked.has(one),
})

/** So many addresses in a row are looked at without any money: ten times the key's orders, within these limits. */
const UNPAID = { times: 10, least: 1000, most: 100_000 }
/** So many are looked at from each index where an earlier restore may have gone on: a share of those in a row. */
const BEGINNING = { share: 200, least: 10, most: 50 }

const within = ({ least, most }: typeof UNPAID | typeof BEGINNING, count: number): number =>
  Math.min(Math.max(Math.ceil(count), least), most)

/** No installation gives out more addresses of a key in a minute: thirty times what is kept for one. */
const FASTEST = 30 * STEP

/**
 * Indexes of a key to look at. All below `until`; every payment moves that on, by `left` in all: whoever knows the key
 * could else pay a little at one address of each thousand. Beyond it, the first so many of each minute that a service
 * may have gone on in.
 */
type Walk = { xpub: string; isCut: boolean } & Record<
  'next' | 'until' | 'end' | 'unpaid' | 'left' | 'beginning',
  number
>

/** Moves on. @returns at most so many, in order */
function takeNext(walk: Walk, most: number): number[] {
  const taken: number[] = []
  while (taken.length < most && walk.next < walk.end) {
    const inMinute = STEP - 1 - ((walk.end - walk.next - 1) % STEP)
    if (walk.next < walk.until || inMinute < walk.beginning) taken.push(walk.next++)
    else walk.next = walk.beginning > 0 ? Math.min(walk.next + STEP - inMinute, walk.end) : walk.end
  }
  return taken
}

/** Goes back to what was passed over before a payment showed that it may be used; `isCut`: not all of it. */
function goOnAfter(walk: Walk, paid: readonly number[]): void {
  const until = Math.min(Math.max(...paid) + 1 + walk.unpaid, walk.end)
  if (until <= walk.until) return
  const from = Math.max(walk.until, Math.min(...paid) + 1)
  walk.isCut ||= until > from + walk.left
  if (walk.left === 0) return
  if (walk.next > walk.until) walk.next = from
  walk.until = Math.min(until, from + walk.left)
  walk.left -= walk.until - from
}

/** In lower case, in the order of the indexes. */
export type AddressesOf = (xpub: string, indexes: readonly number[]) => string[]

const ADDRESS_BYTES = 20
const PIECE = 50

/** Each takes a quarter of a millisecond: they are kept for the next chain, packed. */
export function openAddresses(): AddressesOf {
  const pieces = new Map<string, Buffer>()
  const placeOf = (xpub: string, index: number): Buffer => {
    const key = `${xpub} ${Math.floor(index / PIECE)}`
    const piece = pieces.get(key) ?? Buffer.alloc(PIECE * ADDRESS_BYTES)
    pieces.set(key, piece)
    const start = (index % PIECE) * ADDRESS_BYTES
    return piece.subarray(start, start + ADDRESS_BYTES)
  }
  return (xpub, indexes) => {
    const places = indexes.map((index) => ({ index, bytes: placeOf(xpub, index) }))
    const empty = places.filter(({ bytes }) => bytes.every((byte) => byte === 0))
    const derived = deriveAddresses(
      xpub,
      empty.map(({ index }) => index),
    )
    for (const [at, { bytes }] of empty.entries()) bytes.write(derived[at]?.slice(2) ?? '', 'hex')
    return places.map(({ bytes }) => `0x${bytes.toString('hex')}`)
  }
}

/** Where an address that is asked about comes from. */
type Place = { walk: Walk; index: number }

/** The addresses to ask about next, of all walks that are not at their end. */
function takePlaces(open: readonly Walk[], addressesOf: AddressesOf): Map<string, Place> {
  const asked = new Map<string, Place>()
  for (const walk of open) {
    const indexes = takeNext(walk, MAX_FILTER_VALUES - asked.size)
    const addresses = addressesOf(walk.xpub, indexes)
    for (const [at, index] of indexes.entries()) asked.set(addresses[at] ?? '', { walk, index })
  }
  return asked
}

type Paid = { one: Shown; place: Place; transfer: UnknownTransfer }

/** What came to these addresses. What one endpoint alone shows, and nothing bears out, is listed and moves no walk. */
async function findPaid(reader: ChainReader, range: BlockRange, asked: ReadonlyMap<string, Place>): Promise<Paid[]> {
  const { chainId } = reader.network
  const filter = { addresses: [...asked.keys()], tokens: tokensOf(reader.network), at: new Date(0) }
  const { heard, shown } = await readEverywhere(reader, range, (endpoint) => readLogRange(endpoint, filter, range))
  const paid = shown.flatMap((one): Paid[] => {
    const address = addressIn(one.log.topics[2])
    const place = asked.get(address)
    if (!place || !isUsdc(reader, one.log)) return []
    const units = toWord(one.log.data)
    const { transactionHash: txHash } = one.log
    const unheard = { shownBy: null, isChecked: false }
    return [{ one, place, transfer: { chainId, txHash, address, units, index: place.index, ...unheard } }]
  })
  const some = paid.filter(({ transfer }) => transfer.units > 0n)
  some.sort((left, right) => right.place.index - left.place.index) // the highest moves a walk on
  const checked = await checkShown(
    heard,
    some.map(({ one }) => one),
  )
  const told = some.map((one) => ({ ...one, transfer: { ...one.transfer, ...wordOn(one.one, checked) } }))
  return told.reverse()
}

type Search = { walks: readonly Walk[]; addressesOf: AddressesOf; progress: Progress }

/** USDC that came to the addresses of all these walks, those of many keys in one question. @throws RpcError */
async function findDeposits(reader: ChainReader, range: BlockRange, { walks, addressesOf, progress }: Search) {
  const found = new Map<string, UnknownTransfer>()
  const starts = walks.map(({ next }) => next)
  const sum = (of: (walk: Walk) => number): number =>
    walks.reduce((total, walk, index) => total + of(walk) - (starts[index] ?? 0), 0)
  for (let open = walks; open.length > 0; open = open.filter(({ next, end }) => next < end)) {
    const asked = takePlaces(open, addressesOf)
    if (asked.size === 0) continue
    const paid = await findPaid(reader, range, asked)
    for (const { one, transfer } of paid) found.set(`${one.log.blockHash} ${logKey(one.log)}`, transfer)
    const sure = paid.filter(({ transfer }) => transfer.shownBy === null).map(({ place }) => place)
    for (const [walk, its] of Map.groupBy(sure, (place) => place.walk))
      goOnAfter(
        walk,
        its.map(({ index }) => index),
      )
    progress(
      sum(({ next }) => next),
      sum(({ end }) => end),
    )
  }
  return [...found.values()]
}

type Skipped = { ranges: readonly (IndexRange & { xpub: string })[]; times: RestoreTimes }

/** What to look at of each range: all that followed the backup, and where an earlier restore may have gone on. */
async function planWalks(db: Db, { ranges, times: { backupMadeAt, restoredAt } }: Skipped) {
  const xpubs = ranges.map(({ xpub }) => parseXpub(xpub).text)
  const used = await countAssignedOf(db, xpubs, UNPAID.most / UNPAID.times)
  return ranges.map(({ from, to, at = restoredAt }, index) => {
    const xpub = xpubs[index] ?? ''
    const unpaid = within(UNPAID, UNPAID.times * (used.get(xpub) ?? 0))
    const [next, end] = [Number(from), Number(to)]
    const atMs = new Date(at).getTime()
    const lostMs = Math.max(0, atMs - backupMadeAt.getTime())
    const minutes = (ms: number): number => 1 + Math.ceil(ms / MINUTE)
    const earlier = minutes(Math.min(lostMs, EARLIER_RESTORE_MS))
    const left = minutes(lostMs) * FASTEST
    const walk: Walk = { xpub, next, until: next + unpaid, end, unpaid, left, beginning: 0, isCut: false }
    return { walk, earliest: end - earlier * STEP, left: earlier * FASTEST, sinceMs: atMs - EARLIER_RESTORE_MS }
  })
}

/** `onCut`: more addresses seem to be paid than can have been given out; not all from this index on were looked at. */
type Heed = { progress: Progress; onCut(index: number): void }

/**
 * Transfers to addresses that were assigned after the backup: their orders are lost, their money is not. The service
 * went on from the first index of each range, or, after an earlier restore, from the index of one of its minutes.
 * @param findBlock the block to read from for what happened since a time, none before the range
 * @throws RpcError
 */
export async function findSkippedDeposits(
  reader: ChainReader,
  range: BlockRange,
  {
    findBlock,
    addressesOf,
    progress = () => {},
    onCut = () => {},
    ...skipped
  }: Skipped & { findBlock(since: Date): Promise<bigint>; addressesOf: AddressesOf } & Partial<Heed>,
): Promise<UnknownTransfer[]> {
  const walks = await planWalks(reader.db, skipped)
  if (walks.length === 0) return []
  const found = await findDeposits(reader, range, { walks: walks.map(({ walk }) => walk), addressesOf, progress })
  const later = walks.map(({ walk, earliest, left }) => {
    const next = Math.min(Math.max(walk.until, earliest), walk.end)
    return { ...walk, next, left, isCut: false, beginning: within(BEGINNING, walk.unpaid / BEGINNING.share) }
  })
  const sinceMs = Math.min(...walks.map((one) => one.sinceMs))
  const isLater = sinceMs > skipped.times.backupMadeAt.getTime()
  const blocks = { ...range, from: isLater ? await findBlock(new Date(sinceMs)) : range.from }
  found.push(...(await findDeposits(reader, blocks, { walks: later, addressesOf, progress })))
  for (const { isCut, until } of [...walks.map(({ walk }) => walk), ...later]) if (isCut) onCut(until)
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
  const found: UnknownTransfer[] = []
  for (const network of await listPayingTokens(reader.db, reader.network)) {
    const asked = { senders: [wallet], ...range }
    const { heard, shown } = await readEverywhere(reader, range, (endpoint) => listOutgoing(network, endpoint, asked))
    const unknown = await withoutOwn({ ...reader, network, rpc: reader.endpoints.rpc }, wallet, shown)
    const checked = await checkShown(heard, unknown)
    for (const one of unknown) {
      const { transactionHash: txHash, topics, data } = one.log
      const transfer = { chainId, txHash, address: addressIn(topics[2]), units: toWord(data), index: null }
      found.push({ ...transfer, ...wordOn(one, checked) })
    }
  }
  return found
}
