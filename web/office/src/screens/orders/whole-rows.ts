/** The `_id` is the first cell of a row and is never quoted. */
const ROW = /^([0-9a-f]{24}),/

export type WholeRows = {
  /** Everything up to the end of the last complete row. */
  text: string
  /** Number of data rows in it. */
  count: number
  /** The `_id` of the last data row; null before the first. */
  lastId: string | null
}

/**
 * Collects a CSV (RFC 4180) that arrives in pieces, so that a broken connection can be resumed after its last complete
 * row. Line breaks inside quotes end no row.
 */
export class RowCollector {
  readonly #parts: string[] = []
  #rest = ''
  #isQuoted = false
  /** Position up to which `#rest` was scanned. */
  #at = 0
  #count = 0
  #lastId: string | null = null

  get count(): number {
    return this.#count
  }
  get lastId(): string | null {
    return this.#lastId
  }

  push(text: string): void {
    this.#rest += text
    let from = 0
    for (; this.#at < this.#rest.length; this.#at += 1) {
      const character = this.#rest[this.#at]
      if (character === '"') this.#isQuoted = !this.#isQuoted
      if (character !== '\n' || this.#isQuoted) continue
      const row = this.#rest.slice(from, this.#at + 1)
      from = this.#at + 1
      const id = ROW.exec(row)?.[1]
      if (id !== undefined) {
        this.#count += 1
        this.#lastId = id
      }
      this.#parts.push(row)
    }
    this.#rest = this.#rest.slice(from)
    this.#at -= from
  }

  /** Drops an incomplete row, and a header without rows, because those are sent again. The next chunk starts a row. */
  cut(): void {
    if (this.#count === 0) this.#parts.length = 0
    this.#rest = ''
    this.#isQuoted = false
    this.#at = 0
  }

  whole(): WholeRows {
    return { text: this.#parts.join(''), count: this.#count, lastId: this.#lastId }
  }
}
