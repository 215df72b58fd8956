import { MINUTE } from '../../kernel/clock.ts'
import { type Html, html, raw, webLink } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { isOpen, type OrderStatus } from '../../orders/order-states.ts'
import { problemText, TEXTS } from '../../texts/languages.ts'
import type { Situation } from '../../texts/order-texts.ts'
import type { PayTexts } from '../../texts/page-texts.ts'
import { showFiat, showRate } from '../shared/format.ts'
import { hashOf } from '../shared/framing.ts'
import { languagePosts, languageSwitch } from '../shared/language.ts'
import { shell } from '../shared/notice.ts'
import { PAY_STYLE } from '../shared/page-style.ts'
import { preview } from '../shared/preview.ts'
import { brandStyle, type Shop, shopImprint, shopLogo, shopStyle } from '../shared/shop.ts'
import { WALLET_SCRIPT_PATH } from '../wallet/wallet-panel.ts'
import { IDENTITY_FORM, identityForm, identityQuestions, isAnswering, postedAs } from './identity-form.ts'
import { factsOf, showUsdc } from './pay-facts.ts'
import { askBack, contact, helpBox, searchForm } from './pay-help.ts'
import { instructions, sentBefore, testWallet } from './pay-instructions.ts'
import type { PaymentView } from './pay-money.ts'
import {
  backTo,
  besideNote,
  busy,
  comingNote,
  ended,
  fact,
  form,
  large,
  mark,
  type PageContext,
  receipt,
  ring,
  situationTexts,
  validity,
  words,
} from './pay-parts.ts'
import { isAsked, isOpenRefund, refunded, refunding, refundList, refundsOf } from './pay-refunds.ts'
import { PAY_SCRIPT } from './pay-script.ts'
import type { PayView } from './pay-service.ts'
import { isOf, requoteWays, ways } from './pay-ways.ts'

type Part = (view: PayView, page: PageContext) => Html

function headline(view: PayView, page: PageContext): Html {
  const { texts, locale } = page
  const other = showUsdc(view.due, page)
  const one = `1 ${view.fiat.asset}`
  const rate = texts.rate(one, `${showRate(view.rate, locale)} USDC`)
  return html`<h1>${shopLogo(view.shop, page.basePath)}${texts.payTo} <b>${view.shop.name}</b></h1>
    <p class="price">${showFiat(view.fiat, locale)}</p>
    ${view.goodsName && html`<p class="goods">${view.goodsName}</p>`}
    <p class="soft">${texts.approximately} ${other} · ${rate}</p>
    ${view.open && view.situation !== 'unavailable' && html`<p class="soft">${validity(view, page)}</p>`}`
}

function cancelling(view: PayView, page: PageContext): Html | null {
  const { texts } = page
  if (view.hasMoney) return null
  const fields = html`<p>${texts.cancelWarning}</p><button>${texts.cancelNow}</button>`
  return html`<details id="cancel"><summary>${texts.cancel}</summary>${form(view, page, 'cancel', fields)}</details>`
}

/** A page without script reloads by itself, unless its payer is typing. */
const isQuiet = (view: PayView): boolean =>
  view.identity !== null && (view.situation === 'choose' || view.requote || isAnswering(view))

function changing(view: PayView, page: PageContext): Html | null {
  const others = view.choices.filter((choice) => !isOf(choice, view.payment))
  if (others.length === 0) return null
  const { identity } = view
  return html`<details id="another"${isAnswering(view) && html` open`}><summary>${page.texts.another}</summary>
    ${identity ? identityQuestions(view, identity, page) : ways(view, page, others)}</details>`
}

const choose: Part = (view, page) =>
  view.identity
    ? html`${identityForm(view, view.identity, page)}${cancelling(view, page)}`
    : html`${busy(view, page)}${words(view, page, false)}${ways(view, page)}${cancelling(view, page)}`

const preparing: Part = (view, page) =>
  html`${busy(view, page)}${words(view, page, false)}${changing(view, page)}${cancelling(view, page)}`

