import type { FastifyInstance } from 'fastify'
import { enterRequest, type Tracer } from './tracing.ts'

/** One span per request, named by its route: the path may hold a code or a token. */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  app.addHook('onRequest', (request, _reply, done) => {
    enterRequest(request.id)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? '(none)'
    const durationMs = reply.elapsedTime
    tracer.record({
      name: `${request.method} ${route}`,
      kind: 'server',
      requestId: request.id,
      startMs: Date.now() - durationMs,
      durationMs,
      attributes: {
        ...{ 'http.request.method': request.method, 'http.route': route },
        'http.response.status_code': reply.statusCode,
        ...(request.refusal !== null && { 'error.type': request.refusal }),
      },
      fault: reply.statusCode >= 500 ? (request.refusal ?? 'INTERNAL') : null,
    })
    done()
  })
}
