import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../../kernel/errors.ts'
import { html } from '../../kernel/html.ts'
import { LANGS, type Lang } from '../../kernel/lang.ts'

const TEXTS: Record<Lang, { title: string; text: string }> = {
  en: {
    title: 'One moment, please',
    text: 'Too many pages were opened from your network. Wait a minute, then open this page again.',
  },
  fr: {
    title: 'Un instant, s’il vous plaît',
    text: 'Trop de pages ont été ouvertes depuis votre réseau. Patientez une minute, puis rouvrez cette page.',
  },
  de: {
    title: 'Einen Moment bitte',
    text: 'Aus Ihrem Netz wurden zu viele Seiten geöffnet. Warten Sie eine Minute und öffnen Sie die Seite dann erneut.',
  },
  es: {
    title: 'Un momento, por favor',
    text: 'Se han abierto demasiadas páginas desde su red. Espere un minuto y vuelva a abrir esta página.',
  },
  it: {
    title: 'Un momento, per favore',
    text: 'Dalla sua rete sono state aperte troppe pagine. Aspetti un minuto, poi riapra questa pagina.',
  },
}

const langOf = (acceptLanguage: string | undefined): Lang => {
  const wanted = (acceptLanguage ?? '').split(',').map((part) => part.trim().slice(0, 2).toLowerCase())
  return wanted.flatMap((part) => LANGS.filter((known) => known === part))[0] ?? 'en'
}

/** A payer's page that is asked for too often answers as a page too. */
export function sendBusyPage(request: FastifyRequest, reply: FastifyReply, error: AppError): FastifyReply {
  const lang = langOf(request.headers['accept-language'])
  const { title, text } = TEXTS[lang]
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
