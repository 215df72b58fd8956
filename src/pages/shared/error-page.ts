import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../../kernel/errors.ts'
import { TEXTS } from '../../texts/languages.ts'
import { languageOf } from './language.ts'
import { NOTICE_POLICY, renderNotice } from './notice.ts'

/** Fields that every form of ours carries: without them the form was not ours. */
const OWN_FIELDS = ['code', 'token', 'nonce']

/** A person's form with text that is too long or cannot be stored, such as NUL. */
const isUnreadable = ({ method }: FastifyRequest, { code, details = [] }: AppError): boolean =>
  code === 'MALFORMED_REQUEST' ||
  (method === 'POST' && code === 'VALIDATION_FAILED' && !details.some(({ path }) => OWN_FIELDS.includes(path)))

/** Failures unrelated to the link, so that no page may report them as "unknown". */
export const isGeneral = (request: FastifyRequest, error: AppError): boolean =>
  error.status >= 500 || error.status === 429 || isUnreadable(request, error)

/** Shows a failure as a page, in the reader's language; the request's number helps whoever is contacted. */
export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, error: AppError): FastifyReply {
  const language = languageOf(request)
  const { pay, busy, missing, unreadable } = TEXTS[language]
  const ours = { title: pay.failedTitle, text: pay.failed }
  const isTyped = isUnreadable(request, error)
  const { title, text } = error.status === 429 ? busy : error.status >= 500 ? ours : isTyped ? unreadable : missing
  const hint = error.status >= 500 ? request.id : null
  return reply
    .code(isTyped ? 400 : error.status)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': NOTICE_POLICY,
      'cache-control': 'no-store',
      'content-language': language,
      ...((error.status === 429 || error.status === 503) && {
        'retry-after': String(Math.max(1, Math.ceil(error.retryAfter ?? 60))),
      }),
    })
    .send(renderNotice(request, { title, text, hint }).text)
}
