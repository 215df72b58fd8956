import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findUnreconciled } from '../../db/restored-queries.ts'
import { actorOf } from '../../http/actor.ts'
import { monthsBefore, TimeZone } from '../../http/calendar.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { type TSchema, Type } from '../../kernel/schema.ts'
import { findBookCheck, findOpenDifference } from '../difference-queries.ts'
import { companyFor, type SettlementDeps } from '../settlements/settlement-service.ts'
import { findFeeBps, listMonths } from './fee-queries.ts'

const tags = ['ledger']
const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const CompanyId = Type.Optional(
  Type.String({ pattern: '^[0-9a-f]{24}$', description: 'For users of several companies.' }),
)
const Usdc = (description: string, example: string) => Type.String({ description, examples: [example] })

const CheckSchema = Type.Object({
  checkedAt: Nullable(
    Type.String({
      format: 'date-time',
      description: 'When the books were last compared with the facts; null: not yet.',
    }),
  ),
  ok: Type.Boolean({ description: 'Nothing keeps refunds and settlements waiting.' }),
  hold: Nullable(
    Type.String({
      enum: ['difference', 'wallets', 'restored'],
      description:
        'Why they wait: a difference of this company, one of the operator’s wallets, or a database that was restored, or ' +
        'that a standby took over, and is not reconciled.',
    }),
  ),
})

const MonthSchema = Type.Object({
  month: Type.String({ description: 'Month, in the time zone that was asked for.', examples: ['2026-11'] }),
  payments: Type.Integer({ description: 'Payments that were booked.', examples: [412] }),
  received: Usdc('Price of what was paid, in USDC.', '21840.500000'),
  fees: Usdc('What the operator kept of it.', '109.202500'),
  refunded: Usdc(
    'What left for payers out of the company’s balance, by the day it left. A refund that waits does not count.',
    '320.000000',
  ),
  losses: Usdc('Money that left the chain and that the company bears; negative: it came back.', '0.000000'),
  net: Usdc('What is left for the company.', '21411.297500'),
})

/** Questions that merchants have about their books: are they right, and what did the service cost? */
export const booksRoutes: FastifyPluginAsyncTypebox<SettlementDeps> = async (app, deps) => {
  const { db, clock } = deps
  app.get(
    '/ledger/check',
    {
      config: { permission: 'ledger.read' },
      schema: {
        operationId: 'getBooksCheck',
        summary: 'When the books were last checked, and whether they are right',
        description: 'Books are compared with the facts every hour, and again before each refund and settlement.',
        tags,
        querystring: Type.Object({ companyId: CompanyId }),
        response: { 200: Envelope(CheckSchema) },
      },
    },
    async (request) => {
      const companyId = await companyFor(deps, actorOf(request), request.query.companyId)
      const [check, difference, restored] = await Promise.all([
        findBookCheck(db, companyId),
        findOpenDifference(db, companyId),
        findUnreconciled(db),
      ])
      const own = difference?.companyId === companyId ? 'difference' : 'wallets'
      const hold = restored ? 'restored' : difference ? own : null
      return ok({ checkedAt: check?.checkedAt.toISOString() ?? null, ok: hold === null, hold })
    },
  )
  app.get(
    '/ledger/fees',
    {
      config: { permission: 'ledger.read' },
      schema: {
        operationId: 'listFees',
        summary: 'Sales, fees and refunds by month',
        description:
          'From the books: what was paid, what the operator kept of it, what went back to payers, and what was lost.',
        tags,
        querystring: Type.Object({
          companyId: CompanyId,
          months: Type.Optional(
            Type.Integer({
              ...{ minimum: 1, maximum: 60, default: 12 },
              description: 'This month and those before it.',
            }),
          ),
          timeZone: Type.Optional(TimeZone),
        }),
        response: {
          200: Envelope(
            Type.Object({
              feeBps: Type.Integer({ description: 'The fee now, in hundredths of a percent.', examples: [50] }),
              months: Type.Array(MonthSchema, { description: 'Newest first; months without a booking are left out.' }),
            }),
          ),
        },
      },
    },
    async (request) => {
      const { months = 12, timeZone = 'UTC' } = request.query
      const calendar = monthsBefore(clock(), months, timeZone)
      const companyId = await companyFor(deps, actorOf(request), request.query.companyId)
      const [feeBps, rows] = await Promise.all([findFeeBps(db, companyId), listMonths(db, companyId, calendar)])
      return ok({
        feeBps,
        months: rows.map(({ month, payments, receivedUnits, feeUnits, refundedUnits, lostUnits }) => ({
          ...{ month, payments },
          received: formatDecimal(receivedUnits, 6),
          fees: formatDecimal(feeUnits, 6),
          refunded: formatDecimal(refundedUnits, 6),
          losses: formatDecimal(lostUnits, 6),
          net: formatDecimal(receivedUnits - feeUnits - refundedUnits - lostUnits, 6),
        })),
      })
    },
  )
}
