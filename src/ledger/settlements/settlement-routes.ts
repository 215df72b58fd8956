import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Actor, actorOf } from '../../http/actor.ts'
import { sendCsv } from '../../http/csv.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { checkPermission } from '../../http/permissions.ts'
import { contextOf } from '../../http/request-context.ts'
import { Type } from '../../kernel/schema.ts'
import { cancelSettlement, reportSettlementPaid } from './settlement-end.ts'
import { listSettlements } from './settlement-queries.ts'
import {
  CreateSettlementBody,
  SettlementListQuery,
  SettlementPaidBody,
  SettlementSchema,
  SettlementStatementSchema,
  StatementQuery,
} from './settlement-schemas.ts'
import {
  approveSettlement,
  companyFor,
  createSettlement,
  findReachableSettlement,
  type SettlementDeps,
  viewSettlement,
} from './settlement-service.ts'
import { readSettlementStatement, streamSettlementStatement } from './settlement-statement.ts'

const tags = ['ledger']
const IdParams = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })

/** Null: all companies. */
async function companiesOf(deps: SettlementDeps, actor: Actor, companyId?: string): Promise<string[] | null> {
  if (companyId !== undefined) return [await companyFor(deps, actor, companyId)]
  if (actor.role === 'SuperAdmin') return null
  return [...new Set([...actor.companyIds, ...(actor.companyId === null ? [] : [actor.companyId])])]
}

/** Payouts to a company's own address. */
export const settlementRoutes: FastifyPluginAsyncTypebox<SettlementDeps> = async (app, deps) => {
  const { db } = deps
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
      const actor = actorOf(request)
      const companyIds = await companiesOf(deps, actor, companyId)
      const rows = await listSettlements(db, { companyIds, status, limit, offset: (page - 1) * limit })
      return ok(rows.map((row) => viewSettlement(row, actor)))
    },
  )
  app.post(
    '/settlements',
    {
      config: { permission: 'settlements.create' },
      schema: {
        operationId: 'createSettlement',
        summary: 'Settle what is owed to a company',
        description:
          'Reserves the balance for one transfer to the company’s settlement address: all of it, or what the operator’s ' +
          'limit of a day allows. `heldBack` is the rest, which stays owed.',
        tags,
        body: Type.Optional(CreateSettlementBody),
        response: { 200: Envelope(SettlementSchema) },
      },
    },
    async (request) => {
      return ok(await createSettlement(deps, contextOf(request), request.body ?? {}))
    },
  )
  app.get(
    '/settlements/:id',
    {
      config: { permission: 'settlements.read' },
      schema: {
        operationId: 'getSettlement',
        summary: 'Read a settlement',
        description: 'Where it stands: who decided, and the transaction that paid it.',
        tags,
        params: IdParams,
        response: { 200: Envelope(SettlementSchema) },
      },
    },
    async (request) => {
      const actor = actorOf(request)
      return ok(viewSettlement(await findReachableSettlement(deps, actor, request.params.id), actor))
    },
  )
  app.get(
    '/settlements/:id/statement',
    {
      config: { permission: 'settlements.read' },
      schema: {
        operationId: 'readSettlementStatement',
        summary: 'What a settlement pays for',
        description:
          'The payments and refunds since the settlement before, and how they make its amount. With `format=csv` every ' +
          'line as a file, for who may download orders.',
        tags,
        params: IdParams,
        querystring: StatementQuery,
        response: { 200: Envelope(SettlementStatementSchema) },
      },
    },
    async (request, reply) => {
      const { after = null, limit = 100, format } = request.query
      const actor = actorOf(request)
      if (format === 'csv') checkPermission('orders.download', actor, deps.clock())
      const settlement = await findReachableSettlement(deps, actor, request.params.id)
      if (format !== 'csv') {
        const statement = await readSettlementStatement(db, settlement, { after, limit })
        return ok({ settlement: viewSettlement(settlement, actor), ...statement })
      }
      const name = `settlement-${settlement.createdAt.toISOString().slice(0, 10)}-${settlement.id.slice(0, 8)}.csv`
      return sendCsv(reply, name, Readable.from(streamSettlementStatement(db, settlement)))
    },
  )
  app.post(
    '/settlements/:id/approve',
    {
      config: { permission: 'settlements.approve', personal: true },
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
        description:
          'The transaction is checked on its chain: USDC, amount, address; paid when it is final. If its message says ' +
          'that it left with another amount before a restore, name the transaction that the message names: it is paid ' +
          'with what left, and the difference is owed again. One that is open since a backup (`fromBackup`) may have left ' +
          'as well: name its transaction instead of cancelling it.',
        tags,
        params: IdParams,
        body: SettlementPaidBody,
        response: { 200: Envelope(SettlementSchema) },
      },
    },
    async (request) => {
      const txHash = request.body.txHash.toLowerCase()
      return ok(await reportSettlementPaid(deps, contextOf(request), request.params.id, txHash))
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
