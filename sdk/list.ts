/** One page, and how to fetch the next one; undefined at the end. */
export type Page<Item> = { items: Item[]; next: (() => Promise<Page<Item>>) | undefined }

/**
 * A list that can be read in two ways: `for await (const item of list)` reads all pages, one at a time;
 * `await list.firstPage()` reads one.
 */
export class List<Item> implements AsyncIterable<Item> {
  readonly #first: () => Promise<Page<Item>>
  constructor(first: () => Promise<Page<Item>>) {
    this.#first = first
  }

  async firstPage(): Promise<Item[]> {
    return (await this.#first()).items
  }

  /** The first `most` items. */
  async take(most: number): Promise<Item[]> {
    const items: Item[] = []
    if (most <= 0) return items
    for await (const item of this) if (items.push(item) >= most) break
    return items
  }

  /** Everything, in memory: for lists that are known to be short. */
  all(): Promise<Item[]> {
    return this.take(Number.POSITIVE_INFINITY)
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Item> {
    let page: Page<Item> | undefined = await this.#first()
    while (page) {
      yield* page.items
      page = await page.next?.()
    }
  }
}

type Numbered<Item> = {
  items: Item[]
  /** How many match on all pages; older services do not say. */
  total?: number
}

/**
 * Pages by number, until a page is not full; each item once. What the reader does with an item may move it out of the
 * filter: the items behind it move up then, and those that moved to an earlier page are read there.
 */
export function byNumber<Item>(
  limit: number,
  read: (page: number) => Promise<Numbered<Item>>,
  idOf: (item: Item) => string,
): List<Item> {
  const open = (): Promise<Page<Item>> => {
    const seen = new Set<string>()
    const page = async (number: number, before = 0): Promise<Page<Item>> => {
      const { items, total = before } = await read(number)
      const back = Math.ceil((before - total) / limit)
      if (back > 0 && number > 1) return page(Math.max(1, number - back), total)
      const fresh = items.filter((item) => !seen.has(idOf(item)))
      for (const item of fresh) seen.add(idOf(item))
      return { items: fresh, next: items.length < limit ? undefined : () => page(number + 1, total) }
    }
    return page(1)
  }
  return new List(open)
}

/** Pages by cursor, up to the last one. */
export function byCursor<Item>(
  read: (cursor: string | undefined) => Promise<{ items: Item[]; cursor: string | null | undefined }>,
): List<Item> {
  const page = async (from: string | undefined): Promise<Page<Item>> => {
    const { items, cursor } = await read(from)
    return { items, next: cursor ? () => page(cursor) : undefined }
  }
  return new List(() => page(undefined))
}
