import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Db } from '../../db/db.ts'
import { AppError } from '../../kernel/errors.ts'
import { type Html, html, raw } from '../../kernel/html.ts'
import { findKeptMail, type KeptMail, listKeptMails } from '../../mail/mailbox-queries.ts'

const CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

const STYLE = raw(
  `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{margin:0 auto;max-width:46rem;padding:1.5rem}` +
    `article{border:1px solid #8884;border-radius:.75rem;padding:1rem;margin:1rem 0}h1{font-size:1.4rem}h2{font-size:1.1rem;margin:0}` +
    `p{margin:.25rem 0}pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit}small{color:#777}input,button{font:inherit;padding:.4rem .6rem}`,
)

/** Links in a mail's text, so that they can be followed from here. */
function linked(text: string): Html {
  const parts = text.split(/(https?:\/\/\S+)/)
  return html`${parts.map((part) => (/^https?:\/\//.test(part) ? html`<a href="${part}">${part}</a>` : part))}`
}

const article = (mail: KeptMail): Html => html`
  <article>
    <h2>${mail.subject}</h2>
    <p><small>${mail.recipient}, <time datetime="${mail.createdAt.toISOString()}">${mail.createdAt.toISOString().slice(0, 19).replace('T', ' ')} UTC</time>,
      <a href="/mailbox/${mail.id}">as HTML</a></small></p>
    <pre>${linked(mail.bodyText)}</pre>
  </article>`

const page = (mails: readonly KeptMail[], to: string): Html => html`<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Mailbox</title><style>${STYLE}</style></head>
  <body>
    <h1>Mailbox of the sandbox</h1>
    <p>Mails that would have been sent. Set SMTP_URL to send them.</p>
    <form><label>To <input name="to" type="search" value="${to}"></label> <button>Show</button></form>
    ${mails.length === 0 ? html`<p>No mail yet.</p>` : mails.map(article)}
  </body>
</html>`

const view = ({ id, recipient, subject, bodyText, bodyHtml, createdAt }: KeptMail) => ({
  id,
  to: recipient,
  subject,
  text: bodyText,
  html: bodyHtml,
  createdAt: createdAt.toISOString(),
})

/** Sandbox only: what was mailed, for people and, with `Accept: application/json`, for programs. */
export const mailboxRoutes: FastifyPluginAsyncTypebox<{ db: Db }> = async (app, { db }) => {
  const options = { config: { open: true as const } }
  app.get(
    '/mailbox',
    {
      ...options,
      schema: { hide: true, querystring: Type.Object({ to: Type.Optional(Type.String({ maxLength: 320 })) }) },
    },
    async (request, reply) => {
      const { to = '' } = request.query
      const mails = await listKeptMails(db, to === '' ? null : to, 200)
      void reply.header('vary', 'accept').header('cache-control', 'no-store')
      if (request.headers.accept?.includes('application/json')) return reply.send(mails.map(view))
      return reply.header('content-security-policy', CSP).type('text/html; charset=utf-8').send(page(mails, to).text)
    },
  )
  app.get(
    '/mailbox/:id',
    { ...options, schema: { hide: true, params: Type.Object({ id: Type.String({ maxLength: 24 }) }) } },
    async (request, reply) => {
      const mail = await findKeptMail(db, request.params.id)
      if (!mail) throw new AppError('NOT_FOUND')
      return reply.header('content-security-policy', CSP).type('text/html; charset=utf-8').send(mail.bodyHtml)
    },
  )
}
