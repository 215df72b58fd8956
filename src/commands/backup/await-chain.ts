import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceBase } from '../../assembly/service-base.ts'
import { type ChainStanding, listStandings } from '../../chain/chain-queries.ts'
import type { Endpoint } from '../../chain/endpoints/endpoint.ts'
import { type Endpoints, provenEndpoints } from '../../chain/endpoints/endpoints.ts'
import { RpcError } from '../../chain/endpoints/rpc.ts'
import type { Network } from '../../chain/networks.ts'
import { readNewestBlock } from '../../chain/payout/payout-view.ts'
import { HOUR, MINUTE, SECOND } from '../../kernel/clock.ts'
import { adviceFor, silentWords } from '../endpoint-advice.ts'
import { startProgress } from '../progress.ts'

/** Not waited for longer without a step of what is awaited. Slow chains have a block by then. */
const SILENT_MS = MINUTE
/** Not waited for longer in all: a step does not always lead there, for example on a chain whose clock is behind. */
const MOST_MS = HOUR
const LOOK_MS = SECOND

/** `known`: the last block that the backup has read. */
type Wanted = { known: bigint; restoredAt: Date; say(line: string): void; silentMs?: number; mostMs?: number }

type Asked = { network: Pick<Network, 'chainId'>; endpoints: Pick<Endpoints, 'all'> }

/** An endpoint that answers, and its newest block. */
type Top = { endpoint: Endpoint; number: bigint }

/** `silent`: each endpoint that shows nothing now, with the reason. */
type Look = { tops: Top[]; silent: { endpoint: Endpoint; why: string }[] }

/** Each one that answers counts: one that lags shows nothing of what happened since. @throws RpcError if none does */
async function readTops({ network, endpoints: { all } }: Asked): Promise<Look> {
  let last: unknown = new RpcError('unknown', `no endpoint of chain ${network.chainId} is available`)
  const look: Look = { tops: [], silent: [] }
  const ask = async (endpoint: Endpoint): Promise<void> => {
    try {
      await provenEndpoints({ network, endpoints: only(endpoint) })
      look.tops.push({ endpoint, number: (await readNewestBlock(endpoint.rpc)).number })
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      last = error
      look.silent.push({ endpoint, why: error.message })
    }
  }
  await Promise.all(all.map(ask))
  if (look.tops.length === 0) throw last
  return look
}

/** Also one that failed a moment ago: it may be back. */
const only = (endpoint: Endpoint) => ({ all: [endpoint], usable: () => [], isEachHeard: true })

const lowestOf = (tops: readonly Top[]): Top =>
  tops.reduce((lowest, top) => (top.number < lowest.number ? top : lowest))

/** Nodes that do not have what the backup knows are hours behind. @throws Error with a sentence for the operator */
function refuseOlder({ endpoint, number }: Top, chainId: number, known: bigint): void {
  if (number >= known) return
  throw new Error(
    `Endpoint ${endpoint.number} of chain ${chainId} is at block ${number}, and the backup knows block ${known} already: ` +
      `it shows nothing of what happened since. ${adviceFor(chainId)}`,
  )
}

/**
 * Where what is awaited stands. `isWorkedOn`: a long step is no standstill. `why` it is not there yet, for the
 * operator;
 * `isStill`: it made no step.
 */
type Under = { place: bigint; of: bigint; isWorkedOn?: boolean; why(isStill: boolean): string }
type Limits = { silentMs: number; mostMs: number; progress(done: number, of: number): void }

/**
 * Looks each second until there is a result. A place counts as a step only beyond every one before: what goes back and
 * forth comes no further. A look that no node answers is one without a step. @throws Error with a sentence for the
 * operator; RpcError where the last look was not answered
 */
