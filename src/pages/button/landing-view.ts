import { type Html, html, raw } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { TEXTS } from '../../texts/languages.ts'
import { mark } from '../pay/pay-parts.ts'
import { hashOf } from '../shared/framing.ts'
import { languageSwitch } from '../shared/language.ts'
import { shell } from '../shared/notice.ts'
import { PAY_STYLE } from '../shared/page-style.ts'

/**
 * A POST creates the order, so that clients that only follow links (previews, search engines) create none. “Back” leads
 * here from the pay page, and must not create another order: it leads to the first one again.
 */
const SUBMIT = `(() => {
if (performance.getEntriesByType('navigation')[0]?.type !== 'back_forward') return document.getElementById('go').submit()
try {
const next = sessionStorage.getItem(location.href)
if (next) location.replace(next)
} catch {}
})()`

export const ANYONE = '*'

/** Tells the framing website which order it is, and continues to the pay page. */
const HAND_OVER = `(() => {
const { messages, origin, next, framed } = document.currentScript.dataset
const shop = parent !== window ? parent : opener
if (shop) for (const message of JSON.parse(messages)) shop.postMessage(message, origin)
const pay = parent !== window ? framed : next
try {
sessionStorage.setItem(location.href, pay)
} catch {}
location.replace(pay)
})()`

/** @param origin the website that may frame the page; null: none, ANYONE: all, for pages without actions */
export const landingPolicy = (origin: string | null): string =>
  [
    "default-src 'none'",
    `style-src ${hashOf(PAY_STYLE)}`,
    `script-src ${hashOf(SUBMIT)} ${hashOf(HAND_OVER)}`,
    'img-src data:',
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${origin ?? "'none'"}`,
  ].join('; ')

const page = (language: Lang, title: string, body: Html): Html =>
  shell({ language, title, body: html`<main>${body}</main>` })

/** @param action this page's own URL, with all parameters from the button */
export function renderLanding(lang: Lang, action: string): Html {
  const texts = TEXTS[lang].button
  return page(
    lang,
    texts.opening,
    html`<div class="state busy"><span class="dot"></span><h1>${texts.opening}</h1></div>
      <form method="post" id="go" action="${action}"><button class="main">${texts.goOn}</button></form>
      <script>${raw(SUBMIT)}</script>`,
  )
}

export type HandOver = {
  /** Each is a plain object; a page of an older client reads one key of each. */
  messages: readonly Record<string, string>[]
  /** The origin that may read the messages. */
  origin: string
  /** The pay page, and the same page for a frame. */
  next: string
  framed: string
}

export function renderHandOver(lang: Lang, { messages, origin, next, framed }: HandOver): Html {
  const texts = TEXTS[lang].button
  const script = html`<script data-messages="${JSON.stringify(messages)}" data-origin="${origin}" data-next="${next}"
    data-framed="${framed}">${raw(HAND_OVER)}</script>`
  return page(
    lang,
    texts.opening,
    html`<div class="state busy"><span class="dot"></span><h1>${texts.opening}</h1></div>
      <a class="button main" href="${next}">${texts.goOn}</a>${script}`,
  )
}

/**
 * Shown in another website's frame, where what may be paid could be painted over (clickjacking): it only links to the
 * page itself.
 */
export function renderElsewhere(lang: Lang, place: { website: string; here: string; address: string }): Html {
  const texts = TEXTS[lang].button
  return page(
    lang,
    texts.elsewhereTitle,
    html`<div class="state big quiet"><h1>${texts.elsewhereTitle}</h1><p class="soft">${texts.elsewhere}</p></div>
      <a class="button main" href="${place.address}" target="_blank" rel="noopener">${texts.goOn}</a>
      <p class="hint mono">${texts.elsewhereHint(place.website, place.here)}</p>`,
  )
}

export type Refusal = {
  title: string
  text: string
  hint?: string
  /** Where to try again; null: that would not help. */
  again: string | null
}

/** @param address this page's path, and the parameters from the button */
export function renderRefusal(lang: Lang, refusal: Refusal, address: { path: string; query: Record<string, string> }) {
  const { title, text, hint, again } = refusal
  const body = html`<main><div class="state big quiet">${mark('stop')}<h1>${title}</h1><p class="soft">${text}</p>
      ${hint && html`<p class="hint mono">${hint}</p>`}</div>
      ${again && html`<form method="post" action="${again}"><button class="main">${TEXTS[lang].button.tryAgain}</button></form>`}
    </main><footer>${languageSwitch(lang, address.path, address.query)}</footer>`
  return shell({ language: lang, title, body })
}
