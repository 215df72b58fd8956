import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { contextAs, visitorContextOf } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import { type Html, html } from '../../kernel/html.ts'
import { Type } from '../../kernel/schema.ts'
import {
  type AddressProofDeps,
  awaitsPassword,
  findByVerification,
  type Proven,
  verifyEmail,
} from '../../sessions/address-proof.ts'
import type { Cookies } from '../../sessions/cookies.ts'
import type { KnownBrowsers } from '../../sessions/known-browsers.ts'
import type { Resets } from '../../sessions/reset-service.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { AccountTexts } from '../../texts/page-texts.ts'
import { WeakPassword } from '../../users/password-rules.ts'
import type { User } from '../../users/user.ts'
import { languageOf, languageSwitch, rememberLanguage } from '../shared/language.ts'
import { shell } from '../shared/notice.ts'
import { pagePolicy } from '../shared/page-policy.ts'

/** No scripts, no external resources; forms only to us. */
const CSP = pagePolicy({ forms: "'self'" })

type Page = { title: string; body: Html }

const TokenForm = Type.Object({ token: Type.String({ minLength: 1, maxLength: 200 }) })
const ResetForm = Type.Object({ ...TokenForm.properties, newPassword: Type.String({ minLength: 1, maxLength: 1024 }) })

/** A link in a mail only shows a page; its button acts, because mail scanners open links too. */
type ButtonTexts = { title: string; text: string; button: string; hint?: string }

const buttonPage = ({ title, text, button, hint }: ButtonTexts, action: string, token: string): Page => ({
  title,
  body: html`<p class="soft">${text}</p>
    <form method="post" action="${action}"><input type="hidden" name="token" value="${token}"><button class="main">${button}</button></form>
    ${hint === undefined ? null : html`<p class="hint">${hint}</p>`}`,
})

/** Says which account it is about: anyone can register an address, and its owner has to notice. */
const verifyPage = (texts: AccountTexts, { user, role, token }: { user: User; role: string; token: string }): Page => {
  const what = texts.verifyText({ email: user.email, role, company: user.company?.name ?? null })
  const words = { title: texts.verifyTitle, text: `${what} ${texts.verifyOnlyYou}`, button: texts.verifyButton }
  return buttonPage({ ...words, hint: texts.verifyNotYou }, '/account/verify-email', token)
}

/** Few screen readers announce a role of alert that is there when the page loads, so the focused field refers to it. */
const passwordPage = (texts: AccountTexts, token: string, fault: string | null, before: Html | null = null): Page => ({
  title: texts.resetTitle,
  body: html`
    ${before}
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

export type VerifyPageDeps = AddressProofDeps & {
  config: Pick<Config, 'officeUrl'>
  cookies: Pick<Cookies, 'refreshTokenOf'>
  resets: Resets
  knownBrowsers: Pick<KnownBrowsers, 'remember'>
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

  const linkTo = (url: string, word: string): Html => html`<a class="button main" href="${url}">${word}</a>`
  const toLogin = (texts: AccountTexts): Html => linkTo(`${config.officeUrl}/login`, texts.logIn)
  const verified = (texts: AccountTexts, proven: Proven): Page => {
    if (proven.left === 'password') {
      const words = html`<p class="soft" role="status">${texts.verified} ${texts.verifiedChoose}</p>`
      return passwordPage(texts, proven.token, null, words)
    }
    const words = { stays: texts.verifiedStays, ended: texts.verifiedEnded, before: '' }
    const link = proven.left === 'stays' ? linkTo(`${config.officeUrl}/`, texts.goOn) : toLogin(texts)
    return messagePage(texts.verifyTitle, `${texts.verified} ${words[proven.left]}`.trim(), link)
  }
  const dead = (texts: AccountTexts): Page => messagePage(texts.verifyTitle, texts.deadLink)

  app.get('/account/verify-email', get, async (request, reply) => {
    const { token } = request.query
    const user = await findByVerification(deps, token)
    if (!user) return send(request, reply, 400, dead)
    if (user.verifiedAt !== null && !awaitsPassword(user))
      return send(request, reply, 200, (texts) => verified(texts, { left: 'before' }))
    const role = TEXTS[languageOf(request)].mails.roles[user.role]
    return send(request, reply, 200, (texts) => verifyPage(texts, { user, role, token }))
  })
  app.post('/account/verify-email', post, async (request, reply) => {
    const held = { refreshToken: deps.cookies.refreshTokenOf(request, null), bearer: null }
    const proof = { token: request.body.token, held }
    const proven = await verifyEmail(deps, proof, visitorContextOf(request)).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'INVALID_RESET_TOKEN') return null
      throw error
    })
    return send(request, reply, proven === null ? 400 : 200, (texts) =>
      proven === null ? dead(texts) : verified(texts, proven),
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
      (emailKey) => {
        deps.knownBrowsers.remember(reply, emailKey)
        return null
      },
      (error: unknown) => {
        if (error instanceof AppError && error.status < 500) return error
        throw error
      },
    )
    if (fault === null)
      return send(request, reply, 200, (texts) => messagePage(texts.resetTitle, texts.resetDone, toLogin(texts)))
    return send(request, reply, fault.status, (texts) =>
      fault instanceof WeakPassword
        ? passwordPage(texts, token, fault.faults.map((one) => texts.passwordFaults[one]).join(' '))
        : messagePage(texts.resetTitle, fault.code === 'EMAIL_ALREADY_REGISTERED' ? texts.taken : texts.deadLink),
    )
  })
}
