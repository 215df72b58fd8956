import { type Html, html, raw } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { channelName, TEXTS } from '../../texts/languages.ts'
import type { PageContext } from '../pay/pay-parts.ts'
import { fact, moment, transactionFact } from '../pay/pay-parts.ts'
import type { PayView } from '../pay/pay-service.ts'
import { showFiat, showRate, showToken } from '../shared/format.ts'
import { hashOf } from '../shared/framing.ts'
import { languageSwitch } from '../shared/language.ts'
import { PAY_STYLE } from '../shared/page-style.ts'
import { brandStyle, type Shop, shopImprint, shopLogo, shopStyle } from '../shared/shop.ts'
import type { Receipt } from './receipt.ts'
import { PRINT_STYLE } from './receipt-style.ts'

const STYLE = `${PAY_STYLE}${PRINT_STYLE}`

const SCRIPT = `const d=document,b=d.getElementById('print');b.hidden=false;b.onclick=()=>print();
const f=new Intl.DateTimeFormat(d.querySelector('main').dataset.locale,{dateStyle:'medium',timeStyle:'short'});
for(const t of d.querySelectorAll('time'))t.textContent=f.format(new Date(t.dateTime))`

export const receiptPolicy = (shop: Shop | null): string => {
  const brand = shop === null ? '' : brandStyle(shop)
  return [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}${brand && ` ${hashOf(brand)}`}`,
    `script-src ${hashOf(SCRIPT)}`,
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const shell = (lang: Lang, title: string, head: Html | null, body: Html): Html =>
  html`<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>${title}</title>
    <meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
    <style>${raw(STYLE)}</style>${head}</head><body>${body}</body></html>`

export type ReceiptPage = { receipt: Receipt; view: PayView; page: PageContext; token: string; keysUrl: string }

function facts({ receipt, view, page }: ReceiptPage): Html {
  const { locale, language, texts } = page
  const labels = TEXTS[language].order.receipt
  const usdc = (money: PayView['due']): string => `${showToken(money, locale)} USDC`
  const { payment } = view
  const network = payment?.network?.id ?? null
  const paid = payment && payment.arrived.units > 0n ? payment.arrived : view.due
  return html`<dl class="facts">
    ${fact(labels.number, receipt.order)}${fact(labels.reference, receipt.reference)}
    ${fact(texts.goods, receipt.goods)}
    ${fact(labels.price, showFiat(view.fiat, locale))}
    ${fact(labels.rate, texts.rate(`1 ${view.fiat.asset}`, `${showRate(view.rate, locale)} USDC`))}
    ${fact(labels.paid, usdc(paid))}
    ${fact(labels.channel, payment && channelName(texts, payment.channel))}
    ${fact(texts.network, payment?.network?.name ?? null)}
    ${fact(texts.paidAt, view.paidAt && moment(view.paidAt, locale))}
    ${receipt.transactions.map((hash) => transactionFact(hash, network, page))}
    ${view.refunds
      .filter(({ status }) => status === 'settled')
      .map(
        (refund) => html`${fact(labels.sentBack, usdc(refund.amount))}
          ${refund.txHash && transactionFact(refund.txHash, refund.network?.id ?? null, page)}`,
      )}
  </dl>`
}

export function renderReceipt(shown: ReceiptPage): Html {
  const { view, page, token, keysUrl } = shown
  const { language, basePath } = page
  const labels = TEXTS[language].order.receipt
  const path = `${basePath}/receipt/${token}`
  const body = html`<main data-locale="${page.locale}">
      <h1>${shopLogo(view.shop, basePath)}${labels.from(view.shop.name)}</h1>
      <p class="price">${showFiat(view.fiat, page.locale)}</p>
      ${facts(shown)}
      <button class="wide" id="print" hidden>${labels.print}</button>
      <p class="soft signed"><a href="${path}.json">${labels.signed}</a><br>${labels.verify} <a href="${keysUrl}">${keysUrl}</a></p>
    </main>
    <footer>${shopImprint(view.shop, labels.terms)}${languageSwitch(language, path, {})}</footer>
    <script>${raw(SCRIPT)}</script>`
  return shell(language, `${labels.title} ${view.shortCode} · ${view.shop.name}`, shopStyle(view.shop), body)
}

export function renderNoReceipt(lang: Lang): Html {
  const { title, unknown } = TEXTS[lang].order.receipt
  return shell(lang, title, null, html`<main><h1>${title}</h1><p class="soft">${unknown}</p></main>`)
}
