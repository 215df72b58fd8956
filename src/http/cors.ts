import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { MethodsAt } from './route-table.ts'

const EXPOSED = [
  ...['x-request-id', 'retry-after', 'content-disposition', 'link', 'comptoir-ignored', 'comptoir-next-cursor'],
  ...['x-final-until', 'idempotency-replayed', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'],
].join(', ')
const PREFLIGHT_SECONDS = 600

/** Whether this is a CORS preflight. Source: the Fetch standard, 4.8. */
export const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined

/** Allows scripts of these websites to call the API and read the answers, with credentials. */
export function registerCors(app: FastifyInstance, origins: readonly string[]): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    void reply.header('vary', 'origin')
    if (origin !== undefined && origins.includes(origin)) {
      void reply.headers({
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': EXPOSED,
        // the default would block the answers for every other origin, these included
        'cross-origin-resource-policy': 'cross-origin',
      })
    }
    done()
  })
}

/** What a shop's page calls from its buyer's browser: status reads, and ending the buyer's own session. */
const SHOP_PATHS = /^\/api\/(next\/)?(confirm_conversion\/status\/|buy-button\/sessions\/[^/?]+(\?|$))/

/**
 * Websites with a buy button may read these few paths, without cookies: what a page may do there depends on the code or
 * token that it sends, never on whose browser it is.
 * @param isShop whether a button is registered for this origin
 */
export function registerShopCors(app: FastifyInstance, isShop: (origin: string) => Promise<boolean>): void {
  const allow = (reply: FastifyReply, origin: string): void => {
    void reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': EXPOSED,
      'cross-origin-resource-policy': 'cross-origin',
    })
  }
  const isOpen = (reply: FastifyReply): boolean => reply.getHeader('access-control-allow-origin') !== undefined
  // the limits come before the lookup, which costs a query; a page that exceeds them may still read how long to wait
  app.addHook('onSend', (request, reply, _payload, done) => {
    const isLimited = reply.statusCode === 429 && SHOP_PATHS.test(request.url) && request.headers.origin !== undefined
    if (isLimited && !isOpen(reply)) allow(reply, '*')
    done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    if (!SHOP_PATHS.test(request.url)) return done()
    void reply.header('vary', 'origin')
    if (origin === undefined || isOpen(reply)) return done()
    isShop(origin).then((known) => {
      if (known) allow(reply, origin)
      done()
    }, done)
  })
}

/** Answers a preflight with the methods that exist at its path. @returns undefined if nothing exists there */
export function answerPreflight(
  request: FastifyRequest,
  reply: FastifyReply,
  methodsAt: MethodsAt,
): FastifyReply | undefined {
  const methods = methodsAt(request.url)
  if (methods.length === 0) return undefined
  if (reply.getHeader('access-control-allow-origin') !== undefined) {
    void reply.headers({
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': request.headers['access-control-request-headers'] ?? 'content-type',
      'access-control-max-age': String(PREFLIGHT_SECONDS),
    })
  }
  return reply.code(204).send()
}
