import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CallbackSender, type Trouble } from './sumsub/callbacks.ts'
import { applicantsPage, framePage, SDK_SCRIPT } from './sumsub/pages.ts'
import {
  type Answer,
  type Applicant,
  isAnswer,
  isDone,
  type Review,
  resultOf,
  SumsubState,
  timeText,
} from './sumsub/state.ts'

export type SumsubOptions = {
  appToken: string
  secretKey: string
  webhookSecret: string
  /** Where the callbacks go. */
  callbackUrl: string
  level?: string
  eddLevel?: string
  log?(line: string): void
}

/** It checks people rather than payments, but shares the port and the stories with the other imitations. */
export type SumsubImitation = {
  prefix: 'sumsub'
  register(app: FastifyInstance): Promise<void>
  /** Scripted trouble by name. @returns whether it knows the story */
  startStory(name: string): boolean
  snapshot(): unknown
}

const TOLERANCE_SECONDS = 60

const TROUBLES: Record<string, Trouble> = {
  'kyc-duplicate-callbacks': 'twice',
  'kyc-reordered-callbacks': 'reordered',
  'kyc-forged-callback': 'forged',
}
const STORIES = ['kyc-refused', 'kyc-timeout-after-acceptance', 'kyc-unknown-status', 'kyc-outage']

const fail = (reply: FastifyReply, code: number, description: string): FastifyReply =>
  reply.code(code).send({ description, code, correlationId: 'sandbox' })

/** The original's message for a bad signature; null when the signature is right. */
function authFault(request: FastifyRequest, { appToken, secretKey }: SumsubOptions): string | null {
  const { 'x-app-token': token, 'x-app-access-ts': seconds, 'x-app-access-sig': given } = request.headers
  // a live token is refused even when it is configured
  if (typeof token !== 'string' || token !== appToken || !token.startsWith('sbx:')) return 'Invalid app token'
  if (typeof seconds !== 'string' || !/^\d+$/.test(seconds)) return 'Invalid X-App-Access-Ts'
  if (Math.abs(Date.now() / 1000 - Number(seconds)) > TOLERANCE_SECONDS) return 'Token expired'
  const hmac = createHmac('sha256', secretKey).update(`${seconds}${request.method}${request.raw.url}`)
  if (Buffer.isBuffer(request.body)) hmac.update(request.body)
  const expected = Buffer.from(hmac.digest('hex'))
  const sent = Buffer.from(String(given))
  return sent.length === expected.length && timingSafeEqual(sent, expected) ? null : 'Invalid signature'
}

function jsonOf(request: FastifyRequest): Record<string, unknown> {
  try {
    return Object(JSON.parse(String(request.body)))
  } catch {
    return {}
  }
}

const statusOf = ({ levelName, createdAt, attemptId, attemptCnt, review }: Applicant) => ({
  ...{ createDate: createdAt, levelName, attemptId, attemptCnt, ...review },
})
/** The statuses in which the original resets no applicant. */
const BEING_CHECKED = ['pending', 'queued', 'prechecked']
const viewOf = (applicant: Applicant) => {
  const { id, externalUserId, createdAt, levelName, review } = applicant
  return { id, createdAt, externalUserId, inspectionId: `${id.slice(0, 23)}f`, review: { levelName, ...review } }
}

/**
 * Imitates Sumsub as strictly as it is documented: signatures over the raw bytes and the path with its query, sandbox
 * tokens only, callbacks with digests. Shares no code with the service.
 */