async function awaitStep<Result>(
  { silentMs, mostMs, progress }: Limits,
  look: () => Promise<Under | { result: Result }>,
): Promise<Result> {
  const startedAtMs = Date.now()
  let movedAtMs = startedAtMs
  let farthest: bigint | undefined
  for (;;) {
    const seen = await look().catch((error: unknown) => {
      if (error instanceof RpcError) return error
      throw error
    })
    if ('result' in seen) return seen.result
    const nowMs = Date.now()
    if (!(seen instanceof RpcError)) {
      const { place, of, isWorkedOn = false } = seen
      if (isWorkedOn || farthest === undefined || place > farthest) movedAtMs = nowMs
      if (farthest === undefined || place > farthest) farthest = place
      progress(Number(place), Number(of))
    }
    const isStill = nowMs - movedAtMs > silentMs
    if (isStill || nowMs - startedAtMs > mostMs) throw seen instanceof RpcError ? seen : new Error(seen.why(isStill))
    await sleep(LOOK_MS)
  }
}

/** Where the service is that has not read enough yet, where a node has the block `top`. */
function standUnread(standing: ChainStanding, { goal, top, restoredAt }: UnreadFacts): Under {
  const { chainId, number, blockAt, isLeased, trouble } = standing
  const place = number ?? 0n
  const why = (isStill: boolean): string => {
    if (isStill && place < top) {
      const toDo = isLeased
        ? `The service does not read on (${trouble}): see comptoir doctor.`
        : 'Start the service (a worker) first.'
      return `Chain ${chainId} is at block ${place} of ${top} and does not move. ${toDo}`
    }
    if (place < goal) return `Chain ${chainId} is at block ${place} of ${goal}. Run this again once it has caught up.`
    return (
      `Chain ${chainId} has been read up to block ${place} of ${blockAt?.toISOString() ?? 'an unknown time'}, and the ` +
      `restore was at ${restoredAt.toISOString()}: what happened in between is not known. Run this again once the ` +
      `chain has a later block; if it has, the nodes of CHAIN_${chainId}_RPC_URL lag.`
    )
  }
  // through a slow node, a worker reads for minutes before it stores the next blocks; it renews its lease meanwhile
  return { place, of: goal, isWorkedOn: isLeased && trouble === null && place < top, why }
}

type UnreadFacts = { goal: bigint; top: bigint; restoredAt: Date }

const UNREAD = {
  ...{ number: null, genesisHash: null, blockAt: null, trouble: null, lagSeconds: null },
  ...{ isLeased: false, isTried: false, readAt: null },
}

/**
 * Waits until the service has read the chain beyond the restore, and every endpoint has come as far. Both goals are
 * fixed when they are first known: a chain goes on, and a node that is always some blocks behind is waited for only
 * until it has those. A chain without a block since the restore tells nothing of the moments before it.
 * @returns the block up to which the service has read; each endpoint has it
 * @throws RpcError where none answers; Error with a sentence for the operator when it comes no further, or one endpoint
 *   stays silent: what it alone would show is not known
 */
export async function awaitComparable(
  { db }: Pick<ServiceBase, 'db'>,
  chain: Asked,
  { known, restoredAt, say, silentMs = SILENT_MS, mostMs = MOST_MS }: Wanted,
): Promise<bigint> {
  const { chainId } = chain.network
  const limits = { silentMs, mostMs, progress: startProgress(say, `Chain ${chainId}`, 'blocks') }
  const readLowest = async (): Promise<{ lowest: Top; silent: Look['silent'] }> => {
    const { tops, silent } = await readTops(chain)
    const lowest = lowestOf(tops)
    refuseOlder(lowest, chainId, known)
    return { lowest, silent }
  }
  let goal: bigint | undefined
  const to = await awaitStep(limits, async () => {
    const top = (await readLowest()).lowest.number
    goal ??= top
    const [standing = { ...UNREAD, chainId }] = await listStandings(db, [chainId])
    const { number, blockAt } = standing
    if (number !== null && number >= goal && blockAt !== null && blockAt >= restoredAt) return { result: number }
    return standUnread(standing, { goal, top, restoredAt })
  })
  return awaitStep(limits, async () => {
    const { lowest, silent } = await readLowest()
    const [mute] = silent
    if (lowest.number >= to && !mute) return { result: to }
    const { endpoint, number } = lowest
    const isBehind = number < to || !mute
    const behind = `Endpoint ${endpoint.number} of chain ${chainId} is at block ${number}, and the service has read up to ${to}.`
    const words = isBehind ? `${behind} ${adviceFor(chainId)}` : silentWords(chainId, mute.endpoint.number, mute.why)
    return { place: number < to ? number : to, of: to, why: () => words }
  })
}
