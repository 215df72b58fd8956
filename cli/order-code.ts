import type { Comptoir } from '../sdk/index.ts'

const CODE = /^[A-Za-z0-9]{24}$/

/**
 * The code of an order by what people have at hand: the code, the short code that screens and receipts show, or the
 * shop's own reference, whose newest order is meant.
 */
export async function orderCodeOf(client: Comptoir, named: string): Promise<string> {
  if (CODE.test(named)) return named
  const found = await client.orders.list({ search: named, limit: 100 }).take(100)
  const byShort = found.find(({ shortCode }) => shortCode === named.toUpperCase())
  // what is not found is refused by the service, in its words
  return (byShort ?? found.find(({ alias }) => alias === named))?.code ?? named
}
