import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '../../db/db.ts'
import { Type } from '../../kernel/schema.ts'
import { findLogo } from './logo-queries.ts'

/** The logos themselves, under the hash of what they are: kept by browsers for ever. */
export const logoFileRoutes: FastifyPluginAsyncTypebox<{ db: Db }> = async (app, { db }) => {
  const Params = Type.Object({ hash: Type.String({ maxLength: 64 }) })
  app.get(
    '/logo/:hash',
    { config: { open: true, page: true }, schema: { hide: true, params: Params } },
    async (request, reply) => {
      const logo = await findLogo(db, request.params.hash)
      if (!logo) return reply.callNotFound()
      return reply
        .headers({
          'content-type': logo.mime,
          'cache-control': 'public, max-age=31536000, immutable',
          'content-security-policy': "default-src 'none'; sandbox",
          'x-content-type-options': 'nosniff',
        })
        .send(logo.bytes)
    },
  )
}
