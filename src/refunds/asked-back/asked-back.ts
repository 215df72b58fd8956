import type { Audit } from '../../audit/audit.ts'
import { isFrozen } from '../../channels/channel.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Order } from '../../orders/order.ts'
import { lockReachableOrder } from '../../orders/order-service.ts'
import {
  listMispaymentsOfOrder,
  type Mispayment,
  type MispaymentKind,
  updateMispayment,
} from '../../payments/mispayments/mispayment-queries.ts'

export type AskBackDeps = {
  db: Db
  clock: Clock
  audit: Audit
  /** The order's page says that it was asked for. */
  onAsked(order: Order): void
  /** Tells the shop, unless it was told about this order today. Runs in the transaction, so it only writes jobs. */
  tellShop(tx: Tx, order: Order, records: readonly Mispayment[]): Promise<void>
}

/** Money whose sender is not cleared waits for that decision first; nobody can ask for what left the chain. */
const ASKABLE: readonly MispaymentKind[] = ['under', 'over', 'late', 'duplicate', 'wrong_token']

/** The undecided money of an order that its payer may ask for. */
export const listAskable = (records: readonly Mispayment[]): Mispayment[] =>
  records.filter(
    ({ status, kind, sourceReference }) => status === 'open' && ASKABLE.includes(kind) && !isFrozen(sourceReference),
  )

/**
 * The payer asks for money that did not pay the order. Nothing moves: the shop is told, and decides. Asking again for
 * the same money changes nothing.
 * @throws ORDER_NOT_FOUND, ORDER_STATE_CONFLICT when no such money waits
 */
export async function askBack(deps: AskBackDeps, context: RequestContext, code: string): Promise<void> {
  const { db, clock, audit } = deps
  const asked = await db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, context.actor, code)
    const { companyId, id } = order
    const records = listAskable(await listMispaymentsOfOrder(tx, companyId, id))
    if (records.length === 0) {
      throw new AppError('ORDER_STATE_CONFLICT', { message: 'No money of this order waits for a decision.' })
    }
    const news = records.filter(({ askedBackAt }) => askedBackAt === null)
    if (news.length === 0) return null
    const nowMs = clock()
    for (const record of news) await updateMispayment(tx, record, { askedBackAt: new Date(nowMs) }, new Date(nowMs))
    await deps.tellShop(tx, order, news)
    const detail = { mispaymentIds: news.map((record) => record.id).join(', ') }
    const entry = { companyId, action: 'mispayment.ask-back', object: `order:${id}`, detail }
    await audit.write(tx, context, entry)
    return order
  })
  if (asked !== null) deps.onAsked(asked)
}
