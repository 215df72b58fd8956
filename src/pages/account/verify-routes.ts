import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { contextAs, visitorContextOf } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import { type Html, html } from '../../kernel/html.ts'
import { Type } from '../../kernel/schema.ts'
import type { Resets } from '../../sessions/reset-service.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { AccountTexts } from '../../texts/page-texts.ts'
import { WeakPassword } from '../../users/password-rules.ts'
import { type VerificationDeps, verifyEmail } from '../../users/verification-service.ts'
import { languageOf, languageSwitch, rememberLanguage } from '../shared/language.ts'
import { shell } from '../shared/notice.ts'
import { pagePolicy } from '../shared/page-policy.ts'

/** No scripts, no external resources; forms only to us. */
const CSP = pagePolicy({ forms: "'self'" })

type Page = { title: string; body: Html }

const TokenForm = Type.Object({ token: Type.String({ minLength: 1, maxLength: 200 }) })
const ResetForm = Type.Object({ ...TokenForm.properties, newPassword: Type.String({ minLength: 1, maxLength: 1024 }) })

/** A link in a mail only shows a page; its button acts, because mail scanners open links too. */
type ButtonTexts = { title: string; text: string; button: string }

const buttonPage = ({ title, text, button }: ButtonTexts, action: string, token: string): Page => ({
  title,
  body: html`<p class="soft">${text}</p>
    <form method="post" action="${action}"><input type="hidden" name="token" value="${token}"><button class="main">${button}</button></form>`,
})

/** Few screen readers announce a role of alert that is there when the page loads, so the focused field refers to it. */
const passwordPage = (texts: AccountTexts, token: string, fault: string | null): Page => ({
  title: texts.resetTitle,
  body: html`
    <form method="post" action="/account/reset-password">
      <input type="hidden" name="token" value="${token}">
      <label class="ask" for="p">${texts.resetLabel}</label>
      <input class="field" id="p" name="newPassword" type="password" autocomplete="new-password" required minlength="12" maxlength="128"
        aria-describedby="${fault === null ? 'h' : 'h fault'}"${fault !== null && html` aria-invalid="true" autofocus`}>
      <p class="hint" id="h">${texts.resetHint}</p>
      ${fault === null ? null : html`<p class="note" id="fault" role="alert">${fault}</p>`}
      <button class="main">${texts.resetButton}</button>
    </form>`,
})

const messagePage = (title: string, text: string, button: Html | null = null): Page => ({
  title,
  body: html`<p class="soft" role="status">${text}</p>${button}`,
})

/** Parameters that the language links need, also after a form was sent. */
function tokenOf({ query, body }: FastifyRequest): { token: string } {
  const { token = '' } = { ...(body as object | undefined), ...(query as object) } as { token?: string }
  return { token }
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  page: (texts: AccountTexts) => Page,
): FastifyReply {
  const lang = languageOf(request)
  const { title, body } = page(TEXTS[lang].account)
  const document = shell({
    language: lang,
    title,
    // the answer to a form has the form's own URL
    body: html`<main><h1 class="title">${title}</h1>${body}</main>
      <footer>${languageSwitch(lang, request.url.split('?')[0] ?? '', tokenOf(request))}</footer>`,
  })
  void reply.code(status).headers({ 'content-security-policy': CSP, 'cache-control': 'no-store' })
  return reply.type('text/html; charset=utf-8').send(document.text)
}

export type VerifyPageDeps = VerificationDeps & {
  config: Pick<Config, 'officeUrl'>
  resets: Resets
  limits: RateLimits
}

/** Pages that links in mails open. They work without JavaScript. */
export const verifyRoutes: FastifyPluginAsyncTypebox<VerifyPageDeps> = async (app, deps) => {
  const { config, resets, limits } = deps
  await app.register(formbody)
  rememberLanguage(app)
  app.addHook('preHandler', async (request, reply) => limits.checkAddress(request, reply, 'credentials'))
  const open = { config: { open: true, page: true } } as const
  const get = { ...open, schema: { hide: true, querystring: TokenForm } }
  const post = { ...open, schema: { hide: true, body: TokenForm } }

  app.get('/account/verify-email', get, async (request, reply) => {
    const { token } = request.query
    return send(request, reply, 200, (texts) =>
      buttonPage(
        { title: texts.verifyTitle, text: texts.verifyText, button: texts.verifyButton },
        '/account/verify-email',
        token,
      ),
    )
  })
  app.post('/account/verify-email', post, async (request, reply) => {
    const good = await verifyEmail(deps, request.body.token, visitorContextOf(request)).then(
      () => true,
      (error: unknown) => {
        if (error instanceof AppError && error.code === 'INVALID_RESET_TOKEN') return false
        throw error
      },
    )
    const status = good ? 200 : 400
    return send(request, reply, status, (texts) =>
      messagePage(texts.verifyTitle, good ? texts.verified : texts.deadLink),
    )
  })

  app.get('/account/confirm-reset', get, async (request, reply) => {
    const { token } = request.query
    return send(request, reply, 200, (texts) =>
      buttonPage(
        { title: texts.confirmTitle, text: texts.confirmText, button: texts.confirmButton },
        '/account/confirm-reset',
        token,
      ),
    )
  })
  app.post('/account/confirm-reset', post, async (request, reply) => {
    const good = await resets.prove(request.body.token)
    return send(request, reply, good ? 200 : 400, (texts) =>
      messagePage(texts.confirmTitle, good ? texts.confirmed : texts.deadLink),
    )
  })

  app.get('/account/reset-password', get, async (request, reply) => {
    const { token } = request.query
    const good = await resets.isGood(token)
    return send(request, reply, good ? 200 : 400, (texts) =>
      good ? passwordPage(texts, token, null) : messagePage(texts.resetTitle, texts.deadLink),
    )
  })
  app.post('/account/reset-password', { ...open, schema: { hide: true, body: ResetForm } }, async (request, reply) => {
    const { token, newPassword } = request.body
    const change = { token, newPassword, emailOtp: null, context: contextAs(request, null) }
    const fault = await resets.change(change).then(
      () => null,
      (error: unknown) => {
        if (error instanceof AppError && error.status < 500) return error
        throw error
      },
    )
    if (fault === null)
      return send(request, reply, 200, (texts) =>
        messagePage(
          texts.resetTitle,
          texts.resetDone,
          html`<a class="button main" href="${config.officeUrl}/login">${texts.logIn}</a>`,
        ),
      )
    return send(request, reply, fault.status, (texts) =>
      fault instanceof WeakPassword
        ? passwordPage(texts, token, fault.faults.map((one) => texts.passwordFaults[one]).join(' '))
        : messagePage(texts.resetTitle, texts.deadLink),
    )
  })
}
