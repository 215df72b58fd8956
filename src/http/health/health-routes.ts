import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { AppError } from '../../kernel/errors.ts'
import type { Authenticate } from '../actor.ts'
import { bearsToken } from '../bearer.ts'
import { failure, ok } from '../envelope.ts'

/** A condition that a node must meet before it gets traffic. */
export type ReadyCheck = { name: string; ok: boolean; message: string; fix: string | null }

export type HealthDeps = {
  baseUrl: string
  metrics: Pick<Registry, 'metrics' | 'contentType'>
  /** Called for every `/readyz`; never throws. */
  checkReady(): Promise<ReadyCheck[]>
  isStopping(): boolean
  authenticate: Authenticate
  /** Grants access to `/metrics` and the details of `/readyz`; null: no token is configured. */
  metricsToken: string | null
  /** `/metrics` is served here too, not only on its own port. */
  showMetrics: boolean
  /** Checks that do not affect traffic but concern the operator: the chains. */
  listChecks(): Promise<ReadyCheck[]>
}

const OPEN = { config: { open: true as const }, schema: { hide: true } }
const STOPPING: ReadyCheck = {
  ...{ name: 'running', ok: false, message: 'The service is stopping.' },
  fix: 'Send requests to another node.',
}

/** For the operator: `/healthz` (alive), `/readyz` (ready for traffic), `/metrics` (Prometheus). */
export const healthRoutes: FastifyPluginAsync<HealthDeps> = async (app, deps) => {
  const { metrics, metricsToken } = deps
  const isOperator = async (request: FastifyRequest): Promise<boolean> => {
    if (bearsToken(request.headers.authorization, metricsToken)) return true
    // no key belongs to an operator, and nobody counts guesses here
    const actor = await deps.authenticate(request, { isGuess: true }).catch(() => null)
    return actor?.role === 'SuperAdmin' && actor.valid
  }
  app.get('/healthz', OPEN, async () => ok({ alive: true }))
  app.get('/readyz', OPEN, async (request, reply) => {
    const results = deps.isStopping() ? [STOPPING] : await deps.checkReady()
    const ready = results.every((check) => check.ok)
    const all = ready ? [...results, ...(await deps.listChecks())] : results
    const checks = (await isOperator(request)) ? all : all.map(({ name, ok: isOk }) => ({ name, ok: isOk }))
    if (ready) return ok({ ready, checks })
    const failed = results.filter((check) => !check.ok).map(({ name }) => name)
    const error = new AppError('BUSY', { message: `This node is not ready: ${failed.join(', ')}.` })
    return reply
      .code(error.status)
      .header('retry-after', '5')
      .send({ ...failure(error, request.id, deps.baseUrl), data: { ready, checks } })
  })
  if (!deps.showMetrics) return
  app.get('/metrics', OPEN, async (request, reply) => {
    if (metricsToken !== null && !bearsToken(request.headers.authorization, metricsToken))
      throw new AppError('UNAUTHORIZED', { message: 'Send the metrics token: Authorization: Bearer <METRICS_TOKEN>.' })
    return reply.type(metrics.contentType).send(await metrics.metrics())
  })
}
