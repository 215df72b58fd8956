import { type Html, html } from '../../kernel/html.ts'
import { TEXTS } from '../../texts/languages.ts'
import { hasAddress } from './pay-instructions.ts'
import { form, type PageContext } from './pay-parts.ts'
import type { PayView } from './pay-service.ts'

/** How to contact the shop about this order. */
export function contact(view: PayView, { language }: PageContext): Html | null {
  const { supportEmail, supportPhone, name } = view.shop
  if (supportEmail === null && supportPhone === null) return null
  const { help } = TEXTS[language].order
  const mail =
    supportEmail &&
    `mailto:${encodeURIComponent(supportEmail)}?subject=${encodeURIComponent(help.subject(view.shortCode))}`
  return html`<p class="contact">${help.ask(name, view.shortCode)}
    ${mail && html`<br>${help.email}: <a href="${mail}">${supportEmail}</a>`}
    ${supportPhone && html`<br>${help.phone}: <a href="tel:${supportPhone.replace(/[^+\d]/g, '')}">${supportPhone}</a>`}</p>`
}

/** For a payment that is not detected: the payer enters its transaction, or its number at the provider. */
export function searchForm(view: PayView, page: PageContext): Html | null {
  if (view.shown === null) return null
  const { help } = TEXTS[page.language].order
  const fields = html`<label class="ask" for="reference">${help.reference}</label>
    <input class="field" id="reference" name="reference" required maxlength="200" autocomplete="off" spellcheck="false"
      value="${page.search ?? ''}" aria-describedby="reference-hint">
    <p class="hint" id="reference-hint">${help.referenceHint}</p><button>${help.referenceSend}</button>`
  const whole = form(view, page, 'transaction', fields)
  if (page.search !== null) return whole
  // without a script the page reloads itself, and what is being typed would be lost
  const query = new URLSearchParams({ code: view.code, search: '1' })
  const link = html`<a class="button wide" href="${page.basePath}/pay?${query.toString()}#reference">${help.referenceSend}</a>`
  return html`<div class="scripted">${whole}</div><noscript>${link}</noscript>`
}

/** "I have paid, but nothing happens": what to check, the search, the shop. */
export function helpBox(view: PayView, page: PageContext): Html {
  const { texts } = page
  const { help } = TEXTS[page.language].order
  const { shop, shortCode, payment } = view
  const network = payment?.network
  return html`<details id="help"${page.search !== null && html` open`}><summary>${texts.help}</summary>
    ${
      hasAddress(view) &&
      html`<p class="soft">${texts.helpText(shop.name, shortCode)}</p>
      ${network && html`<p class="soft">${help.otherNetwork(network.name, shop.name, shortCode)}</p>`}
      <p class="soft">${help.otherToken(shop.name, shortCode)}</p>`
    }
    ${searchForm(view, page)}${contact(view, page)}</details>`
}

/** Money that did not pay the order: its payer asks for it here. */
export function askBack(view: PayView, page: PageContext): Html | null {
  if (view.askBack === null) return null
  const { askBack: texts } = TEXTS[page.language].order
  const { name } = view.shop
  if (view.askBack === 'asked') return html`<p class="note" id="asked-back">${texts.asked(name)}</p>`
  const button = html`<p class="hint">${texts.offer(name)}</p><button>${texts.button}</button>`
  return html`<section class="box" id="ask-back">${form(view, page, 'ask-back', button)}</section>`
}
