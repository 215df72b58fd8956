import { type Html, html, raw } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { TillTexts } from '../../texts/till-texts.ts'
import { languageSwitch } from '../shared/language.ts'

export const TILL_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Data for the script: none of it runs. */
function wordsOf(texts: TillTexts): Html {
  const { pinOf, waitsOf, wrongPin, doubtful, partly, least, most } = texts
  const patterns = {
    ...{ pinOf: pinOf('%'), wrongPin: wrongPin('%'), doubtful: doubtful('%'), partly: partly('%') },
    ...{ least: least('%'), most: most('%'), waitsOf: waitsOf('%') },
  }
  const json = JSON.stringify({ ...texts, ...patterns }).replaceAll('<', '\\u003c')
  return html`<script type="application/json" id="words">${raw(json)}</script>`
}

function shell(lang: Lang, version: string, page: { script: string; body: Html; className?: string }): Html {
  const texts = TEXTS[lang].till
  return html`<!doctype html><html lang="${lang}"${TEXTS[lang].dir && html` dir="${TEXTS[lang].dir}"`}><head><meta charset="utf-8"><title>${texts.title}</title>
    <meta name="viewport" content="width=device-width,initial-scale=1,viewport-fit=cover">
    <meta name="robots" content="noindex"><meta name="theme-color" content="#0a6652">
    <link rel="icon" href="/till/icon.svg" type="image/svg+xml"><link rel="manifest" href="/till/manifest.webmanifest">
    <script src="/till/again.js"></script><link rel="stylesheet" href="/till/${version}/till.css"></head>
    <body class="${page.className ?? ''}">
    <p id="lost" role="alert" hidden>${texts.offline}</p>${page.body}${wordsOf(texts)}
    <script type="module" src="/till/${version}/${page.script}"></script></body></html>`
}

const key = (value: string, label?: string): Html =>
  html`<button type="button" data-key="${value}"${label !== undefined && html` aria-label="${label}"`}>
    ${value === 'back' ? '⌫' : value}</button>`

function keypad(id: string, texts: TillTexts, corner: Html): Html {
  const digits = ['1', '2', '3', '4', '5', '6', '7', '8', '9'].map((digit) => key(digit))
  return html`<div class="keypad" id="${id}">${digits}${corner}${key('0')}${key('back', texts.clear)}</div>`
}

const enrolment = (texts: TillTexts): Html => html`<section id="enrol" hidden>
  <h1>${texts.enrolTitle}</h1><p class="soft">${texts.enrolText}</p>
  <form id="enrol-form"><label for="code">${texts.enrolCode}
    <input class="field" id="code" required maxlength="20" autocomplete="off" autocapitalize="characters"
      spellcheck="false" placeholder="XXXX-XXXX" data-first></label>
    <button class="main">${texts.enrolButton}</button></form></section>`

const signingIn = (texts: TillTexts): Html => html`<section id="people" hidden><h1>${texts.who}</h1>
    <p class="soft" id="no-people" hidden>${texts.noPeople}</p><div id="names"></div></section>
  <section id="pin" hidden><h1 id="pin-title"></h1><p id="dots" role="img" aria-label="0 / 6"></p>
    ${keypad('pin-keys', texts, html`<button type="button" id="pin-back">${texts.back}</button>`)}</section>`

const selling = (texts: TillTexts): Html => html`<section id="sale" hidden><ul id="notes"></ul>
    <div class="sum"><label>
      <select id="currency" aria-label="${texts.currency}"></select></label>
      <output id="amount" aria-label="${texts.amount}"></output></div>
    <label for="reference">${texts.reference}
      <input class="field" id="reference" maxlength="100" autocomplete="off" placeholder="${texts.referenceHint}"></label>
    ${keypad('keys', texts, key('00'))}
    <button type="button" class="main" id="charge" disabled>${texts.charge}</button></section>
  <section id="pay" hidden><p id="pay-amount"></p><img class="qr" id="qr" alt="${texts.scan}" hidden>
    <p class="soft" id="scan" hidden>${texts.scan}</p><p id="state" role="status"></p>
    <p class="soft" id="named" hidden>${texts.code}: <b id="short"></b></p>
    <div class="actions"><button type="button" id="stop">${texts.cancelSale}</button>
      <a class="button" id="receipt" target="_blank" rel="noopener" hidden>${texts.receipt}</a>
      <button type="button" class="main" id="again">${texts.newSale}</button></div></section>`

const lookingBack = (texts: TillTexts): Html => html`<section id="orders" hidden><h2>${texts.orders}</h2>
    <p class="soft" id="no-orders" hidden>${texts.noOrders}</p><ul id="order-list"></ul></section>
  <section id="shift" hidden><h2>${texts.shift}</h2><dl id="facts"></dl>
    <div class="actions"><a class="button" href="/till/display" target="_blank">${texts.display}</a>
      <button type="button" class="main" id="sign-out">${texts.signOut}</button></div></section>`

/**
 * The same for everyone: the script asks which till it is and who is signed in.
 * @param version of the scripts and styles that belong to this page
 */
export function renderTill(lang: Lang, version: string): Html {
  const texts = TEXTS[lang].till
  const body = html`<header id="bar" hidden><div><h1 id="place"></h1><p id="who"></p></div>
      <button type="button" id="to-sale">${texts.newSale}</button>
      <button type="button" id="to-orders">${texts.orders}</button>
      <button type="button" id="to-shift">${texts.shift}</button></header>
    <main>${enrolment(texts)}${signingIn(texts)}${selling(texts)}${lookingBack(texts)}</main>
    <p id="say" role="status" hidden></p>${languageSwitch(lang, '/till', {})}`
  return shell(lang, version, { script: 'app.js', body })
}

export function renderDisplay(lang: Lang, version: string): Html {
  const texts = TEXTS[lang].till
  const body = html`<main><h1 id="welcome">${texts.welcome}</h1>
    <section id="order" hidden><p id="pay-amount"></p><img class="qr" id="qr" alt="${texts.scan}" hidden>
      <p id="scan" hidden>${texts.scan}</p><p id="state" role="status"></p></section></main>`
  return shell(lang, version, { script: 'display.js', body, className: 'customer' })
}

export const TILL_ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512"><rect width="512" height="512" rx="112" fill="#0a6652"/>' +
  '<path fill="none" stroke="#fff" stroke-width="32" stroke-linejoin="round" d="M128 224h256l32 160H96zM176 224v-80h160v80"/>' +
  '<path fill="#fff" d="M160 272h48v32h-48zm72 0h48v32h-48zm72 0h48v32h-48z"/></svg>'
