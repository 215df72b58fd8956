import { type Api, type Data, openApi, refuseWrongParams } from './api.ts'
import { OPERATIONS, type Operations } from './generated/operations.ts'
import type { Order } from './generated/schemas.ts'
import { byCursor, byNumber, type List } from './list.ts'
import { type CallOptions, type ComptoirOptions, Transport } from './transport.ts'
import { type OrderStatus, type WaitOptions, waitUntil } from './wait.ts'

type Params<Key extends keyof Operations> = Operations[Key]['params']
type Body<Key extends keyof Operations> = Params<Key> extends { body?: infer Shape } ? NonNullable<Shape> : never
type Filter<Key extends keyof Operations> = Omit<Params<Key>, 'page' | 'cursor'>

export type Created = Data<'createOrder'>
export type Instructions = Data<'acceptOrder'>
export type Refund = Data<'getRefund'>
export type FeedEvent = Data<'listEvents'>['events'][number]

const PAGE = 100

const openOrders = (api: Api) => ({
  /** Creates an order; with `alias` a payment link. */
  create: (body: Body<'createOrder'>, options?: CallOptions): Promise<Created> => api.createOrder({ body }, options),
  get: (code: string, options?: CallOptions): Promise<Order> => api.getOrderByCode({ code }, options),
  /** The newest order with your alias. */
  getByReference: (reference: string, options?: CallOptions & { companyId?: string }): Promise<Order> => {
    const { companyId, ...rest } = options ?? {}
    // a credential of the company sees the whole order
    return api.getOrderByReference(
      { reference, ...(companyId === undefined ? {} : { companyId }) },
      rest,
    ) as Promise<Order>
  },
  /** All orders that the filters match: `for await (const order of comptoir.orders.list({ status: ['PAID'] }))`. */
  list: (filter: Filter<'listOrders'> = {}, options?: CallOptions): List<Order> =>
    byCursor(async (cursor) => {
      const page = await api.listOrders({ limit: PAGE, ...filter, ...(cursor ? { cursor } : {}) }, options)
      return { items: page.orders, cursor: page.nextCursor }
    }),
  /** Chooses the payment channel; returns what the payer needs. */
  accept: (code: string, body: Body<'acceptOrder'>, options?: CallOptions): Promise<Instructions> =>
    api.acceptOrder({ code, body }, options),
  /** Asks the channel now. @throws ComptoirError PAYMENT_NOT_RECEIVED while nothing has arrived */
  confirm: (code: string, options?: CallOptions): Promise<null> => api.confirmOrder({ code }, options),
  cancel: (code: string, options?: CallOptions): Promise<null> => api.cancelOrder({ code }, options),
  expire: (code: string, options?: CallOptions): Promise<null> => api.expireOrder({ code }, options),
  /** How much a refund could return now. */
  refundable: (code: string, options?: CallOptions) => api.getRefundable({ code }, options),
  /** Refunds; without an amount, all that is left. */
  refund: (code: string, body: Body<'revertOrder'> = {}, options?: CallOptions) =>
    api.revertOrder({ code, body }, options),
  /** Waits until the order has one of the states. @throws WaitError when it ends otherwise, or on timeout */
  waitUntil: (
    code: string,
    statuses: OrderStatus | readonly OrderStatus[],
    options: WaitOptions = {},
  ): Promise<Order> => waitUntil(api, code, [statuses].flat() as OrderStatus[], options),
})

const openWebhooks = (api: Api) => ({
  /** The delivery log, newest first. */
  deliveries: (filter: Filter<'listWebhookDeliveries'> = {}, options?: CallOptions) =>
    byNumber(
      filter.limit ?? PAGE,
      async (page) => {
        const { deliveries, total } = await api.listWebhookDeliveries({ limit: PAGE, ...filter, page }, options)
        return { items: deliveries, total }
      },
      ({ id }) => id,
    ),
  /** Sends one delivery again, under the same id. */
  redeliver: (id: string, options?: CallOptions) => api.redeliverWebhook({ id }, options),
})

/**
 * A client for one instance of Comptoir. `api` has a method for every operation; the rest covers the usual tasks. Calls
 * that change something send their own Idempotency-Key, so that retries are safe.
 */
export class Comptoir {
  readonly #transport: Transport
  readonly baseUrl: string
  /** Every operation, by its name in the reference. */
  readonly api: Api
  readonly orders: ReturnType<typeof openOrders>
  readonly webhooks: ReturnType<typeof openWebhooks>

  constructor(options: ComptoirOptions) {
    const transport = new Transport(options)
    this.#transport = transport
    this.baseUrl = transport.baseUrl
    this.api = openApi(transport)
    this.orders = openOrders(this.api)
    this.webhooks = openWebhooks(this.api)
  }

  readonly links = {
    /** Orders with an alias, newest first. */
    list: (filter: Filter<'listPaymentLinks'> = {}, options?: CallOptions): List<Order> =>
      byCursor(async (cursor) => {
        const query = { limit: PAGE, ...filter, cursor }
        const wanted = { operation: 'listPaymentLinks', row: OPERATIONS.listPaymentLinks, params: query }
        refuseWrongParams(wanted)
        const { operation, row } = wanted
        const { answer, data } = await this.#transport.send({ operation, ...row, query, options })
        return { items: data as Order[], cursor: answer.headers.get('comptoir-next-cursor') }
      }),
  }

  readonly refunds = {
    get: (id: string, options?: CallOptions): Promise<Refund> => this.api.getRefund({ id }, options),
    list: (filter: Filter<'listRefunds'> = {}, options?: CallOptions): List<Refund> =>
      byNumber(
        filter.limit ?? PAGE,
        async (page) => {
          const answer = await this.api.listRefunds({ limit: PAGE, ...filter, page }, options)
          // older services return the list itself
          return Array.isArray(answer) ? { items: answer } : { items: answer.refunds, total: answer.total }
        },
        ({ _id }) => _id,
      ),
  }

  readonly mispayments = {
    list: (filter: Filter<'listMispayments'> = {}, options?: CallOptions) =>
      byNumber(
        filter.limit ?? PAGE,
        async (page) => {
          const { mispayments, total } = await this.api.listMispayments({ limit: PAGE, ...filter, page }, options)
          return { items: mispayments, total }
        },
        ({ _id }) => _id,
      ),
  }

  readonly events = {
    /** Every event after a cursor, in order, up to now. Store the `cursor` of the last one you handled. */
    list: (filter: Filter<'listEvents'> = {}, options?: CallOptions): List<FeedEvent> =>
      byCursor(async (cursor) => {
        const page = await this.api.listEvents({ ...filter, ...(cursor ? { after: cursor } : {}) }, options)
        return { items: page.events, cursor: page.events.length === 0 ? undefined : page.nextCursor }
      }),
  }
}
