import { createHash } from 'node:crypto'

/** One world of a run: the service and everything around it, with its own database and seed. */
export type WorldPlan = { number: number; seed: number; orders: number }

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Up to nine digits, as `--seed` takes them. */
const seedOf = (seed: number, number: number): number =>
  Number.parseInt(sha256(`${seed} ${number}`).slice(0, 12), 16) % 1_000_000_000

/** The worlds of a run depend only on its seed, its orders and the size of a world. */
export const planWorlds = (run: { seed: number; orders: number; perWorld: number }): WorldPlan[] =>
  Array.from({ length: Math.ceil(run.orders / run.perWorld) }, (_, index) => ({
    number: index + 1,
    seed: seedOf(run.seed, index + 1),
    orders: Math.min(run.perWorld, run.orders - index * run.perWorld),
  }))

/** Fingerprint of a run: its worlds' fingerprints, in order. */
export const fingerprintOf = (ofWorlds: readonly string[]): string => sha256(ofWorlds.join('\n')).slice(0, 32)
