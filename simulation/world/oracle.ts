import type pg from 'pg'
import type { Scheduler } from '../virtual/scheduler.ts'

export type OrderRow = {
  status: string
  paid: string
  refunded: string
  due: string
  updated_at: string
  paid_at: string | null
}
export type EventRow = {
  seq: number
  trigger: string
  from: string | null
  to: string
  event: string | null
  at: string
}
export type PaymentRow = {
  id: string
  channel: string
  status: string
  merchant_reference: string
  provider_reference: string | null
  deposit_address: string | null
  received: string
  due: string
}
export type DeliveryRow = { id: string; event: string; refund_id: string; status: string; at: string }
export type RefundRow = {
  id: string
  payment_id: string
  status: string
  units: string
  address: string | null
  channel: string
}
export type MispaymentRow = { id: string; kind: string; status: string; units: string; payment_id: string }
export type AttemptRow = {
  id: string
  series: number
  number: number
  started: string
  ms: number | null
  status: number | null
  error: string | null
}

/** Everything in the tables about one order. */
export type OrderFacts = {
  order: OrderRow
  events: EventRow[]
  payments: PaymentRow[]
  deliveries: DeliveryRow[]
  attempts: AttemptRow[]
  refunds: RefundRow[]
  mispayments: MispaymentRow[]
  /** Sums by account, in units of USDC; debits are positive. */
  accounts: Record<string, string>
}

const FACTS = `
select json_build_object(
  'order', (select json_build_object('status', status, 'paid', paid_units::text, 'refunded', refunded_units::text,
    'due', to_units::text, 'updated_at', updated_at, 'paid_at', paid_at) from orders where company_id = $1 and id = $2),
  'events', (select coalesce(json_agg(json_build_object('seq', seq, 'trigger', trigger, 'from', from_status,
    'to', to_status, 'event', event, 'at', at) order by seq), '[]')
    from order_events where company_id = $1 and order_id = $2),
  'payments', (select coalesce(json_agg(json_build_object('id', id, 'channel', channel, 'status', status,
    'merchant_reference', merchant_reference, 'provider_reference', provider_reference,
    'deposit_address', deposit_address, 'received', received_units::text, 'due', due_units::text) order by number), '[]')
    from payments where company_id = $1 and order_id = $2),
  'deliveries', (select coalesce(json_agg(json_build_object('id', id, 'event', event, 'refund_id', refund_id,
    'status', status, 'at', created_at) order by created_at, id), '[]')
    from delivery_states where company_id = $1 and order_id = $2),
  'attempts', (select coalesce(json_agg(json_build_object('id', a.delivery_id, 'series', a.series, 'number', a.number,
    'started', a.started_at, 'ms', a.duration_ms, 'status', a.status_code, 'error', a.error_code)
    order by a.series, a.number, a.started_at), '[]')
    from delivery_attempts a join deliveries d on d.company_id = a.company_id and d.id = a.delivery_id
    where d.company_id = $1 and d.order_id = $2),
  'refunds', (select coalesce(json_agg(json_build_object('id', id, 'payment_id', payment_id, 'status', status,
    'units', units::text, 'address', address, 'channel', channel) order by created_at), '[]')
    from refunds where company_id = $1 and order_id = $2),
  'mispayments', (select coalesce(json_agg(json_build_object('id', id, 'kind', kind, 'status', status,
    'units', units::text, 'payment_id', payment_id) order by created_at), '[]')
    from mispayments where company_id = $1 and order_id = $2),
  'accounts', (select coalesce(json_object_agg(account, units), '{}') from (
    select e.account, sum(e.units)::text as units from ledger_journals j
    join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
    where j.company_id = $1 and j.order_id = $2 group by e.account) sums)
) as facts`

/** Reads the database directly, between two statements of the service. */
export class Oracle {
  readonly #client: pg.Client
  readonly #scheduler: Scheduler

  constructor(client: pg.Client, scheduler: Scheduler) {
    this.#client = client
    this.#scheduler = scheduler
  }

  /** Nothing else happens until it is answered. */
  many<Row>(text: string, values: unknown[] = [], name?: string): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const ask = async (): Promise<void> => {
        const query = { text, values, ...(name === undefined ? {} : { name }) }
        await this.#client.query(query).then(({ rows }) => resolve(rows as Row[]), reject)
      }
      this.#scheduler.after(0, ask, null)
    })
  }

  /**
   * In one transaction, between two statements of the service.
   * @returns false when a row is locked: nothing happened
   */
  together(statements: readonly [string, unknown[]][]): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const work = async (): Promise<boolean> => {
        await this.#client.query('begin')
        try {
          for (const [text, values] of statements) await this.#client.query(text, values)
          await this.#client.query('commit')
          return true
        } catch (error) {
          await this.#client.query('rollback')
          if ((error as { code?: string }).code === '55P03') return false
          throw error
        }
      }
      this.#scheduler.after(0, () => work().then(resolve, reject), null)
    })
  }

  async one<Row>(text: string, values: unknown[] = []): Promise<Row> {
    const [row] = await this.many<Row>(text, values)
    if (row === undefined) throw new Error(`expected a row from ${text}`)
    return row
  }

  async facts(companyId: string, orderId: string): Promise<OrderFacts> {
    const [row] = await this.many<{ facts: OrderFacts }>(FACTS, [companyId, orderId], 'facts')
    if (!row?.facts.order) throw new Error(`the order ${orderId} is lost`)
    return row.facts
  }
}
