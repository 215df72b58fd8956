import { type Static, type TSchema, Type } from 'typebox'
import type { Db } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import { ruleOf } from '../../http/permissions.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { findReachableOrder } from '../order-service.ts'
import * as queries from './order-history-queries.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const At = Type.String({ format: 'date-time' })
const Units = Type.String({ description: 'Decimal text with 6 digits.' })

export const StorySchema = Type.Object({
  code: Type.String(),
  events: Type.Array(
    Type.Object({
      at: At,
      seq: Type.Integer(),
      trigger: Type.String({ description: 'What moved the order, as in the table of states.' }),
      status: Type.String({ description: 'The state from then on.' }),
      event: Nullable(Type.String()),
      actor: Type.String({ description: '`user:…`, `apiKey:…`, `payer:…` or a part of the service.' }),
      name: Nullable(Type.String({ description: 'Of the person or the API key.' })),
      requestId: Nullable(Type.String()),
    }),
  ),
  payments: Type.Array(
    Type.Object({
      number: Type.Integer(),
      paymentChannel: Type.String(),
      status: Type.String(),
      providerReference: Nullable(Type.String()),
      network: Nullable(Type.Integer()),
      toAddress: Nullable(Type.String()),
      dueAmount: Units,
      receivedAmount: Units,
      openedAt: At,
      updatedAt: At,
    }),
  ),
  transfers: Type.Array(
    Type.Object({
      txHash: Type.String(),
      network: Type.Integer(),
      symbol: Type.String(),
      fromAddress: Type.String(),
      amount: Nullable(Units),
      status: Type.String({ enum: ['seen', 'final', 'orphaned'] }),
      at: At,
      finalAt: Nullable(At),
    }),
  ),
  deliveries: Type.Array(Type.Object({ id: Type.String(), event: Type.String(), status: Type.String(), at: At })),
  refunds: Type.Array(
    Type.Object({
      _id: Type.String(),
      status: Type.String(),
      amount: Units,
      txHash: Nullable(Type.String()),
      at: At,
      settledAt: Nullable(At),
    }),
  ),
  rate: Nullable(
    Type.Object({
      rate: Type.String(),
      at: At,
      evidence: Type.Unknown({ description: 'Every source that was asked, taken or dropped, with the reason.' }),
    }),
  ),
})
export type Story = Static<typeof StorySchema>

const USDC_DIGITS = 6
const decimal = (units: string): string => formatDecimal(BigInt(units), USDC_DIGITS)
const iso = (at: Date): string => at.toISOString()

const viewTransfer = (row: queries.TransferRow): Story['transfers'][number] => ({
  txHash: row.txHash,
  network: row.chainId,
  symbol: row.symbol,
  fromAddress: row.fromAddress,
  amount: row.isUsdc ? decimal(row.units) : null,
  status: row.status === 'orphaned' ? 'orphaned' : row.finalAt === null ? 'seen' : 'final',
  at: iso(row.seenAt),
  finalAt: row.finalAt && iso(row.finalAt),
})

/**
 * What happened to an order, for those who may see it; webhooks for those who may see deliveries.
 * @throws ORDER_NOT_FOUND
 */
export async function readStory(db: Db, actor: Actor, code: string): Promise<Story> {
  const order = await findReachableOrder(db, actor, code)
  const { roles } = ruleOf('webhooks.deliveries')
  const seesDeliveries = roles !== 'anyone' && roles.includes(actor.role)
  const [events, payments, transfers, deliveries, refunds, quote] = await Promise.all([
    queries.listEventsOfOrder(db, order),
    queries.listPaymentsOfOrder(db, order),
    queries.listTransfersOfOrder(db, order),
    seesDeliveries ? queries.listDeliveriesOfOrder(db, order) : [],
    queries.listRefundsOfOrder(db, order),
    queries.findQuote(db, order.quoteId),
  ])
  return {
    code,
    events: events.map(({ at, toStatus, ...event }) => ({ ...event, at: iso(at), status: toStatus })),
    payments: payments.map(({ channel, depositAddress, dueUnits, receivedUnits, openedAt, updatedAt, ...payment }) => ({
      ...payment,
      paymentChannel: channel,
      toAddress: depositAddress,
      dueAmount: decimal(dueUnits),
      receivedAmount: decimal(receivedUnits),
      openedAt: iso(openedAt),
      updatedAt: iso(updatedAt),
    })),
    transfers: transfers.map(viewTransfer),
    deliveries: deliveries.map(({ id, event, status, updatedAt }) => ({ id, event, status, at: iso(updatedAt) })),
    refunds: refunds.map(({ id, status, units, txHash, createdAt, settledAt }) => ({
      _id: id,
      status,
      amount: decimal(units),
      txHash,
      at: iso(createdAt),
      settledAt: settledAt && iso(settledAt),
    })),
    rate: quote ? { rate: quote.rate, at: iso(quote.createdAt), evidence: quote.evidence } : null,
  }
}
