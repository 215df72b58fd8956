import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { Config } from '../../config/config.ts'
import { openTracer } from './otlp.ts'
import { traceRequests } from './request-spans.ts'
import type { Tracer } from './tracing.ts'

const VERSION = '0.1.0'

/** Traces of this process, if a collector is configured; otherwise nothing is hooked in. */
export function traceService(
  app: FastifyInstance,
  { tracing }: Pick<Config, 'tracing'>,
  metrics: Registry,
): Tracer | undefined {
  if (tracing.endpoint === null) return undefined
  const { endpoint, ...rest } = tracing
  const tracer = openTracer({ ...rest, endpoint, version: VERSION, metrics, log: app.log })
  traceRequests(app, tracer)
  app.addHook('onClose', () => tracer.stop())
  return tracer
}
