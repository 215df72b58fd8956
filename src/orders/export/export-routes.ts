import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { actorOf } from '../../http/actor.ts'
import { LANGS, type Lang } from '../../kernel/lang.ts'
import { Type } from '../../kernel/schema.ts'
import { FilterQuery } from '../order-schemas.ts'
import type { ExportFormat, ExportOrders, OrderExport } from './export-service.ts'

/** A reader that stalls this long is disconnected. */
const STALLED_MS = 120_000

const DownloadQuery = Type.Object({
  ...FilterQuery,
  format: Type.Optional(Type.String({ enum: ['csv', 'xlsx'], default: 'csv' })),
  headers: Type.Optional(
    Type.String({
      enum: [...LANGS],
      description: 'Titles of the columns in this language; without it, the names of the API.',
    }),
  ),
  bom: Type.Optional(
    Type.Boolean({ default: false, description: 'CSV with a byte order mark, for old spreadsheets.' }),
  ),
  after: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{24}$',
      description:
        'CSV that broke off: the `_id` of its last whole row. What comes is the rest, without the line of titles, with the same filters and sort.',
    }),
  ),
  sort: Type.Optional(Type.String({ enum: ['-createdAt', 'createdAt'], default: '-createdAt' })),
})

const File = (description: string) => ({ schema: Type.String({ description }) })

function sendExport(reply: FastifyReply, file: OrderExport): FastifyReply {
  reply.raw.setTimeout(STALLED_MS, () => void reply.raw.destroy())
  return reply
    .header('content-type', file.contentType)
    .header('content-disposition', `attachment; filename="${file.fileName}"`)
    .header('x-total-count', String(file.total))
    .header('cache-control', 'no-store')
    .send(file.body)
}

/** The download, registered under the canonical prefix and, hidden, under the older one. */
export const orderExportRoutes: FastifyPluginAsyncTypebox<{ exportOrders: ExportOrders }> = async (
  app,
  { exportOrders },
) => {
  app.get(
    '/download',
    {
      config: { permission: 'orders.download' },
      exposeHeadRoute: false,
      schema: {
        operationId: 'downloadOrders',
        summary: 'Download orders as CSV or XLSX',
        description:
          'Every order that fits the filters when the download begins, once. `X-Total-Count` is their number. A transfer that breaks off is never ended normally: clients must treat such a file as incomplete. ' +
          'The columns add up to the books: `paidAmount` is what was booked of the price, `overpaidAmount` what was paid above it, `refundedExcessAmount` the part of `refundedAmount` that came from above the price, and `lostAmount` what left the chain and the company bears, less what came back. The company keeps `paidAmount` − `feeAmount` − (`refundedAmount` − `refundedExcessAmount`) − `lostAmount`. Of an order in `REFUNDING`, the books have already deducted what its refund has reserved; `refundedAmount` has it once the refund is settled. `metadata` is JSON.',
        tags: ['orders'],
        querystring: DownloadQuery,
        response: {
          200: {
            description: 'The file.',
            content: {
              'text/csv': File('RFC 4180, UTF-8, decimal points, ISO 8601 times.'),
              'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': File('One sheet.'),
            },
          },
        },
      },
    },
    async (request, reply) => {
      const { query } = request
      const file = await exportOrders(actorOf(request), {
        ...query,
        format: (query.format ?? 'csv') as ExportFormat,
        headers: (query.headers ?? null) as Lang | null,
        bom: query.bom ?? false,
        after: query.after ?? null,
        newestFirst: query.sort !== 'createdAt',
      })
      return sendExport(reply, file)
    },
  )
}
