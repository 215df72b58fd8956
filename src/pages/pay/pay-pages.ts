import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { AppError } from '../../kernel/errors.ts'
import type { Html } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { TEXTS } from '../../texts/languages.ts'
import { compressPage } from '../shared/compress.ts'
import { languageOf } from '../shared/language.ts'
import type { PageContext } from './pay-parts.ts'
import { contentSecurityPolicy } from './pay-view.ts'

/** How the payer's pages leave the service. */
export type PayPages = {
  contextOf(language: Lang): PageContext
  send(request: FastifyRequest, reply: FastifyReply, status: number, page: Html): Promise<FastifyReply>
  /** Back to the order's page, which shows how things stand; a failure is named there in the payer's words. */
  sendBack(request: FastifyRequest, reply: FastifyReply, code: string, problem?: AppError): FastifyReply
  /** To another page of ours, on the host that was called. */
  sendOn(reply: FastifyReply, to: URL): FastifyReply
}

export function openPayPages(deps: {
  config: Pick<Config, 'payUrl'>
  clock: Clock
  providersUrl: string | null
}): PayPages {
  const { config, clock, providersUrl } = deps
  const basePath = new URL(config.payUrl).pathname.replace(/\/+$/, '')
  const policy = contentSecurityPolicy(providersUrl)
  return {
    contextOf: (language) => ({
      language,
      texts: TEXTS[language].pay,
      locale: TEXTS[language].locale,
      basePath,
      payUrl: config.payUrl,
      providersUrl,
      nowMs: clock(),
    }),
    async send(request, reply, status, page) {
      void reply.code(status).headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        // with no-referrer the browser would send `Origin: null` with our own forms
        'referrer-policy': 'same-origin',
        'cache-control': 'no-store',
        'content-language': languageOf(request),
      })
      return reply.send(await compressPage(request, reply, page.text))
    },
    sendOn: (reply, { pathname, search }) => reply.redirect(pathname + search, 303),
    sendBack(request, reply, code, problem) {
      const { lang } = request.query as { lang?: string }
      const query = new URLSearchParams({ code })
      if (lang) query.set('lang', lang)
      if (problem) query.set('problem', problem.code)
      return reply.redirect(`${basePath}/pay?${query}`, 303)
    },
  }
}
