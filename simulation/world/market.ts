import type { HttpAnswer, HttpRequest } from '../virtual/network.ts'
import type { Random } from '../virtual/random.ts'

/** Two price sources that agree, unless the run pulls them apart. */
export class Market {
  readonly #random: Random
  #price = 1.08
  /** What the second source's price is multiplied by. */
  distance = 1
  /** The second source answers what it answered before. */
  isFrozen = false
  /** A story has moved the price and counts on it: no other one moves it meanwhile. */
  isTaken = false
  #second = ''

  constructor(random: Random) {
    this.#random = random
  }

  /** Both sources' price, at once. */
  move(times: number): void {
    this.#price *= times
  }

  async answer({ url }: HttpRequest): Promise<HttpAnswer> {
    this.#price *= 1 + (this.#random.next() - 0.5) / 10_000
    const headers = { 'content-type': 'application/json' }
    const isKraken = url.pathname.startsWith('/0/public')
    if (!this.isFrozen || this.#second === '') this.#second = (this.#price * this.distance).toFixed(8)
    const body = isKraken
      ? { error: [], result: { USDCEUR: { a: [(1 / this.#price).toFixed(8), '1', '1.000'] } } }
      : { data: { currency: 'EUR', rates: { USDC: this.#second } } }
    return { status: 200, headers, body: JSON.stringify(body) }
  }
}
