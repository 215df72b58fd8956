import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { SECOND } from '../../kernel/clock.ts'

/** What the server ends by itself: statements, idle transactions and lock waits that take too long. */
export const LIMITS = [
  ...['statement_timeout=30s', 'idle_in_transaction_session_timeout=10s', 'lock_timeout=5s', 'timezone=UTC'],
]

/** Whatever the default of the database or role: whoever books reads what others have committed meanwhile. */
export const BEGIN = 'begin isolation level read committed'

/**
 * A little more than the server's own limits, so that a server that is there has always said something by then. One
 * that vanished without a word (power, a failover, a dropped NAT entry) says nothing: a statement that it never
 * acknowledged would otherwise wait as long as the kernel repeats it, which is a quarter of an hour or more.
 */
export const SILENCE_MS = 35 * SECOND

/** For the server to close the connection, before we do. */
const GOODBYE_MS = 2 * SECOND

/**
 * For statements without a time limit: the kernel asks an idle connection's other end after 10 s, and after ten
 * questions without an answer, one a second, it ends the connection. Source: Node, socket.setKeepAlive.
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10 * SECOND } as const

export type Connecting = {
  connectionString: string
  /** Off behind PgBouncer in transaction mode: no statement and no setting may outlive its transaction. */
  prepared: boolean
  applicationName: string
}

/** How the service connects. PgBouncer refuses connections that bring settings. */
export const connectionConfig = ({ connectionString, prepared, applicationName }: Connecting): pg.ClientConfig => ({
  connectionString,
  application_name: applicationName,
  connectionTimeoutMillis: 5000,
  ...KEEP_ALIVE,
  ...(prepared && { options: LIMITS.map((limit) => `-c ${limit}`).join(' ') }),
})

/** The driver's types leave it out. With TLS it is the encrypted one, and what it reads counts. */
const socketOf = (client: pg.ClientBase): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream

const silent = (): Error =>
  Object.assign(new Error('The database has sent nothing for too long.'), { code: 'ETIMEDOUT' })

/**
 * Ends a connection on which nothing came and went for so long; whatever waits for an answer fails. The socket's own
 * timer does it, which costs a statement nothing. @param client connected
 * @param isBusy whether the server still works on what was asked: then the wait begins again
 */
export function endWhenSilent(
  client: pg.ClientBase,
  limitMs: number,
  isBusy: (client: pg.ClientBase) => Promise<boolean> = async () => false,
): void {
  const socket = socketOf(client)
  socket.setTimeout(limitMs)
  const look = async (): Promise<void> => {
    const { bytesRead } = socket
    // a process that was busy or asleep for so long has not read yet what came meanwhile
    await setImmediate()
    const isWaiting = socket.bytesRead === bytesRead && (await isBusy(client))
    if (isWaiting) socket.setTimeout(socket.timeout ?? limitMs)
    else if (socket.bytesRead === bytesRead) socket.destroy(silent())
  }
  socket.on('timeout', () => void look())
}

/** @param limitMs 0: no limit */
export function setSilence(client: pg.ClientBase, limitMs: number): void {
  const socket = socketOf(client)
  if (socket.timeout !== limitMs) socket.setTimeout(limitMs)
}

/** A connection of its own, for a few questions. @param silenceMs how long to wait for an answer */
export async function withClient<Result>(
  config: pg.ClientConfig,
  work: (client: pg.Client) => Promise<Result>,
  silenceMs = SILENCE_MS,
): Promise<Result> {
  const client = new pg.Client(config)
  // a lost connection also rejects what is being asked
  client.on('error', () => {})
  await client.connect()
  endWhenSilent(client, silenceMs)
  try {
    return await work(client)
  } finally {
    // the other end may be gone without a word
    setSilence(client, GOODBYE_MS)
    await client.end()
  }
}

/** For a server that is there: it answers at once. */
const LOOK_MS = 5 * SECOND
/** It is there, and takes no more connections (PostgreSQL Appendix A: too_many_connections). */
const FULL = '53300'

/** The process ids of the server's sides of our connections that are working. */
const listBusy = (config: pg.ClientConfig): Promise<ReadonlySet<unknown>> =>
  withClient(
    config,
    async (client) => {
      const { rows } = await client.query<{ pid: number }>(
        "select pid from pg_stat_activity where usename = current_user and state = 'active'",
      )
      return new Set(rows.map(({ pid }) => pid))
    },
    LOOK_MS,
  )

/**
 * Asks the server, over another connection, whether it still works on what a silent one asked. A commit waits without
 * any limit for a synchronous replica that is away, and goes on waiting when its client has left: each connection that
 * is given up and replaced would then cost the server one more, until it takes none. Behind PgBouncer, which limits
 * them itself, the server knows no such process id.
 */
export function openIsBusy(config: pg.ClientConfig): (client: pg.ClientBase) => Promise<boolean> {
  /** Shared by those that fall silent together. */
  let asked: Promise<ReadonlySet<unknown> | 'full'> | undefined
  return async (client) => {
    asked ??= listBusy(config)
      .catch((error: { code?: string }) => (error.code === FULL ? ('full' as const) : new Set()))
      .finally(() => {
        asked = undefined
      })
    const busy = await asked
    return busy === 'full' || busy.has((client as unknown as { processID: unknown }).processID)
  }
}
