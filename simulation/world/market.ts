import type { HttpAnswer, HttpRequest } from '../virtual/network.ts'
import type { Random } from '../virtual/random.ts'

/** Two price sources that agree, unless the run separates them. */
export class Market {
  readonly #random: Random
  #price = 1.08
  /** Factor of the second source's price. */
  distance = 1
  /** The second source repeats its previous answer. */
  isFrozen = false
  /** A story has moved the price and relies on it: no other one moves it meanwhile. */
  isTaken = false
  #second = ''

  constructor(random: Random) {
    this.#random = random
  }

  /** Changes both sources' price at once. */
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
