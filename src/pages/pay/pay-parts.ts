import { type Html, html, raw, webLink } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { SituationTexts } from '../../texts/order-texts.ts'
import type { PayTexts } from '../../texts/page-texts.ts'
import { showSpan, showTime } from '../shared/format.ts'
import type { WalletNetwork } from '../wallet/wallet-panel.ts'
import { factsOf, providerName, showUsdc } from './pay-facts.ts'
import type { PayView } from './pay-service.ts'

/** What rendering needs besides the order. */
export type PageContext = {
  language: Lang
  texts: PayTexts
  /** For formatting numbers and dates. */
  locale: string
  /** Path prefix of the pages, without a trailing slash; empty at the root. */
  basePath: string
  payUrl: string
  /** URL of the sandbox's test wallet; null in live mode. */
  providersUrl: string | null
  /** Block explorer URL of a transaction; null: none is known for that chain. */
  explorerUrl(network: number, txHash: string): string | null
  /** Chains on which a wallet of this browser can pay. */
  walletNetworks: readonly WalletNetwork[]
  /** The channel that this browser paid with before. */
  lastUsed: string | null
  /** What the payer searched for without success; empty: the search was opened without a script; null: neither. */
  search: string | null
  /** Query parameters of the page besides the order and the language. */
  kept: Readonly<Record<string, string>>
  nowMs: number
}

const DAY_MS = 24 * 60 * 60 * 1000

/** A time in UTC, which the script rewrites in the payer's zone. */
export const moment = (date: Date, locale: string): Html =>
  html`<time datetime="${date.toISOString()}">${showTime(date, locale)}</time>`

/** Remaining time as a countdown that the script updates; for links that are valid for days, the date. */
export function clock(view: PayView, { texts, nowMs }: PageContext): Html | null {
  const leftMs = view.expiresAt.getTime() - nowMs
  if (leftMs > DAY_MS) return null
  const text = showSpan(leftMs)
  return html`<span class="clock" role="timer" aria-live="off" aria-label="${texts.timeLeft}"
    data-until="${view.expiresAt.getTime()}">${text}</span>`
}

/** How long price and order are valid. */
export function validity(view: PayView, { texts, locale, nowMs }: PageContext): Html {
  if (view.rateHeld && view.expiresAt.getTime() - nowMs <= DAY_MS) return html`${texts.rateHeld}`
  const until = (words: (date: string) => string, date: Date): Html => {
    const [before = '', after = ''] = words('\n').split('\n')
    return html`${before}${moment(date, locale)}${after}`
  }
  const promise = view.heldUntil ? until(texts.heldUntil, view.heldUntil) : html`${texts.rateChosen}`
  return html`${until(texts.validUntil, view.expiresAt)}${!view.rateHeld && html` · ${promise}`}`
}

const MARKS = {
  done: 'M7 12.5l3.2 3.2L17 9',
  time: 'M12 7v5l3 2',
  stop: 'M8.5 8.5l7 7m0-7l-7 7',
  back: 'M15.5 12h-7m3-3.5L8 12l3.5 3.5',
} as const

const icon = (drawing: Html): Html =>
  html`<svg class="mark" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.6"
    stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${drawing}</svg>`

export const mark = (name: keyof typeof MARKS): Html =>
  icon(html`<circle cx="12" cy="12" r="10.5"/><path d="${raw(MARKS[name])}"/>`)

/** In progress: a rotating quarter circle. */
export const ring = icon(
  html`<circle cx="12" cy="12" r="10.5" opacity=".2"/><path class="turn" d="M12 1.5A10.5 10.5 0 0 1 22.5 12"/>`,
)

/**
 * A form of this page: a POST with the order's code and proof that we rendered the page.
 * @param leaves it leads to another website, which refuses to be framed
 */
export function form(
  view: PayView,
  page: PageContext,
  action: 'accept' | 'cancel' | 'transaction' | 'ask-back',
  fields: Html,
  leaves = false,
): Html {
  return html`<form method="post" action="${page.basePath}/pay/${action}"${leaves && html` data-leaves="1"`}>
    <input type="hidden" name="code" value="${view.code}">
    <input type="hidden" name="token" value="${view.token}">${fields}
  </form>`
}

/* ---- sentences ---- */

