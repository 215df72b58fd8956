import { appLink, type Html, html, raw, webLink } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import type { Money } from '../../kernel/money.ts'
import { channelName } from '../../texts/languages.ts'
import type { PayTexts } from '../../texts/page-texts.ts'
import { plainToken, showSpan, showTime, showToken } from '../shared/format.ts'
import { qrSvg } from '../shared/qr-svg.ts'
import type { Choice, PaymentView, PayView } from './pay-service.ts'

/** What rendering needs besides the order. */
export type PageContext = {
  language: Lang
  texts: PayTexts
  /** For formatting numbers and dates. */
  locale: string
  /** Path under which the pages stand, without a slash at its end; empty at the root. */
  basePath: string
  payUrl: string
  /** Where the sandbox's test wallet is; null in live mode. */
  providersUrl: string | null
  nowMs: number
}

const DAY_MS = 24 * 60 * 60 * 1000

/** Time left as a clock that the script ticks; for links that are good for days, the date. */
export function clock(view: PayView, { texts, nowMs }: PageContext): Html | null {
  const leftMs = view.expiresAt.getTime() - nowMs
  if (leftMs > DAY_MS) return null
  const text = showSpan(leftMs)
  return html`<span class="clock" role="timer" aria-live="off" aria-label="${texts.timeLeft}"
    data-until="${view.expiresAt.getTime()}">${text}</span>`
}

