import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../http/actor.ts'
import { networkOf } from '../http/address.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { contextAs, contextOf, visitorContextOf } from '../http/request-context.ts'
import { MINUTE } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { isLang } from '../kernel/lang.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'
import { Type } from '../kernel/schema.ts'
import { findRecentVerification } from '../users/registration-queries.ts'
import { viewSelf } from '../users/user.ts'
import { findUserById } from '../users/user-queries.ts'
import { LangQuery } from '../users/user-schemas.ts'
import * as schemas from './auth-schemas.ts'
import { type AuthDeps, answerOfFinishedLogin, answerOfLogin, noStore } from './auth-service.ts'
import { bearerOf } from './authenticate.ts'
import { findChallengeByToken, lockChallengeByToken } from './factors/challenge-queries.ts'
import { answerLogin, answerStepUp, logIn, MANAGER_ROLES, OTHER_ROLES } from './login-service.ts'
import { type Challenger, openChallenger } from './second-factor.ts'
import type { SessionKind } from './session-queries.ts'
import { hashToken } from './session-service.ts'

const TAGS = ['authentication']
const kindOf = (origin: string | undefined): SessionKind => (origin === 'application' ? 'application' : 'dashboard')
const langOf = (lang: string | undefined) => (lang !== undefined && isLang(lang) ? lang : null)