export function openSumsub(options: SumsubOptions): SumsubImitation {
  const { eddLevel = 'enhanced-kyc-level' } = options
  const state = new SumsubState()
  const stories = new Set<string>()
  const sender = new CallbackSender(options)

  const complete = (applicant: Applicant, answer: Exclude<Answer, 'reset'>): void => {
    const decided = stories.delete('kyc-refused') ? 'refuse' : answer
    if (decided === 'enhanced') applicant.levelName = eddLevel
    const review: Review = { reviewStatus: 'completed', reviewDate: timeText(), reviewResult: resultOf(decided) }
    applicant.review = review
    const news = [
      { type: 'applicantPending', review: { reviewStatus: 'pending' } },
      { type: 'applicantReviewed', review },
    ]
    void sender.send(applicant, news)
  }
  const reset = (applicant: Applicant): void => {
    state.restart(applicant)
    void sender.send(applicant, [{ type: 'applicantReset', review: applicant.review }])
  }
  const decide = (applicant: Applicant, answer: Answer): void => {
    if (answer === 'reset') reset(applicant)
    else complete(applicant, answer)
  }
  /** A session at another level moves the applicant there. */
  const enter = (userId: string, levelName: string): Applicant => {
    const applicant = state.find(`-;externalUserId=${userId}`) ?? state.add(userId, levelName)
    if (applicant.levelName !== levelName) {
      state.restart(applicant, levelName)
      void sender.send(applicant, [{ type: 'applicantLevelChanged', review: applicant.review }])
    }
    return applicant
  }

  const registerApi = (app: FastifyInstance): void => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.addHook('preHandler', async (request, reply) => {
      const fault = authFault(request, options)
      if (fault !== null) return fail(reply, 401, fault)
      if (stories.delete('kyc-outage')) return fail(reply, 503, 'Service unavailable')
    })
    app.post<{ Querystring: { levelName?: string } }>('/applicants', async (request, reply) => {
      const { externalUserId } = jsonOf(request)
      const { levelName } = request.query
      if (typeof externalUserId !== 'string' || !levelName)
        return fail(reply, 400, 'levelName and externalUserId are needed')
      const known = state.find(`-;externalUserId=${externalUserId}`)
      if (known)
        return fail(reply, 409, `Applicant with external user id '${externalUserId}' already exists: ${known.id}`)
      const applicant = state.add(externalUserId, levelName)
      if (stories.delete('kyc-timeout-after-acceptance')) {
        reply.hijack()
        setTimeout(() => request.raw.socket.destroy(), 300)
        return
      }
      void sender.send(applicant, [{ type: 'applicantCreated', review: applicant.review }])
      return reply.code(201).send(viewOf(applicant))
    })
    const openToken = (reply: FastifyReply, userId: unknown, levelName: unknown, seconds: unknown): FastifyReply => {
      if (typeof userId !== 'string' || typeof levelName !== 'string' || userId === '' || levelName === '')
        return fail(reply, 400, 'userId and levelName are needed')
      return reply.send({ token: state.addToken(userId, levelName, Number(seconds ?? 1800)), userId })
    }
    app.post('/accessTokens/sdk', async (request, reply) => {
      const { userId, levelName, ttlInSecs } = jsonOf(request)
      return openToken(reply, userId, levelName, ttlInSecs)
    })
    app.post<{ Querystring: Record<string, string | undefined> }>('/accessTokens', async (request, reply) => {
      if (Buffer.isBuffer(request.body) && request.body.length > 0) return fail(reply, 400, 'The body must be empty')
      const { userId, levelName, ttlInSecs } = request.query
      return openToken(reply, userId, levelName, ttlInSecs)
    })
    app.get<{ Params: { id: string } }>('/applicants/:id/status', async (request, reply) => {
      const applicant = state.find(request.params.id)
      if (!applicant) return fail(reply, 404, 'Applicant not found')
      // in no document of the provider
      if (stories.delete('kyc-unknown-status')) return { ...statusOf(applicant), reviewStatus: 'ORBITING' }
      return statusOf(applicant)
    })
    app.get<{ Params: { id: string } }>('/applicants/:id/one', async (request, reply) => {
      const applicant = state.find(request.params.id)
      return applicant ? viewOf(applicant) : fail(reply, 404, 'Applicant not found')
    })
    app.post<{ Params: { id: string } }>('/applicants/:id/reset', async (request, reply) => {
      const applicant = state.find(request.params.id)
      if (!applicant) return fail(reply, 404, 'Applicant not found')
      if (BEING_CHECKED.includes(applicant.review.reviewStatus))
        return fail(reply, 409, 'An applicant that is being checked cannot be reset')
      reset(applicant)
      return { ok: 1 }
    })
    app.post<{ Params: { id: string } }>('/applicants/:id/status/testCompleted', async (request, reply) => {
      const applicant = state.find(request.params.id)
      if (!applicant) return fail(reply, 404, 'Applicant not found')
      const { reviewAnswer, reviewRejectType } = jsonOf(request)
      if (reviewAnswer !== 'GREEN' && reviewAnswer !== 'RED')
        return fail(reply, 400, 'reviewAnswer must be GREEN or RED')
      complete(applicant, reviewAnswer === 'GREEN' ? 'approve' : reviewRejectType === 'RETRY' ? 'retry' : 'refuse')
      return { ok: 1 }
    })
  }

  const registerPages = (app: FastifyInstance): void => {
    const prefix = app.prefix
    const htmlReply = (reply: FastifyReply, text: string) => reply.type('text/html; charset=utf-8').send(text)
    app.get('/applicants', async (request, reply) => {
      if (request.headers.accept?.includes('application/json')) return reply.send(state.snapshot().applicants)
      return htmlReply(reply, applicantsPage(state.snapshot().applicants, prefix))
    })
    app.post<{ Params: { id: string }; Body: { answer?: string } | undefined }>(
      '/applicants/:id/answer',
      async (request, reply) => {
        const applicant = state.find(request.params.id)
        const answer = request.body?.answer ?? ''
        if (!applicant || !isAnswer(answer)) return fail(reply, 404, 'No such applicant or answer')
        decide(applicant, answer)
        return reply.redirect(`${prefix}/applicants`, 303)
      },
    )
    app.get('/sdk.js', async (_request, reply) => reply.type('text/javascript; charset=utf-8').send(SDK_SCRIPT))
    app.get<{ Querystring: { token?: string } }>('/websdk', async (request, reply) => {
      const { token = '' } = request.query
      const session = state.tokens.get(token)
      if (!session || session.expiresAt < Date.now()) return htmlReply(reply.code(401), 'This session is over.')
      enter(session.userId, session.levelName)
      return htmlReply(reply, framePage(token, prefix, session.levelName))
    })
    app.post<{ Body: { token?: string; answer?: string } | undefined }>('/websdk/answer', async (request, reply) => {
      const { token = '', answer = '' } = request.body ?? {}
      const session = state.tokens.get(token)
      if (!session || session.expiresAt < Date.now() || !isAnswer(answer) || answer === 'reset')
        return fail(reply, 401, 'This session is over')
      const applicant = enter(session.userId, session.levelName)
      if (isDone(applicant.review)) return fail(reply, 409, 'There is nothing left to hand in')
      complete(applicant, answer)
      return { ok: 1 }
    })
  }

  return {
    prefix: 'sumsub',
    snapshot: () => state.snapshot(),
    startStory(name) {
      const trouble = Object.hasOwn(TROUBLES, name) ? TROUBLES[name] : undefined
      if (trouble) sender.plan(trouble)
      else if (STORIES.includes(name)) stories.add(name)
      else return false
      return true
    },
    async register(app) {
      registerPages(app)
      await app.register(async (scope) => registerApi(scope), { prefix: '/resources' })
      app.addHook('onClose', async () => sender.stop())
    },
  }
}
