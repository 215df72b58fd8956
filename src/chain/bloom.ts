import { keccak256 } from 'viem/utils'
import type { Hex } from './endpoints/rpc.ts'

/**
 * The logs bloom of a block header (Yellow Paper, 4.3.1): 2048 bits, of which each address and each topic of a log sets
 * three. A missing bit proves that the block holds no such log; set bits prove nothing.
 */
export type Bloom = Buffer

const BLOOM_BYTES = 256
const MAX_REMEMBERED = 20_000

/** The bits as they stand, also where none is set. */
function parseBloom(text: string | undefined): Bloom | null {
  if (text === undefined || !/^0x[0-9a-fA-F]{512}$/.test(text)) return null
  return Buffer.from(text.slice(2), 'hex')
}

const isEmpty = (bloom: Bloom): boolean => bloom.every((byte) => byte === 0)

/**
 * The bloom that a node shows; null if it shows none. An empty one, which some nodes and chains send for every block,
 * is none, also where the block's hash holds it: whoever hides logs can as well show the true one.
 */
export function readBloom(text: string | undefined): Bloom | null {
  const bloom = parseBloom(text)
  return bloom && !isEmpty(bloom) ? bloom : null
}

/** Whether the headers of one block contradict each other. */
export function areAtOdds(left: string | undefined, right: string | undefined): boolean {
  const [one, other] = [left, right].map(readBloom)
  return !!one && !!other && !one.equals(other)
}

const positions = new Map<string, readonly number[]>()

/** @param item an address, or a topic: hex */
function positionsOf(item: string): readonly number[] {
  const known = positions.get(item)
  if (known) return known
  const hash = Buffer.from(keccak256(item as Hex).slice(2), 'hex')
  const made = [0, 2, 4].map((at) => hash.readUInt16BE(at) & 2047)
  if (positions.size >= MAX_REMEMBERED) positions.clear()
  positions.set(item, made)
  return made
}

const mayContain = (bloom: Bloom, item: string): boolean =>
  positionsOf(item).every((bit) => ((bloom[BLOOM_BYTES - 1 - (bit >> 3)] ?? 0) >> (bit & 7)) & 1)

/** Whether a bloom indicates a log. */
export const mayHold = (bloom: Bloom, { address, topics }: { address: string; topics: readonly string[] }): boolean =>
  [address, ...topics].every((item) => mayContain(bloom, item))

/** The chance that a bloom indicates an item that the block does not contain. */
export function falsePositiveRate(bloom: Bloom): number {
  let bits = 0
  for (const byte of bloom) for (let rest = byte; rest > 0; rest &= rest - 1) bits += 1
  return (bits / (BLOOM_BYTES * 8)) ** 3
}

/** Whether the first bloom indicates everything that the second one does. */
export const isWithin = (whole: Bloom, part: Bloom): boolean =>
  part.every((byte, index) => (byte & ~(whole[index] ?? 0)) === 0)

/** The bloom of these logs alone: if the header's is within it, they are all logs that the header indicates. */
export function bloomOf(logs: readonly { address: string; topics: readonly string[] }[]): Bloom {
  const bloom = Buffer.alloc(BLOOM_BYTES)
  for (const { address, topics } of logs) {
    for (const item of [address, ...topics]) {
      for (const bit of positionsOf(item)) {
        const at = BLOOM_BYTES - 1 - (bit >> 3)
        bloom[at] = (bloom[at] ?? 0) | (1 << (bit & 7))
      }
    }
  }
  return bloom
}

/** With a higher chance of a false positive, a bloom is no evidence. */
const MAX_FALSE_POSITIVE = 0.02

/** The chance of at least `times` false positives where `expected` is their average (Poisson); 1 for a huge average. */
function chanceOf(times: number, expected: number): number {
  let term = Math.exp(-expected)
  if (term === 0) return 1
  let fewer = 0
  for (let count = 0; count < times; count += 1) {
    fewer += term
    term *= expected / (count + 1)
  }
  return 1 - fewer
}

/** What a header says about the requested transfers. */
export type Suspicion = 'none' | 'weak' | 'strong'

/**
 * Whether a header indicates transfers that the answer lacks.
 * @param receivers the requested addresses; empty if all transfers were requested
 */
export function suspect(
  logsBloom: string | undefined,
  asked: { tokens: Iterable<string>; topic: string; receivers: readonly string[] },
  logs: readonly { topics: readonly string[] }[],
): Suspicion {
  const bloom = readBloom(logsBloom)
  // an empty bloom, and no logs: most blocks of a quiet chain
  if (!bloom) return logs.length === 0 && parseBloom(logsBloom) ? 'none' : 'weak'
  const tokens = [...asked.tokens].filter((token) => mayContain(bloom, token))
  if (tokens.length === 0 || !mayContain(bloom, asked.topic)) return 'none'
  const rate = falsePositiveRate(bloom)
  if (asked.receivers.length === 0) {
    if (logs.length > 0) return 'none'
    return rate <= MAX_FALSE_POSITIVE ? 'strong' : 'weak'
  }
  const shown = new Set(logs.map((log) => log.topics[2]?.toLowerCase()))
  const missing = asked.receivers.filter((receiver) => mayContain(bloom, receiver) && !shown.has(receiver))
  if (missing.length === 0) return 'none'
  const chance = chanceOf(missing.length, rate * asked.receivers.length)
  return chance <= MAX_FALSE_POSITIVE ? 'strong' : 'weak'
}
