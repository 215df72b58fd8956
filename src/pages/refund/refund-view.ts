import { createHash } from 'node:crypto'
import { type Html, html, raw } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import type { Refund } from '../../refunds/refund-queries.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { RefundTexts } from '../../texts/page-texts.ts'
import { showToken } from '../shared/format.ts'
import { PAY_STYLE } from '../shared/page-style.ts'

const FIELDS = `.address{display:block;width:100%;font:inherit;font-family:ui-monospace,monospace;padding:.75rem;margin:.25rem 0;
border:1px solid var(--soft);border-radius:.625rem;background:var(--card);color:var(--text)}
.whole{font-family:ui-monospace,monospace;font-size:1.125rem;overflow-wrap:anywhere;margin:1rem 0}`

const STYLE = `${PAY_STYLE}${FIELDS}`
const STYLE_HASH = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`

/** Nothing runs and nothing is loaded; forms go to us. */
export const REFUND_POLICY = `default-src 'none'; style-src ${STYLE_HASH}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

export type RefundPage = {
  lang: Lang
  texts: RefundTexts
  merchant: string
  network: string
  refund: Refund
  /** What the forms send along. */
  code: string
  token: string
  action: string
}

const shell = (lang: Lang, title: string, body: Html): Html =>
  html`<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>${title}</title>
    <meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
    <style>${raw(STYLE)}</style></head><body><main>${body}</main></body></html>`

const headline = ({ texts, lang, merchant, refund }: RefundPage): Html =>
  html`<h1>${texts.from(merchant)}</h1>
    <p class="price">${showToken({ asset: 'USDC', units: refund.units }, TEXTS[lang].locale)} USDC</p>`

const hidden = ({ code, token }: RefundPage): Html =>
  html`<input type="hidden" name="code" value="${code}"><input type="hidden" name="token" value="${token}">`

const hintOf = ({ texts, merchant, refund }: RefundPage): string => {
  if (refund.proposedAddress === null) return texts.notTheSender
  return refund.proposedBy === 'payer' ? texts.passedOn(merchant) : texts.proposed(merchant)
}

/** Asks for the address. @param fault what is wrong with the one that was sent */
export function renderAddressForm(page: RefundPage, given: string, fault: string | null): Html {
  const { texts, lang, network, action } = page
  const described = fault === null ? 'hint' : 'hint fault'
  const form = html`<form method="post" action="${action}">${hidden(page)}
      <label for="address">${texts.label}</label>
      <input class="address" id="address" name="address" value="${given}" required maxlength="42" autocomplete="off"
        autocapitalize="off" spellcheck="false" aria-describedby="${described}"${fault !== null && html` aria-invalid="true"`}>
      <p class="hint" id="hint">${texts.hint}</p>
      ${fault !== null && html`<p class="note" id="fault" role="alert">${fault}</p>`}
      <button class="main">${texts.next}</button></form>`
  const body = html`${headline(page)}<div class="state"><h2>${texts.ask(network)}</h2></div>
    <p class="soft">${hintOf(page)}</p>${form}`
  return shell(lang, texts.title, body)
}

/** Shows the address once more, whole and with its checksum, before anything is sent there. */
export function renderAddressCheck(page: RefundPage, address: string): Html {
  const { texts, lang, network, action, code, token } = page
  const back = `${action}?${new URLSearchParams({ code, token })}`
  const body = html`${headline(page)}<div class="state"><h2>${texts.checkTitle}</h2></div>
    <p class="whole">${address}</p><p class="note">${texts.check(network)}</p>
    <form method="post" action="${action}">${hidden(page)}<input type="hidden" name="address" value="${address}">
      <input type="hidden" name="confirmed" value="${address}"><button class="main">${texts.confirm}</button></form>
    <p><a href="${back}">${texts.change}</a></p>`
  return shell(lang, texts.checkTitle, body)
}

/** How the refund stands once its destination is known. */
export function renderRefundState(page: RefundPage): Html {
  const { texts, lang, refund, merchant } = page
  const gone = refund.status === 'rejected' || refund.status === 'refused'
  const facts = html`<dl class="facts">
      <div class="long"><dt>${texts.sentTo}</dt> <dd>${refund.address}</dd></div>
      ${refund.txHash && html`<div class="long"><dt>${texts.transaction}</dt> <dd>${refund.txHash}</dd></div>`}</dl>`
  const words = gone ? texts.dropped(merchant) : texts.done
  const body = html`${headline(page)}<div class="state"><h2 role="status">${words}</h2></div>${!gone && facts}`
  return shell(lang, texts.title, body)
}

export const renderUnknownRefund = (lang: Lang, texts: RefundTexts): Html =>
  shell(lang, texts.unknownTitle, html`<h1>${texts.unknownTitle}</h1><p class="soft">${texts.unknown}</p>`)
