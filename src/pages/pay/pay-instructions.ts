import { CHANNEL_NAMES } from '../../channels/channel-names.ts'
import { appLink, type Html, html, webLink } from '../../kernel/html.ts'
import type { Money } from '../../kernel/money.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { Situation } from '../../texts/order-texts.ts'
import type { PayTexts } from '../../texts/page-texts.ts'
import { plainToken } from '../shared/format.ts'
import { qrSvg } from '../shared/qr-svg.ts'
import { closedWalletPanel, walletPanel } from '../wallet/wallet-panel.ts'
import { type PaymentView, showsAddress } from './pay-money.ts'
import { form, halves, type PageContext } from './pay-parts.ts'
import type { PayView } from './pay-service.ts'

const copyButton = (texts: PayTexts, what: string, from: string, value: string): Html =>
  html`<button type="button" class="copy" id="copy-${from}" data-copy="${value}" data-from="${from}"
    data-done="${texts.copied}">${texts.copy}<span class="say"> ${what}</span></button>`

/** The payment link for the missing amount; EIP-681 links use the smallest units. */
const uriFor = (uri: string, missing: Money): string => uri.replace(/uint256=\d+/, `uint256=${missing.units}`)

/** QR codes to switch between without a script: two radio buttons with labels. */
function walletCodes(uri: string, address: string, { texts }: PageContext): Html {
  return html`<div class="code" role="radiogroup" aria-label="${texts.qrChoice}">
    <input type="radio" name="qr" id="as-link" checked><input type="radio" name="qr" id="as-address">
    <div class="frame link">${qrSvg(uri, texts.qrWallet)}</div>
    <div class="frame plain">${qrSvg(address, texts.qrAddress)}</div>
    <label for="as-link">${texts.walletLink}</label><label for="as-address">${texts.addressOnly}</label>
    <p class="hint">${texts.addressOnlyHint}</p>
  </div>`
}

function wallet(view: PayView, payment: PaymentView, { language, payUrl, walletNetworks }: PageContext): Html | null {
  const { network, instructions, formerTo, missing } = payment
  const to = instructions?.toAddress ?? formerTo
  if (!to || network === null) return null
  const { code, shop, shortCode } = view
  const asked = { code, language, payUrl, to, shop, shortCode, missing }
  const payable = formerTo === null ? walletNetworks.find(({ chainId }) => chainId === network.id) : undefined
  return payable ? walletPanel(payable, asked) : closedWalletPanel(network, asked)
}

/** Whether other ways are offered, or will be, to a payer who was sent to a place before and may have paid there. */
const mayHaveSent = ({ situation, requote, payment }: PayView): boolean =>
  payment?.formerTo != null && (situation === 'choose' || situation === 'unavailable' || requote)

/** What such a payer reads before the other ways, and what this browser's wallet sent there. */
export function sentBefore(view: PayView, page: PageContext): Html | null {
  const { payment, shop, shortCode, open } = view
  if (!payment?.formerTo || !mayHaveSent(view)) return null
  const { formerTo: to, network } = payment
  const told = page.texts.sentBefore(network ? `${to} (${network.name})` : to, shop.name, shortCode)
  return html`<p class="note goods">${told}</p>${open && wallet(view, payment, page)}`
}

/** The payer of a provider that sends to our address has paid there by wallet before, or may do so with the rest. */
const MAY_SEND: readonly Situation[] = ['partly', 'wrongToken']

/** Whether the page shows an address to send to. */
export const hasAddress = ({ situation, payment }: PayView): boolean =>
  payment?.instructions?.toAddress != null && (showsAddress(payment.instructions) || MAY_SEND.includes(situation))

