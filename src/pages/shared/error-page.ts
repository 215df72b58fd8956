import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../../kernel/errors.ts'
import { TEXTS } from '../../texts/languages.ts'
import { languageOf } from './language.ts'
import { NOTICE_POLICY, renderNotice } from './notice.ts'

/** A failure as a page, in the words of the person who reads it; the request's number helps whoever is asked. */
export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, error: AppError): FastifyReply {
  const language = languageOf(request)
  const { pay, busy, missing } = TEXTS[language]
  const ours = { title: pay.failedTitle, text: pay.failed }
  const { title, text } = error.status === 429 ? busy : error.status >= 500 ? ours : missing
  const hint = error.status >= 500 ? request.id : null
  return reply
    .code(error.status)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': NOTICE_POLICY,
      'cache-control': 'no-store',
      'content-language': language,
      ...((error.status === 429 || error.status === 503) && {
        'retry-after': String(Math.max(1, Math.ceil(error.retryAfter ?? 60))),
      }),
    })
    .send(renderNotice(language, title, text, hint).text)
}
