import type { StaticLink } from '../../companies/static-links/static-link-queries.ts'
import { type Html, html } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import type { Money } from '../../kernel/money.ts'
import { TEXTS } from '../../texts/languages.ts'
import { showFiat } from '../shared/format.ts'
import { languageButtons, languageSwitch } from '../shared/language.ts'
import { shell } from '../shared/notice.ts'
import { preview } from '../shared/preview.ts'
import { type Shop, shopImprint, shopLogo, shopStyle } from '../shared/shop.ts'
import type { LastPayment } from './last-payment.ts'

export type LinkPage = {
  language: Lang
  shop: Shop
  link: StaticLink
  /** Null: the payer enters it. */
  price: Money | null
  least: Money
  /** The link's own limit, and the lower one of that and the company's as far as rates are known; null: none. */
  ownMost: Money | null
  most: Money | null
  /** Not switched off, and it asks for no more than the shop takes now. */
  isOpen: boolean
  /** Path of this page, and path prefix of the pages. */
  path: string
  basePath: string
  payUrl: string
  last: LastPayment | null
  /** Makes the form idempotent: it creates one order, however often it is sent. */
  nonce: string
}

/** The payer's input, and what is wrong with it in the payer's language. */
export type TypedAmount = { given: string; fault: string | null }

function amountField(page: LinkPage, { given, fault }: TypedAmount, problem: string | null): Html {
  const { language, link, least, most } = page
  const { locale } = TEXTS[language]
  const texts = TEXTS[language].order.link
  const from = showFiat(least, locale)
  const limits = most === null ? texts.faults.low(from) : texts.between(from, showFiat(most, locale))
  const described = fault === null ? 'hint' : 'hint fault'
  return html`<label class="ask" for="amount">${texts.amountLabel(link.currency)}</label>
    <input class="field sum" id="amount" name="amount" value="${given}" inputmode="decimal" autocomplete="off" required
      maxlength="20" aria-describedby="${described}"${fault !== null && html` aria-invalid="true"`}${problem === null && html` autofocus`}>
    ${fault !== null && html`<p class="wrong" id="fault" role="alert">${fault}</p>`}
    <p class="hint" id="hint">${limits}</p>`
}

/** What the payer typed goes along into another language. */
const FORM = 'pay'

const footer = ({ language, shop, path, price, isOpen }: LinkPage): Html => {
  const languages =
    isOpen && price === null ? languageButtons(language, path, FORM) : languageSwitch(language, path, {})
  return html`<footer>${shopImprint(shop, TEXTS[language].order.receipt.terms)}${languages}</footer>`
}

/** Whoever comes back, or reloads, is led to what was begun before a second payment is offered. */
function lastPayment({ language, last, basePath }: LinkPage): Html | null {
  if (last === null) return null
  const { locale, order } = TEXTS[language]
  const { unfinished, resume, resumeHint, see } = order.link.last
  const amount = showFiat(last.amount, locale)
  const address = `${basePath}/pay?${new URLSearchParams({ code: last.code, lang: language })}`
  if (!last.goesOn) return html`<p class="hint" id="last"><a href="${address}">${see(amount)}</a></p>`
  return html`<div class="state busy" id="last"><span class="dot"></span><h2>${unfinished(amount)}</h2></div>
      <p class="hint">${resumeHint}</p><a class="button main" href="${address}">${resume}</a>`
}

/** @param problem why the last step created no order */
export function renderLink(page: LinkPage, typed: TypedAmount, problem: string | null): Html {
  const { language, shop, link, price, basePath, payUrl, path, nonce, last } = page
  const { pay, order, locale } = TEXTS[language]
  const shown = price && showFiat(price, locale)
  const title = shown === null ? order.link.payTo(shop.name) : order.link.preview(shop.name, shown)
  const start = shown === null ? order.link.goOn : order.link.payNow(shown)
  const body = html`<main>
      <h1>${shopLogo(shop, basePath)}${pay.payTo} <b>${shop.name}</b></h1>
      ${shown && html`<p class="price">${shown}</p>`}
      <p class="goods">${link.name}</p>
      ${problem !== null && html`<p class="note" id="problem" tabindex="-1" autofocus role="alert">${problem}</p>`}
      ${lastPayment(page)}
      <form id="${FORM}" method="post" action="${path}?lang=${language}"><input type="hidden" name="nonce" value="${nonce}">
        ${price === null && amountField(page, typed, problem)}
        ${last?.goesOn ? html`<button class="wide">${order.link.last.another}</button>` : html`<button class="main">${start}</button>`}</form>
      <p class="hint">${order.link.nothingYet}</p>
    </main>${footer(page)}`
  const head = html`${preview(shop, { payUrl, title, description: link.name })}${shopStyle(shop)}`
  return shell({ language, title: `${title} · ${link.name}`, head, body })
}

/** A link that was switched off, that asks for more than the shop takes now, or whose till was closed. */
export function renderClosedLink(page: LinkPage): Html {
  const { language, shop, basePath, payUrl } = page
  const { closedTitle, closed } = TEXTS[language].order.link
  const body = html`<main><h1>${shopLogo(shop, basePath)}<b>${shop.name}</b></h1>
      <div class="state quiet"><h2>${closedTitle}</h2></div><p class="soft">${closed(shop.name)}</p>
      ${lastPayment(page)}</main>${footer(page)}`
  const title = `${closedTitle} · ${shop.name}`
  return shell({ language, title, head: html`${preview(shop, { payUrl, title })}${shopStyle(shop)}`, body })
}
