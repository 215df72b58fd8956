import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../http/actor.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { contextOf, visitorContextOf } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import { Type } from '../kernel/schema.ts'
import { IdParams } from '../users/user-schemas.ts'
import * as schemas from './auth-schemas.ts'
import { type AuthDeps, noStore } from './auth-service.ts'
import { bearerOf } from './authenticate.ts'
import { listLiveSessions, type Session } from './session-queries.ts'
import { endedKeysOf } from './session-service.ts'

const TAGS = ['authentication']

const viewSession = (session: Session, currentId: string | null) => ({
  _id: session.id,
  current: session.id === currentId,
  kind: session.kind,
  ip: session.ip,
  userAgent: session.userAgent,
  createdAt: session.createdAt.toISOString(),
  lastUsedAt: session.lastUsedAt.toISOString(),
  expiresAt: session.expiresAt.toISOString(),
})

/** Refresh, sign out, and the caller's own sessions. */
export const sessionRoutes: FastifyPluginAsyncTypebox<AuthDeps> = async (app, deps) => {
  const { db, sessions, cookies, audit, clock } = deps
  app.addHook('onRequest', noStore)

  app.post(
    '/refresh-token',
    {
      config: { permission: 'auth.refresh' },
      schema: {
        operationId: 'refreshToken',
        summary: 'Get a new access token',
        description: 'Reads the refresh cookie and rotates it. Reusing an old cookie ends its session.',
        tags: TAGS,
        headers: schemas.UserIdHeader,
        response: { 200: Envelope(Type.Object({ token: Type.String() })) },
      },
    },
    async (request, reply) => {
      cookies.checkSite(request)
      const userId = cookies.userIdOf(request)
      const token = cookies.refreshTokenOf(request, userId)
      if (token === null) {
        throw new AppError('UNAUTHORIZED', { message: 'This session has no refresh cookie. Log in again.' })
      }
      try {
        const { session, refreshToken, accessToken } = await sessions.refresh(token, userId, visitorContextOf(request))
        cookies.setRefresh(reply, session, refreshToken)
        return ok({ token: accessToken })
      } catch (error) {
        if (error instanceof AppError && error.code === 'UNAUTHORIZED') cookies.clearRefresh(reply, userId)
        throw error
      }
    },
  )

  app.post(
    '/sign-out',
    {
      config: { permission: 'auth.signOut' },
      schema: {
        operationId: 'signOut',
        summary: 'Sign out',
        description: 'Ends the session of the refresh cookie, and of the bearer if you send one.',
        tags: TAGS,
        headers: schemas.UserIdHeader,
        response: { 200: Envelope(Type.Object({ disconnected: Type.Boolean() })) },
      },
    },
    async (request, reply) => {
      cookies.checkSite(request)
      const userId = cookies.userIdOf(request)
      const token = cookies.refreshTokenOf(request, userId)
      const bearer = bearerOf(request)
      const actor = bearer === null ? null : await sessions.actorOf(bearer).catch(() => null)
      const disconnected = await db.tx(async (tx) => {
        const session = token === null ? null : await sessions.endByToken(tx, token, userId)
        const sid = actor?.sessionId ?? null
        const byBearer = sid !== null && sid !== session?.id && (await sessions.end(tx, sid, 'signed out'))
        const endedId = session?.id ?? (byBearer ? sid : null)
        if (endedId === null) return false
        const who = session?.userId ?? actor?.id ?? ''
        const facts = { companyId: actor?.companyId ?? null, object: `session:${endedId}` }
        await audit.write(tx, visitorContextOf(request), { actor: `user:${who}`, action: 'session.sign-out', ...facts })
        return true
      })
      cookies.clearRefresh(reply, userId)
      return ok({ disconnected })
    },
  )

  app.get(
    '/sessions',
    {
      config: { permission: 'auth.sessions' },
      schema: {
        operationId: 'listSessions',
        summary: 'List your sessions',
        tags: TAGS,
        response: { 200: Envelope(Type.Array(schemas.SessionSchema)) },
      },
    },
    async (request) => {
      const actor = actorOf(request)
      const list = await listLiveSessions(db, actor.id, new Date(clock()))
      return ok(list.map((session) => viewSession(session, actor.sessionId)))
    },
  )

  app.delete(
    '/sessions/:id',
    {
      config: { permission: 'auth.sessions' },
      schema: {
        operationId: 'revokeSession',
        summary: 'End one of your sessions',
        tags: TAGS,
        params: IdParams,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      const context = contextOf(request)
      const { actor } = context
      const { id } = request.params
      const mine = await listLiveSessions(db, actor.id, new Date(clock()))
      if (!mine.some((session) => session.id === id)) throw new AppError('OBJECT_NOT_FOUND')
      await db.tx(async (tx) => {
        await sessions.end(tx, id, 'revoked by its user')
        const facts = { companyId: actor.companyId, object: `session:${id}` }
        await audit.write(tx, context, { action: 'session.revoke', ...facts })
      })
      return ok(null)
    },
  )

  app.post(
    '/sessions/revoke-others',
    {
      config: { permission: 'auth.sessions' },
      schema: {
        operationId: 'revokeOtherSessions',
        summary: 'End all your other sessions, and your command-line logins',
        tags: TAGS,
        response: { 200: Envelope(Type.Object({ revoked: Type.Integer() })) },
      },
    },
    async (request) => {
      const context = contextOf(request)
      const { actor } = context
      const revoked = await db.tx(async (tx) => {
        const ended = await sessions.endAll(tx, actor.id, 'revoked by its user', actor.sessionId)
        await context.remember(tx, { revoked: ended.sessions })
        const facts = { companyId: actor.companyId, object: `user:${actor.id}`, detail: endedKeysOf(ended) }
        await audit.write(tx, context, { action: 'session.revoke-others', ...facts })
        return ended.sessions
      })
      return ok({ revoked })
    },
  )
}
