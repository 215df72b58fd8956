import type { FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import { AppError } from '../kernel/errors.ts'
import { ok } from './envelope.ts'

export type HealthDeps = {
  metrics: Registry
  /** Answers when the database can be used and its schema is the newest; throws otherwise. */
  checkReady(): Promise<void>
  isStopping(): boolean
  /** What is not needed to get traffic, and an operator must know. */
  listChecks(): Promise<{ name: string; ok: boolean }[]>
}

const OPEN = { config: { open: true as const }, schema: { hide: true } }

/** For the machine's operator: `/healthz` (alive), `/readyz` (may get traffic), `/metrics` (Prometheus). */
export const healthRoutes: FastifyPluginAsync<HealthDeps> = async (
  app,
  { metrics, checkReady, isStopping, listChecks },
) => {
  app.get('/healthz', OPEN, async () => ok({ alive: true }))
  app.get('/readyz', OPEN, async () => {
    if (isStopping()) throw new AppError('BUSY', { message: 'The service is stopping.', retryAfter: 5 })
    await checkReady()
    return ok({ ready: true, checks: [{ name: 'database', ok: true }, ...(await listChecks())] })
  })
  app.get('/metrics', OPEN, async (_request, reply) => reply.type(metrics.contentType).send(await metrics.metrics()))
}