export const situationTexts = ({ situation }: PayView, { language }: PageContext): SituationTexts =>
  TEXTS[language].order.situations[situation]

/** What happened and what it means, plus what to do, unless a button says that. */
export function words(view: PayView, page: PageContext, next = true): Html {
  const texts = situationTexts(view, page)
  const facts = factsOf(view, page)
  return html`<p class="soft">${texts.text(facts)}${next && html` <b>${texts.next(facts)}</b>`}</p>`
}

export const busy = (view: PayView, page: PageContext, sign: Html = html`<span class="dot"></span>`): Html =>
  html`<div class="state busy">${sign}<h2>${situationTexts(view, page).title}</h2>${view.open && clock(view, page)}</div>`

export const ended = (view: PayView, page: PageContext, name: Parameters<typeof mark>[0]): Html =>
  html`<div class="state quiet">${mark(name)}<h2>${situationTexts(view, page).title}</h2></div>`

/** Large and centred: the successful end. */
export const large = (view: PayView, page: PageContext, sign: Html, more: Html | null = null, next = true): Html =>
  html`<div class="state big">${sign}<h2>${situationTexts(view, page).title}</h2>${more}${words(view, page, next)}</div>`

export const backTo = (url: string | null, texts: PayTexts): Html | null => {
  const link = webLink(url)
  return link === null
    ? null
    : html`<a class="button main" href="${link}" rel="noopener noreferrer">${texts.backToShop}</a>`
}

/* ---- facts ---- */

export const fact = (name: string, value: string | Html | null): Html | null =>
  value === null ? null : html`<div><dt>${name}</dt><dd>${value}</dd></div>`

/** Breaks a hash or an address in the middle if it does not fit on one line; nothing is left out. */
export const halves = (text: string): Html =>
  html`${text.slice(0, Math.ceil(text.length / 2))}<wbr>${text.slice(Math.ceil(text.length / 2))}`

export const longFact = (name: string, value: string): Html =>
  html`<div class="long"><dt>${name}</dt><dd><span class="mono">${halves(value)}</span></dd></div>`

/** A transaction in full, linked if a block explorer is known. */
export function transactionFact(hash: string, network: number | null, page: PageContext): Html {
  const url = network === null ? null : page.explorerUrl(network, hash)
  const shown = html`<span class="mono">${halves(hash)}</span>`
  const linked = url === null ? shown : html`<a href="${url}" rel="noopener noreferrer">${shown}</a>`
  return html`<div class="long"><dt>${page.texts.transaction}</dt><dd>${linked}</dd></div>`
}

/** Money on its way that does not count towards the price. */
export const comingNote = ({ besideComing, shop }: PayView, page: PageContext): Html | null =>
  besideComing.units > 0n
    ? html`<p class="note">${page.texts.besideComing(showUsdc(besideComing, page), shop.name)}</p>`
    : null

/** While the order can be paid: money that does not count towards its price. */
export function besideNote(view: PayView, page: PageContext): Html | null {
  const { open, beside, uncredited, payment, shop } = view
  if (!open) return null
  const { texts } = page
  const { channel } = payment ?? {}
  return html`${beside.units > 0n && html`<p class="note">${texts.beside(showUsdc(beside, page), shop.name)}</p>`}
    ${comingNote(view, page)}
    ${channel && uncredited.units > 0n && html`<p class="note">${texts.uncredited(showUsdc(uncredited, page), providerName(texts, channel), shop.name)}</p>`}`
}

/** What arrived, and how to find it. For a paid order also the printable receipt. */
export function receipt(view: PayView, page: PageContext): Html {
  const { texts, locale, language } = page
  const { amount, network, transactions } = view.received
  return html`<dl class="facts">
    ${fact(texts.received, amount.units > 0n ? showUsdc(amount, page) : null)}
    ${fact(texts.network, network?.name ?? null)}
    ${fact(texts.goods, view.goodsName)}
    ${fact(texts.order, view.shortCode)}
    ${fact(texts.paidAt, view.paidAt && moment(view.paidAt, locale))}
    ${transactions.map(({ hash, network: chain }) => transactionFact(hash, chain, page))}
  </dl>
  ${view.receiptUrl && html`<a class="button wide" href="${view.receiptUrl}">${TEXTS[language].order.receipt.show}</a>`}`
}
