import type { FastifyRequest } from 'fastify'
import { type Html, html, raw } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { TEXTS } from '../../texts/languages.ts'
import { mark } from '../pay/pay-parts.ts'
import { languageOf, languageSwitch } from './language.ts'
import { pagePolicy } from './page-policy.ts'
import { PAY_STYLE } from './page-style.ts'

const ICON =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 24 24%22%3E' +
  '%3Ccircle cx=%2212%22 cy=%2212%22 r=%2210%22 fill=%22%230a6652%22/%3E%3C/svg%3E'

type Shell = { language: Lang; title: string; head?: Html | null | false; body: Html }

/** A document in the payers' style. */
export const shell = ({ language, title, head, body }: Shell): Html =>
  html`<!doctype html><html lang="${language}"${TEXTS[language].dir && html` dir="${TEXTS[language].dir}"`}>
    <head><meta charset="utf-8"><title>${title}</title>
    <meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
    <link rel="icon" href="${raw(ICON)}"><style>${raw(PAY_STYLE)}</style>${head}</head><body>${body}</body></html>`

/** No scripts, no external resources, no forms. */
export const NOTICE_POLICY = pagePolicy({})

/** What leads back to the same page, besides the language. A form carries it in its body. */
function queryOf({ query, body }: FastifyRequest): Record<string, string> {
  const { code, token } = (body ?? {}) as Record<string, unknown>
  const { lang: _lang, ...asked } = query as Record<string, unknown>
  const texts = Object.entries({ code, token, ...asked }).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(texts) as Record<string, string>
}

/** The page that the failure belongs to: nothing answers a link to a button's own address, such as `/pay/cancel`. */
function pageOf({ method, server, url, routeOptions }: FastifyRequest): string {
  const route = routeOptions.url
  if (method !== 'POST' || route === undefined || server.hasRoute({ method: 'GET', url: route })) return ''
  return `../${url.split('?')[0]?.split('/').at(-2) ?? ''}`
}

type NoticeWords = { title: string; text: string; hint?: string | null }

/** A page without an order: what happened and what to do. @param hint small print, such as a number to quote */
export function renderNotice(request: FastifyRequest, { title, text, hint = null }: NoticeWords): Html {
  const language = languageOf(request)
  const body = html`<main>
    <div class="state big quiet">${mark('stop')}<h1>${title}</h1><p class="soft">${text}</p>
      ${hint && html`<p class="hint mono">${hint}</p>`}</div>
  </main><footer>${languageSwitch(language, pageOf(request), queryOf(request))}</footer>`
  return shell({ language, title, body })
}
