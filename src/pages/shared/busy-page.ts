import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../../kernel/errors.ts'
import { html } from '../../kernel/html.ts'
import { TEXTS } from '../../texts/languages.ts'
import { languageOf } from './language.ts'

/** A payer's page that is asked for too often answers as a page too. */
export function sendBusyPage(request: FastifyRequest, reply: FastifyReply, error: AppError): FastifyReply {
  const lang = languageOf(request)
  const { title, text } = TEXTS[lang].busy
  const page = html`<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>${title}</title>
    <meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"></head>
    <body><main><h1>${title}</h1><p>${text}</p></main></body></html>`
  return reply
    .code(error.status)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-language': lang,
      'retry-after': String(Math.max(1, Math.ceil(error.retryAfter ?? 60))),
    })
    .send(page.text)
}
