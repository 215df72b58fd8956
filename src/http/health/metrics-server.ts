import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { bearsToken } from '../bearer.ts'

const LOOPBACK = '127.0.0.1'

export const isLoopbackHost = (host: string): boolean => /^(localhost|127\..+|::1)$/.test(host)

type MetricsPlace = { host: string; metricsToken: string | null; acceptRisk: readonly string[] }

/** Where METRICS_PORT listens: without a token on this machine only, unless the operator takes the risk. */
export const metricsHostOf = ({ host, metricsToken, acceptRisk }: MetricsPlace): string =>
  metricsToken !== null || isLoopbackHost(host) || acceptRisk.includes('public-metrics') ? host : LOOPBACK

export type MetricsServer = { port: number; close(): Promise<void> }

/**
 * `/metrics` on its own port, which need not be reachable from outside.
 * @param token the present one: a reload may change it
 */
export async function startMetricsServer(
  metrics: Pick<Registry, 'metrics' | 'contentType'>,
  { host, port, token }: { host: string; port: number; token(): string | null },
): Promise<MetricsServer> {
  const server: Server = createServer((request, answer) => {
    const isKnown = request.method === 'GET' && request.url?.split('?')[0] === '/metrics'
    if (!isKnown) return void answer.writeHead(404).end()
    const wanted = token()
    if (wanted !== null && !bearsToken(request.headers.authorization, wanted)) return void answer.writeHead(401).end()
    metrics.metrics().then(
      (text) => answer.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => answer.writeHead(500).end(),
    )
  }).listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
