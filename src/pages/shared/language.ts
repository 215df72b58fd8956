import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Html, html } from '../../kernel/html.ts'
import { isLang, LANGS, type Lang } from '../../kernel/lang.ts'
import { chooseLanguage, LANGUAGE_COOKIE, TEXTS } from '../../texts/languages.ts'

/** Cookie with the channel that the browser last paid with. */
export const LAST_CHANNEL_COOKIE = 'channel'

export const YEAR_SECONDS = 365 * 24 * 60 * 60

const askedFor = (request: FastifyRequest): string | undefined => {
  const { lang } = request.query as { lang?: unknown }
  return typeof lang === 'string' ? lang : undefined
}

/** Whether a person chose the language, as opposed to a guess from a browser or a link preview. */
export const hasChosenLanguage = (request: FastifyRequest): boolean => isLang(askedFor(request) ?? '')

/** The language of a page: `?lang=`, otherwise the one chosen before, the browser's, or English. */
export const languageOf = (request: FastifyRequest): Lang =>
  chooseLanguage({
    asked: askedFor(request),
    remembered: request.cookies?.[LANGUAGE_COOKIE],
    accepted: request.headers['accept-language'],
  })

/** Remembers a choice made with `?lang=` for all later pages. */
export function rememberLanguage(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const asked = askedFor(request)
    if (asked === undefined || !isLang(asked) || request.cookies?.[LANGUAGE_COOKIE] === asked) return
    reply.setCookie(LANGUAGE_COOKIE, asked, { path: '/', maxAge: YEAR_SECONDS, sameSite: 'lax', httpOnly: true })
  })
}

/**
 * Links to the same page in the other languages; works without a script. @param query what the URL needs besides the
 * language
 */
export const languageSwitch = (lang: Lang, path: string, query: Readonly<Record<string, string>>): Html =>
  switchOf(lang, (other) => {
    const address = `${path}?${new URLSearchParams({ ...query, lang: other })}`
    return html`<a href="${address}" lang="${other}" hreflang="${other}">${TEXTS[other].name}</a>`
  })

/** The same where something is typed: buttons of that form, which take its fields along. */
export const languageButtons = (lang: Lang, path: string, form: string): Html =>
  switchOf(
    lang,
    (other) => html`<button form="${form}" formaction="${path}" formmethod="get" formnovalidate name="lang"
      value="${other}" lang="${other}">${TEXTS[other].name}</button>`,
  )

/**
 * The same where something is typed that no URL may hold: the form is posted, to an address for each language.
 * @param of `value`: what it says under `language`, so that it is not taken for sent
 */
export const languagePosts = (
  lang: Lang,
  addressIn: (other: Lang) => string,
  { form, value }: { form: string; value: string },
): Html =>
  switchOf(
    lang,
    (
      other,
    ) => html`<button form="${form}" formaction="${addressIn(other)}" formnovalidate name="language" value="${value}"
      lang="${other}">${TEXTS[other].name}</button>`,
  )

function switchOf(lang: Lang, otherIn: (other: Lang) => Html): Html {
  const one = (other: Lang): Html =>
    other === lang ? html`<b aria-current="true">${TEXTS[other].name}</b>` : otherIn(other)
  return html`<nav class="languages" aria-label="${TEXTS[lang].pay.language}">${LANGS.map(one)}</nav>`
}
