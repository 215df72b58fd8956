import { createHash } from 'node:crypto'
import type { Embedding } from '../../compliance/identity-provider.ts'
import { askedLevel, isOpenCheck, type Kyc } from '../../compliance/kyc.ts'
import { type Html, html, raw } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import type { KycTexts } from '../../texts/page-texts.ts'
import { mark } from '../pay/pay-parts.ts'
import { PAY_STYLE } from '../shared/page-style.ts'
import { KYC_SCRIPT } from './kyc-script.ts'

const STYLE = `${PAY_STYLE}main>p{margin-top:.75rem}#sdk{margin:1rem 0}#sdk iframe{width:100%;border:0;border-radius:.875rem;background:#fff}.js #plain{display:none}`

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Our own style and script; beside a check also the provider's script and its frame, and nothing else of it. */
export function kycPolicy(embedding: Embedding | null): string {
  const script = embedding === null ? '' : ` ${new URL(embedding.scriptUrl).origin}`
  return [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    `script-src ${hashOf(KYC_SCRIPT)}${script}`,
    ...(embedding === null ? [] : [`frame-src ${embedding.frameOrigin}`]),
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

export type KycPage = {
  lang: Lang
  texts: KycTexts
  merchant: string
  order: { code: string; shortCode: string; isOpen: boolean }
  kyc: Kyc
  token: string
  /** Path under which the pages stand, without a slash at its end. */
  basePath: string
  /** Set when the payer can go through the check here. */
  embedding: Embedding | null
}

const REFRESH = html`<noscript><meta http-equiv="refresh" content="15"></noscript>`

const shell = (lang: Lang, title: string, body: Html, head: Html | false = false): Html =>
  html`<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>${title}</title>
    <meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
    <style>${raw(STYLE)}</style>${head}</head><body>${body}</body></html>`

function embedded({ texts }: KycPage): Html {
  return html`<p>${texts.prepare}</p>
    <p class="note" id="plain">${texts.noScript}</p>
    <div id="sdk"></div>
    <p class="soft" id="loading" role="status" hidden>${texts.loading}</p>
    <div id="failed" role="alert" hidden><p class="note">${texts.failed}</p>
      <button type="button" id="again">${texts.retry}</button></div>`
}

function asked(page: KycPage): Html {
  const { texts, merchant, kyc, embedding } = page
  const isCloser = askedLevel(kyc) === 'enhanced'
  return html`<div class="state busy"><span class="dot"></span>
      <h2>${isCloser ? texts.states.closer : texts.states.pending}</h2></div>
    <p class="soft">${isCloser ? texts.closerWhy(merchant) : texts.why(merchant)}</p>
    ${kyc.payerMessage && html`<div class="note"><b>${texts.again}</b><p>${kyc.payerMessage}</p></div>`}
    ${embedding === null ? html`<p>${texts.byHand(merchant)}</p>` : embedded(page)}
    <p class="hint">${texts.comeBack}</p>`
}

function approved({ texts, merchant, order, basePath }: KycPage): Html {
  const next = html`<a class="button main" href="${basePath}/pay?code=${order.code}">${texts.toPayment}</a>`
  return html`<div class="state big">${mark('done')}<h2>${texts.states.approved}</h2>
      <p class="soft">${order.isOpen ? texts.approved : texts.startAgain(merchant)}</p></div>${order.isOpen && next}`
}

function refused({ texts, merchant, order }: KycPage): Html {
  return html`<div class="state big quiet">${mark('stop')}<h2>${texts.states.refused}</h2>
    <p class="soft">${texts.refused(merchant, order.shortCode)}</p></div>`
}

/** Changes with everything that shows. */
const markOf = ({ version, payerMessage }: Kyc): string => `${version}.${payerMessage?.length ?? 0}`

export function renderKyc(page: KycPage): Html {
  const { lang, texts, merchant, order, kyc, token, basePath, embedding } = page
  const isOpen = isOpenCheck(kyc)
  const state = askedLevel(kyc) !== null ? asked(page) : kyc.status === 'approved' ? approved(page) : refused(page)
  const body = html`<main id="kyc" data-mark="${markOf(kyc)}" data-code="${order.code}" data-token="${token}"
      data-path="${basePath}/kyc"${isOpen && html` data-open="1"`}><h1>${texts.from(merchant)}</h1>${state}</main>
    <footer>${texts.order} ${order.shortCode}</footer>
    ${embedding !== null && html`<script src="${embedding.scriptUrl}"></script>`}
    <script>${raw(KYC_SCRIPT)}</script>`
  return shell(lang, `${texts.title} · ${merchant}`, body, isOpen && REFRESH)
}

export const renderUnknownKyc = (lang: Lang, texts: KycTexts): Html =>
  shell(lang, texts.unknownTitle, html`<main><h1>${texts.unknownTitle}</h1><p class="soft">${texts.unknown}</p></main>`)
