import { type Bloom, mayHold, readBloom } from '../bloom.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { type LogFilter, logKey, type RpcBlock, type RpcLog, toBlock } from '../transfer-logs.ts'
import { isProven } from './header-proof.ts'
import { matches, placeOf, readReceipts } from './receipts.ts'
import { areProven, type RpcReceipt } from './receipts-root.ts'

/** What an endpoint shows of a block; `place`: the number and the time that it says. */
export type Testimony = { logs: readonly RpcLog[]; header: RpcBlock | null; place: string }
export type Witness = { endpoint: Endpoint; answer: Testimony }

/**
 * A block that two endpoints dispute, and the logs that they were asked for. `silent`: those that gave no receipts of
 * it just now.
 */
type Dispute = { hash: string; filter: LogFilter; mine: Witness; other: Witness; silent: ReadonlySet<Endpoint> }

/**
 * `wrong`: it shows what is not there, or states that something is not there that is. `late`: it only lacks what is
 * proven, and may have it soon, or no longer. `isSettled`: what the first one shows counts. `isOtherExact`: what the
 * other one shows is proven, and all that there is.
 */
export type Verdict = Record<'wrong' | 'late', ReadonlySet<Endpoint>> & Record<'isSettled' | 'isOtherExact', boolean>

/**
 * Which of two endpoints is wrong about a block. A header is its node's word like any other, unless the block's hash is
 * its hash. Then it holds the number, the time and the root of the receipts: whoever shows receipts with that root,
 * liar or not, proves every log of the block and that there are no others. Without such receipts, the bloom says of a
 * log whose bits are not all set that it is not there. Set bits say nothing: others may have set them.
 */
export async function judge(dispute: Dispute): Promise<Verdict> {
  const { mine, other } = dispute
  const proven = [mine, other].flatMap(({ answer }) => answer.header ?? []).find(isProven)
  const moved = [mine, other].filter(({ answer }) => proven && answer.place !== placeOf(toBlock(proven)))
  const proof = proven && (await findProof(dispute, proven))
  if (proof) return judgeByProof(dispute, proof, moved)
  const wrong = new Set(moved.map(({ endpoint }) => endpoint))
  for (const endpoint of findInventors(dispute, bloomBetween(dispute, proven))) wrong.add(endpoint)
  // both: then neither is called wrong on so little
  if (wrong.size > 1) wrong.clear()
  return { wrong, late: new Set(), isSettled: wrong.has(other.endpoint), isOtherExact: false }
}

/** Of a header that no hash proves, only what both show. */
function bloomBetween({ mine, other }: Dispute, proven: RpcBlock | undefined): Bloom | null {
  if (proven) return readBloom(proven.logsBloom)
  const [own, its] = [mine, other].map(({ answer }) => readBloom(answer.header?.logsBloom))
  return own && its?.equals(own) ? own : null
}

/** Those that show a log which the other one denies, and the header too. */
function findInventors({ mine, other }: Dispute, bloom: Bloom | null): Endpoint[] {
  if (!bloom) return []
  const invents = (shows: Witness, denies: Witness): boolean => {
    const known = new Set(denies.answer.logs.map(logKey))
    return shows.answer.logs.some((log) => !known.has(logKey(log)) && !mayHold(bloom, log))
  }
  return [...(invents(mine, other) ? [mine.endpoint] : []), ...(invents(other, mine) ? [other.endpoint] : [])]
}

/** Receipts of a block; null if the endpoint does not have them all, or does not give them. */
async function readAll(
  { hash, silent }: Pick<Dispute, 'hash' | 'silent'>,
  { endpoint }: Witness,
): Promise<readonly RpcReceipt[] | null> {
  if (silent.has(endpoint)) return null
  const receipts = await readReceipts(endpoint, hash)
  return typeof receipts === 'string' ? null : receipts.all
}

/** How the log of a transaction is told from others, whatever place its node gives it. */
const tell = (
  hash: string | undefined,
  { address, topics, data }: Pick<RpcLog, 'address' | 'topics' | 'data'>,
): string => [hash ?? '', address, topics.join(), data].join().toLowerCase()

