import { randomBytes } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Audit } from '../../audit/audit.ts'
import { ChoiceOnly, IdParams, Nullable } from '../../companies/company-schemas.ts'
import { companiesFor, companyFor, lockActor } from '../../companies/company-scope.ts'
import type { Db } from '../../db/db.ts'
import { API_SCOPES, type ApiScope, actorOf, sees } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { contextOf, visitorContextOf } from '../../http/request-context.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { newId, newSecret } from '../../kernel/ids.ts'
import { NAME_PATTERN } from '../../kernel/names.ts'
import { Type } from '../../kernel/schema.ts'
import {
  type ApiKey,
  findApiKeyBySecretHash,
  insertApiKey,
  listApiKeys,
  lockApiKey,
  updateApiKeyRevoked,
} from './api-key-queries.ts'
import { API_SECRET_PREFIX, type ApiKeys, hashApiSecret } from './api-key-service.ts'

export type ApiKeyDeps = { db: Db; clock: Clock; audit: Audit; apiKeys: ApiKeys }

const tags = ['companies']
const Scope = Type.String({ enum: [...API_SCOPES] })
const KeySchema = Type.Object({
  _id: Type.String(),
  name: Type.String(),
  company: Type.String(),
  apiKey: Type.String({ description: 'Public id: the header `x-api-key`.' }),
  scopes: Type.Array(Scope),
  expiresAt: Nullable(Type.String({ format: 'date-time' })),
  lastUsedAt: Nullable(Type.String({ format: 'date-time' })),
  createdAt: Type.String({ format: 'date-time' }),
})
const NewKeySchema = Type.Object({
  ...KeySchema.properties,
  apiSecret: Type.String({ description: 'The header `x-api-secret`, or the bearer. Shown only now.' }),
})
const OwnKeyBody = Type.Object({
  apiKey: Type.String({ minLength: 1, maxLength: 100 }),
  apiSecret: Type.String({ minLength: 1, maxLength: 100 }),
})
const KeyBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, pattern: NAME_PATTERN }),
  scopes: Type.Array(Scope, { minItems: 1, uniqueItems: true }),
  expiresAt: Type.Optional(Type.String({ format: 'date-time' })),
})

const MOST_PAGES = 100_000
const MOST_KEYS = 500

const KeyListQuery = Type.Object({
  ...ChoiceOnly.properties,
  // without defaults: whether pages are asked for decides the order
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_PAGES })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_KEYS })),
})

const viewKey = (key: ApiKey) => ({
  _id: key.id,
  name: key.name,
  company: key.companyId,
  apiKey: key.publicId,
  scopes: key.scopes,
  expiresAt: key.expiresAt?.toISOString() ?? null,
  lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  createdAt: key.createdAt.toISOString(),
})

/** Keys for servers: named, scoped, the secret shown once and stored hashed. */
export const apiKeyRoutes: FastifyPluginAsyncTypebox<ApiKeyDeps> = async (app, { db, clock, audit, apiKeys }) => {
  app.get(
    '/api-keys',
    {
      config: { permission: 'apiKeys.read' },
      schema: {
        operationId: 'listApiKeys',
        summary: 'List API keys that are not revoked',
        description:
          'Without `page` and `limit` the 500 used or made last, expired ones at the end. With either, all of them in ' +
          'pages of `limit` (500), the newest first; a page with fewer is the last.',
        tags,
        querystring: KeyListQuery,
        response: { 200: Envelope(Type.Array(KeySchema)) },
      },
    },
    async (request) => {
      const { page = 1, limit = MOST_KEYS } = request.query
      const isPaged = request.query.page !== undefined || request.query.limit !== undefined
      const companyIds = await companiesFor(db, actorOf(request), request.query)
      const part = { now: new Date(clock()), isPaged, limit, offset: (page - 1) * limit }
      return ok((await listApiKeys(db, companyIds, part)).map(viewKey))
    },
  )
  app.post(
    '/api-keys',
    {
      config: { permission: 'apiKeys.create', sealAnswer: true },
      schema: {
        operationId: 'createApiKey',
        summary: 'Create an API key; needs a fresh second factor',
        tags,
        querystring: ChoiceOnly,
        body: KeyBody,
        response: { 200: Envelope(NewKeySchema) },
      },
    },
    async (request, reply) => {
      const context = contextOf(request)
      const { actor } = context
      const { name, expiresAt } = request.body
      const scopes = request.body.scopes as ApiScope[]
      const until = expiresAt === undefined ? null : new Date(expiresAt)
      if (until !== null && until.getTime() <= clock())
        throw invalid('expiresAt', 'is in the past; choose a later time')
      const companyId = await companyFor(db, actor, request.query)
      const createdAt = new Date(clock())
      const apiSecret = newSecret(API_SECRET_PREFIX)
      const publicId = `pk_${randomBytes(12).toString('base64url')}`
      const key = { id: newId(createdAt.getTime()), companyId, name, publicId, scopes, expiresAt: until, createdAt }
      const answer = { ...viewKey({ ...key, revokedAt: null, lastUsedAt: null }), apiSecret }
      await db.tx(async (tx) => {
        await lockActor(tx, actor, companyId)
        await insertApiKey(tx, { ...key, createdBy: actor.id, secretHash: hashApiSecret(apiSecret) })
        await context.remember(tx, answer)
        const facts = { companyId, object: `apiKey:${key.id}`, detail: { name, scopes } }
        await audit.write(tx, context, { action: 'api-key.create', ...facts })
      })
      void reply.header('cache-control', 'no-store')
      return ok(answer)
    },
  )
  app.post(
    '/api-keys/revoke',
    {
      config: { permission: 'apiKeys.revokeOwn' },
      schema: {
        operationId: 'revokeOwnApiKey',
        summary: 'Revoke the key that you hold',
        tags,
        body: OwnKeyBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      const { apiKey, apiSecret } = request.body
      // an unknown key is as good as revoked, and says nothing about others (RFC 7009, 2.2)
      const row = await findApiKeyBySecretHash(db, hashApiSecret(apiSecret))
      if (!row || row.publicId !== apiKey) return ok(null)
      await db.tx(async (tx) => {
        await updateApiKeyRevoked(tx, row.id, new Date(clock()))
        tx.afterCommit(() => apiKeys.forget())
        const facts = { actor: `apiKey:${row.id}`, companyId: row.companyId, object: `apiKey:${row.id}` }
        await audit.write(tx, visitorContextOf(request), { action: 'api-key.revoke', ...facts })
      })
      return ok(null)
    },
  )
  app.delete(
    '/api-keys/:id',
    {
      config: { permission: 'apiKeys.revoke' },
      schema: {
        operationId: 'revokeApiKey',
        summary: 'Revoke an API key',
        tags,
        params: IdParams,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      const context = contextOf(request)
      const { actor } = context
      await db.tx(async (tx) => {
        const key = await lockApiKey(tx, request.params.id)
        if (!key || !sees(actor, key.companyId)) throw new AppError('OBJECT_NOT_FOUND')
        await updateApiKeyRevoked(tx, key.id, new Date(clock()))
        tx.afterCommit(() => apiKeys.forget())
        const facts = { companyId: key.companyId, object: `apiKey:${key.id}` }
        await audit.write(tx, context, { action: 'api-key.revoke', ...facts })
      })
      return ok(null)
    },
  )
}