/** Address or app, and everything that an unsure payer needs. */
const paying = (view: PayView, page: PageContext): Html =>
  html`${view.payment && instructions(view, view.payment, page)}${testWallet(view, page)}${helpBox(view, page)}`

const waiting: Part = (view, page) =>
  html`${busy(view, page)}${paying(view, page)}${changing(view, page)}${cancelling(view, page)}`

/** Money came, so there is neither another way to pay nor a cancel. */
const noted: Part = (view, page) =>
  html`${busy(view, page)}<div class="note">${words(view, page)}</div>${askBack(view, page)}${paying(view, page)}`

const partSums = ({ arrived, coming, missing }: PaymentView, page: PageContext): Html =>
  html`<dl class="facts">
    ${fact(page.texts.arrived, showUsdc(arrived, page))}
    ${fact(page.texts.coming, coming.units > 0n ? showUsdc(coming, page) : null)}
    ${fact(page.texts.missing, showUsdc(missing, page))}
  </dl>`

const partly: Part = (view, page) =>
  html`${busy(view, page)}${view.payment && partSums(view.payment, page)}
    <p class="note">${situationTexts(view, page).next(factsOf(view, page))}</p>
    ${paying(view, page)}<p class="hint">${page.texts.takeBack(view.shop.name, view.shortCode)}</p>${contact(view, page)}${askBack(view, page)}`

/** Situations of an order that is being paid, besides those in which its payer may still act. */
const UNDER_WAY: readonly Situation[] = ['seen', 'hold', 'accountGone']

/** Next to an order that is being paid: money of it that goes back. */
function partRefunds(view: PayView, page: PageContext): Html | null {
  if (!(view.open || UNDER_WAY.includes(view.situation))) return null
  return refundsOf(view, page, isOpenRefund)
}

function confirmations(payment: PaymentView | null, texts: PayTexts): Html | null {
  const { progress } = payment ?? {}
  if (!progress) return null
  const { confirmations: done, needed } = progress
  if (needed === null) return html`<p class="hint">${texts.confirmationsOpen(done)}</p>`
  const shown = Math.min(done, needed)
  const label = texts.confirmations(shown, needed)
  return html`<progress max="${needed}" value="${shown}" aria-label="${label}"></progress><p class="hint">${label}</p>`
}

const seen: Part = (view, page) =>
  html`${large(view, page, ring, confirmations(view.payment, page.texts))}${receipt(view, page)}`

const RETURN_SECONDS = '8'
/** Whoever opens the page later wants to read it. */
const RETURN_FOR_MS = 15 * MINUTE

/**
 * The script leads back to the shop after a visible countdown, unless the payer uses this page.
 */
function returning(view: PayView, { texts, nowMs }: PageContext): Html | null {
  const { situation, returnUrl, paidAt, refunds, askBack: asks, besideComing } = view
  const to = webLink(returnUrl)
  const isFresh = paidAt !== null && nowMs - paidAt.getTime() < RETURN_FOR_MS
  const hasMore = asks !== null || besideComing.units > 0n || refunds.some(isOpenRefund)
  if (to === null || !isFresh || situation !== 'paid' || hasMore) return null
  const [before = '', after = ''] = texts.returnIn('\n').split('\n')
  return html`<div class="return" id="return" hidden data-to="${to}" data-seconds="${RETURN_SECONDS}" data-say="${texts.returnSay(RETURN_SECONDS)}">
    <p class="hint" role="timer" aria-live="off">${before}<span id="seconds">${RETURN_SECONDS}</span>${after}</p>
    <button type="button">${texts.stay}</button></div>`
}

const paid: Part = (view, page) =>
  html`${large(view, page, mark('done'), null, view.situation === 'overpaid')}${returning(view, page)}${comingNote(view, page)}${receipt(view, page)}
    ${refundsOf(view, page, isAsked)}${view.situation === 'overpaid' && contact(view, page)}${askBack(view, page)}${backTo(view.returnUrl, page.texts)}`

