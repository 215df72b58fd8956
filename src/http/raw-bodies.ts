import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Callback } from '../kernel/callback.ts'

/** Keeps bodies of any type as raw bytes, because signatures cover those. Use it in a plugin of its own. */
export function keepRawBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

export const callbackOf = ({ headers, body }: FastifyRequest): Callback => ({
  headers,
  rawBody: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
})
