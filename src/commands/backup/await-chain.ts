import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceBase } from '../../assembly/service-base.ts'
import { type ChainStanding, listStandings } from '../../chain/chain-queries.ts'
import type { Endpoint } from '../../chain/endpoints/endpoint.ts'
import { type Endpoints, provenEndpoints } from '../../chain/endpoints/endpoints.ts'
import { RpcError } from '../../chain/endpoints/rpc.ts'
import type { Network } from '../../chain/networks.ts'
import { readNewestBlock } from '../../chain/payout/payout-view.ts'
import { MINUTE, SECOND } from '../../kernel/clock.ts'
import { startProgress } from '../progress.ts'

/** Not waited for longer without a step of the service or of a node. Slow chains have a block by then. */
const SILENT_MS = MINUTE
const LOOK_MS = SECOND

/** `known`: the last block that the backup has read. */
type Wanted = { known: bigint; restoredAt: Date; say(line: string): void; silentMs?: number }

type Asked = { network: Pick<Network, 'chainId'>; endpoints: Pick<Endpoints, 'all' | 'usable'> }

/** An endpoint that answers, and its newest block. */
type Top = { endpoint: Endpoint; number: bigint }

/** How far the service has read; each of these endpoints has the block `to`. */
export type ComparableChain = { to: bigint; endpoints: readonly Endpoint[] }

/** Each one that answers counts: one that lags shows nothing of what happened since. @throws RpcError if none does */
async function readTops(chain: Asked): Promise<Top[]> {
  let last: unknown
  const asked = (await provenEndpoints(chain)).map(async (endpoint): Promise<Top[]> => {
    try {
      return [{ endpoint, number: (await readNewestBlock(endpoint.rpc)).number }]
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      last = error
      return []
    }
  })
  const tops = (await Promise.all(asked)).flat()
  if (tops.length === 0) throw last
  return tops
}

const lowestOf = (tops: readonly Top[]): Top =>
  tops.reduce((lowest, top) => (top.number < lowest.number ? top : lowest))

const adviceFor = (chainId: number): string =>
  `Wait until it has caught up, or leave it out of CHAIN_${chainId}_RPC_URL.`

/** Nodes that do not have what the backup knows are hours behind. @throws Error with a sentence for the operator */
function refuseOlder({ endpoint, number }: Top, chainId: number, known: bigint): void {
  if (number >= known) return
  throw new Error(
    `Endpoint ${endpoint.number} of chain ${chainId} is at block ${number}, and the backup knows block ${known} already: ` +
      `it shows nothing of what happened since. ${adviceFor(chainId)}`,
  )
}

/**
 * Why the chain cannot be compared yet; null: the service has read all that happened before the restore, and every
 * endpoint has it. A chain without a block since the restore tells nothing of the moments before it.
 */
function whyNot(
  standing: ChainStanding,
  { lowest, goal, restoredAt }: { lowest: Top; goal: bigint; restoredAt: Date },
): string | null {
  const { chainId, number, blockAt } = standing
  if (number === null || number < goal)
    return `Chain ${chainId} is at block ${number ?? 0n} of ${goal} and does not move. Start the service (a worker) first.`
  if (blockAt === null || blockAt < restoredAt)
    return (
      `Chain ${chainId} has been read up to block ${number} of ${blockAt?.toISOString() ?? 'an unknown time'}, and the ` +
      `restore was at ${restoredAt.toISOString()}: what happened in between is not known. Run this again once the ` +
      `chain has a later block; if it has, the nodes of CHAIN_${chainId}_RPC_URL lag.`
    )
  if (lowest.number >= number) return null
  const { endpoint } = lowest
  return (
    `Endpoint ${endpoint.number} of chain ${chainId} is at block ${lowest.number}, and the service has read up to ${number}. ` +
    adviceFor(chainId)
  )
}

/**
 * Waits until the service has read the chain beyond the restore, and every endpoint that answers has come as far.
 * @throws RpcError where none answers; Error with a sentence for the operator when it comes no further
 */
export async function awaitComparable(
  { db }: Pick<ServiceBase, 'db'>,
  chain: Asked,
  { known, restoredAt, say, silentMs = SILENT_MS }: Wanted,
): Promise<ComparableChain> {
  const { chainId } = chain.network
  const progress = startProgress(say, `Chain ${chainId}`, 'blocks')
  let goal: bigint | undefined
  let movedAtMs = Date.now()
  let last = ''
  for (;;) {
    const [standing] = await listStandings(db, [chainId])
    // after the standing, so that an endpoint is not behind because it was asked earlier
    const tops = await readTops(chain)
    const lowest = lowestOf(tops)
    refuseOlder(lowest, chainId, known)
    goal ??= lowest.number
    const unread = { chainId, number: null, genesisHash: null, blockAt: null, trouble: null, lagSeconds: null }
    const { number } = standing ?? unread
    const why = whyNot(standing ?? unread, { lowest, goal, restoredAt })
    if (why === null && number !== null) return { to: number, endpoints: tops.map(({ endpoint }) => endpoint) }
    const place = `${number} ${lowest.number}`
    if (place !== last) movedAtMs = Date.now()
    last = place
    progress(Number(number ?? 0n), Number(goal))
    if (Date.now() - movedAtMs > silentMs) throw new Error(why ?? '')
    await sleep(LOOK_MS)
  }
}
