import { createHash } from 'node:crypto'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'

const PREFIX = '/docs/api'
const INLINE = /<script(?: type="text\/javascript")?>([\s\S]*?)<\/script>/g

/**
 * The reference shares its origin with the back office, so it may run only its own file and the one inline script of
 * its page, by hash, and nothing generated at run time. Source: CSP Level 3, 6.6.2.
 */
function policyOf(html: string): string {
  const hashes = [...html.matchAll(INLINE)].map(
    ([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  )
  return [
    "default-src 'self'",
    ["script-src 'self'", ...hashes].join(' '),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "object-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Loaded when the page is first opened: Scalar is 4 MB of text and takes 25 MB of memory. */
async function openReference(): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const reference = fastify()
  await reference.register(scalar, {
    routePrefix: PREFIX,
    configuration: {
      url: '/openapi.json',
      withDefaultFonts: false,
      telemetry: false,
      showDeveloperTools: 'never',
      hideClientButton: true,
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  })
  return reference
}

/** The reference's script, for publishing it as files. */
export async function readReferenceScript(): Promise<string> {
  const reference = await openReference()
  const { payload } = await reference.inject(`${PREFIX}/js/scalar.js`)
  await reference.close()
  return payload
}

/** A readable API reference at `/docs/api` that loads nothing from other hosts. */
export function registerReference(app: FastifyInstance): void {
  let opened: Promise<FastifyInstance> | undefined
  const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    opened ??= openReference()
    const reference = await opened
    const answer = await reference.inject({ url: request.url, headers: { host: request.host } })
    const { location, 'content-type': type } = answer.headers
    if (location !== undefined) reply.header('location', location)
    const isPage = String(type).startsWith('text/html')
    return reply
      .code(answer.statusCode)
      .headers({ 'content-type': type, 'content-security-policy': policyOf(isPage ? answer.payload : '') })
      .send(answer.rawPayload)
  }
  // the router treats a trailing slash as the same path
  for (const path of [PREFIX, `${PREFIX}/js/scalar.js`])
    app.get(path, { config: { open: true }, schema: { hide: true } }, show)
}
