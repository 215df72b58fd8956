import type { Comptoir } from '../sdk/index.ts'

const CODE = /^[A-Za-z0-9]{24}$/

/**
 * The code of an order from what people have at hand: the code, the short code on screens and receipts, or the shop's
 * own reference; of several orders with that reference, the newest.
 */
export async function orderCodeOf(client: Comptoir, named: string): Promise<string> {
  if (CODE.test(named)) return named
  const found = await client.orders.list({ search: named, limit: 100 }).take(100)
  const byShort = found.find(({ shortCode }) => shortCode === named.toUpperCase())
  // if nothing is found, the service refuses it with its own message
  return (byShort ?? found.find(({ alias }) => alias === named))?.code ?? named
}
