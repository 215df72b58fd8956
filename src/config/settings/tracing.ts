import { list, optionalUrl, type Setting, SettingFault, text } from '../setting.ts'

const share: Setting<number> = {
  name: 'OTEL_TRACES_SAMPLER_ARG',
  description: 'The share of requests that is traced, from 0 to 1.',
  ...{ fallback: '1', absent: 1 },
  read(given) {
    const value = Number(given)
    if (given.trim() !== '' && value >= 0 && value <= 1) return value
    throw new SettingFault(`must be a number from 0 to 1, not "${given}"`)
  },
}

/** OpenTelemetry, with the variable names of its specification. Off unless the first is set. */
export const TRACING = {
  endpoint: optionalUrl(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'Collector that gets traces (OTLP over HTTP, JSON), without /v1/traces. Nothing is traced without it.',
    { example: 'http://127.0.0.1:4318' },
  ),
  headers: list('OTEL_EXPORTER_OTLP_HEADERS', 'Headers for it, as name=value, comma-separated.', null, {
    secret: true,
  }),
  serviceName: text('OTEL_SERVICE_NAME', 'The name under which traces appear.', 'comptoir'),
  share,
}
