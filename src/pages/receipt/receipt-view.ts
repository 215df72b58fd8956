import { type Html, html, raw } from '../../kernel/html.ts'
import { channelName, TEXTS } from '../../texts/languages.ts'
import type { PageContext } from '../pay/pay-parts.ts'
import { fact, moment, transactionFact } from '../pay/pay-parts.ts'
import type { PayView } from '../pay/pay-service.ts'
import { showFiat, showRate, showToken } from '../shared/format.ts'
import { languageSwitch } from '../shared/language.ts'
import { shell } from '../shared/notice.ts'
import { pagePolicy } from '../shared/page-policy.ts'
import { type Shop, shopImprint, shopLogo, shopStyle } from '../shared/shop.ts'
import { type Receipt, refundsOf } from './receipt.ts'
import { PRINT_STYLE } from './receipt-style.ts'

const SCRIPT = `const d=document,b=d.getElementById('print');b.hidden=false;b.onclick=()=>print();
const f=new Intl.DateTimeFormat(d.querySelector('main').dataset.locale,{dateStyle:'medium',timeStyle:'short'});
for(const t of d.querySelectorAll('time'))t.textContent=f.format(new Date(t.dateTime))`

export const receiptPolicy = (shop: Shop): string => pagePolicy({ shop, styles: [PRINT_STYLE], scripts: [SCRIPT] })

export type ReceiptPage = { receipt: Receipt; view: PayView; page: PageContext; token: string; keysUrl: string }

function facts({ receipt, view, page }: ReceiptPage): Html {
  const { locale, language, texts } = page
  const labels = TEXTS[language].order.receipt
  const usdc = (money: PayView['due']): string => `${showToken(money, locale)} USDC`
  const { payment, received } = view
  return html`<dl class="facts">
    ${fact('SIRET', receipt.merchant.siret)}${fact(labels.vatNumber, receipt.merchant.vatNumber)}
    ${fact(labels.number, receipt.order)}${fact(labels.reference, receipt.reference)}
    ${fact(texts.goods, receipt.goods)}
    ${fact(labels.price, showFiat(view.fiat, locale))}
    ${fact(labels.rate, texts.rate(`1 ${view.fiat.asset}`, `${showRate(view.rate, locale)} USDC`))}
    ${fact(labels.paid, usdc(received.amount))}
    ${fact(labels.channel, payment && channelName(texts, payment.channel))}
    ${fact(texts.network, received.network?.name ?? null)}
    ${fact(texts.paidAt, view.paidAt && moment(view.paidAt, locale))}
    ${received.transactions.map(({ hash, network }) => transactionFact(hash, network, page))}
    ${refundsOf(view).map(
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
      <p class="soft signed"><a href="${path}.json">${labels.signed}</a><br>
        <a href="${basePath}/receipt/verify">${TEXTS[language].order.verify.link}</a><br>
        ${labels.verify} <a href="${keysUrl}">${keysUrl}</a></p>
    </main>
    <footer>${shopImprint(view.shop, labels.terms)}${languageSwitch(language, path, {})}</footer>
    <script>${raw(SCRIPT)}</script>`
  const head = html`<style>${raw(PRINT_STYLE)}</style>${shopStyle(view.shop)}`
  return shell({ language, title: `${labels.title} ${view.shortCode} · ${view.shop.name}`, head, body })
}
