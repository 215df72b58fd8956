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
  order: { code: string; shortCode: string; stage: 'open' | 'paid' | 'ended' }
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
    <p class="soft">${isCloser ? texts.closerWhy(merchant) : texts.why(merchant)}
      ${page.order.stage === 'paid' ? texts.paid : texts.notCharged}</p>
    ${kyc.payerMessage && html`<div class="note"><b>${texts.again}</b><p>${kyc.payerMessage}</p></div>`}
    ${embedding === null ? html`<p>${texts.byHand(merchant)}</p>` : embedded(page)}
    <p class="hint">${texts.comeBack}</p>`
}

function approved({ texts, shop, order: { stage } }: KycPage): Html {
  const next = { open: texts.approved, paid: texts.paid, ended: texts.startAgain(shop.name) }[stage]
  return html`<div class="state big">${mark('done')}<h2>${texts.states.approved}</h2>
      <p class="soft">${next}</p></div>`
}

function refused({ texts, shop, order }: KycPage): Html {
  return html`<div class="state big quiet">${mark('stop')}<h2>${texts.states.refused}</h2>
    <p class="soft">${order.stage === 'paid' ? texts.paid : texts.cannotPay}
      ${texts.mistaken(shop.name, order.shortCode)}</p></div>`
}

/** Leads to the payment; null if there is none and none can begin now. */
function payLink({ texts, order, kyc, basePath }: KycPage): Html | null {
  const canBegin = order.stage === 'open' && kyc.status === 'approved' && askedLevel(kyc) === null
  if (order.stage !== 'paid' && !canBegin) return null
  const text = canBegin ? texts.toPayment : texts.toPaid
  return html`<a class="button main" href="${basePath}/pay?code=${order.code}">${text}</a>`
}

/** Changes with everything visible: the page loads again then, which ends what a payer does in the provider's frame. */
function markOf({ kyc, order: { stage } }: KycPage): string {
  const shown = askedLevel(kyc) === null || stage === 'paid' ? stage : 'asked'
  return `${kyc.version}.${kyc.payerMessage?.length ?? 0}.${shown}`
}

export type MailedPage = Pick<KycPage, 'lang' | 'texts' | 'shop' | 'token' | 'basePath'> &
  Pick<KycPage['order'], 'code' | 'shortCode'>

/** For a visitor who has yet to show that the e-mail is theirs. Says nothing of the check. */
export function renderMailed({ lang, texts, shop, token, basePath, code, shortCode }: MailedPage): Html {
  const body = html`<main id="kyc" data-mark="mailed">
      <h1>${shopLogo(shop, basePath)}${texts.from(shop.name)}</h1>
      <div class="state busy"><span class="dot"></span><h2>${texts.mailedTitle}</h2></div>
      <p>${texts.mailed}</p><p class="soft">${texts.notMailed(shop.name, shortCode)}</p></main>
    <footer>${texts.order} ${shortCode}${shopImprint(shop, TEXTS[lang].order.receipt.terms)}
      ${languageSwitch(lang, `${basePath}/kyc`, { code, token })}</footer>`
  const head = html`<style>${raw(STYLE)}</style>${shopStyle(shop)}`
  return shell({ language: lang, title: `${texts.title} · ${shop.name}`, head, body })
}

export function renderKyc(page: KycPage): Html {
  const { lang, texts, shop, order, kyc, token, basePath, embedding } = page
  const isOpen = isOpenCheck(kyc)
  const state = askedLevel(kyc) !== null ? asked(page) : kyc.status === 'approved' ? approved(page) : refused(page)
  const path = `${basePath}/kyc`
  const body = html`<main id="kyc" data-mark="${markOf(page)}" data-code="${order.code}" data-token="${token}"
      data-path="${path}"${isOpen && html` data-open="1"`}>
      <h1>${shopLogo(shop, basePath)}${texts.from(shop.name)}</h1>${state}${payLink(page)}</main>
    <footer>${texts.order} ${order.shortCode}${shopImprint(shop, TEXTS[lang].order.receipt.terms)}
      ${languageSwitch(lang, path, { code: order.code, token })}</footer>
    ${embedding !== null && html`<script src="${embedding.scriptUrl}"></script>`}
    <script>${raw(KYC_SCRIPT)}</script>`
  const head = html`<style>${raw(STYLE)}</style>${shopStyle(shop)}${isOpen && REFRESH}`
  return shell({ language: lang, title: `${texts.title} · ${shop.name}`, head, body })
}