/** Register, log in, second factor. */
export const authRoutes: FastifyPluginAsyncTypebox<AuthDeps> = async (app, deps) => {
  const { db, sessions, cookies, registration, audit, limits, challenges } = deps
  app.addHook('onRequest', noStore)

  app.post(
    '/register',
    {
      config: { permission: 'auth.register', sealAnswer: true },
      schema: {
        operationId: 'register',
        summary: 'Register',
        description:
          'Public for SimpleUser, Manager and Association. A Cashier or an Observer needs a manager’s approval. A ' +
          'SuperAdmin registers the other roles, with a fresh second factor.',
        tags: TAGS,
        querystring: LangQuery,
        body: schemas.RegisterBody,
        response: { 200: Envelope(schemas.TokenAndUser) },
      },
    },
    async (request, reply) => {
      const { actor, query, body } = request
      const context = visitorContextOf(request)
      await limits.checkAccount(request, reply, emailKeyOf(body.email))
      const prepared = await registration.prepare(body, actor)
      const { user, started } = await db.tx(async (tx) => {
        const user = await registration.register(tx, prepared, langOf(query.lang) ?? 'en')
        const kind = kindOf(body.origin)
        const started = await sessions.start(tx, { user, kind, namedCookie: false, secondFactorAt: null, context })
        const companyId = user.company?.id ?? null
        const detail = { role: user.role, joins: prepared.joins !== null }
        const facts = { companyId, object: `user:${user.id}`, detail }
        await audit.write(tx, context, { action: 'user.register', ...facts })
        return { user, started }
      })
      // an actor who registers another user keeps their own session
      if (!actor) cookies.setRefresh(reply, started.session, started.refreshToken)
      return ok({ token: await sessions.issue(started.session, user), user: viewSelf(user) })
    },
  )

  for (const [path, operationId, summary, roles, body] of [
    [
      '/login/manager',
      'loginManager',
      'Log in (managers, cashiers, observers, associations)',
      MANAGER_ROLES,
      schemas.ManagerLoginBody,
    ],
    ['/login', 'login', 'Log in (SimpleUser, SuperAdmin, Service)', OTHER_ROLES, schemas.LoginBody],
  ] as const) {
    app.post(
      path,
      {
        config: { permission: 'auth.login' },
        schema: {
          operationId,
          summary,
          description:
            'If a second factor is needed, `token` is null; confirm with POST /auth/otp and the cookie `otpValidationToken`.',
          tags: TAGS,
          headers: schemas.UserIdHeader,
          body,
          response: { 200: Envelope(schemas.TokenOrNullAndUser) },
        },
      },
      async (request, reply) => {
        cookies.checkSite(request)
        const { email, password } = request.body
        const userId = cookies.userIdOf(request)
        const origin = 'origin' in request.body ? request.body.origin : undefined
        const emailKey = emailKeyOf(email)
        const browser = deps.knownBrowsers.find(request, emailKey)
        const context = visitorContextOf(request)
        const login = { email, password, kind: kindOf(origin), roles, userId, browser, context }
        const result = await deps.passwords.admit(async () => {
          await deps.lockOuts.check(emailKey, browser)
          await limits.checkAccount(request, reply, browser === null ? emailKey : `${emailKey} ${browser}`)
          return logIn(deps, login)
        })
        return ok(answerOfLogin(deps, reply, result))
      },
    )
  }

  const challengerOf = openChallenger(deps)
  const emailKeyOfUser = async (userId: string): Promise<string> => (await findUserById(db, userId))?.emailKey ?? ''
  /** Null for a token of no login that still waits: anyone can make one up, or keep one that a new password ended. */
  const emailKeyOfChallenger = async (who: Challenger): Promise<string | null> => {
    if ('actor' in who) return emailKeyOfUser(who.actor.id)
    const pending = await findChallengeByToken(db, hashToken(who.token))
    return challenges.isLive(pending) ? emailKeyOfUser(pending.userId) : null
  }

  app.post(
    '/otp',
    {
      config: { permission: 'auth.otp' },
      schema: {
        operationId: 'validateOtp',
        summary: 'Confirm a login or a sensitive action with a second factor',
        description:
          'Finishes a login (cookie `otpValidationToken`, or its value as bearer). With the bearer of a running session it is a step-up: it allows sensitive actions for five minutes. In a browser add `stepUp=true`, or a login begun in another tab takes the code.',
        tags: TAGS,
        security: [{ bearer: [] }],
        headers: schemas.UserIdHeader,
        querystring: schemas.StepUpQuery,
        body: schemas.OtpBody,
        response: { 200: Envelope(schemas.TokenAndUser) },
      },
    },
    async (request, reply) => {
      cookies.checkSite(request)
      const { body } = request
      if (
        body.otp === undefined &&
        body.emailOtp === undefined &&
        body.recoveryCode === undefined &&
        body.passkey === undefined
      )
        throw invalid('otp', 'send one of otp, emailOtp, recoveryCode, passkey')
      const userId = cookies.userIdOf(request)
      const who = await challengerOf(request, request.query)
      const emailKey = await emailKeyOfChallenger(who)
      if (emailKey !== null) await limits.checkAccount(request, reply, emailKey)
      if ('actor' in who) {
        await answerStepUp(deps, contextAs(request, who.actor), body)
        const user = await findUserById(db, who.actor.id)
        if (!user) throw new AppError('UNAUTHORIZED')
        return ok({ token: bearerOf(request) ?? '', user: viewSelf(user) })
      }
      const answer = { token: who.token, userId, codes: body, context: visitorContextOf(request) }
      const loggedIn = await answerLogin(deps, answer)
      cookies.clearChallenge(reply)
      return ok(answerOfFinishedLogin(deps, reply, loggedIn))
    },
  )

  app.post(
    '/otp/email',
    {
      config: { permission: 'auth.otpEmail' },
      schema: {
        operationId: 'sendEmailOtp',
        summary: 'Send a code by e-mail',
        description:
          'For the pending login in this browser, or for a step-up when you send a bearer. Sends at most one code a minute.',
        tags: TAGS,
        querystring: schemas.StepUpQuery,
        body: schemas.EmailBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request, reply) => {
      cookies.checkSite(request)
      const emailKey = emailKeyOf(request.body.email)
      const who = await challengerOf(request, request.query).catch(() => null)
      // no stranger may use up what the owner needs to confirm
      const isTheirs = who !== null && (await emailKeyOfChallenger(who)) === emailKey
      await limits.checkAccount(request, reply, isTheirs ? emailKey : `${emailKey} ${networkOf(request.ip)}`)
      const isRenewed = await db.tx(async (tx) => {
        if (who === null) return false
        const challenge =
          'token' in who
            ? await lockChallengeByToken(tx, hashToken(who.token))
            : await challenges.openForSession(tx, { userId: who.actor.id, sessionId: who.actor.sessionId ?? '' })
        const user = challenge && (await findUserById(tx, challenge.userId))
        if (!challenges.isLive(challenge) || user?.emailKey !== emailKey) return false
        await challenges.sendCode(tx, challenge, user)
        return 'token' in who
      })
      if (isRenewed && who && 'token' in who) cookies.setChallenge(reply, who.token)
      return ok(null)
    },
  )

  app.post(
    '/verify-email/send',
    {
      config: { permission: 'auth.sendVerification' },
      schema: {
        operationId: 'sendVerification',
        summary: 'Send the verification mail again',
        tags: TAGS,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request, reply) => {
      const user = await findUserById(db, actorOf(request).id)
      if (!user) throw new AppError('UNAUTHORIZED')
      await limits.checkAccount(request, reply, user.emailKey)
      await db.tx(async (tx) => {
        const isWaiting = await findRecentVerification(tx, user.id, new Date(deps.clock() - MINUTE))
        if (user.verifiedAt === null && !isWaiting) await registration.sendVerification(tx, user)
        await contextOf(request).remember(tx, null)
      })
      return ok(null)
    },
  )
}
