import { type Html, html, raw } from '../../kernel/html.ts'
import { LANGS, type Lang } from '../../kernel/lang.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { VerifyTexts } from '../../texts/order-texts.ts'
import { shell } from '../shared/notice.ts'
import { pagePolicy } from '../shared/page-policy.ts'
import { VERIFY_SCRIPT } from './verify-script.ts'

const STYLE =
  'textarea.field{min-height:7rem;resize:vertical;font-size:.8125rem}.good{border-color:var(--accent)}' +
  '.bad,.fault{border-color:var(--warn)}#result:empty{display:none}#result h3{margin-top:1rem;overflow-wrap:anywhere}' +
  '.file{position:relative}.file input{position:absolute;inset:0;opacity:0;cursor:pointer}' +
  '.file:focus-within{outline:3px solid var(--accent);outline-offset:2px}.bad h2,.fault h2{color:var(--warn)}' +
  '.languages [aria-current]{color:var(--text);font-weight:600;text-decoration:none}'

/** The keys may come from any service that signs receipts; nothing else leaves the page. */
const CONNECT = "connect-src 'self' https: http://localhost:* http://127.0.0.1:*"

export const VERIFY_POLICY = pagePolicy({
  ...{ styles: [STYLE], scripts: [VERIFY_SCRIPT], forms: "'self'", more: [CONNECT] },
})

/** A file opened from disk has no headers. A meta element can carry everything except frame-ancestors. */
const META_POLICY = VERIFY_POLICY.replace("; frame-ancestors 'none'", '')

function labelsOf(lang: Lang) {
  const { pay, order } = TEXTS[lang]
  const { vatNumber, number, reference, price, rate, paid, channel, sentBack, from } = order.receipt
  const { goods, network, paidAt, transaction } = pay
  return {
    siret: 'SIRET',
    vatNumber,
    number,
    reference,
    price,
    rate,
    paid,
    channel,
    sentBack,
    goods,
    network,
    paidAt,
    transaction,
    from: from('%'),
  }
}

/** All languages, because a saved page has no server. Included as data: none of it runs. */
function wordsOf(): Html {
  const words = LANGS.map((lang) => {
    const { locale, dir = 'ltr', order } = TEXTS[lang]
    return [lang, { locale, dir, texts: order.verify, labels: labelsOf(lang) }]
  })
  const json = JSON.stringify(Object.fromEntries(words)).replaceAll('<', '\\u003c')
  return html`<script type="application/json" id="words">${raw(json)}</script>`
}

const languages = (language: Lang): Html =>
  html`<nav class="languages" aria-label="${TEXTS[language].pay.language}">${LANGS.map(
    (lang) =>
      html`<a href="?lang=${lang}" lang="${lang}" hreflang="${lang}"${lang === language && html` aria-current="true"`}>${
        TEXTS[lang].name
      }</a>`,
  )}</nav>`

/** One file that verifies a signed receipt without a server: it also works from disk. */
export function renderVerify(language: Lang): Html {
  const texts = TEXTS[language].order.verify
  const say = (name: keyof VerifyTexts, tag: 'p' | 'h1' | 'span' = 'span', className = ''): Html =>
    html`${raw(`<${tag} class="${className}" data-t="${name}">`)}${texts[name]}${raw(`</${tag}>`)}`
  const field = (id: 'receipt' | 'keys', hint: 'receiptHint' | 'keysHint'): Html =>
    html`<label class="ask" for="${id}">${say(id)}</label>
      <textarea class="field mono" id="${id}" required spellcheck="false" autocomplete="off" aria-describedby="${id}-hint"></textarea>
      <p class="hint" id="${id}-hint">${say(hint)}</p>`
  const body = html`<main>${say('title', 'h1', 'title')}${say('lead', 'p', 'soft')}
      <p class="note" id="plain" data-t="unsupported">${texts.unsupported}</p>
      <form id="check" hidden>
        ${field('receipt', 'receiptHint')}
        <label class="button wide file">${say('file')}<input type="file" id="file" accept=".json,application/json"></label>
        ${field('keys', 'keysHint')}<button type="button" class="wide" id="fetch" hidden></button>
        <button class="main" data-t="check">${texts.check}</button></form>
      <section id="result" role="status"></section>
    </main>
    <footer><a id="save" href="?lang=${language}" download="verify-receipt.html" data-t="save">${texts.save}</a>
      ${languages(language)}</footer>
    ${wordsOf()}<script>${raw(VERIFY_SCRIPT)}</script>`
  const head = html`<meta http-equiv="Content-Security-Policy" content="${META_POLICY}"><style>${raw(STYLE)}</style>`
  return shell({ language, title: texts.title, head, body })
}
