import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { lockActor } from '../companies/company-scope.ts'
import { actorOf } from '../http/actor.ts'
import { networkOf } from '../http/address.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { countMail } from '../http/limits/mail-limits.ts'
import { contextOf, visitorContextOf } from '../http/request-context.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { isLang } from '../kernel/lang.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'
import { Type } from '../kernel/schema.ts'
import { checkPassword } from '../users/password-rules.ts'
import { lockUserById, updateUserPassword } from '../users/user-queries.ts'
import { LangQuery } from '../users/user-schemas.ts'
import { verifyEmail } from './address-proof.ts'
import * as schemas from './auth-schemas.ts'
import { type AuthDeps, noStore } from './auth-service.ts'
import { bearerOf } from './authenticate.ts'
import { updateChallengesEnded, updateCodesOfPasswordForgotten } from './factors/challenge-queries.ts'
import { userOfActor } from './factors/two-factor-service.ts'
import { updateResetsVoid } from './reset-queries.ts'
import { endedKeysOf } from './session-service.ts'

const TAGS = ['authentication']

/** Forgotten and changed passwords, the verified address, and the second factor's enrolment. */
export const passwordRoutes: FastifyPluginAsyncTypebox<AuthDeps> = async (app, deps) => {
  const { db, sessions, resets, twoFactor, limits, audit, passwords } = deps
  app.addHook('onRequest', noStore)

  app.post(
    '/reset-password/send',
    {
      config: { permission: 'auth.resetSend' },
      schema: {
        operationId: 'sendPasswordReset',
        summary: 'Request a password reset',
        description:
          'The answer is the same for every address. With `origin=application` it is a token, which works once the mailed link or code is used.',
        tags: TAGS,
        querystring: LangQuery,
        body: schemas.ResetSendBody,
        response: { 200: Envelope(Type.Union([Type.String(), Type.Null()])) },
      },
    },
    async (request, reply) => {
      const { body, query } = request
      const key = emailKeyOf(body.email)
      const application = body.origin === 'application'
      // a link is also the way out of a lock-out, so no stranger's requests count against its owner's
      await limits.checkAccount(request, reply, application ? key : `${key} ${networkOf(request.ip)}`)
      const lang = query.lang !== undefined && isLang(query.lang) ? query.lang : null
      return ok(await resets.send({ email: body.email, application, lang, context: visitorContextOf(request) }))
    },
  )

  app.post(
    '/reset-password/change',
    {
      config: { permission: 'auth.resetChange' },
      schema: {
        operationId: 'changeForgottenPassword',
        summary: 'Set a new password',
        description: 'Ends all sessions and command-line logins. The next login still needs the second factor.',
        tags: TAGS,
        body: schemas.ResetChangeBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request, reply) => {
      const { token, newPassword, emailOtp = null } = request.body
      const emailKey = await resets.change({ token, newPassword, emailOtp, context: visitorContextOf(request) })
      // a key that vouches stands for no browser
      if (request.actor === null) deps.knownBrowsers.remember(reply, emailKey)
      return ok(null)
    },
  )

  app.post(
    '/password',
    {
      config: { permission: 'auth.password' },
      schema: {
        operationId: 'changePassword',
        summary: 'Change your password',
        description: 'Ends all your other sessions, and your command-line logins.',
        tags: TAGS,
        body: schemas.PasswordBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request, reply) => {
      const context = contextOf(request)
      const { actor } = context
      const user = await userOfActor(db, actor)
      await deps.lockOuts.check(user.emailKey, deps.knownBrowsers.find(request, user.emailKey))
      await limits.checkAccount(request, reply, user.emailKey)
      const { password, newPassword } = request.body
      if (!(await passwords.verify(password, user.passwordHash))) {
        await db.tx((tx) => deps.lockOuts.count(tx, user.emailKey, deps.knownBrowsers.find(request, user.emailKey)))
        throw new AppError('INVALID_CREDENTIALS', { message: 'The current password is wrong. Try again, or reset it.' })
      }
      const own = [user.email, user.firstName, user.lastName, user.company?.name ?? '']
      checkPassword(newPassword, { path: 'newPassword', own, extra: deps.refusedPasswords })
      if (password === newPassword) throw invalid('newPassword', 'is the current password; choose a different one')
      const passwordHash = await passwords.hash(newPassword)
      const at = new Date(deps.clock())
      await db.tx(async (tx) => {
        const now = await lockUserById(tx, user.id)
        if (now?.passwordHash !== user.passwordHash) throw new AppError('OBJECT_CONFLICT')
        await lockActor(tx, actor, null)
        // of whoever knew the password of before: the codes sent, and the logins that wait for one
        await updateCodesOfPasswordForgotten(tx, user.id, at)
        await updateChallengesEnded(tx, user.id, at, actor.sessionId)
        await updateUserPassword(tx, user.id, { passwordHash, at })
        await updateResetsVoid(tx, user.id, at)
        const ended = await sessions.endAll(tx, user.id, 'password changed', actor.sessionId)
        await deps.lockOuts.clear(tx, user.emailKey)
        const data = { name: user.firstName }
        // anyone can register another's address; whoever confirmed theirs reads of each change
        if (user.verifiedAt !== null || (await countMail(tx, 'passwordChanged', { email: user.email }, at.getTime())))
          await deps.mailer.send(tx, { to: user.email, lang: user.lang, kind: 'passwordChanged', data })
        await context.remember(tx, null)
        const facts = { companyId: actor.companyId, object: `user:${user.id}`, detail: endedKeysOf(ended) }
        await audit.write(tx, context, { action: 'user.change-password', ...facts })
      })
      return ok(null)
    },
  )

  app.post(
    '/verify-email',
    {
      config: { permission: 'auth.verifyEmail' },
      schema: {
        operationId: 'verifyEmail',
        summary: 'Confirm an e-mail address with the mailed token',
        description:
          'The first time it ends every other session and command-line login of the account: yours is the one of the refresh cookie or the bearer that you send. If you send none, the password of an account without a second factor ends too: the answer is then a token for `POST /auth/reset-password/change`.',
        tags: TAGS,
        body: schemas.TokenBody,
        response: { 200: Envelope(Type.Union([Type.String(), Type.Null()])) },
      },
    },
    async (request) => {
      // nobody needs a credential here, so a header of another form is none
      const isBearer = /^Bearer /i.test(request.headers.authorization ?? '')
      const held = {
        refreshToken: deps.cookies.ownRefreshTokenOf(request),
        bearer: isBearer ? bearerOf(request) : null,
      }
      const proven = await verifyEmail(deps, { token: request.body.token, held }, visitorContextOf(request))
      return ok(proven.left === 'password' ? proven.token : null)
    },
  )

  app.post(
    '/2fa/setup',
    {
      config: { permission: 'auth.twoFactor', sealAnswer: true },
      schema: {
        operationId: 'setupTwoFactor',
        summary: 'Start enrolling an authenticator app',
        tags: TAGS,
        response: { 200: Envelope(Type.Object({ otpauthUri: Type.String(), qrSvg: Type.String() })) },
      },
    },
    async (request) => {
      await userOfActor(db, actorOf(request))
      return ok(await twoFactor.setup(contextOf(request)))
    },
  )
  const Codes = Type.Object({
    recoveryCodes: Type.Array(Type.String(), { description: 'Each replaces a code once. Shown only now.' }),
  })
  app.post(
    '/2fa/enable',
    {
      config: { permission: 'auth.twoFactor', sealAnswer: true },
      schema: {
        operationId: 'enableTwoFactor',
        summary: 'Finish the enrolment with a code from the app',
        tags: TAGS,
        body: Type.Object({ otp: Type.String({ pattern: '^[0-9]{6}$' }) }),
        response: { 200: Envelope(Codes) },
      },
    },
    async (request, reply) => {
      const user = await userOfActor(db, actorOf(request))
      await limits.checkAccount(request, reply, user.emailKey)
      return ok(await twoFactor.enable(contextOf(request), request.body.otp))
    },
  )
  app.post(
    '/2fa/recovery-codes',
    {
      config: { permission: 'auth.twoFactorRemove', sealAnswer: true },
      schema: {
        operationId: 'renewRecoveryCodes',
        summary: 'Create ten new recovery codes; the old ones stop working',
        tags: TAGS,
        response: { 200: Envelope(Codes) },
      },
    },
    async (request) => ok(await twoFactor.renewCodes(contextOf(request))),
  )
  app.post(
    '/2fa/disable',
    {
      config: { permission: 'auth.twoFactorRemove' },
      schema: {
        operationId: 'disableTwoFactor',
        summary: 'Remove the authenticator app; codes then come by e-mail',
        tags: TAGS,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await twoFactor.disable(contextOf(request))
      return ok(null)
    },
  )
}
