import { type Html, html } from '../../kernel/html.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { IdentityTexts } from '../../texts/page-texts.ts'
import { type Field, IDENTITY_FIELDS, type IdentityForm } from './identity-fields.ts'
import { clock, type PageContext } from './pay-parts.ts'
import type { PayView } from './pay-service.ts'

type Input = { field: Field; label: string; type: 'text' | 'email'; autocomplete: string; hint?: string }

function input({ given, faults }: IdentityForm, texts: IdentityTexts, one: Input): Html {
  const { field, label, type, autocomplete, hint } = one
  const fault = faults[field]
  const isFirst = fault !== undefined && IDENTITY_FIELDS.find((name) => faults[name] !== undefined) === field
  const described = [hint && `${field}-hint`, fault && `${field}-fault`].filter(Boolean).join(' ')
  return html`<label class="ask" for="${field}">${label}</label>
    <input class="field" id="${field}" name="${field}" type="${type}" value="${given[field] ?? ''}" maxlength="256"
      autocomplete="${autocomplete}"${described !== '' && html` aria-describedby="${described}"`}${
        fault !== undefined && html` aria-invalid="true"`
      }${isFirst && html` autofocus`}>
    ${hint && html`<p class="hint" id="${field}-hint">${hint}</p>`}
    ${fault && html`<p class="wrong" id="${field}-fault">${texts.faults[fault]}</p>`}`
}

/** For buttons outside of it. */
export const IDENTITY_FORM = 'identity'

/** How it is posted into another language: its faults go along if it shows any. */
export const postedAs = ({ identity }: PayView): 'draft' | 'refused' =>
  Object.keys(identity?.faults ?? {}).length > 0 ? 'refused' : 'draft'

/** What the payer typed stands there, to be corrected or completed. */
export const isAnswering = ({ identity }: PayView): boolean =>
  identity !== null && Object.keys(identity.given).length + Object.keys(identity.faults).length > 0

/** Replaces the ways to pay until the payer has identified themselves. */
export const identityForm = (view: PayView, form: IdentityForm, page: PageContext): Html =>
  html`<div class="state busy"><span class="dot"></span><h2>${TEXTS[page.language].identity.title}</h2>${clock(view, page)}</div>
    ${identityQuestions(view, form, page)}`

/** Without the heading, for other ways to pay next to one that is chosen. */
export function identityQuestions(view: PayView, form: IdentityForm, page: PageContext): Html {
  const texts = TEXTS[page.language].identity
  const query = new URLSearchParams({ code: view.code, lang: page.language })
  const ask = (one: Input): Html => input(form, texts, one)
  const email = {
    field: 'email',
    label: texts.email,
    type: 'email',
    autocomplete: 'email',
    hint: texts.emailHint,
  } as const
  const name = (field: Field, label: string, autocomplete: string) => ask({ field, label, type: 'text', autocomplete })
  return html`<p class="soft">${texts.why(view.shop.name)}</p>
    <form id="${IDENTITY_FORM}" method="post" action="${page.basePath}/pay?${query.toString()}" novalidate>
      <input type="hidden" name="code" value="${view.code}"><input type="hidden" name="token" value="${view.token}">
      ${form.email && ask(email)}
      ${
        form.name &&
        html`${name('firstName', texts.firstName, 'given-name')}${name('lastName', texts.lastName, 'family-name')}
          <p class="soft or">${texts.orCompany}</p>${name('companyName', texts.companyName, 'organization')}`
      }
      <button class="main">${texts.next}</button></form>`
}
