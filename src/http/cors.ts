import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { MethodsAt } from './route-table.ts'

const EXPOSED = [
  ...['x-request-id', 'retry-after', 'content-disposition', 'link', 'comptoir-ignored', 'comptoir-next-cursor'],
  ...['idempotency-replayed', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'],
].join(', ')
const PREFLIGHT_SECONDS = 600

/** Is this a CORS preflight? Source: the Fetch standard, 4.8. */
export const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined

/** Websites whose scripts may call the API and read the answers, with credentials. */
export function registerCors(app: FastifyInstance, origins: readonly string[]): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    void reply.header('vary', 'origin')
    if (origin !== undefined && origins.includes(origin)) {
      void reply.headers({
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': EXPOSED,
        // the default keeps answers from every other origin, also from these
        'cross-origin-resource-policy': 'cross-origin',
      })
    }
    done()
  })
}

/** What a shop's page calls in its buyer's browser: status reads, and ending the buyer's own session. */
const SHOP_PATHS = /^\/api\/(next\/)?(confirm_conversion\/status\/|buy-button\/sessions\/[^/?]+(\?|$))/

/**
 * Websites with a buy button may read these few paths, without cookies: what a page may do there depends on the code or
 * token that it sends, never on who sits in front of the browser.
 * @param isShop whether a button is registered for this origin
 */
export function registerShopCors(app: FastifyInstance, isShop: (origin: string) => Promise<boolean>): void {
  // the limits come before the look-up, which costs a query: over them, any page may read how long to wait
  const allow = (reply: FastifyReply, origin: string): void => {
    void reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': EXPOSED,
      'cross-origin-resource-policy': 'cross-origin',
    })
  }
  const isOpen = (reply: FastifyReply): boolean => reply.getHeader('access-control-allow-origin') !== undefined
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

/** Answers a preflight with the methods that exist at its address. @returns undefined where nothing exists */
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
