import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { type Actor, actorOf } from '../http/actor.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { takePlainDates } from '../http/plain-dates.ts'
import { contextOf } from '../http/request-context.ts'
import { Type } from '../kernel/schema.ts'
import { listSettlements } from './settlement-queries.ts'
import {
  CreateSettlementBody,
  LedgerQuery,
  LedgerSchema,
  SettlementListQuery,
  SettlementPaidBody,
  SettlementSchema,
} from './settlement-schemas.ts'
import {
  approveSettlement,
  cancelSettlement,
  companyFor,
  createSettlement,
  findReachableSettlement,
  reportSettlementPaid,
  type SettlementDeps,
  viewSettlement,
} from './settlement-service.ts'
import { readLedger, streamStatement } from './statement.ts'

const tags = ['ledger']
const IdParams = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })

/** Null: all companies. */
async function companiesOf(deps: SettlementDeps, actor: Actor, companyId?: string): Promise<string[] | null> {
  if (companyId !== undefined) return [await companyFor(deps, actor, companyId)]
  if (actor.role === 'SuperAdmin') return null
  return [...new Set([...actor.companyIds, ...(actor.companyId === null ? [] : [actor.companyId])])]
}

const readTime = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text))

const sendCsv = (reply: FastifyReply, fileName: string, body: Readable): FastifyReply =>
  reply
    .header('content-type', 'text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${fileName}"`)
    .header('cache-control', 'no-store')
    .send(body)

/** The books of a company, and what is sent to its own address. */
export const settlementRoutes: FastifyPluginAsyncTypebox<SettlementDeps> = async (app, deps) => {
  const { db } = deps
  takePlainDates(app, 'behind')
  app.get(
    '/ledger',
    {
      config: { permission: 'ledger.read' },
      schema: {
        operationId: 'readLedger',
        summary: 'Balances and bookings of a period',
        description: 'With `format=csv` the whole statement of the period as a file, debits and credits in columns.',
        tags,
        querystring: LedgerQuery,
        response: { 200: Envelope(LedgerSchema) },
      },
    },
    async (request, reply) => {
      const { from, to, after = null, limit = 100, format } = request.query
      const companyId = await companyFor(deps, actorOf(request), request.query.companyId)
      const period = { from: readTime(from), to: readTime(to) }
      if (format !== 'csv') return ok(await readLedger(db, companyId, period, { after, limit }))
      const day = new Date(deps.clock()).toISOString().slice(0, 10)
      return sendCsv(reply, `statement-${day}.csv`, Readable.from(streamStatement(db, companyId, period)))
    },
  )
  app.get(
    '/settlements',
    {
      config: { permission: 'settlements.read' },
      schema: {
        operationId: 'listSettlements',
        summary: 'List settlements',
        tags,
        querystring: SettlementListQuery,
        response: { 200: Envelope(Type.Array(SettlementSchema)) },
      },
    },
    async (request) => {
      const { companyId, status = null, page = 1, limit = 20 } = request.query
      const companyIds = await companiesOf(deps, actorOf(request), companyId)
      const rows = await listSettlements(db, { companyIds, status, limit, offset: (page - 1) * limit })
      return ok(rows.map(viewSettlement))
    },
  )
  app.post(
    '/settlements',
    {
      config: { permission: 'settlements.create' },
      schema: {
        operationId: 'createSettlement',
        summary: 'Settle what is owed to a company',
        description: 'Reserves the whole balance for one transfer to the company’s settlement address.',
        tags,
        body: Type.Optional(CreateSettlementBody),
        response: { 200: Envelope(SettlementSchema) },
      },
    },
    async (request) => {
      return ok(await createSettlement(deps, contextOf(request), request.body ?? {}))
    },
  )
  app.post(
    '/settlements/:id/approve',
    {
      config: { permission: 'settlements.approve' },
      schema: {
        operationId: 'approveSettlement',
        summary: 'Let a settlement be paid',
        tags,
        params: IdParams,
        response: { 200: Envelope(SettlementSchema) },
      },
    },
    async (request) => ok(await approveSettlement(deps, contextOf(request), request.params.id)),
  )
  app.post(
    '/settlements/:id/paid',
    {
      config: { permission: 'settlements.pay' },
      schema: {
        operationId: 'reportSettlementPaid',
        summary: 'A settlement that was sent by hand',
        description: 'The transaction is checked on its chain: USDC, amount, address; paid when it is final.',
        tags,
        params: IdParams,
        body: SettlementPaidBody,
        response: { 200: Envelope(SettlementSchema) },
      },
    },
    async (request) => {
      const txHash = request.body.txHash.toLowerCase()
      await reportSettlementPaid(deps, contextOf(request), request.params.id, txHash)
      return ok(viewSettlement(await findReachableSettlement(deps, actorOf(request), request.params.id)))
    },
  )
  app.post(
    '/settlements/:id/cancel',
    {
      config: { permission: 'settlements.cancel' },
      schema: {
        operationId: 'cancelSettlement',
        summary: 'Take a settlement back before it is paid',
        tags,
        params: IdParams,
        response: { 200: Envelope(SettlementSchema) },
      },
    },
    async (request) => ok(await cancelSettlement(deps, contextOf(request), request.params.id)),
  )
}
