import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { actorOf } from '../http/actor.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import { Type } from '../kernel/schema.ts'
import { findUserById } from '../users/user-queries.ts'
import { IdParams } from '../users/user-schemas.ts'
import * as schemas from './auth-schemas.ts'
import { type AuthDeps, noStore } from './auth-service.ts'
import { lockChallengeByToken } from './factors/challenge-queries.ts'
import type { Passkey } from './factors/passkey-queries.ts'
import { userOfActor } from './factors/two-factor-service.ts'
import { openChallenger } from './second-factor.ts'
import { hashToken } from './session-service.ts'

const TAGS = ['authentication']

const viewPasskey = ({ id, name, createdAt, lastUsedAt }: Passkey) => ({
  _id: id,
  name,
  createdAt: createdAt.toISOString(),
  lastUsedAt: lastUsedAt?.toISOString() ?? null,
})

/** Passkeys: a person's own, and what one has to sign for a login or a step-up. */
export const passkeyRoutes: FastifyPluginAsyncTypebox<AuthDeps> = async (app, deps) => {
  const { db, passkeys, cookies, challenges, limits } = deps
  const challengerOf = openChallenger(deps)
  app.addHook('onRequest', noStore)

  app.get(
    '/passkeys',
    {
      config: { permission: 'auth.sessions' },
      schema: {
        operationId: 'listPasskeys',
        summary: 'List your passkeys',
        tags: TAGS,
        response: { 200: Envelope(Type.Array(schemas.PasskeySchema)) },
      },
    },
    async (request) => ok((await passkeys.list(actorOf(request).id)).map(viewPasskey)),
  )
  app.post(
    '/passkeys/options',
    {
      config: { permission: 'auth.twoFactor', ownIdempotency: true },
      schema: {
        operationId: 'beginPasskey',
        summary: 'Begin adding a passkey',
        tags: TAGS,
        response: { 200: Envelope(schemas.PasskeyOptions) },
      },
    },
    async (request) => {
      await userOfActor(db, actorOf(request))
      return ok({ options: { ...(await passkeys.beginRegistration(contextOf(request))) } })
    },
  )
  app.post(
    '/passkeys',
    {
      config: { permission: 'auth.twoFactor', ownIdempotency: true },
      schema: {
        operationId: 'addPasskey',
        summary: 'Add the passkey that the authenticator made',
        tags: TAGS,
        body: schemas.PasskeyBody,
        response: { 200: Envelope(schemas.PasskeySchema) },
      },
    },
    async (request, reply) => {
      const user = await userOfActor(db, actorOf(request))
      await limits.checkAccount(request, reply, user.emailKey)
      const { name, response } = request.body
      const made = { name, response: response as unknown as RegistrationResponseJSON }
      return ok(viewPasskey(await passkeys.register(contextOf(request), made)))
    },
  )
  app.delete(
    '/passkeys/:id',
    {
      config: { permission: 'auth.twoFactorRemove' },
      schema: {
        operationId: 'removePasskey',
        summary: 'Remove one of your passkeys',
        tags: TAGS,
        params: IdParams,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await passkeys.remove(contextOf(request), request.params.id)
      return ok(null)
    },
  )
  app.post(
    '/passkey/options',
    {
      config: { permission: 'auth.otp' },
      schema: {
        operationId: 'beginPasskeyProof',
        summary: 'What a passkey has to sign for a login or a step-up',
        tags: TAGS,
        security: [{ bearer: [] }],
        querystring: schemas.StepUpQuery,
        response: { 200: Envelope(schemas.PasskeyOptions) },
      },
    },
    async (request) => {
      cookies.checkSite(request)
      const who = await challengerOf(request, request.query)
      return db.tx(async (tx) => {
        const challenge =
          'token' in who
            ? await lockChallengeByToken(tx, hashToken(who.token))
            : await challenges.openForSession(tx, { userId: who.actor.id, sessionId: who.actor.sessionId ?? '' })
        const user = challenge && (await findUserById(tx, challenge.userId))
        if (!user || !challenges.isLive(challenge))
          throw new AppError('UNAUTHORIZED', { message: 'This login has ended. Log in again.' })
        return ok({ options: { ...(await passkeys.beginProof(tx, challenge.id, user.id)) } })
      })
    },
  )
}