export function validity(view: PayView, { texts, locale, nowMs }: PageContext): Html | null {
  if (view.expiresAt.getTime() - nowMs <= DAY_MS) return html`${texts.rateHeld}`
  return html`${texts.validUntil(showTime(view.expiresAt, locale))}`
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

/** A form of this page: one POST with the order's code and the proof that we rendered it. */
export function form(
  view: PayView,
  page: PageContext,
  action: 'accept' | 'cancel' | 'transaction',
  fields: Html,
): Html {
  return html`<form method="post" action="${page.basePath}/pay/${action}">
    <input type="hidden" name="code" value="${view.code}">
    <input type="hidden" name="token" value="${view.token}">${fields}
  </form>`
}

function choiceButton(choice: Choice, texts: PayTexts, only: boolean): Html {
  const name = channelName(texts, choice.channel)
  if (only) return html`<button class="main">${texts.continueWith(name)}</button>`
  const network = choice.network && html` <span>${texts.onNetwork(choice.network.name)}</span>`
  return html`<button class="choice">${name}${network}</button>`
}

/** For a payment that is not detected: the payer enters its transaction. */
export function transactionForm(view: PayView, page: PageContext): Html | null {
  if (!view.payment?.instructions?.toAddress) return null
  const { texts } = page
  const fields = html`<label for="txHash">${texts.txHash}</label>
    <input class="field" id="txHash" name="txHash" required maxlength="80" autocomplete="off" spellcheck="false">
    <p class="hint">${texts.txHashHint}</p><button>${texts.txHashSend}</button>`
  return form(view, page, 'transaction', fields)
}

export function choices(view: PayView, page: PageContext, offered = view.choices): Html {
  return html`${offered.map((choice) => {
    const network = choice.network && html`<input type="hidden" name="network" value="${choice.network.id}">`
    const button = choiceButton(choice, page.texts, view.choices.length === 1)
    const fields = html`<input type="hidden" name="paymentChannel" value="${choice.channel}">${network}${button}`
    return form(view, page, 'accept', fields)
  })}`
}

const copyButton = (texts: PayTexts, what: string, from: string, value: string): Html =>
  html`<button type="button" class="copy" id="copy-${from}" data-copy="${value}" data-from="${from}"
    data-done="${texts.copied}">${texts.copy}<span class="say"> ${what}</span></button>`

/** The payment link for what is missing: the amount of an EIP-681 link is in smallest units. */
const uriFor = (uri: string, missing: Money): string => uri.replace(/uint256=\d+/, `uint256=${missing.units}`)

/** Breaks a hash or an address in its middle where it does not fit on one line; nothing is left out. */
const halves = (text: string): Html =>
  html`${text.slice(0, Math.ceil(text.length / 2))}<wbr>${text.slice(Math.ceil(text.length / 2))}`

/** QR codes to switch between without a script: two radio buttons and their labels. */
function walletCodes(uri: string, address: string, { texts }: PageContext): Html {
  return html`<div class="code">
    <input type="radio" name="qr" id="as-link" checked><input type="radio" name="qr" id="as-address">
    <div class="frame link">${qrSvg(uri, texts.qrWallet)}</div>
    <div class="frame plain">${qrSvg(address, texts.qrAddress)}</div>
    <label for="as-link">${texts.walletLink}</label><label for="as-address">${texts.addressOnly}</label>
    <p class="hint">${texts.addressOnlyHint}</p>
  </div>`
}

function chainInstructions(payment: PaymentView, page: PageContext): Html | null {
  const { texts } = page
  const { toAddress, paymentUri, tokenAmount } = payment.instructions ?? {}
  if (!toAddress || !tokenAmount) return null
  const uri = uriFor(paymentUri ?? toAddress, payment.missing)
  const amount = plainToken(payment.missing)
  const network = payment.network?.name ?? ''
  return html`${walletCodes(uri, toAddress, page)}
    ${paymentUri && html`<a class="button main app" href="${uri}">${texts.openWallet}</a>`}
    <dl>
      <div><dt>${texts.amount}</dt>
        <dd><span class="sum"><span id="amount">${amount}</span> USDC</span>
          ${copyButton(texts, texts.copyAmount, 'amount', amount)}</dd></div>
      <div><dt>${texts.address}</dt>
        <dd><span class="mono" id="address">${halves(toAddress)}</span>
          ${copyButton(texts, texts.copyAddress, 'address', toAddress)}</dd></div>
      <div><dt>${texts.network}</dt><dd><span>${network}</span></dd></div>
    </dl>
    <p class="note">${texts.onlyOn(network)}</p>`
}

/**
 * On a phone the app is on the same device: its link comes first and no code is shown. On a desktop the code is for the
 * phone beside it, and the provider's page for everyone else. A single option is shown everywhere.
 */
function providerInstructions(payment: PaymentView, { texts }: PageContext): Html {
  const { qrData, deepLink, checkoutUrl } = payment.instructions ?? {}
  const app = appLink(deepLink)
  const checkout = webLink(checkoutUrl)
  const code =
    qrData &&
    html`<div class="frame only">${qrSvg(qrData, texts.qrApp)}</div>
    <p class="hint shown">${texts.scanWith(channelName(texts, payment.channel))}</p>`
  const onlyHere = app !== null || checkout !== null ? ' desk' : ''
  const hand = code || checkout !== null ? ' hand' : ''
  const after = app === null ? '' : ' after'
  return html`${code && html`<div class="code${onlyHere}">${code}</div>`}
    ${app && html`<a class="button main${hand}" href="${app}" rel="noopener noreferrer">${texts.openApp}</a>`}
    ${checkout && html`<a class="button main${after}" href="${checkout}" rel="noopener noreferrer">${texts.openCheckout}</a>`}`
}

/** What to send, where to and how, for the channel that was chosen. */
export function instructions(payment: PaymentView, page: PageContext): Html {
  return chainInstructions(payment, page) ?? providerInstructions(payment, page)
}

const half = ({ asset, units }: Money): Money => ({ asset, units: units / 2n })
const more = ({ asset, units }: Money): Money => ({ asset, units: units + units / 20n + 10_000n })

/** The sandbox's panel: plain forms that its test wallet, or the imitated provider, answers by leading back here. */
export function testWallet(view: PayView, page: PageContext): Html | null {
  const { providersUrl, texts, payUrl } = page
  const { toAddress, tokenAmount, providerReference } = view.payment?.instructions ?? {}
  if (providersUrl === null || !view.payment || !providerReference) return null
  const back = html`<input type="hidden" name="returnTo" value="${payUrl}/pay?code=${view.code}">`
  if (!toAddress || !tokenAmount) {
    const path = `${providersUrl}/payments/${encodeURIComponent(providerReference)}`
    const act = (action: string, label: string): Html => html`<button formaction="${path}/${action}">${label}</button>`
    return html`<form class="sandbox" method="post" action="${path}/pay"><h3>${texts.testProvider}</h3>${back}
      <div>${act('pay', texts.testFull)}${act('pay-half', texts.testHalf)}${act('fail', texts.testDecline)}</div></form>`
  }
  const due = view.payment.missing
  const button = (amount: Money, label: string): Html =>
    html`<button name="amount" value="${plainToken(amount)}">${label}</button>`
  return html`<form class="sandbox" method="post" action="${providersUrl}/wallet/pay">
    <h3>${texts.testWallet}</h3>${back}
    <input type="hidden" name="to" value="${toAddress}">
    <div>${button(due, texts.testFull)}${button(half(due), texts.testHalf)}${button(more(due), texts.testMore)}</div>
  </form>`
}

export const fact = (name: string, value: string | null): Html | null =>
  value === null ? null : html`<div><dt>${name}</dt><dd>${value}</dd></div>`

const longFact = (name: string, value: string): Html =>
  html`<div class="long"><dt>${name}</dt><dd><span class="mono">${halves(value)}</span></dd></div>`

/** What arrived and how it can be found. Of a paid order also what prints. */
export function receipt(view: PayView, { texts, locale }: PageContext): Html {
  const { payment } = view
  const received = payment && payment.arrived.units > 0n ? payment.arrived : view.due
  return html`<dl class="facts">
    ${fact(texts.received, `${showToken(received, locale)} USDC`)}
    ${fact(texts.network, payment?.network?.name ?? null)}
    ${fact(texts.goods, view.goodsName)}
    ${fact(texts.order, view.shortCode)}
    ${fact(texts.paidAt, view.paidAt && showTime(view.paidAt, locale))}
    ${payment?.progress?.transactions.map((hash) => longFact(texts.transaction, hash))}
  </dl>`
}
