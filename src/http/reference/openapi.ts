import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { CATALOGUE } from '../../kernel/errors.ts'
import { FailureSchema } from '../envelope.ts'
import { completeDocument } from '../openapi/complete.ts'
import type { OpenApi } from '../openapi/document.ts'
import { isPermission, PERMISSIONS, type Rule } from '../permissions.ts'
import { registerReference } from './reference.ts'

const DESCRIPTION = `Orders and payment links in fiat, paid in crypto, settled in USDC.

**Answers** have one envelope: \`{success, status, data}\`; failures add \`error\` with a stable \`code\`, a \`message\` that says
what to do next, and the \`requestId\`.

**Credentials**: people send \`Authorization: Bearer <access token>\`. Servers send an API key: \`x-api-key\` and
\`x-api-secret\`, or its secret alone as \`Authorization: Bearer sk_…\`.

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

/** Puts the permission of a route into the document; what follows from it is added when the document is complete. */
function documentRoute(route: RouteOptions): void {
  const permission = route.config?.permission
  if (route.schema === undefined || permission === undefined || !isPermission(permission)) return
  const extra = { 'x-permission': permission }
  route.schema = { ...extra, ...route.schema }
}

/** OpenAPI has no wildcards. The only path with one ends in a reference. */
function nameWildcard(schema: FastifySchema): FastifySchema {
  const params = schema?.params as { properties?: Record<string, unknown> } | undefined
  const reference = params?.properties?.['*']
  if (reference === undefined) return schema
  return { ...schema, params: { ...params, properties: { reference }, required: ['reference'] } }
}

/** The complete document of a service whose routes are all registered. */
export const openApiOf = (app: FastifyInstance, baseUrl: string): OpenApi =>
  completeDocument(structuredClone(app.swagger()) as unknown as OpenApi, baseUrl)

/**
 * OpenAPI 3.1 from the schemas that validate, at `/openapi.json`; the reference at `/docs/api` loads nothing from other
 * hosts.
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
          bearer: {
            ...{ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
            description: 'Access token of a person, from a login.',
          },
          secretBearer: {
            ...{ type: 'http', scheme: 'bearer', bearerFormat: 'sk_…' },
            description: 'Secret of an API key, for servers and tools that send a bearer only.',
          },
          apiKey: {
            ...{ type: 'apiKey', in: 'header', name: 'x-api-key' },
            description: 'Public id of an API key (`pk_…`), beside its secret.',
          },
          apiSecret: {
            ...{ type: 'apiKey', in: 'header', name: 'x-api-secret' },
            description: 'Secret of the API key (`sk_…`). On your server only.',
          },
          refreshCookie: { type: 'apiKey', in: 'cookie', name: 'refreshToken' },
          otpCookie: { type: 'apiKey', in: 'cookie', name: 'otpValidationToken' },
        },
      },
      tags: [
        { name: 'orders', description: 'Create, read, list and end orders and payment links.' },
        { name: 'payments', description: 'Accept a channel, confirm a payment, refund.' },
        { name: 'kyc', description: 'Identity checks of payers, and what they may spend.' },
        {
          name: 'screening',
          description: 'Screening of addresses before money moves: the queue, the evidence, the decisions.',
        },
        { name: 'rates', description: 'Exchange rates.' },
        { name: 'webhooks', description: 'What is sent to your server, and the secret that signs it.' },
        { name: 'operation', description: 'What the operator looks at and announces.' },
        { name: 'developers', description: 'What your own programs did: requests by their id.' },
        { name: 'authentication', description: 'Registration, login, second factor, sessions.' },
        { name: 'companies', description: 'Companies, tills, buttons and people.' },
        { name: 'till', description: 'What an enrolled till device calls with its cookie.' },
        { name: 'channels', description: 'Payment channels and a company’s own accounts at providers.' },
        { name: 'ledger', description: 'Balances, bookings and settlements.' },
        { name: 'events', description: 'What is sent to your server.' },
      ],
    },
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, index) =>
        typeof json.$id === 'string' ? json.$id : `schema-${index}`,
    },
    hideUntagged: true,
    transform: ({ schema, url }) => ({ schema: nameWildcard(schema), url: url.replace(/\*$/, ':reference') }),
  })
  app.addHook('onRoute', documentRoute)
  let text: string | undefined
  app.get('/openapi.json', { config: { open: true }, schema: { hide: true } }, async (_request, reply) => {
    text ??= JSON.stringify(openApiOf(app, baseUrl))
    return reply.type('application/json; charset=utf-8').send(text)
  })
  registerReference(app)
}
