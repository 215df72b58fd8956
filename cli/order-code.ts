import { type Comptoir, isComptoirError, type Order } from '../sdk/index.ts'

const CODE = /^[A-Za-z0-9]{24}$/

const unlessMissing = (found: Promise<Order>): Promise<Order | undefined> =>
  found.catch((error: unknown) => {
    if (isComptoirError(error, 'ORDER_NOT_FOUND')) return undefined
    throw error
  })

/** Whether it is the code of an order, as far as this key may see: one that may only refund must be able to. */
async function isCode(client: Comptoir, named: string): Promise<boolean> {
  if (!CODE.test(named)) return false
  try {
    return (await unlessMissing(client.orders.get(named))) !== undefined
  } catch (error) {
    if (isComptoirError(error, 'FORBIDDEN')) return true
    throw error
  }
}

/**
 * The code of an order from what people have at hand: the code, the short code on screens and receipts, or the shop's
 * own reference; of several orders with that reference the newest, or one that was paid since, where nobody pays it.
 */
export async function orderCodeOf(client: Comptoir, named: string): Promise<string> {
  // a reference may look like a code: an id of MongoDB, for example
  if (await isCode(client, named)) return named
  const found = await client.orders.list({ search: named, limit: 100 }).take(100)
  const byShort = found.find(({ shortCode }) => shortCode === named.toUpperCase())
  // if nothing is found, the service refuses it with its own message
  return (byShort ?? (await unlessMissing(client.orders.getByReference(named))))?.code ?? named
}
