import type { VirtualDatabase } from './virtual/database.ts'
import type { Network } from './virtual/network.ts'
import type { Scheduler } from './virtual/scheduler.ts'
import type { Conditions } from './world/conditions.ts'
import type { Oracle } from './world/oracle.ts'
import type { Weather } from './world/world.ts'

export type RunOptions = {
  scheduler: Scheduler
  database: VirtualDatabase
  network: Network
  oracle: Oracle
  weather: Weather
  conditions: Conditions
  orders: number
  nodes: number
  /** Orders a second of virtual time. */
  rate: number
  /** No faults at all. */
  isCalm: boolean
  /** Only stories that end within seconds. */
  isShort: boolean
  /** Only this story. */
  only: string | null
  /** Every story, so often. */
  isEach: boolean
  say(line: string): void
  /** After so many orders. */
  progress(orders: number): void
}
