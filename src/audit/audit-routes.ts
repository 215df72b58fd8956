import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '../db/db.ts'
import { actorOf, CompanyIdQuery, companiesSeen } from '../http/actor.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { Type } from '../kernel/schema.ts'
import { type ListedAuditRow, listAuditRows } from './audit-queries.ts'

const Nullable = Type.Union([Type.String(), Type.Null()])
const EntrySchema = Type.Object({
  seq: Type.String({ description: 'Its place in the chain.' }),
  at: Type.String({ format: 'date-time' }),
  actor: Type.String({ description: '`user:<id>`, `apiKey:<id>`, `operator`, `anyone`' }),
  actorName: Type.Union([Type.String(), Type.Null()], {
    description: 'The person’s name, or the key’s; null where there is none, or no more.',
    examples: ['Maud Lefèvre'],
  }),
  action: Type.String(),
  result: Type.String({ enum: ['ok', 'refused'] }),
  company: Nullable,
  object: Nullable,
  ip: Nullable,
  userAgent: Nullable,
  requestId: Nullable,
  detail: Type.Object({}, { additionalProperties: true }),
})

const view = (row: ListedAuditRow) => ({
  seq: row.seq.toString(),
  at: row.at.toISOString(),
  actor: row.actor,
  actorName: row.actorName,
  action: row.action,
  result: row.result,
  company: row.companyId,
  object: row.object,
  ip: row.ip,
  userAgent: row.userAgent,
  requestId: row.requestId,
  detail: JSON.parse(row.detail),
})

/** Who did what, when, and from where. A company's managers see their own company. */
export const auditRoutes: FastifyPluginAsyncTypebox<{ db: Db }> = async (app, { db }) => {
  app.get(
    '/audit-log',
    {
      config: { permission: 'audit.read' },
      schema: {
        operationId: 'listAuditLog',
        summary: 'The audit log, newest first',
        tags: ['companies'],
        querystring: Type.Object({
          companyId: CompanyIdQuery,
          action: Type.Optional(Type.String({ maxLength: 100, description: 'How the action begins: `webhook.`' })),
          actor: Type.Optional(
            Type.String({ maxLength: 100, description: 'How the actor begins, or a person’s e-mail.' }),
          ),
          object: Type.Optional(Type.String({ maxLength: 100, description: 'How the object begins: `user:`' })),
          before: Type.Optional(
            Type.String({ pattern: '^[0-9]{1,18}$', description: 'nextBefore of the answer before.' }),
          ),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
        }),
        response: { 200: Envelope(Type.Object({ entries: Type.Array(EntrySchema), nextBefore: Nullable })) },
      },
    },
    async (request) => {
      const actor = actorOf(request)
      const { action, object, before, limit = 50 } = request.query
      const rows = await listAuditRows(db, {
        companyIds: companiesSeen(actor, request.query.companyId),
        action: action ?? null,
        actor: request.query.actor ?? null,
        object: object ?? null,
        beforeSeq: before === undefined ? null : BigInt(before),
        limit,
      })
      const last = rows.length === limit ? rows.at(-1) : undefined
      return ok({ entries: rows.map(view), nextBefore: last ? last.seq.toString() : null })
    },
  )
}
