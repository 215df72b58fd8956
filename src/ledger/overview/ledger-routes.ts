import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../../http/actor.ts'
import { sendCsv } from '../../http/csv.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { checkPermission } from '../../http/permissions.ts'
import { takePlainDates } from '../../http/plain-dates.ts'
import { companyFor, type SettlementDeps } from '../settlements/settlement-service.ts'
import { openStatement, readLedger } from '../statement.ts'
import { LedgerQuery, LedgerSchema } from './ledger-schemas.ts'

const tags = ['ledger']
const readTime = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text))

/** The books of a company, booking by booking. */
export const ledgerRoutes: FastifyPluginAsyncTypebox<SettlementDeps> = async (app, deps) => {
  takePlainDates(app, 'behind')
  app.get(
    '/ledger',
    {
      config: { permission: 'ledger.read' },
      schema: {
        operationId: 'readLedger',
        summary: 'Balances and bookings of a period',
        description:
          'With `format=csv` the whole statement of the period as a file, debits and credits in columns, for who may ' +
          'download orders. `finalUntil` is then the header `X-Final-Until`. Periods that follow each other hold every ' +
          'booking once if each is read with `final=true` and starts at the `finalUntil` of the one before it.',
        tags,
        querystring: LedgerQuery,
        response: { 200: Envelope(LedgerSchema) },
      },
    },
    async (request, reply) => {
      const { from, to, after: cursor = null, limit = 100, format, final: isFinal = false } = request.query
      const actor = actorOf(request)
      if (format === 'csv') checkPermission('orders.download', actor, deps.clock())
      const companyId = await companyFor(deps, actor, request.query.companyId)
      const period = { from: readTime(from), to: readTime(to), isFinal }
      if (format !== 'csv') return ok(await readLedger(deps, companyId, period, { cursor, limit }))
      const { finalUntil, lines } = await openStatement(deps, companyId, period)
      const day = new Date(deps.clock()).toISOString().slice(0, 10)
      return sendCsv(
        reply.header('x-final-until', finalUntil.toISOString()),
        `statement-${day}.csv`,
        Readable.from(lines),
      )
    },
  )
}