/** The requested logs of a block in their order. `isNamed`: the transactions are certain too. */
type Proof = { receipts: readonly RpcReceipt[]; given: Map<Witness, readonly RpcReceipt[] | null> } & {
  logs: readonly string[]
  isNamed: boolean
}

async function findProof(dispute: Dispute, header: RpcBlock): Promise<Proof | undefined> {
  const { filter, mine, other } = dispute
  const given: Proof['given'] = new Map()
  // who shows a log has its receipts; one that keeps none of so old a block may have shown none
  const byLogs = [mine, other].toSorted((left, right) => right.answer.logs.length - left.answer.logs.length)
  for (const witness of byLogs) {
    const receipts = await readAll(dispute, witness)
    given.set(witness, receipts)
    if (!receipts || !areProven(header, receipts)) continue
    const names = namesBetween(mine, other, receipts.length)
    const logs = receipts.flatMap((one, index) =>
      one.logs.filter(matches(filter)).map((log) => tell(names?.[index], log)),
    )
    return { receipts, given, logs, isNamed: names !== null }
  }
  return undefined
}

/** The root does not hold the hashes of transactions: these are certain where both list the same. */
function namesBetween(mine: Witness, other: Witness, count: number): readonly string[] | null {
  const [own, its] = [mine, other].map(({ answer: { header } }) => {
    const { transactions } = (header ?? {}) as { transactions?: unknown }
    return Array.isArray(transactions) ? transactions.map((one) => String(one).toLowerCase()) : []
  })
  return own?.length === count && own.join() === its?.join() ? own : null
}

async function judgeByProof(dispute: Dispute, proof: Proof, moved: readonly Witness[]): Promise<Verdict> {
  const { mine, other } = dispute
  const wrong = new Set(moved.map(({ endpoint }) => endpoint))
  const late = new Set<Endpoint>()
  for (const witness of [mine, other]) {
    const shown = inOrder(witness.answer.logs, proof)
    const { endpoint } = witness
    if (exceeds(shown, proof.logs)) wrong.add(endpoint)
    else if (exceeds(proof.logs, shown)) {
      const its = proof.given.has(witness) ? proof.given.get(witness) : await readAll(dispute, witness)
      const isStated = its?.length === proof.receipts.length && !isSame(its, proof.receipts)
      if (isStated) wrong.add(endpoint)
      else late.add(endpoint)
    }
  }
  const isExact = ({ endpoint, answer }: Witness): boolean =>
    proof.isNamed && !wrong.has(endpoint) && inOrder(answer.logs, proof).join(';') === proof.logs.join(';')
  const isMineFine = !wrong.has(mine.endpoint) && !late.has(mine.endpoint)
  const isSettled = isMineFine && (isExact(mine) || wrong.has(other.endpoint))
  return { wrong, late, isSettled, isOtherExact: isExact(other) }
}

/** Whether two lists of receipts hold the same logs. */
const isSame = (left: readonly RpcReceipt[], right: readonly RpcReceipt[]): boolean => {
  const [one, two] = [left, right].map((all) => all.flatMap(({ logs }) => logs.map((log) => tell('', log))).join(';'))
  return one === two
}

/** Each log once: a node may say one twice. */
function inOrder(logs: readonly RpcLog[], { isNamed }: Proof): string[] {
  const once = [...new Map(logs.map((log) => [logKey(log), log])).values()]
  const sorted = once.toSorted((left, right) => Number(BigInt(left.logIndex) - BigInt(right.logIndex)))
  return sorted.map((log) => tell(isNamed ? log.transactionHash : undefined, log))
}

/** Whether any is more often in the first list than in the second. */
function exceeds(left: readonly string[], right: readonly string[]): boolean {
  const counts = new Map<string, number>()
  for (const one of right) counts.set(one, (counts.get(one) ?? 0) + 1)
  return left.some((one) => {
    const rest = (counts.get(one) ?? 0) - 1
    counts.set(one, rest)
    return rest < 0
  })
}
