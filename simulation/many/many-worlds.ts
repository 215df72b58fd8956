import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Journal, type WorldResult } from './journal.ts'
import { WorldProcess, wrappersFor } from './one-world.ts'
import { fingerprintOf, planWorlds, type WorldPlan } from './plan.ts'
import { describeSource } from './source.ts'

export type ManyOptions = {
  seed: number
  orders: number
  /** Orders per world; the last may have fewer. */
  perWorld: number
  /** Worlds that run in parallel. */
  processes: number
  journal: string | undefined
  folder: string | undefined
  /** The folder of made databases; undefined: one is made for this run. */
  prepared: string | undefined
  /** Makes the database from which worlds begin. */
  keep(prepared: string): Promise<unknown>
  /** Settings of every world besides its seed and its orders. */
  settings: readonly string[]
  say(line: string): void
}

const SAY_EVERY_MS = 30_000

const inWords = (hours: number): string => {
  const minutes = Math.round(hours * 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A run that consists of worlds, some in parallel. One that fails does not stop the others. */
class ManyWorlds {
  readonly #options: ManyOptions
  readonly #plans: WorldPlan[]
  readonly #ended: Map<number, WorldResult>
  readonly #journal: Journal | null
  readonly #folder: string
  readonly #prepared: string
  readonly #under = new Map<WorldProcess, number>()
  readonly #failed: WorldPlan[] = []
  readonly #startedAt = performance.now()
  /** Orders told by earlier sessions. */
  readonly #before: number
  #isStopped = false

  constructor(options: ManyOptions) {
    this.#options = options
    this.#plans = planWorlds(options)
    const base = options.folder ?? (existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
    this.#folder = mkdtempSync(join(base, 'comptoir-worlds-'))
    chmodSync(this.#folder, 0o711)
    this.#prepared = options.prepared ?? join(this.#folder, 'prepared')
    try {
      this.#journal = this.#openJournal()
    } catch (error) {
      rmSync(this.#folder, { recursive: true, force: true })
      throw error
    }
    this.#ended = this.#journal?.ended ?? new Map()
    this.#before = this.#told()
  }

  #openJournal(): Journal | null {
    const { journal, settings, orders, seed, perWorld } = this.#options
    if (journal === undefined) return null
    const words = [`--orders ${orders} --seed ${seed} --world ${perWorld}`, ...settings].join(' ')
    const head = { simulation: 1 as const, settings: words, source: describeSource() }
    return new Journal(journal, { head, folder: this.#folder })
  }

  /** Orders of the worlds that have ended well. */
  #told(): number {
    return [...this.#ended.values()].reduce((sum, { orders }) => sum + orders, 0)
  }

  #sayProgress(): void {
    const { orders, say } = this.#options
    const underWay = [...this.#under.values()].reduce((sum, told) => sum + told, 0)
    const failed = this.#failed.reduce((sum, plan) => sum + plan.orders, 0)
    const done = this.#told() + failed + underWay
    const perSecond = ((done - failed - this.#before) * 1000) / (performance.now() - this.#startedAt)
    const left = perSecond > 0 ? `${inWords((orders - done) / perSecond / 3600)} left` : 'time left unknown'
    const worlds = `${this.#ended.size} of ${this.#plans.length} worlds ended well, ${this.#failed.length} failed`
    say(`${done} of ${orders} orders, ${perSecond.toFixed(1)} a second, ${left}; ${worlds}`)
  }

  #commandOf({ seed, orders }: WorldPlan): string {
    return ['npm run simulate -- --orders', orders, '--seed', seed, ...this.#options.settings].join(' ')
  }

  async #tell(plan: WorldPlan, wrapper: string[]): Promise<void> {
    const { say, settings } = this.#options
    const world: WorldProcess = new WorldProcess(plan, {
      ...{ settings, wrapper, folder: this.#folder, prepared: this.#prepared },
      progress: (told) => this.#under.set(world, told),
    })
    this.#under.set(world, 0)
    const { result, words } = await world.run()
    this.#under.delete(world)
    if (this.#isStopped) return
    if (result) {
      this.#ended.set(plan.number, result)
      this.#journal?.add(result)
      say(`world ${plan.number} ended well: seed ${plan.seed}, ${result.seconds} s, fingerprint ${result.fingerprint}`)
    } else {
      this.#failed.push(plan)
      say(words.trimEnd())
      say(`world ${plan.number} FAILED: seed ${plan.seed}. It alone: ${this.#commandOf(plan)}`)
    }
    this.#sayProgress()
  }

  stop(): void {
    this.#isStopped = true
    for (const world of this.#under.keys()) world.stop()
  }

  #sayFigures(seconds: number): void {
    const { say } = this.#options
    const results = [...this.#ended.values()]
    const figures = new Map<string, number>()
    for (const result of results)
      for (const [name, times] of Object.entries(result.figures)) figures.set(name, (figures.get(name) ?? 0) + times)
    for (const [name, times] of [...figures].sort()) say(`  ${name}: ${times}`)
    const told = this.#told()
    const perOrder = (of: (result: WorldResult) => number): string =>
      ((results.reduce((sum, result) => sum + of(result), 0) / Math.max(1, told)) * 1000).toFixed(1)
    const [own, server] = [perOrder((one) => one.ownSeconds), perOrder((one) => one.serverSeconds)]
    say(`processor time per order: ${own} ms of Node.js, ${server} ms of PostgreSQL`)
    say(`${told} orders, ${told - this.#before} of them now, in ${seconds.toFixed(0)} s`)
  }

  /** @returns the exit code */
  async run(): Promise<number> {
    const { say, processes, journal, keep } = this.#options
    const left = this.#plans.filter(({ number }) => !this.#ended.has(number))
    if (this.#ended.size > 0) say(`${this.#ended.size} of ${this.#plans.length} worlds have ended well before`)
    const wrapperOf = wrappersFor(processes)
    const work = async (lane: number): Promise<void> => {
      for (let plan = left.shift(); plan && !this.#isStopped; plan = left.shift())
        await this.#tell(plan, wrapperOf(lane))
    }
    const timer = setInterval(() => this.#sayProgress(), SAY_EVERY_MS)
    try {
      // the worlds share it, and none of them has to wait for another
      if (left.length > 0) await keep(this.#prepared)
      await Promise.all(Array.from({ length: processes }, (_, lane) => work(lane)))
    } finally {
      clearInterval(timer)
      rmSync(this.#folder, { recursive: true, force: true })
    }
    if (this.#isStopped) {
      say(journal === undefined ? 'Stopped.' : `Stopped. The same command goes on where ${journal} ends.`)
      return 1
    }
    this.#sayFigures((performance.now() - this.#startedAt) / 1000)
    for (const plan of this.#failed) say(`world ${plan.number} FAILED: ${this.#commandOf(plan)}`)
    if (this.#failed.length > 0) return 1
    say(`fingerprint ${fingerprintOf(this.#plans.map(({ number }) => this.#ended.get(number)?.fingerprint ?? ''))}`)
    return 0
  }
}

/** Runs many worlds. @returns the exit code. @throws Error with a sentence when the journal does not match */
export async function tellWorlds(options: ManyOptions): Promise<number> {
  const worlds = new ManyWorlds(options)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => worlds.stop())
  return worlds.run()
}
