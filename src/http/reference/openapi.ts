import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { CATALOGUE } from '../../kernel/errors.ts'
import { FailureSchema } from '../envelope.ts'
import { isPermission, PERMISSIONS, type Rule, ruleOf } from '../permissions.ts'
import { registerReference } from './reference.ts'

const DESCRIPTION = `Orders and payment links in fiat, paid in crypto, settled in USDC.

**Answers** have one envelope: \`{success, status, data}\`; failures add \`error\` with a stable \`code\`, a \`message\` that says
what to do next, and the \`requestId\`.

**Credentials**: \`Authorization: Bearer <access token>\`, or for servers \`x-api-key\` and \`x-api-secret\`.

**Typos**: unknown body fields and query parameters have no effect; the answer names them in \`Comptoir-Ignored\`.

**Safe retries**: send \`Idempotency-Key\` with any authenticated POST; the same key and body return the stored answer for 48 hours.

## Error codes

| code | HTTP | what to do |
|---|---|---|
${Object.entries(CATALOGUE)
  .map(([code, { status, message }]) => `| \`${code}\` | ${status} | ${message} |`)
  .join('\n')}

## Who may call what

| permission | roles | API key scope |
|---|---|---|
${Object.entries(PERMISSIONS as Record<string, Rule>)
  .map(
    ([name, rule]) =>
      `| \`${name}\` | ${rule.roles === 'anyone' ? 'anyone' : rule.roles.join(', ')} | ${rule.scope ?? '–'} |`,
  )
  .join('\n')}
`

const BODY_STATUSES: Record<number, string> = {
  413: 'The body exceeds 64 KiB.',
  415: 'The body is not JSON, or its Content-Type says so.',
}
const FAILURE_STATUSES: Record<number, string> = {
  400: 'Refused: the message says why and what to do.',
  401: 'No credential, or an invalid one.',
  403: 'Not allowed; the message says what is missing.',
  404: 'Unknown, or belongs to another company.',
  409: 'The current state does not allow it.',
  422: 'A field is not valid; see `details`.',
  429: 'Too many requests; retry after the time in `Retry-After`.',
}

/** Adds each route's permissions and error answers. */
function documentRoute(route: RouteOptions): void {
  const permission = route.config?.permission
  if (route.schema === undefined || permission === undefined || !isPermission(permission)) return
  const rule = ruleOf(permission)
  // even public routes refuse an invalid credential
  const failures = Object.fromEntries(
    Object.entries({ ...FAILURE_STATUSES, ...(route.schema.body ? BODY_STATUSES : {}) }).map(
      ([status, description]) => [status, { description, $ref: 'Failure#' }],
    ),
  )
  const security =
    rule.roles === 'anyone'
      ? [{}, { bearer: [] }, { apiKey: [], apiSecret: [] }]
      : [{ bearer: [] }, { apiKey: [], apiSecret: [] }]
  const extra = { 'x-permission': permission }
  route.schema = {
    security,
    ...extra,
    ...route.schema,
    response: { ...failures, ...(route.schema.response as object) },
  }
}

/** OpenAPI knows no wildcard: the rest of a path becomes the parameter `rest`. */
function nameRest(schema: FastifySchema): FastifySchema {
  const params = schema?.params as { properties?: Record<string, unknown> } | undefined
  const rest = params?.properties?.['*']
  if (rest === undefined) return schema
  return { ...schema, params: { ...params, properties: { rest }, required: ['rest'] } }
}

/**
 * OpenAPI 3.1 from the schemas that validate, at `/openapi.json`, and a reference at `/docs` that loads nothing from
 * elsewhere.
 */
export async function registerOpenApi(app: FastifyInstance, { baseUrl }: { baseUrl: string }): Promise<void> {
  app.addSchema(FailureSchema)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: 'Comptoir',
        version: '0.1.0',
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: baseUrl }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
          apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
          apiSecret: { type: 'apiKey', in: 'header', name: 'x-api-secret' },
        },
      },
      tags: [
        { name: 'orders', description: 'Create, read, list and end orders and payment links.' },
        { name: 'payments', description: 'Accept a channel, confirm a payment, refund.' },
        { name: 'kyc', description: 'Identity checks of payers, and what they may spend.' },
        { name: 'rates', description: 'Exchange rates.' },
        { name: 'webhooks', description: 'What is sent to your server, and the secret that signs it.' },
        { name: 'authentication', description: 'Registration, login, second factor, sessions.' },
        { name: 'companies', description: 'Companies, tills, buttons and people.' },
      ],
    },
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, index) =>
        typeof json.$id === 'string' ? json.$id : `schema-${index}`,
    },
    hideUntagged: true,
    transform: ({ schema, url }) => ({ schema: nameRest(schema), url: url.replace(/\*$/, ':rest') }),
  })
  app.addHook('onRoute', documentRoute)
  app.get('/openapi.json', { config: { open: true }, schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(app.swagger()),
  )
  registerReference(app)
}
