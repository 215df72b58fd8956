import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { isFrozen } from '../../channels/channel.ts'
import { amountText } from '../../channels/usdc-text.ts'
import { type Actor, actorOf, hasStanding } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { ruleOf } from '../../http/permissions.ts'
import { Type } from '../../kernel/schema.ts'
import { BEING_CHECKED, mayReadScreenings, payoutMessageFor } from '../../screening/screening-words.ts'
import { CodeParams } from '../order-schemas.ts'
import { findReachableOrder, type OrderDeps } from '../order-service.ts'
import { findQuote, listStory, type StoryRow } from './story-queries.ts'

const KINDS = [
  ...['state', 'payment', 'provider', 'transfer', 'mispayment'],
  ...['refund', 'webhook', 'attempt', 'booking', 'identity', 'screening'],
]
/** Of each kind. */
const MOST = 1000

/** How many entries of the kinds that are shown are older than those. */
const countOmitted = (rows: readonly StoryRow[]): number =>
  [...new Map(rows.map(({ kind, ofKind }) => [kind, Math.max(ofKind - MOST, 0)])).values()].reduce(
    (sum, omitted) => sum + omitted,
    0,
  )

const Entry = Type.Object({
  at: Type.String({ format: 'date-time', description: 'When it began. UTC, with milliseconds.' }),
  kind: Type.String({ enum: KINDS, description: 'What kind of thing happened.' }),
  facts: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()]), {
    description:
      'What is known of it, by kind. Amounts are in the smallest units of their asset, but `amount` is decimal text.',
    examples: [{ trigger: 'create', from: null, to: 'INITIAL', event: 'order.initial' }],
  }),
})

const Rate = Type.Union(
  [
    Type.Object({
      rate: Type.String(),
      at: Type.String({ format: 'date-time', description: 'When it was asked for.' }),
      evidence: Type.Unknown({ description: 'Every source that was asked, taken or dropped, with the reason.' }),
    }),
    Type.Null(),
  ],
  { description: 'The rate of the order and its proof; null once the proof is no longer kept.' },
)

const Story = Type.Object({
  code: Type.String(),
  entries: Type.Array(Entry),
  omitted: Type.Integer({ description: 'How many older entries are not shown.', examples: [0] }),
  rate: Rate,
})

/** Whether money of the order waits for a screening, or was returned after one. */
const isHeldBack = (rows: readonly StoryRow[]): boolean =>
  rows.some(
    ({ kind, facts }) =>
      kind === 'screening' && facts.purpose === 'payment' && !['clean', 'released'].includes(String(facts.status)),
  )

/** A buyer's own account does not read what the shop said about the payer, nor a cashier orders of other tills. */
function viewPayment(actor: Actor, facts: StoryRow['facts'], isHeld: boolean): StoryRow['facts'] {
  const message = isHeld && !mayReadScreenings(actor) ? BEING_CHECKED : (facts.message ?? null)
  if (!hasStanding(actor)) return { ...facts, message, pos: null, pastOrders: null }
  return { ...facts, message, ...(actor.role === 'Cashier' && { pastOrders: null }) }
}

/** The facts of an entry as they are shown. @param isHeld of `isHeldBack` */
function viewFacts(actor: Actor, { kind, facts }: StoryRow, isHeld: boolean): StoryRow['facts'] {
  if (kind === 'payment') return viewPayment(actor, facts, isHeld)
  if (kind === 'refund')
    return { ...facts, message: payoutMessageFor(actor, facts.message == null ? null : String(facts.message)) }
  if (kind !== 'mispayment') return facts
  const [asset = '', reference = ''] = [facts.asset, facts.reference].map(String)
  return { ...facts, amount: amountText({ asset, units: BigInt(facts.units ?? 0), reference }) }
}

/** Internals that a cashier or a buyer does not see: they see what happened to the order, not how it was done. */
const BEHIND = ['provider', 'webhook', 'attempt', 'booking', 'identity']

/** Who may not read screenings must not learn why a payment is held. */
const mayShow =
  (actor: Actor) =>
  ({ kind, facts }: StoryRow): boolean => {
    if (BEHIND.includes(kind) && !ruleOf('webhooks.deliveries').roles.includes(actor.role)) return false
    const isHeld = facts.kind === 'held' || isFrozen(String(facts.reference))
    const isAbout = kind === 'screening' || (kind === 'mispayment' && isHeld)
    return !isAbout || mayReadScreenings(actor)
  }

/** The full history of one order, for people who investigate a problem. */
export const storyRoutes: FastifyPluginAsyncTypebox<Pick<OrderDeps, 'db'>> = async (app, { db }) => {
  app.get(
    '/story/:code',
    {
      config: { permission: 'orders.history' },
      schema: {
        operationId: 'getOrderStory',
        summary: 'Everything that happened to an order',
        description:
          'Every state, payment, call to a provider, transfer, refund, webhook with its attempts, booking, identity check and screening, oldest first, and the proof of the rate. Of each kind the newest 1000 are shown; `omitted` says how many older ones there are. `comptoir explain` and the back office turn it into words. What lies behind the counter (webhooks, provider calls, bookings, identity) is shown to those who may see deliveries.',
        tags: ['orders'],
        params: CodeParams,
        response: { 200: Envelope(Story) },
      },
    },
    async (request) => {
      const actor = actorOf(request)
      const order = await findReachableOrder(db, actor, request.params.code)
      const quote = await findQuote(db, order.quoteId)
      const all = await listStory(db, order.companyId, order.id, MOST)
      const rows = all.filter(mayShow(actor))
      const view = (row: StoryRow) => viewFacts(actor, row, isHeldBack(all))
      return ok({
        code: order.code,
        entries: rows.map((row) => ({ at: row.at.toISOString(), kind: row.kind, facts: view(row) })),
        omitted: countOmitted(rows),
        rate: quote ? { rate: quote.rate, at: quote.createdAt.toISOString(), evidence: quote.evidence } : null,
      })
    },
  )
}