function chainInstructions(view: PayView, payment: PaymentView, page: PageContext): Html | null {
  const { texts } = page
  const { toAddress, paymentUri } = payment.instructions ?? {}
  if (!toAddress || !hasAddress(view)) return null
  const uri = uriFor(paymentUri ?? toAddress, payment.missing)
  const amount = plainToken(payment.missing)
  const network = payment.network?.name ?? ''
  return html`${wallet(view, payment, page)}
    ${paymentUri && html`<a class="button main app" href="${uri}">${texts.openWallet}</a>`}
    ${paymentUri ? walletCodes(uri, toAddress, page) : html`<div class="code"><div class="frame only">${qrSvg(toAddress, texts.qrAddress)}</div></div>`}
    <dl>
      <div><dt>${texts.amount}</dt>
        <dd><span class="sum"><span id="amount">${amount}</span> USDC</span>
          ${copyButton(texts, texts.copyAmount, 'amount', amount)}</dd></div>
      <div><dt>${texts.address}</dt>
        <dd><span class="mono" id="address">${halves(toAddress)}</span>
          ${copyButton(texts, texts.copyAddress, 'address', toAddress)}</dd></div>
      <div><dt>${texts.network}</dt><dd><span>${network}</span></dd></div>
    </dl>
    <p class="note" id="by-hand" role="alert" hidden>${texts.byHand}</p>
    <p class="note">${texts.onlyOn(network)}</p>`
}

/**
 * On a phone the app is on the same device, so its button comes first, and the code is behind a switch (decisions
 * 8.14). On a desktop the code is visible for the phone, with the provider's page as the alternative. Each button names
 * its destination, and no two have the same one.
 */
function providerInstructions(payment: PaymentView, { texts, language }: PageContext): Html {
  const words = TEXTS[language].order.ways
  const provider = CHANNEL_NAMES[payment.channel]
  const { qrData, deepLink, checkoutUrl } = payment.instructions ?? {}
  // a provider's only web page opens on a desktop too, even if the provider returns it as its app's link
  const checkout = webLink(checkoutUrl) ?? webLink(deepLink)
  const app = appLink(deepLink) === checkout ? null : appLink(deepLink)
  // the provider's only link leads to its page, which may or may not be an app's
  const label = qrData || checkout ? words.openApp(provider) : words.openPage(provider)
  const hasButton = app !== null || checkout !== null
  const button = html`${app && html`<a class="button main${(qrData || checkout) && ' hand'}" href="${app}" rel="noopener noreferrer">${label}</a>`}
    ${checkout && html`<a class="button main${app && ' after'}" href="${checkout}" rel="noopener noreferrer">${words.openPage(provider)}</a>`}`
  if (!qrData) return button
  return html`<div class="provider">${button}
    ${hasButton && html`<input type="checkbox" class="say hand" id="show-code"><label class="button hand wide" for="show-code">${words.showCode}</label>`}
    <div class="code${hasButton && ' desk'}"><div class="frame only">${qrSvg(qrData, texts.qrApp)}</div>
    <p class="hint shown">${texts.scanWith(provider)}</p></div></div>`
}

/** Asks for a link at the moment of the click and follows it (`open` of the accept form); works without a script. */
function openFresh(view: PayView, { channel }: PaymentView, page: PageContext): Html {
  const label = TEXTS[page.language].order.ways.openPage(CHANNEL_NAMES[channel])
  const fields = html`<input type="hidden" name="paymentChannel" value="${channel}"><input type="hidden" name="open" value="1">
    <button class="main">${label}</button>`
  return form(view, page, 'accept', fields, true)
}

/** Amount, address and steps for the chosen channel. */
export function instructions(view: PayView, payment: PaymentView, page: PageContext): Html {
  const byWallet = chainInstructions(view, payment, page)
  if (payment.singleUseLink && payment.instructions) return html`${openFresh(view, payment, page)}${byWallet}`
  return byWallet ?? providerInstructions(payment, page)
}

const half = ({ asset, units }: Money): Money => ({ asset, units: units / 2n })
const more = ({ asset, units }: Money): Money => ({ asset, units: units + units / 20n + 10_000n })

/**
 * The sandbox's panel: plain forms, which its test wallet or the imitated provider answers with a redirect back here.
 */
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
