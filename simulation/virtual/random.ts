/** Seeded randomness: the same seed gives the same numbers, on every machine. */
export type Random = {
  /** At least 0, below 1. */
  next(): number
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number
  chance(share: number): boolean
  pick<Item>(items: readonly Item[]): Item
  bytes(count: number): Buffer
}

/** sfc32 (PractRand, Chris Doty-Humphrey): 128 bits of state, passes BigCrush. */
export function seededRandom(seed: number): Random {
  let [a, b, c, d] = [0x9e3779b9, 0x243f6a88, seed >>> 0, (Math.floor(seed / 2 ** 32) >>> 0) + 1]
  const word = (): number => {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return sum >>> 0
  }
  for (let turn = 0; turn < 20; turn += 1) word()
  const next = (): number => word() / 2 ** 32
  return {
    next,
    below: (below) => Math.floor(next() * below),
    chance: (share) => next() < share,
    pick<Item>(items: readonly Item[]): Item {
      const item = items[Math.floor(next() * items.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
    bytes(count) {
      const buffer = Buffer.allocUnsafe(count)
      let at = 0
      for (; at + 4 <= count; at += 4) buffer.writeUInt32LE(word(), at)
      for (let rest = word(); at < count; at += 1, rest >>>= 8) buffer[at] = rest & 255
      return buffer
    },
  }
}
