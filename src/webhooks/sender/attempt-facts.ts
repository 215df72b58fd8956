import type { Span } from '../../http/tracing/tracing.ts'
import type { AttemptResult } from './attempt.ts'
import type { ClaimedDelivery } from './claim-queries.ts'

/** A node counts this many receivers by name and all others together. */
const MOST_RECEIVERS = 200
const OTHER_RECEIVERS = '(other)'

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : OTHER_RECEIVERS)

/** Receiver hosts as a metric label, limited to a fixed number of values. */
export function openReceiverNames(most = MOST_RECEIVERS): (url: string) => string {
  const known = new Set<string>()
  return (url) => {
    const host = hostOf(url)
    if (known.has(host)) return host
    if (known.size >= most) return OTHER_RECEIVERS
    known.add(host)
    return host
  }
}

/**
 * An attempt as a span in the trace of the request that caused the event. Contains only the receiver's host, because
 * its path may hold a secret.
 */
export function attemptSpan(delivery: ClaimedDelivery, startedAt: Date, result: AttemptResult): Span {
  const { deliveryId, event, url, requestId, attempts, series } = delivery
  const { statusCode, failure, durationMs } = result
  return {
    name: `webhook ${event}`,
    kind: 'client',
    requestId,
    startMs: startedAt.getTime(),
    durationMs,
    attributes: {
      ...{ 'http.request.method': 'POST', 'server.address': hostOf(url) },
      ...(statusCode !== null && { 'http.response.status_code': statusCode }),
      ...{ 'comptoir.webhook_id': deliveryId, 'comptoir.event': event },
      ...{ 'comptoir.attempt': attempts + 1, 'comptoir.series': series },
    },
    fault: failure,
  }
}