/** Options of a payer who has not paid: pay at a fresh rate, or start again in the shop. */
function notPaid(view: PayView, page: PageContext): Html {
  const { texts } = page
  const shop = webLink(view.shopUrl)
  const back = shop && html`<a class="button" href="${shop}" rel="noopener noreferrer">${texts.backToShop}</a>`
  if (!view.requote) return html`<p>${shop ? texts.notPaidOnline : texts.notPaidHere}</p>${back}`
  return html`${view.identity ? identityForm(view, view.identity, page) : requoteWays(view, page)}${back}`
}

const unpaid: Part = (view, page) =>
  html`<section class="box"><h3>${page.texts.notPaid}</h3>${notPaid(view, page)}</section>`

/** For a payer whose money is under way: an exchange may take minutes to send it. */
const alreadyPaid = (view: PayView, page: PageContext): Html =>
  html`<section class="box"><h3>${page.texts.havePaid}</h3>
    <p>${page.texts.havePaidHelp(view.shop.name, view.shortCode)}</p>${searchForm(view, page)}${contact(view, page)}</section>`

const expired: Part = (view, page) =>
  html`${ended(view, page, 'time')}${words(view, page, false)}
    ${view.chainBehind ? html`<p>${page.texts.stillLooking}</p>` : unpaid(view, page)}${alreadyPaid(view, page)}`

const cancelled: Part = (view, page) =>
  view.shown !== null
    ? html`${ended(view, page, 'stop')}${words(view, page, false)}${unpaid(view, page)}${alreadyPaid(view, page)}`
    : html`${ended(view, page, 'stop')}${words(view, page)}${backTo(view.shopUrl, page.texts)}`

const failed: Part = (view, page) => {
  const again = view.requote
    ? html`<section class="box"><h3>${situationTexts(view, page).next(factsOf(view, page))}</h3>${notPaid(view, page)}</section>`
    : backTo(view.shopUrl, page.texts)
  return html`${ended(view, page, 'stop')}${words(view, page, false)}${again}${helpBox(view, page)}`
}

const stopped: Part = (view, page) =>
  html`${ended(view, page, 'time')}${words(view, page)}${contact(view, page)}${askBack(view, page)}`

const PARTS: Record<Situation, Part> = {
  choose,
  unavailable: stopped,
  preparing,
  providerDown: preparing,
  waiting,
  partly,
  onItsWay: noted,
  accountGone: stopped,
  wrongToken: noted,
  seen,
  hold: seen,
  paid,
  overpaid: paid,
  expired,
  late: (view, page) =>
    html`${stopped(view, page)}${receipt(view, page)}${refundList(view, page)}${searchForm(view, page)}`,
  onItsWayEnded: stopped,
  wrongTokenEnded: (view, page) =>
    html`${stopped(view, page)}${view.requote ? unpaid(view, page) : backTo(view.shopUrl, page.texts)}${searchForm(view, page)}`,
  sentBack: (view, page) =>
    html`${ended(view, page, 'back')}${words(view, page)}${refundList(view, page)}${contact(view, page)}${backTo(view.shopUrl, page.texts)}`,
  cancelled,
  error: failed,
  refundApproval: refunding,
  refundAddress: refunding,
  refundCheck: refunding,
  refundMailed: refunding,
  refundByHand: refunding,
  refunding,
  refundedPart: refunded,
  refunded,
  review: stopped,
}

/** Words for the page around a frame (docs/buy-button.md): fewer, and stable. */
const SDK_STATES: Record<Situation, string> = {
  choose: 'choose',
  unavailable: 'choose',
  preparing: 'preparing',
  providerDown: 'preparing',
  waiting: 'waiting',
  partly: 'partly',
  onItsWay: 'partly',
  accountGone: 'partly',
  wrongToken: 'waiting',
  seen: 'seen',
  hold: 'seen',
  paid: 'paid',
  overpaid: 'paid',
  expired: 'expired',
  late: 'expired',
  onItsWayEnded: 'expired',
  wrongTokenEnded: 'expired',
  sentBack: 'expired',
  cancelled: 'cancelled',
  error: 'error',
  refundApproval: 'refunding',
  refundAddress: 'refunding',
  refundCheck: 'refunding',
  refundMailed: 'refunding',
  refundByHand: 'refunding',
  refunding: 'refunding',
  refundedPart: 'refunded',
  refunded: 'refunded',
  review: 'review',
}

