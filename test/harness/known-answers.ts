type Question = { method: string; params: unknown[] }

/** What they answer changes with the chain alone, and not with what waits for a block. */
const OF_BLOCKS = new Set([
  ...['eth_chainId', 'eth_getBlockByNumber', 'eth_getBlockByHash', 'eth_getBlockReceipts', 'eth_getLogs'],
  'eth_getTransactionReceipt',
])

/** What the node of a test's chain has answered since its chain changed: the nodes of a test are one behind proxies. */
export class KnownAnswers {
  readonly #texts = new Map<string, string>()
  /** Grows with every change. */
  turn = 0

  forget(): void {
    this.turn += 1
    this.#texts.clear()
  }

  /** The result as JSON. */
  find(question: Question): string | undefined {
    return this.#texts.get(keyOf(question))
  }

  /** @param turn when it was asked; what has changed since is not kept */
  keep(question: Question, result: unknown, turn: number): void {
    const isOfBlocks = OF_BLOCKS.has(question.method) && question.params[0] !== 'pending'
    if (isOfBlocks && turn === this.turn) this.#texts.set(keyOf(question), JSON.stringify(result))
  }
}

const keyOf = ({ method, params }: Question): string => `${method} ${JSON.stringify(params)}`

const byUrl = new Map<string, KnownAnswers>()

/** Of a chain that changes only by what its test asks for. */
export function knowAnswers(url: string): {
  ask<Result>(method: string, work: () => Promise<Result>): Promise<Result>
  end(): void
} {
  const known = new KnownAnswers()
  byUrl.set(url, known)
  return {
    async ask(method, work) {
      if (OF_BLOCKS.has(method)) return work()
      known.forget()
      try {
        return await work()
      } finally {
        known.forget()
      }
    },
    end: () => void byUrl.delete(url),
  }
}

/** Undefined: every question goes to the node. */
export const answersOf = (url: string): KnownAnswers | undefined => byUrl.get(url)
