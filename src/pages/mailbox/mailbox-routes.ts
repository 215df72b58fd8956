import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '../../db/db.ts'
import { AppError } from '../../kernel/errors.ts'
import { type Html, html, raw } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { Type } from '../../kernel/schema.ts'
import { findKeptMail, type KeptMail, listKeptMails } from '../../mail/mailbox-queries.ts'
import { TEXTS } from '../../texts/languages.ts'
import { moment } from '../pay/pay-parts.ts'
import { languageOf, languageSwitch, rememberLanguage } from '../shared/language.ts'
import { shell } from '../shared/notice.ts'
import { pagePolicy } from '../shared/page-policy.ts'

/** A mail as it was sent, with inline styles. */
const MAIL_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

const STYLE =
  'main.wide{max-width:46rem}article{border:1px solid var(--line);border-radius:.875rem;padding:1rem;margin-top:1rem}' +
  'pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin-top:.5rem}form.row{display:flex;gap:.5rem;align-items:end}' +
  'form.row label{flex:1}h2{overflow-wrap:anywhere}'

/** Makes links in a mail's text clickable. */
function linked(text: string): Html {
  const parts = text.split(/(https?:\/\/\S+)/)
  return html`${parts.map((part) => (/^https?:\/\//.test(part) ? html`<a href="${part}">${part}</a>` : part))}`
}

const article = (mail: KeptMail, language: Lang): Html =>
  html`<article><h2>${mail.subject}</h2>
    <p class="hint">${mail.recipient}, ${moment(mail.createdAt, TEXTS[language].locale)},
      <a href="/mailbox/${mail.id}">${TEXTS[language].mailbox.withLayout}</a></p>
    <pre>${linked(mail.bodyText)}</pre></article>`

function renderMailbox(mails: readonly KeptMail[], to: string, language: Lang): Html {
  const texts = TEXTS[language].mailbox
  const body = html`<main class="wide"><h1 class="title">${texts.title}</h1><p class="soft">${texts.lead}</p>
      <form class="row"><label class="ask" for="to">${texts.to}
        <input class="field" id="to" name="to" type="search" value="${to}" maxlength="320"></label>
        <button>${texts.show}</button></form>
      ${mails.length === 0 ? html`<p class="soft">${texts.none}</p>` : mails.map((mail) => article(mail, language))}</main>
    <footer>${languageSwitch(language, '/mailbox', to === '' ? {} : { to })}</footer>`
  return shell({ language, title: texts.title, head: html`<style>${raw(STYLE)}</style>`, body })
}

const view = ({ id, recipient, subject, bodyText, bodyHtml, createdAt }: KeptMail) => ({
  id,
  to: recipient,
  subject,
  text: bodyText,
  html: bodyHtml,
  createdAt: createdAt.toISOString(),
})

/** Sandbox only: sent mails, for people and, with `Accept: application/json`, for programs. */
export const mailboxRoutes: FastifyPluginAsyncTypebox<{ db: Db }> = async (app, { db }) => {
  const options = { config: { open: true as const } }
  rememberLanguage(app)
  app.get(
    '/mailbox',
    {
      ...options,
      schema: {
        hide: true,
        querystring: Type.Object({
          to: Type.Optional(Type.String({ maxLength: 320 })),
          lang: Type.Optional(Type.String()),
        }),
      },
    },
    async (request, reply) => {
      const { to = '' } = request.query
      const mails = await listKeptMails(db, to === '' ? null : to, 200)
      void reply.header('vary', 'accept').header('cache-control', 'no-store')
      if (request.headers.accept?.includes('application/json')) return reply.send(mails.map(view))
      const policy = pagePolicy({ styles: [STYLE], forms: "'self'" })
      const page = renderMailbox(mails, to, languageOf(request))
      return reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page.text)
    },
  )
  app.get(
    '/mailbox/:id',
    { ...options, schema: { hide: true, params: Type.Object({ id: Type.String({ maxLength: 24 }) }) } },
    async (request, reply) => {
      const mail = await findKeptMail(db, request.params.id)
      if (!mail) throw new AppError('NOT_FOUND')
      return reply.header('content-security-policy', MAIL_CSP).type('text/html; charset=utf-8').send(mail.bodyHtml)
    },
  )
}
