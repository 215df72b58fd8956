import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'

const PREFIX = '/docs/api'
const POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"

/** Scalar is a text of four megabytes and takes twenty-five of memory: it is loaded when somebody opens the page. */
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

/** A readable API reference at `/docs/api` that makes no call home. */
export function registerReference(app: FastifyInstance): void {
  let opened: Promise<FastifyInstance> | undefined
  const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    opened ??= openReference()
    const reference = await opened
    const answer = await reference.inject({ url: request.url, headers: { host: request.host } })
    const { location, 'content-type': type } = answer.headers
    if (location !== undefined) reply.header('location', location)
    return reply
      .code(answer.statusCode)
      .headers({ 'content-type': type, 'content-security-policy': POLICY })
      .send(answer.rawPayload)
  }
  // the router takes a slash at the end for the same path
  for (const path of [PREFIX, `${PREFIX}/js/scalar.js`])
    app.get(path, { config: { open: true }, schema: { hide: true } }, show)
}
