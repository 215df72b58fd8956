import { getAddress } from 'viem/utils'
import { type Html, html } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import type { Order } from '../../orders/order.ts'
import { isNamedByPayer } from '../../refunds/destination/refund-address.ts'
import { CHANGE } from '../../refunds/refund-link.ts'
import type { Refund } from '../../refunds/refund-queries.ts'
import { TEXTS } from '../../texts/languages.ts'
import { fact, halves } from '../pay/pay-parts.ts'
import { showFiat, showToken } from '../shared/format.ts'
import { languageSwitch } from '../shared/language.ts'
import { shell } from '../shared/notice.ts'
import { type Shop, shopImprint, shopLogo, shopStyle } from '../shared/shop.ts'

export type RefundPage = {
  lang: Lang
  shop: Shop
  network: string
  refund: Refund
  order: Order
  /** What the forms send along. */
  code: string
  token: string
  /** Path of this page, and path prefix of the pages. */
  action: string
  basePath: string
}

const textsOf = ({ lang }: RefundPage) => TEXTS[lang].refund

/** What leads to this page again. `form`: also when the payer has named an address. */
type Shows = 'form' | 'state'
const addressOf = ({ code, token, refund }: RefundPage, shows: Shows): Record<string, string> =>
  shows === 'form' && isNamedByPayer(refund) ? { code, token, change: '1' } : { code, token }

function document(page: RefundPage, title: string, body: Html, shows: Shows = 'state'): Html {
  const { lang, shop, refund, order, action, basePath } = page
  const { pay, locale, order: words } = TEXTS[lang]
  const headline = html`<h1>${shopLogo(shop, basePath)}${textsOf(page).from(shop.name)}</h1>
    <p class="price">${showToken({ asset: 'USDC', units: refund.units }, locale)} USDC</p>
    <dl class="facts">${fact(pay.order, order.shortCode)}${fact(pay.goods, order.goods?.goodsName ?? null)}
      ${fact(words.receipt.price, showFiat(order.from, locale))}</dl>`
  return shell({
    language: lang,
    title: `${title} · ${shop.name}`,
    head: shopStyle(shop),
    body: html`<main>${headline}${body}</main>
      <footer>${shopImprint(shop, words.receipt.terms)}${languageSwitch(lang, action, addressOf(page, shows))}</footer>`,
  })
}

const hidden = ({ code, token }: RefundPage): Html =>
  html`<input type="hidden" name="code" value="${code}"><input type="hidden" name="token" value="${token}">`

const hintOf = (page: RefundPage): string => {
  const { shop, refund } = page
  const texts = textsOf(page)
  if (refund.proposedAddress === null) return texts.notTheSender
  return isNamedByPayer(refund) ? texts.passedOn(shop.name) : texts.proposed(shop.name)
}

/**
 * Asks for the address. The field allows more characters than an address has: pasted text often starts with a space,
 * and a browser would silently cut off its end. @param fault what is wrong with the address that was sent
 */
export function renderAddressForm(page: RefundPage, given: string, fault: string | null): Html {
  const texts = textsOf(page)
  const described = fault === null ? 'hint' : 'hint fault'
  const form = html`<form method="post" action="${page.action}?lang=${page.lang}">${hidden(page)}
      <label class="ask" for="address">${texts.label}</label>
      <input class="field mono" id="address" name="address" value="${given}" required maxlength="200" autocomplete="off"
        autocapitalize="off" spellcheck="false" aria-describedby="${described}"${fault !== null && html` aria-invalid="true" autofocus`}>
      <p class="hint" id="hint">${texts.hint}</p>
      ${fault !== null && html`<p class="note" id="fault" role="alert">${fault}</p>`}
      <button class="main">${texts.next}</button></form>`
  return document(
    page,
    texts.title,
    html`<div class="state"><h2>${texts.ask(page.network)}</h2></div><p class="soft">${hintOf(page)}</p>${form}`,
    'form',
  )
}

const changeLink = (page: RefundPage): Html => {
  const { action, code, token } = page
  const url = `${action}?${new URLSearchParams({ code, token })}${CHANGE}`
  return html`<p><a class="button wide" href="${url}">${textsOf(page).change}</a></p>`
}

/** The payer has answered; people of the shop check the address. */
export function renderNamed(page: RefundPage): Html {
  const { refund, shop, lang } = page
  const { title } = TEXTS[lang].order.situations.refundCheck
  const body = html`<div class="state"><h2>${title}</h2></div>
    <p class="whole mono">${getAddress(refund.proposedAddress ?? '')}</p>
    <p class="soft">${textsOf(page).passedOn(shop.name)}</p>${changeLink(page)}`
  return document(page, title, body)
}

/** Shows the whole address with its checksum once more, before anything is sent there. */
export function renderAddressCheck(page: RefundPage, address: string): Html {
  const { network, action, lang } = page
  const texts = textsOf(page)
  const body = html`<div class="state"><h2>${texts.checkTitle}</h2></div>
    <p class="whole mono">${address}</p><p class="note">${texts.check(network)}</p>
    <form method="post" action="${action}?lang=${lang}">${hidden(page)}
      <input type="hidden" name="address" value="${address}">
      <input type="hidden" name="confirmed" value="${address}"><button class="main">${texts.confirm}</button></form>
    ${changeLink(page)}`
  return document(page, texts.checkTitle, body, 'form')
}

/** State of the refund once its destination is known. */
export function renderRefundState(page: RefundPage): Html {
  const { refund, shop } = page
  const texts = textsOf(page)
  const gone = refund.status === 'rejected' || refund.status === 'refused'
  const long = (name: string, value: string): Html =>
    html`<div class="long"><dt>${name}</dt><dd><span class="mono">${halves(value)}</span></dd></div>`
  const facts = html`<dl class="facts">${refund.address && long(texts.sentTo, refund.address)}
      ${refund.txHash && long(texts.transaction, refund.txHash)}</dl>`
  const words = gone ? texts.dropped(shop.name) : texts.done
  return document(page, texts.title, html`<div class="state"><h2>${words}</h2></div>${!gone && facts}`)
}