/** An order that ended unpaid keeps the word of its end, also while money that came goes back. */
const ENDS: Partial<Record<OrderStatus, string>> = { CANCELLED: 'cancelled', ERROR: 'error', KYT_FAILED: 'review' }

export function sdkStateOf({ situation, status, paidAt, expiresAt }: PayView, nowMs: number): string {
  const state = SDK_STATES[situation]
  const isUnpaidEnd = state === 'expired' || (state === 'refunding' && paidAt === null)
  if (!isUnpaidEnd) return state
  // while no channel is offered, money of an earlier attempt is all there is to say; the order may still be paid
  const isPayable = isOpen(status) && expiresAt.getTime() > nowMs
  return ENDS[status] ?? (isPayable ? SDK_STATES.unavailable : 'expired')
}

/** For a till that follows the page: that an open order has money, and what is missing where a part is credited. */
function moneyFacts(view: PayView, page: PageContext): Html | null {
  if (!(isOpen(view.status) && view.hasMoney)) return null
  const missing = view.situation === 'partly' && view.payment ? showUsdc(view.payment.missing, page) : null
  return html` data-money="1"${missing !== null && html` data-missing="${missing}"`}`
}

/** The part of the page that changes while it is open: the same for all viewers in one language. */
export function renderFragment(view: PayView, page: PageContext): Html {
  const say = situationTexts(view, page).title
  const final = view.final && html` data-final="1"`
  const state = sdkStateOf(view, page.nowMs)
  return html`<div data-state="${state}" data-say="${say}" data-title="${say} · ${view.shop.name}"${final}${moneyFacts(view, page)}>
    ${headline(view, page)}${besideNote(view, page)}${sentBefore(view, page)}${PARTS[view.situation](view, page)}${partRefunds(view, page)}</div>`
}

/**
 * Only our own style and scripts run, nothing else is loaded, and forms go to us (in the sandbox also to its test
 * wallet). A buy button opens the page at `baseUrl`, and the page loads its script from the host that it is at.
 */
