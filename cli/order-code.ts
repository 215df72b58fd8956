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
 * The newest order with this alias. The service answers a reference that no alias has by an order of a buy button,
 * which any visitor may have named so: money must not move by it.
 * @throws Error that order carries the reference, and no other one
 */
async function codeByAlias(client: Comptoir, named: string): Promise<string | undefined> {
  const order = await unlessMissing(client.orders.getByReference(named))
  if (order === undefined || order.alias === named) return order?.code
  const whose = `The buy button’s order ${order.code} carries it: use the code.`
  throw new Error(`No order of yours has the reference "${named}". ${whose}`)
}

/**
 * The code of an order from what people have at hand: the code, the short code on screens and receipts, or the shop's
 * own reference; of several orders with that reference the newest, or one that was paid since, where nobody pays it.
 * @throws Error for the reference of a buy button's order
 */
export async function orderCodeOf(client: Comptoir, named: string): Promise<string> {
  // a reference may look like a code: an id of MongoDB, for example
  if (await isCode(client, named)) return named
  const found = await client.orders.list({ search: named, limit: 100 }).take(100)
  const byShort = found.find(({ shortCode }) => shortCode === named.toUpperCase())
  // if nothing is found, the service refuses it with its own message
  return byShort?.code ?? (await codeByAlias(client, named)) ?? named
}
