import { type Comptoir, isComptoirError, type Order } from '../sdk/index.ts'

const CODE = /^[A-Za-z0-9]{24}$/

const unlessMissing = (found: Promise<Order>): Promise<Order | undefined> =>
  found.catch((error: unknown) => {
    if (isComptoirError(error, 'ORDER_NOT_FOUND')) return undefined
    throw error
  })

/**
 * The code of an order from what people have at hand: the code, the short code on screens and receipts, or the shop's
 * own reference; of several orders with that reference, the newest.
 */
export async function orderCodeOf(client: Comptoir, named: string): Promise<string> {
  // a reference may look like a code: an id of MongoDB, for example
  if (CODE.test(named) && (await unlessMissing(client.orders.get(named)))) return named
  const found = await client.orders.list({ search: named, limit: 100 }).take(100)
  const byShort = found.find(({ shortCode }) => shortCode === named.toUpperCase())
  // if nothing is found, the service refuses it with its own message
  return (byShort ?? (await unlessMissing(client.orders.getByReference(named))))?.code ?? named
}
