import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { countCompanies } from '../../companies/company-queries.ts'
import type { Db } from '../../db/db.ts'
import type { StaleReads } from '../../db/stale-reads.ts'
import { type Actor, actorOf, sees } from '../../http/actor.ts'
import { daysBefore, TimeZone } from '../../http/calendar.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { listPermissions } from '../../http/permissions.ts'
import { type Clock, DAY } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { firstIdAt } from '../../kernel/ids.ts'
import { EXPONENTS, formatDecimal } from '../../kernel/money.ts'
import { type Static, Type } from '../../kernel/schema.ts'
import { scopeOf } from '../order-service.ts'
import { countNeeds, listRefunded, listSales } from './summary-queries.ts'
import { sumChannels, sumDays } from './summary-sums.ts'

const Amount = Type.String({ description: 'USDC, decimal text with 6 digits.' })

const SummarySchema = Type.Object({
  days: Type.Array(
    Type.Object({
      day: Type.String({ format: 'date', description: 'In the time zone that was asked for.' }),
      created: Type.Integer(),
      paid: Type.Integer(),
      paidAmount: Amount,
      sales: Type.Array(
        Type.Object({
          asset: Type.String({ examples: ['EUR'] }),
          amount: Type.String({ description: 'What was paid of their prices.', examples: ['99.80'] }),
        }),
        { description: 'What was paid that day, in the currencies of the orders; the largest number first.' },
      ),
      refundedAmount: Amount,
    }),
  ),
  channels: Type.Array(Type.Object({ paymentChannel: Type.String(), paid: Type.Integer(), paidAmount: Amount })),
  needs: Type.Object(
    {
      mispayments: Type.Integer(),
      unmatched: Type.Integer(),
      refunds: Type.Integer(),
      deliveries: Type.Integer(),
      identity: Type.Integer(),
      screenings: Type.Integer(),
      settlements: Type.Integer(),
      companies: Type.Integer(),
    },
    { description: 'How many of each wait for a person.' },
  ),
})
type Summary = Static<typeof SummarySchema>

/** Nearly every order is paid within this time: one month for a link, plus its grace period. */
const OLDEST_MS = 60 * DAY
const USDC_DIGITS = 6
const decimal = (units: bigint): string => formatDecimal(units, USDC_DIGITS)
const NOTHING = {
  mispayments: 0n,
  unmatched: 0n,
  refunds: 0n,
  deliveries: 0n,
  identity: 0n,
  screenings: 0n,
  settlements: 0n,
}

/** Companies that wait for this person's approval. */
const countWaiting = async (db: Db, actor: Actor, companyIds: readonly string[] | null): Promise<number> =>
  listPermissions(actor).includes('companies.approve')
    ? countCompanies(db, { companyIds, search: null, approved: null, waiting: true })
    : 0

type Deps = { db: Db; reads: StaleReads; clock: Clock }

async function readSummary(
  { db, reads, clock }: Deps,
  actor: Actor,
  { days: count, timeZone, companyId }: { days: number; timeZone: string; companyId?: string },
): Promise<Summary> {
  if (companyId !== undefined && !sees(actor, companyId)) throw new AppError('OBJECT_NOT_FOUND')
  const own = scopeOf(actor)
  const scope = companyId === undefined ? own : { ...own, companyIds: [companyId] }
  const now = clock()
  const days = daysBefore(now, count, timeZone)
  const starts = days.map(({ start }) => start)
  const oldestMs = now - count * DAY - OLDEST_MS
  const firstId = firstIdAt(oldestMs)
  const [sold, needs, companies] = await Promise.all([
    reads.read(async (q) => ({
      sales: await listSales(q, scope, { firstId, starts }),
      refunds: await listRefunded(q, scope, starts),
    })),
    // a cashier cannot decide any of these
    actor.role === 'Cashier'
      ? NOTHING
      : countNeeds(db, scope.companyIds, { now: new Date(now), isOperator: actor.role === 'SuperAdmin' }),
    countWaiting(db, actor, scope.companyIds),
  ])
  return {
    days: sumDays(sold, days).map(({ paidUnits, refundedUnits, sales, ...day }) => ({
      ...day,
      sales: [...sales]
        .sort(([, a], [, b]) => (a < b ? 1 : -1))
        .map(([asset, units]) => ({ asset, amount: formatDecimal(units, EXPONENTS[asset]) })),
      paidAmount: decimal(paidUnits),
      refundedAmount: decimal(refundedUnits),
    })),
    channels: sumChannels(sold.sales).map(({ paidUnits, ...channel }) => ({
      ...channel,
      paidAmount: decimal(paidUnits),
    })),
    needs: {
      mispayments: Number(needs.mispayments),
      unmatched: Number(needs.unmatched),
      refunds: Number(needs.refunds),
      deliveries: Number(needs.deliveries),
      identity: Number(needs.identity),
      screenings: Number(needs.screenings),
      settlements: Number(needs.settlements),
      companies,
    },
  }
}

/** Sales figures, and items that wait for a person. */
export const summaryRoutes: FastifyPluginAsyncTypebox<Deps> = async (app, deps) => {
  app.get(
    '/summary',
    {
      config: { permission: 'orders.summary' },
      schema: {
        operationId: 'getSummary',
        summary: 'Sales by day and channel, and what needs a person',
        tags: ['orders'],
        querystring: Type.Object({
          days: Type.Integer({ minimum: 1, maximum: 92, default: 30 }),
          timeZone: TimeZone,
          companyId: Type.Optional(Type.String({ pattern: '^[0-9a-f]{24}$', description: 'For operators.' })),
        }),
        response: { 200: Envelope(SummarySchema) },
      },
    },
    async (request) => ok(await readSummary(deps, actorOf(request), request.query)),
  )
}
