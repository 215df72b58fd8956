import cluster, { type Worker } from 'node:cluster'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config, Role } from '../../config/config.ts'
import { countProcesses } from '../../config/process-count.ts'
import { type FromChild, type Handover, sendTo } from './messages.ts'
import { type MetricsHub, openMetricsHub } from './metrics-hub.ts'

type Facts = Record<string, unknown> | null
type Child = { worker: Worker; name: string; roles: readonly Role[]; ready: boolean; leaving: boolean }

/** Time limit until a child answers; a long migration runs before, in the parent. */
const READY_MS = 120_000
/** Time for requests and webhook attempts in progress to end. */
const LEAVE_MS = 12_000
const RESTART_MS = 500
const LONGEST_RESTART_MS = 30_000

/**
 * Roles per process: most serve the API, and every fourth one works; a single process does both.
 * @param roles of the whole service
 */
export function planProcesses(count: number, roles: readonly Role[]): { name: string; roles: readonly Role[] }[] {
  const [only] = roles
  if (count === 1) return [{ name: 'all-1', roles }]
  if (roles.length === 1 && only)
    return Array.from({ length: count }, (_, index) => ({ name: `${only}-${index + 1}`, roles }))
  const workers = Math.max(1, Math.floor(count / 4))
  const plan = (role: Role, many: number) =>
    Array.from({ length: many }, (_, index): { name: string; roles: Role[] } => ({
      name: `${role}-${index + 1}`,
      roles: [role],
    }))
  return [...plan('api', count - workers), ...plan('worker', workers)]
}

export type Parent = {
  /**
   * Replaces every process with one that has these settings, without refusing a connection. @returns whether it
   * succeeded
   */
  reload(config: Config, env: NodeJS.ProcessEnv): Promise<boolean>
  metrics: MetricsHub
  /** The settings of its processes: the last ones that a reload took. */
  config(): Config
  /** What a user of the sandbox needs. */
  facts(): Facts
  stop(): Promise<void>
}

const isOver = ({ worker }: Child): boolean => worker.isDead()

/** Calls once the process is gone. One that could not be created (no more files or processes) has no exit. */
function whenOver(child: Child, act: () => void): void {
  const { worker } = child
  const look = (): void => {
    if (!isOver(child)) return
    worker.off('exit', look).off('error', look)
    act()
  }
  worker.on('exit', look).on('error', look)
  look()
}

/** Resolves when it has exited: it is asked first, and killed after its time. */
async function leave(child: Child): Promise<void> {
  child.leaving = true
  if (isOver(child)) return
  const gone = new Promise<void>((resolve) => whenOver(child, resolve))
  sendTo(child.worker, { kind: 'stop' })
  const timer = setTimeout(() => child.worker.process.kill('SIGKILL'), LEAVE_MS)
  await gone
  clearTimeout(timer)
}

/**
 * Runs the service in several processes that share one port. A process that dies is replaced; the parent holds the
 * listening socket, so that no connection is refused meanwhile.
 * @throws Error when a process does not become ready at the start
 */
export async function startParent(
  config: Config,
  env: NodeJS.ProcessEnv,
  { handover, log }: { handover: Handover; log: Logger },
): Promise<Parent> {
  let children: Child[] = []
  let settings = { config, env }
  let stopping = false
  let facts: Facts = null
  // each process accepts connections itself: one that the parent hands to a dying process would hang
  cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.setupPrimary({ exec: join(import.meta.dirname, 'child.ts'), args: [] })
  const metrics = openMetricsHub(() => children.filter(({ ready, leaving }) => ready && !leaving))

  const fork = ({ name, roles }: { name: string; roles: readonly Role[] }): Child => {
    const child: Child = { worker: cluster.fork(settings.env), name, roles, ready: false, leaving: false }
    // a message that met its end; without a listener it would end the parent
    child.worker.on('error', (error) => log.warn({ err: error }, `Process ${name}: ${error.message}.`))
    child.worker.on('message', (message: FromChild) => {
      if (message.kind === 'hello') sendTo(child.worker, { kind: 'start', name, roles: [...roles], handover })
      if (message.kind === 'ready') {
        child.ready = true
        facts = message.facts
      }
      if (message.kind === 'metrics') metrics.take(message)
      if (message.kind === 'scrape')
        void metrics.read().then((text) => sendTo(child.worker, { kind: 'scraped', id: message.id, text }))
    })
    return child
  }

  /** Undefined: the machine gives no process now. */
  const tryFork = (slot: { name: string; roles: readonly Role[] }): Child | undefined => {
    try {
      return fork(slot)
    } catch (error) {
      log.error({ err: error }, `Process ${slot.name} cannot be started.`)
      return undefined
    }
  }

  const awaitReady = async (child: Child): Promise<boolean> => {
    const until = Date.now() + READY_MS
    while (!child.ready && !isOver(child) && Date.now() < until) await sleep(20)
    return child.ready
  }

  /** Supervises one slot: a process that dies there is replaced, with a growing delay while it keeps dying. */
  const guard = (child: Child, failures = 0): void => {
    const replace = (failed: number): void => {
      const delayMs = failed === 0 ? 0 : Math.min(LONGEST_RESTART_MS, RESTART_MS * 2 ** failed)
      setTimeout(() => {
        if (stopping || !children.includes(child)) return
        const next = tryFork(child)
        if (!next) return replace(failed + 1)
        children = children.map((one) => (one === child ? next : one))
        guard(next, failed)
      }, delayMs)
    }
    // it may have died since it was ready, while its siblings were not
    whenOver(child, () => {
      if (stopping || child.leaving) return
      const { exitCode, signalCode } = child.worker.process
      log.error(`Process ${child.name} ended (${signalCode ?? `code ${exitCode}`}) and is started again.`)
      replace(child.ready ? 0 : failures + 1)
    })
  }

  /** All of them ready, or none started. */
  const startSet = async (): Promise<Child[] | undefined> => {
    const count = countProcesses(settings.config.processes)
    const set = planProcesses(count, settings.config.roles).flatMap((slot) => tryFork(slot) ?? [])
    const ready = await Promise.all(set.map(awaitReady))
    if (ready.length === count && ready.every(Boolean)) return set
    await Promise.all(set.map(leave))
    return undefined
  }

  const first = await startSet()
  if (!first) throw new Error('A process did not become ready; its last output is above.')
  children = first
  for (const child of first) guard(child)

  return {
    metrics,
    config: () => settings.config,
    facts: () => facts,
    async reload(nextConfig, nextEnv) {
      const before = settings
      settings = { config: nextConfig, env: nextEnv }
      const set = await startSet()
      if (!set) {
        settings = before
        return false
      }
      const old = children
      children = set
      for (const child of set) guard(child)
      await Promise.all(old.map(leave))
      return true
    },
    async stop() {
      stopping = true
      await Promise.all(children.map(leave))
    },
  }
}
