import type { PayerConsole } from '../../sandbox/providers/payer-console.ts'
import type { Random } from '../virtual/random.ts'
import type { Scheduler } from '../virtual/scheduler.ts'
import type { SimulatedChain } from './chain.ts'
import type { ChainNode } from './chain-node.ts'
import type { Conditions } from './conditions.ts'
import type { Desk } from './desk.ts'
import type { Market } from './market.ts'
import type { Cluster } from './nodes.ts'
import type { Oracle } from './oracle.ts'
import type { Shop } from './shops.ts'
import type { WebhookWatch } from './webhook-watch.ts'

/**
 * Faults are drawn only while the weather is bad; those of network and database while it is noisy, too. While the
 * database is away every statement of a node fails.
 */
export type Weather = { isBad: boolean; isNoisy: boolean; isDatabaseAway: boolean }

/** Everything around the service, and the service itself. */
export type World = {
  scheduler: Scheduler
  random: Random
  chain: SimulatedChain
  endpoints: ChainNode[]
  providers: PayerConsole
  /** A provider's behaviour where its documents leave it open. */
  staff(provider: string, settings: Record<string, unknown>): Promise<void>
  cluster: Cluster
  /** Where payers buy. */
  shops: Shop[]
  /** All that are in the database. */
  everyShop: Set<Shop>
  oracle: Oracle
  desk: Desk
  market: Market
  /** Provider paths that accept requests and never answer. */
  hanging: Set<string>
  /** Provider paths that answer late, with their delay in milliseconds. */
  slow: Map<string, number>
  /** Paths of the service that are unreachable from outside. */
  deaf: Set<string>
  /** The memo that Whitepay requires with the deposit address. */
  memo: string | null
  /** The wallet that pays refunds and settlements, and its initial balance. */
  purse: { address: string; units: bigint }
  /** Recomputes all books. @returns the difference in words, or null */
  verifyBooks(): Promise<string | null>
  /** All clocks jump ahead, as after a machine was suspended. */
  jump(ms: number): void
  /** Adds a company to those where payers buy. */
  openShop(): Promise<Shop>
  /** A new company for a single story. */
  openPrivateShop(): Promise<Shop>
  weather: Weather
  webhooks: WebhookWatch
  conditions: Conditions
  counts: Map<string, number>
}

export function count({ counts }: Pick<World, 'counts'>, what: string, by = 1): void {
  counts.set(what, (counts.get(what) ?? 0) + by)
}
