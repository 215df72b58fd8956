import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Audit } from '../audit/audit.ts'
import type { Db } from '../db/db.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { contextOf, nameOf } from '../http/request-context.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { Type } from '../kernel/schema.ts'
import * as queries from './operator-queries.ts'

/** One line of `comptoir doctor`. */
type Check = { name: string; ok: boolean; message: string; fix: string | null }

export type OperatorDeps = {
  db: Db
  clock: Clock
  audit: Audit
  /** The list of `comptoir doctor`, as far as a running node can make it. */
  examine(): Promise<Check[]>
}

const tags = ['operation']
const Time = (description: string) => Type.String({ format: 'date-time', description })
const Nullable = <Schema extends ReturnType<typeof Type.String>>(schema: Schema) => Type.Union([schema, Type.Null()])

const StatusSchema = Type.Object({
  ready: Type.Boolean({ description: 'Every check passed.' }),
  checks: Type.Array(
    Type.Object({
      name: Type.String({ examples: ['database'] }),
      ok: Type.Boolean({ description: 'Passed.' }),
      message: Type.String({ description: 'What was found.' }),
      fix: Nullable(
        Type.String({ description: 'What to do; null where nothing is wrong.', examples: ['Run: comptoir migrate'] }),
      ),
    }),
    { description: 'What `comptoir doctor` looks at.' },
  ),
  queues: Type.Array(
    Type.Object({
      name: Type.String({ examples: ['webhooks'] }),
      waiting: Type.Integer({ description: 'How many wait.', examples: [3] }),
      oldestAt: Nullable(Time('Since when the oldest waits; null: none does.')),
    }),
    { description: 'What waits for a worker or for a person.' },
  ),
  nodes: Type.Array(
    Type.Object({
      name: Type.String({ examples: ['comptoir'] }),
      address: Type.String({ description: 'Where it connects from.', examples: ['10.0.0.4'] }),
      connections: Type.Integer({ description: 'Connections to the database.', examples: [12] }),
      since: Nullable(Time('When its oldest connection was opened.')),
    }),
    { description: 'Processes that are connected to the database.' },
  ),
})

const AnnouncementSchema = Type.Object({
  _id: Type.String(),
  text: Type.String({ description: 'As it was written; shown as text.', examples: ['Maintenance tonight at 22:00.'] }),
  tone: Type.Union([Type.Literal('info'), Type.Literal('warn')], { description: 'How loud it is.' }),
  createdAt: Type.String({ format: 'date-time' }),
  endsAt: Nullable(Time('When it disappears by itself; null: it stays until it is taken down.')),
})

const view = ({ id, text, tone, createdAt, endsAt }: queries.Announcement) => ({
  ...{ _id: id, text, tone },
  createdAt: createdAt.toISOString(),
  endsAt: endsAt?.toISOString() ?? null,
})

const MAX_DAYS = 366

/** The operator's screens, and announcements to everyone, under `/api/next`. */
export const operatorRoutes: FastifyPluginAsyncTypebox<OperatorDeps> = async (app, { db, clock, audit, examine }) => {
  app.get(
    '/operator/status',
    {
      config: { permission: 'operator.status' },
      schema: {
        operationId: 'getOperatorStatus',
        summary: 'Checks, queues and nodes of this installation',
        description: 'Runs the checks of `comptoir doctor` again, which may take some seconds.',
        tags,
        response: { 200: Envelope(StatusSchema) },
      },
    },
    async () => {
      const [checks, queues, nodes] = await Promise.all([examine(), queries.listQueues(db), queries.listNodes(db)])
      return ok({
        ready: checks.every((check) => check.ok),
        checks,
        queues: queues.map(({ oldestAt, ...queue }) => ({ ...queue, oldestAt: oldestAt?.toISOString() ?? null })),
        nodes: nodes.map(({ since, ...node }) => ({ ...node, since: since?.toISOString() ?? null })),
      })
    },
  )
  app.post(
    '/audit-log/verify',
    {
      config: { permission: 'audit.verify', ownIdempotency: true },
      schema: {
        operationId: 'verifyAuditLog',
        summary: 'Prove that no entry of the audit log was changed or removed',
        description:
          'Computes the whole chain again. A cut end shows only against an anchor: `comptoir audit verify --anchor`.',
        tags,
        response: {
          200: Envelope(
            Type.Object({
              entries: Type.Integer({ description: 'Entries that are as they were written.', examples: [1041] }),
              fault: Type.Union(
                [
                  Type.Object({
                    seq: Type.String({ description: 'The first entry that is not.', examples: ['118'] }),
                    reason: Type.String({ examples: ['it was changed, or the entry before it'] }),
                  }),
                  Type.Null(),
                ],
                { description: 'The first fault; null: the log is whole.' },
              ),
            }),
          ),
        },
      },
    },
    async () => {
      const { entries, fault } = await audit.verify()
      return ok({ entries, fault: fault && { seq: fault.seq.toString(), reason: fault.reason } })
    },
  )
  app.get(
    '/announcements',
    {
      config: { permission: 'announcements.read' },
      schema: {
        operationId: 'listAnnouncements',
        summary: 'What the operator announces now, newest first',
        tags,
        response: { 200: Envelope(Type.Array(AnnouncementSchema)) },
      },
    },
    async () => ok((await queries.listAnnouncements(db, new Date(clock()))).map(view)),
  )
  app.post(
    '/announcements',
    {
      config: { permission: 'announcements.write' },
      schema: {
        operationId: 'createAnnouncement',
        summary: 'Announce something to everybody in the back office',
        tags,
        body: Type.Object({
          text: Type.String({
            ...{ minLength: 1, maxLength: 500, description: 'Plain text.' },
            examples: ['Maintenance tonight at 22:00.'],
          }),
          tone: Type.Optional(AnnouncementSchema.properties.tone),
          endsAt: Type.Optional(Time('When it disappears by itself.')),
        }),
        response: { 200: Envelope(AnnouncementSchema) },
      },
    },
    async (request) => {
      const context = contextOf(request)
      const { text, tone = 'info', endsAt } = request.body
      const now = clock()
      const end = endsAt === undefined ? null : new Date(endsAt)
      if (end !== null && (end.getTime() <= now || end.getTime() > now + MAX_DAYS * DAY))
        throw invalid('endsAt', 'must be in the future, within a year')
      const announcement = {
        ...{ id: newId(now), text: text.trim(), tone, createdBy: nameOf(context) },
        ...{ createdAt: new Date(now), endsAt: end },
      }
      if (announcement.text === '') throw invalid('text', 'must not be empty')
      await db.tx(async (tx) => {
        await queries.insertAnnouncement(tx, announcement)
        const detail = { text: announcement.text }
        await audit.write(tx, context, {
          action: 'announcement.create',
          object: `announcement:${announcement.id}`,
          detail,
        })
        await context.remember(tx, view(announcement))
      })
      return ok(view(announcement))
    },
  )
  app.delete(
    '/announcements/:id',
    {
      config: { permission: 'announcements.write' },
      schema: {
        operationId: 'deleteAnnouncement',
        summary: 'Take an announcement down',
        tags,
        params: Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) }),
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      const context = contextOf(request)
      const { id } = request.params
      await db.tx(async (tx) => {
        if ((await queries.deleteAnnouncement(tx, id)) === 0) throw new AppError('OBJECT_NOT_FOUND')
        await audit.write(tx, context, { action: 'announcement.delete', object: `announcement:${id}` })
      })
      return ok(null)
    },
  )
}