export function contentSecurityPolicy(
  { providersUrl, payUrl, baseUrl }: Pick<PageContext, 'providersUrl' | 'payUrl'> & { baseUrl: string },
  shop: Shop | null,
): string {
  const { origin, pathname } = new URL(`${payUrl}${WALLET_SCRIPT_PATH}`)
  const scripts = [...new Set([origin, new URL(baseUrl).origin])].map((host) => `${host}${pathname}`)
  const brand = shop === null ? '' : brandStyle(shop)
  const forms = providersUrl === null ? "'self'" : `'self' ${new URL(providersUrl).origin}`
  return [
    "default-src 'none'",
    `style-src ${hashOf(PAY_STYLE)}${brand && ` ${hashOf(brand)}`}`,
    `script-src ${hashOf(PAY_SCRIPT)} ${scripts.join(' ')}`,
    "connect-src 'self'",
    "img-src 'self' data:",
    `form-action ${forms}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const REFRESH = html`<noscript><meta http-equiv="refresh" content="10"></noscript>`

/** For the preview of an open order the shop and the amount; of an ended one how it ended. */
function previewOf(view: PayView, page: PageContext): Html {
  const { link, situations } = TEXTS[page.language].order
  const { shop, open, goodsName } = view
  const title = open
    ? link.preview(shop.name, showFiat(view.fiat, page.locale))
    : `${situations[view.situation].title} · ${shop.name}`
  return preview(shop, { payUrl: page.payUrl, title, description: open ? (goodsName ?? link.previewText) : null })
}

/** A provider that did not answer the payer's step is polled, so there is nothing to try again. */
const isAskedOn = ({ situation, hasMoney }: PayView, problem: string | null): boolean =>
  problem === 'CHANNEL_UNAVAILABLE' && !hasMoney && (situation === 'preparing' || situation === 'providerDown')

/** Situations with ways to pay, or with another step before the payment. */
const CHOOSES: readonly Situation[] = [
  'choose',
  'unavailable',
  'preparing',
  'providerDown',
  'waiting',
  'expired',
  'wrongTokenEnded',
  'error',
]
/** Situations with the search for a payment. */
const SEARCHES: readonly Situation[] = [
  'waiting',
  'partly',
  'onItsWay',
  'wrongToken',
  'expired',
  'late',
  'wrongTokenEnded',
  'cancelled',
  'error',
]

/** The provider that the payer asked last has answered after all: what waits is its payment, not one of before. */
const hasAnswered = ({ situation, payment }: PayView, { lastUsed }: PageContext): boolean =>
  situation === 'waiting' && payment?.network === null && payment.channel === lastUsed

/** The URL keeps the problem of the payer's last step for longer than it may be true. */
function isCurrentProblem(view: PayView, page: PageContext, problem: string): boolean {
  const { situation, hasMoney } = view
  if (problem === 'ORDER_STATE_CONFLICT') return true
  // only an unreachable channel speaks of money
  if (problem === 'CHANNEL_UNAVAILABLE') return CHOOSES.includes(situation) && !hasMoney && !hasAnswered(view, page)
  if (problem === 'PAYMENT_NOT_RECEIVED') return SEARCHES.includes(situation) && !hasMoney
  return SEARCHES.includes(situation) || (CHOOSES.includes(situation) && !problem.startsWith('TRANSACTION_'))
}

/** Into another language, with what is typed into the form of who pays. */
function languages(view: PayView, { language, basePath, kept }: PageContext, fragment: Html): Html {
  const { code } = view
  const path = `${basePath}/pay`
  const addressIn = (lang: Lang): string => `${path}?${new URLSearchParams({ code, lang })}`
  const isAsked = fragment.text.includes(`<form id="${IDENTITY_FORM}"`)
  return isAsked
    ? languagePosts(language, addressIn, { form: IDENTITY_FORM, value: postedAs(view) })
    : languageSwitch(language, path, { code, ...kept })
}

/** Nothing is to be chosen or known first; whoever was sent elsewhere before may have paid there. */
const hasOneWay = ({ situation, choices, identity, payment }: PayView): boolean =>
  situation === 'choose' && choices.length === 1 && !identity && (payment?.formerTo ?? null) === null

/** The whole page. @param said error code of the payer's last step */
export function renderPage(read: PayView, page: PageContext, language: Lang, said: string | null): Html {
  const askedOn = isAskedOn(read, said)
  const view: PayView = askedOn ? { ...read, situation: 'providerDown' } : read
  const problem = said !== null && !askedOn && isCurrentProblem(read, page, said) ? said : null
  const { texts } = page
  const events = `${page.basePath}/pay/events?code=${view.code}&lang=${language}`
  const wallet =
    view.open &&
    (page.walletNetworks.length > 0 || view.payment?.network != null) &&
    html` data-wallet="${page.basePath}${WALLET_SCRIPT_PATH}?lang=${language}"`
  const auto = hasOneWay(view) && said === null && html` data-auto="1"`
  const fragment = renderFragment(view, page)
  const body = html`<main>
      ${problem !== null && html`<p class="note" id="problem" tabindex="-1" autofocus role="alert">${problemText(texts, problem)}</p>`}
      <div id="live" tabindex="-1" data-locale="${page.locale}" data-id="${view.id}" data-now="${page.nowMs}" data-events="${events}"${wallet}${auto}>
        ${fragment}</div>
      <p class="note" id="lost" role="alert" hidden>${texts.lost}</p><p class="say" id="say" role="status"></p>
    </main>
    <footer>${texts.order} ${view.shortCode}${page.providersUrl !== null && html` · ${texts.sandbox}`}
      ${shopImprint(view.shop, TEXTS[language].order.receipt.terms)}
      ${languages(view, page, fragment)}</footer>
    <script>${raw(PAY_SCRIPT)}</script>`
  const title = `${situationTexts(view, page).title} · ${view.shop.name}`
  return shell({
    language,
    title,
    head: html`${previewOf(view, page)}${shopStyle(view.shop)}${!view.final && !isQuiet(view) && page.search === null && REFRESH}`,
    body,
  })
}
