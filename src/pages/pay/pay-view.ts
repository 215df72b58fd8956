import { createHash } from 'node:crypto'
import { type Html, html, raw, webLink } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { problemText } from '../../texts/languages.ts'
import type { PayState, PayTexts } from '../../texts/page-texts.ts'
import { showFiat, showRate, showToken } from '../shared/format.ts'
import { languageSwitch } from '../shared/language.ts'
import { PAY_STYLE } from '../shared/page-style.ts'
import { identityForm } from './identity-form.ts'
import {
  choices,
  clock,
  fact,
  form,
  instructions,
  mark,
  type PageContext,
  receipt,
  ring,
  testWallet,
  transactionForm,
  validity,
} from './pay-parts.ts'
import { PAY_SCRIPT } from './pay-script.ts'
import type { PaymentView, PayView } from './pay-service.ts'

type Part = (view: PayView, page: PageContext) => Html

const backTo = (url: string | null, texts: PayTexts): Html | null => {
  const link = webLink(url)
  return link === null
    ? null
    : html`<a class="button main" href="${link}" rel="noopener noreferrer">${texts.backToShop}</a>`
}

function headline(view: PayView, page: PageContext): Html {
  const { texts, locale } = page
  const other = `${showToken(view.due, locale)} USDC`
  const one = `1 ${view.fiat.asset}`
  const rate = texts.rate(one, `${showRate(view.rate, locale)} USDC`)
  return html`<h1>${texts.payTo} <b>${view.merchant}</b></h1>
    <p class="price">${showFiat(view.fiat, locale)}</p>
    ${view.goodsName && html`<p>${view.goodsName}</p>`}
    <p class="soft">${texts.approximately} ${other} · ${rate}</p>
    ${view.open && html`<p class="soft">${validity(view, page)}</p>`}`
}

const busy = (view: PayView, page: PageContext, icon: Html = html`<span class="dot"></span>`): Html =>
  html`<div class="state busy">${icon}<h2>${page.texts.states[view.state]}</h2>${view.open && clock(view, page)}</div>`

const ended = (view: PayView, page: PageContext, name: Parameters<typeof mark>[0]): Html =>
  html`<div class="state quiet">${mark(name)}<h2>${page.texts.states[view.state]}</h2></div>`

function cancelling(view: PayView, page: PageContext): Html {
  const { texts } = page
  const fields = html`<p>${texts.cancelWarning}</p><button>${texts.cancelNow}</button>`
  return html`<details id="cancel"><summary>${texts.cancel}</summary>${form(view, page, 'cancel', fields)}</details>`
}

function changing(view: PayView, page: PageContext): Html | null {
  const { payment } = view
  const others = view.choices.filter(
    ({ channel, network }) => channel !== payment?.channel || (network?.id ?? null) !== (payment.network?.id ?? null),
  )
  if (others.length === 0) return null
  return html`<details id="another"><summary>${page.texts.another}</summary>${choices(view, page, others)}</details>`
}

const help = (view: PayView, page: PageContext): Html =>
  html`<details id="help"><summary>${page.texts.help}</summary>
    <p class="soft">${page.texts.helpText(view.merchant, view.shortCode)}</p>${transactionForm(view, page)}</details>`

function choose(view: PayView, page: PageContext): Html {
  if (view.choices.length === 0) return html`<p class="note">${page.texts.noChannel}</p>`
  if (view.identity) return html`${identityForm(view, view.identity, page)}${cancelling(view, page)}`
  return html`${busy(view, page)}${choices(view, page)}${cancelling(view, page)}`
}

const preparing: Part = (view, page) =>
  html`${busy(view, page)}<p class="soft">${page.texts.preparing}</p>${changing(view, page)}${cancelling(view, page)}`

const waiting: Part = (view, page) =>
  html`${busy(view, page)}${view.payment && instructions(view.payment, page)}${testWallet(view, page)}
    ${view.payment?.instructions?.toAddress && help(view, page)}${changing(view, page)}${cancelling(view, page)}`

const partSums = (payment: PaymentView, { texts, locale }: PageContext): Html =>
  html`<dl class="facts">
    ${fact(texts.arrived, `${showToken(payment.arrived, locale)} USDC`)}
    ${fact(texts.missing, `${showToken(payment.missing, locale)} USDC`)}
  </dl>`

function partly(view: PayView, page: PageContext): Html {
  const { payment } = view
  if (!payment) return busy(view, page)
  if (payment.missing.units === 0n) return html`${busy(view, page)}<p class="soft">${page.texts.confirming}</p>`
  const request = page.texts.partly(showToken(payment.missing, page.locale))
  const sums = payment.arrived.units > 0n && partSums(payment, page)
  return html`${busy(view, page)}${sums}<p class="note">${request}</p>
    ${instructions(payment, page)}${testWallet(view, page)}
    ${help(view, page)}`
}

function confirmations(payment: PaymentView | null, texts: PayTexts): Html | null {
  const { progress } = payment ?? {}
  if (!progress) return null
  const { confirmations: done, needed } = progress
  if (needed === null) return html`<p class="hint">${texts.confirmationsOpen(done)}</p>`
  const shown = Math.min(done, needed)
  const words = texts.confirmations(shown, needed)
  return html`<progress max="${needed}" value="${shown}" aria-label="${words}"></progress><p class="hint">${words}</p>`
}

