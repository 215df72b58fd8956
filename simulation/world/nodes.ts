import { buildService, type Service } from '../../src/app.ts'
import type { Config } from '../../src/config/config.ts'
import { openDb } from '../../src/db/db.ts'
import type { Vault } from '../../src/kernel/vault.ts'
import type { VirtualDatabase } from '../virtual/database.ts'
import type { HttpAnswer, HttpRequest } from '../virtual/network.ts'
import { runIn, type Scheduler, type Scope } from '../virtual/scheduler.ts'

export type ClusterOptions = {
  scheduler: Scheduler
  database: VirtualDatabase
  config: Config
  vault: Vault
  /** A node died, or another one joined. */
  changed(how: 'died' | 'joined'): void
  /** A line of a node's log at this level or above (pino: 40 warn, 50 error). */
  onLog(line: { level: number; msg: string; job?: string; err?: { message?: string; type?: string } }): void
}

const RESTART_MS = 2000

const broken = (): Error => Object.assign(new Error('simulated ECONNRESET'), { code: 'ECONNRESET' })

/** One process of the service: everything it started dies with it at once, whatever its state. */
class ServiceNode {
  readonly scope: Scope
  readonly #options: ClusterOptions
  readonly #calls = new Set<() => void>()
  #service: Service | null = null

  constructor(name: string, options: ClusterOptions) {
    this.scope = { name, alive: true }
    this.#options = options
  }

  get isReady(): boolean {
    return this.scope.alive && this.#service !== null
  }

  start(): Promise<void> {
    const { config, vault, scheduler, onLog } = this.#options
    return runIn(this.scope, async () => {
      const db = openDb({ connectionString: 'postgresql://node@database:5432/simulation?sslmode=disable' })
      const write = (line: string): void => onLog(JSON.parse(line))
      const clock = (): number => Math.floor(scheduler.nowMs)
      const service = await buildService({ config, db, vault, clock, isStopping: () => false, logStream: { write } })
      await service.app.ready()
      await service.startWorkers()
      this.#service = service
    })
  }

  /** @throws Error when it dies before it answers */
  serve({ method, url, headers, body }: HttpRequest): Promise<HttpAnswer> {
    const service = this.#service
    if (!service || !this.scope.alive) return Promise.reject(broken())
    return new Promise((resolve, reject) => {
      const end = (): void => reject(broken())
      this.#calls.add(end)
      const options = { method: method as 'GET', url: url.pathname + url.search, headers }
      const { host, 'content-length': _, ...others } = headers
      runIn(this.scope, () =>
        service.app.inject({ ...options, headers: others, ...(body === '' ? {} : { payload: body }) }).then(
          ({ statusCode: status, headers: answered, payload }) => {
            this.#calls.delete(end)
            const texts = Object.entries(answered).map(([name, value]) => [name, String(value)])
            resolve({ status, headers: Object.fromEntries(texts), body: payload })
          },
          (error: unknown) => reject(error as Error),
        ),
      )
    })
  }

  kill(): void {
    this.scope.alive = false
    this.scope.diedMs = this.#options.scheduler.nowMs
    this.#service = null
    this.#options.database.cut(this.scope)
    for (const end of this.#calls) end()
  }
}

/** The service's nodes as an operator sees them: some die, and others replace them. */
export class Cluster {
  readonly #options: ClusterOptions
  #nodes: ServiceNode[] = []
  #count = 0
  kills = 0

  constructor(options: ClusterOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#nodes.length
  }

  get readyNodes(): number {
    return this.#nodes.filter((node) => node.isReady).length
  }

  /** A node that cannot start is retried, as its supervisor would do. */
  async add(name = this.#newName()): Promise<void> {
    const { scheduler } = this.#options
    for (;;) {
      const node = new ServiceNode(name, this.#options)
      this.#nodes.push(node)
      const isUp = await node.start().then(
        () => true,
        () => false,
      )
      if (isUp) return this.#options.changed('joined')
      this.#remove(node)
      await scheduler.sleep(RESTART_MS)
    }
  }

  #newName(): string {
    this.#count += 1
    return `node-${this.#count}`
  }

  #remove(node: ServiceNode): void {
    node.kill()
    this.#nodes = this.#nodes.filter((one) => one !== node)
  }

  /** Like kill -9, of this node or of any. Its leases, locks and half-done work remain. @returns its machine */
  kill(scope?: Scope): string | undefined {
    const drawn = (): ServiceNode | undefined => this.#nodes[this.#options.scheduler.random.below(this.#nodes.length)]
    const node = scope ? this.#nodes.find((one) => one.scope === scope) : drawn()
    if (!node) return undefined
    this.kills += 1
    this.#remove(node)
    this.#options.changed('died')
    return node.scope.name
  }

  /** The answers of all running nodes; one that dies meanwhile is left out. */
  async serveEach(request: HttpRequest): Promise<HttpAnswer[]> {
    const answers = await Promise.allSettled(
      this.#nodes.filter((node) => node.isReady).map((node) => node.serve(request)),
    )
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  }

  /** The load balancer: any node that is up. */
  async serve(request: HttpRequest): Promise<HttpAnswer> {
    const ready = this.#nodes.filter((node) => node.isReady)
    if (ready.length === 0) throw Object.assign(new Error('simulated ECONNREFUSED'), { code: 'ECONNREFUSED' })
    return this.#options.scheduler.random.pick(ready).serve(request)
  }
}
