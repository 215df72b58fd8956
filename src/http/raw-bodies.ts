import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Callback } from '../kernel/callback.ts'

/** Bodies of any type arrive as their bytes: signatures are made over those. For a plugin of its own. */
export function keepRawBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

export const callbackOf = ({ headers, body }: FastifyRequest): Callback => ({
  headers,
  rawBody: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
})