const seen: Part = (view, page) =>
  html`<div class="state big">${ring}<h2>${page.texts.states.seen}</h2>
    ${confirmations(view.payment, page.texts)}<p class="soft">${page.texts.seen}</p></div>
    ${receipt(view, page)}`

const paid: Part = (view, page) =>
  html`<div class="state big">${mark('done')}<h2>${page.texts.states.paid}</h2>
    <p class="soft">${page.texts.paid(view.merchant)}</p></div>
    ${receipt(view, page)}${backTo(view.returnUrl, page.texts)}`

function expired(view: PayView, page: PageContext): Html {
  const { texts } = page
  const shop = webLink(view.shopUrl)
  const { payment } = view
  const arrived = payment && payment.arrived.units > 0n ? showToken(payment.arrived, page.locale) : null
  return html`${ended(view, page, 'time')}
    <section class="box"><h3>${texts.notPaid}</h3><p>${shop ? texts.notPaidOnline : texts.notPaidHere}</p>
      ${shop && html`<a class="button" href="${shop}" rel="noopener noreferrer">${texts.backToShop}</a>`}</section>
    <section class="box"><h3>${texts.havePaid}</h3>
      ${arrived && html`<p><b>${texts.havePaidSeen(arrived)}</b></p>`}
      <p>${texts.havePaidHelp(view.merchant, view.shortCode)}</p>${transactionForm(view, page)}</section>`
}

const PARTS: Record<PayState, Part> = {
  choose,
  preparing,
  waiting,
  partly,
  seen,
  paid,
  expired,
  cancelled: (view, page) =>
    html`${ended(view, page, 'stop')}<p class="soft">${page.texts.cancelled}</p>${backTo(view.shopUrl, page.texts)}`,
  error: (view, page) =>
    html`${ended(view, page, 'stop')}<p class="soft">${page.texts.error(view.merchant, view.shortCode)}</p>
      ${backTo(view.shopUrl, page.texts)}`,
  refunding: (view, page) =>
    html`${busy(view, page)}<p class="soft">${page.texts.refunding(view.merchant)}</p>${receipt(view, page)}`,
  refunded: (view, page) =>
    html`${ended(view, page, 'back')}
      <p class="soft">${page.texts.refunded(showToken(view.refunded, page.locale))}</p>${receipt(view, page)}`,
  review: (view, page) =>
    html`${ended(view, page, 'time')}<p class="soft">${page.texts.review(view.merchant, view.shortCode)}</p>`,
}

/** The part of the page that changes while it is open: the same for all viewers in one language. */
export function renderFragment(view: PayView, page: PageContext): Html {
  const say = page.texts.states[view.state]
  const final = view.final && html` data-final="1"`
  return html`<div data-state="${view.state}" data-say="${say}" data-title="${say} · ${view.merchant}"${final}>
    ${headline(view, page)}${PARTS[view.state](view, page)}</div>`
}

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Only our own style and script run, nothing is loaded, forms go to us (in the sandbox also to its test wallet). */
export function contentSecurityPolicy(providersUrl: string | null): string {
  const forms = providersUrl === null ? "'self'" : `'self' ${new URL(providersUrl).origin}`
  return [
    "default-src 'none'",
    `style-src ${hashOf(PAY_STYLE)}`,
    `script-src ${hashOf(PAY_SCRIPT)}`,
    "connect-src 'self'",
    'img-src data:',
    `form-action ${forms}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const ICON =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 24 24%22%3E' +
  '%3Ccircle cx=%2212%22 cy=%2212%22 r=%2210%22 fill=%22%230a6652%22/%3E%3C/svg%3E'

type Shell = { language: Lang; title: string; head?: Html | false; body: Html }

const shell = ({ language, title, head, body }: Shell): Html =>
  html`<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${title}</title>
    <meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
    <link rel="icon" href="${raw(ICON)}"><style>${raw(PAY_STYLE)}</style>${head}</head><body>${body}</body></html>`

const REFRESH = html`<noscript><meta http-equiv="refresh" content="10"></noscript>`

/** The whole page. @param problem code of an error that the payer's last step ended with */
export function renderPage(view: PayView, page: PageContext, language: Lang, problem: string | null): Html {
  const { texts } = page
  const events = `${page.basePath}/pay/events?code=${view.code}&lang=${language}`
  const auto =
    view.state === 'choose' && view.choices.length === 1 && !view.identity && problem === null && html` data-auto="1"`
  const body = html`<main>
      ${problem !== null && html`<p class="note" id="problem" role="alert">${problemText(texts, problem)}</p>`}
      <div id="live" data-id="${view.id}" data-now="${page.nowMs}" data-events="${events}"${auto}>
        ${renderFragment(view, page)}</div>
      <p class="note" id="lost" role="alert" hidden>${texts.lost}</p><p class="say" id="say" role="status"></p>
    </main>
    <footer>${texts.order} ${view.shortCode}${page.providersUrl !== null && html` · ${texts.sandbox}`}
      ${languageSwitch(language, `${page.basePath}/pay`, { code: view.code })}</footer>
    <script>${raw(PAY_SCRIPT)}</script>`
  const title = `${texts.states[view.state]} · ${view.merchant}`
  return shell({ language, title, head: !view.final && !view.identity && REFRESH, body })
}

/** A page without an order: what happened and what to do. */
export function renderNotice(language: Lang, title: string, text: string): Html {
  const body = html`<main>
    <div class="state big quiet">${mark('stop')}<h1>${title}</h1><p class="soft">${text}</p></div>
  </main>`
  return shell({ language, title, body })
}
