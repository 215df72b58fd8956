import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { MINUTE, SECOND } from '../../kernel/clock.ts'
import { type ClusterPaths, connectionStringFor } from './cluster.ts'

const ANSWER_MS = 2 * SECOND
const FIRST_POLL_MS = 25
/** Each question that is refused is a line in the server's log. */
const LONGEST_POLL_MS = SECOND

/** SQLSTATE cannot_connect_now: the server works, and replays its log. Source: PostgreSQL manual, appendix A. */
const NOT_YET = '57P03'

/** `silentMs`: how long a starting server may say nothing at all. `tellMs`: between two lines about a long replay. */
export type Patience = { silentMs: number; tellMs: number }

export const PATIENCE: Patience = { silentMs: 5 * MINUTE, tellMs: MINUTE }

type Condition = 'ready' | 'replaying' | 'silent'

async function askServer(place: ClusterPaths): Promise<Condition> {
  const client = new pg.Client({
    connectionString: connectionStringFor(place, 'postgres'),
    ...{ connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS },
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return 'ready'
  } catch (error) {
    return (error as { code?: string }).code === NOT_YET ? 'replaying' : 'silent'
  } finally {
    await client.end().catch(() => {})
  }
}

/** Checks with a real query whether the server answers. */
export const answers = async (place: ClusterPaths): Promise<boolean> => (await askServer(place)) === 'ready'

/**
 * Waits for a server that has just been started. To end one that replays its log would only make it begin again: it has
 * all the time it needs.
 * @param limits.giveUp asked before each question
 * @returns false: `giveUp`, or it was silent for too long
 */
export async function becomesReady(
  place: ClusterPaths,
  { log, patience, giveUp }: { log(line: string): void; patience: Patience; giveUp(): boolean },
): Promise<boolean> {
  const beganAt = Date.now()
  let heardAt = beganAt
  let toldAt = beganAt
  while (!giveUp() && Date.now() - heardAt < patience.silentMs) {
    const condition = await askServer(place)
    if (condition === 'ready') return true
    const now = Date.now()
    if (condition === 'replaying') heardAt = now
    if (condition === 'replaying' && now - toldAt >= patience.tellMs) {
      toldAt = now
      log(`PostgreSQL is replaying its log, ${Math.floor((now - beganAt) / MINUTE)} min so far.`)
    }
    await sleep(Math.min(LONGEST_POLL_MS, Math.max(FIRST_POLL_MS, (now - beganAt) / 20)))
  }
  return false
}
