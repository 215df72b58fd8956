import type { Embedding } from '../../compliance/identity-provider.ts'
import { askedLevel, isOpenCheck, type Kyc } from '../../compliance/kyc.ts'
import { type Html, html, raw } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { KycTexts } from '../../texts/page-texts.ts'
import { mark } from '../pay/pay-parts.ts'
import { languageSwitch } from '../shared/language.ts'
import { shell } from '../shared/notice.ts'
import { pagePolicy } from '../shared/page-policy.ts'
import { type Shop, shopImprint, shopLogo, shopStyle } from '../shared/shop.ts'
import { KYC_SCRIPT } from './kyc-script.ts'

const STYLE =
  'main>p{margin-top:.75rem}#sdk{margin:1rem 0}#sdk iframe{width:100%;border:0;border-radius:.875rem;background:#fff}' +
  '.js #plain{display:none}'

/** Our own style and script; during a check also the provider's script and frame, and nothing else from it. */
export const kycPolicy = (shop: Shop, embedding: Embedding | null): string =>
  pagePolicy({
    ...{ shop, styles: [STYLE], scripts: [KYC_SCRIPT], forms: "'self'" },
    hosts: embedding === null ? [] : [new URL(embedding.scriptUrl).origin],
    more: [...(embedding === null ? [] : [`frame-src ${embedding.frameOrigin}`]), "connect-src 'self'"],
  })

export type KycPage = {
  lang: Lang
  texts: KycTexts
  shop: Shop
  order: { code: string; shortCode: string; isOpen: boolean }
  kyc: Kyc
  token: string
  /** Path prefix of the pages, without a trailing slash. */
  basePath: string
  /** Set if the payer can go through the check here. */
  embedding: Embedding | null
}

const REFRESH = html`<noscript><meta http-equiv="refresh" content="15"></noscript>`

function embedded({ texts }: KycPage): Html {
  return html`<p>${texts.prepare}</p>
    <p class="note" id="plain">${texts.noScript}</p>
    <div id="sdk"></div>
    <p class="soft" id="loading" role="status" hidden>${texts.loading}</p>
    <div id="failed" role="alert" hidden><p class="note">${texts.failed}</p>
      <button type="button" id="again">${texts.retry}</button></div>`
}

function asked(page: KycPage): Html {
  const { texts, kyc, embedding } = page
  const merchant = page.shop.name
  const isCloser = askedLevel(kyc) === 'enhanced'
  return html`<div class="state busy"><span class="dot"></span>
      <h2>${isCloser ? texts.states.closer : texts.states.pending}</h2></div>
    <p class="soft">${isCloser ? texts.closerWhy(merchant) : texts.why(merchant)}</p>
    ${kyc.payerMessage && html`<div class="note"><b>${texts.again}</b><p>${kyc.payerMessage}</p></div>`}
    ${embedding === null ? html`<p>${texts.byHand(merchant)}</p>` : embedded(page)}
    <p class="hint">${texts.comeBack}</p>`
}

function approved({ texts, shop, order, basePath }: KycPage): Html {
  const next = html`<a class="button main" href="${basePath}/pay?code=${order.code}">${texts.toPayment}</a>`
  return html`<div class="state big">${mark('done')}<h2>${texts.states.approved}</h2>
      <p class="soft">${order.isOpen ? texts.approved : texts.startAgain(shop.name)}</p></div>${order.isOpen && next}`
}

function refused({ texts, shop, order }: KycPage): Html {
  return html`<div class="state big quiet">${mark('stop')}<h2>${texts.states.refused}</h2>
    <p class="soft">${texts.refused(shop.name, order.shortCode)}</p></div>`
}

/** Changes with everything visible. */
const markOf = ({ version, payerMessage }: Kyc): string => `${version}.${payerMessage?.length ?? 0}`

export function renderKyc(page: KycPage): Html {
  const { lang, texts, shop, order, kyc, token, basePath, embedding } = page
  const isOpen = isOpenCheck(kyc)
  const state = askedLevel(kyc) !== null ? asked(page) : kyc.status === 'approved' ? approved(page) : refused(page)
  const path = `${basePath}/kyc`
  const body = html`<main id="kyc" data-mark="${markOf(kyc)}" data-code="${order.code}" data-token="${token}"
      data-path="${path}"${isOpen && html` data-open="1"`}>
      <h1>${shopLogo(shop, basePath)}${texts.from(shop.name)}</h1>${state}</main>
    <footer>${texts.order} ${order.shortCode}${shopImprint(shop, TEXTS[lang].order.receipt.terms)}
      ${languageSwitch(lang, path, { code: order.code, token })}</footer>
    ${embedding !== null && html`<script src="${embedding.scriptUrl}"></script>`}
    <script>${raw(KYC_SCRIPT)}</script>`
  const head = html`<style>${raw(STYLE)}</style>${shopStyle(shop)}${isOpen && REFRESH}`
  return shell({ language: lang, title: `${texts.title} · ${shop.name}`, head, body })
}
