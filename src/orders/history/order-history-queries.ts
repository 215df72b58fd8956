import { type Queryable, sql } from '../../db/db.ts'
import type { Order } from '../order.ts'

export type EventRow = {
  at: Date
  seq: number
  trigger: string
  toStatus: string
  event: string | null
  actor: string
  name: string | null
  requestId: string | null
}
export type PaymentRow = {
  number: number
  channel: string
  status: string
  providerReference: string | null
  network: number | null
  depositAddress: string | null
  receivedUnits: string
  dueUnits: string
  openedAt: Date
  updatedAt: Date
}
export type TransferRow = {
  txHash: string
  chainId: number
  symbol: string
  fromAddress: string
  units: string
  status: string
  isUsdc: boolean
  seenAt: Date
  finalAt: Date | null
}
export type DeliveryRow = { id: string; event: string; status: string; createdAt: Date; updatedAt: Date }
export type RefundRow = {
  id: string
  status: string
  units: string
  txHash: string | null
  createdAt: Date
  settledAt: Date | null
}
export type QuoteRow = { rate: string; evidence: unknown; createdAt: Date }

type Key = Pick<Order, 'companyId' | 'id'>

/** States, with the name of the person where the actor is one. */
export const listEventsOfOrder = (q: Queryable, { companyId, id }: Key): Promise<EventRow[]> =>
  q.many(sql`
    select event.at, event.seq, event.trigger, event.to_status, event.event, event.actor, event.request_id,
      case when person.id is not null then person.first_name || ' ' || person.last_name
        else key.name end as name
    from order_events event
    left join users person on event.actor = 'user:' || person.id
    left join api_keys key on event.actor = 'apiKey:' || key.id
    where event.company_id = ${companyId} and event.order_id = ${id} order by event.seq`)

export const listPaymentsOfOrder = (q: Queryable, { companyId, id }: Key): Promise<PaymentRow[]> =>
  q.many(sql`
    select number, channel, status, provider_reference, network, deposit_address, received_units, due_units, opened_at,
      updated_at
    from payments where company_id = ${companyId} and order_id = ${id} order by number`)

export const listTransfersOfOrder = (q: Queryable, { companyId, id }: Key): Promise<TransferRow[]> =>
  q.many(sql`
    select transfer.tx_hash, transfer.chain_id, transfer.symbol, transfer.from_address, transfer.units, transfer.status,
      transfer.token = lower(payment.token_address) as is_usdc, transfer.first_seen_at as seen_at, transfer.final_at
    from payments payment
    join chain_transfers transfer
      on transfer.to_address = payment.deposit_address and transfer.chain_id = payment.network
    where payment.company_id = ${companyId} and payment.order_id = ${id}
    order by transfer.block_at, transfer.id limit 100`)

export const listDeliveriesOfOrder = (q: Queryable, { companyId, id }: Key): Promise<DeliveryRow[]> =>
  q.many(sql`
    select id, event, status, created_at, updated_at from deliveries
    where company_id = ${companyId} and order_id = ${id} order by created_at limit 100`)

export const listRefundsOfOrder = (q: Queryable, { companyId, id }: Key): Promise<RefundRow[]> =>
  q.many(sql`
    select id, status, units, tx_hash, created_at, settled_at from refunds
    where company_id = ${companyId} and order_id = ${id} order by created_at limit 100`)

export const findQuote = (q: Queryable, id: string): Promise<QuoteRow | undefined> =>
  q.maybe(sql`select rate, evidence, created_at from rate_quotes where id = ${id}`)
