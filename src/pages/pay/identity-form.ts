import { needsEmail } from '../../compliance/payer-gate.ts'
import type { Db } from '../../db/db.ts'
import { type Html, html } from '../../kernel/html.ts'
import type { Order } from '../../orders/order.ts'
import { findEuroRate, findMissingIdentity, type MissingIdentity, type PayerDeps } from '../../payers/payer-service.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { IdentityTexts } from '../../texts/page-texts.ts'
import { clock, type PageContext } from './pay-parts.ts'
import type { PayView } from './pay-service.ts'

export const IDENTITY_FIELDS = ['email', 'firstName', 'lastName', 'companyName'] as const
type Field = (typeof IDENTITY_FIELDS)[number]
export type IdentityGiven = Partial<Record<Field, string>>
type Faults = Partial<Record<Field, keyof IdentityTexts['faults']>>

/** What the page asks of who pays: what is missing, what was typed already and what is wrong with it. */
export type IdentityForm = MissingIdentity & { given: IdentityGiven; faults: Faults }

/**
 * What an order still has to know before it can be accepted; null: nothing. From the threshold of identity checks on
 * an e-mail is needed even when the order is marked anonymous.
 */
export async function readIdentityForm(
  { db, payers }: { db: Db; payers: PayerDeps },
  order: Order,
): Promise<IdentityForm | null> {
  const euroRate = order.from.asset === 'EUR' ? null : await findEuroRate(payers)
  const missing = await findMissingIdentity(payers, db, order, { email: null, anonymous: false, euroRate })
  if (missing) return { ...missing, given: {}, faults: {} }
  return (await needsEmail(payers, db, order, euroRate)) ? { email: true, name: false, given: {}, faults: {} } : null
}

const isEmail = (text: string): boolean => text.length <= 320 && /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(text)

/** What is wrong with what was typed, field by field. */
export function findFaults({ email, name }: MissingIdentity, given: IdentityGiven): Faults {
  const faults: Faults = {}
  if (email && given.email === undefined) faults.email = 'emailMissing'
  else if (email && !isEmail(given.email ?? '')) faults.email = 'emailWrong'
  if (name && given.companyName === undefined) {
    if (given.firstName === undefined) faults.firstName = 'firstName'
    if (given.lastName === undefined) faults.lastName = 'lastName'
  }
  return faults
}

/** What was typed, without spaces around it; a field with nothing in it was not given. */
export function readGiven(fields: IdentityGiven): IdentityGiven {
  const typed = IDENTITY_FIELDS.map((field) => [field, (fields[field] ?? '').trim().slice(0, 320)] as const)
  return Object.fromEntries(typed.filter(([, text]) => text !== ''))
}

/** Only what was asked for: what the shop said of its payer is not overwritten by whoever has the link. */
export function readPayerInformation({ email, ...names }: IdentityGiven, asked: MissingIdentity) {
  const { companyName, ...person } = names
  const named = companyName === undefined ? person : { ...person, isCompany: true, companyName }
  return { ...(asked.email && email !== undefined ? { email } : {}), ...(asked.name ? named : {}) }
}

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

/** In the place of the ways to pay until somebody is named. */
export function identityForm(view: PayView, form: IdentityForm, page: PageContext): Html {
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
  return html`<div class="state busy"><span class="dot"></span><h2>${texts.title}</h2>${clock(view, page)}</div>
    <p class="soft">${texts.why(view.merchant)}</p>
    <form method="post" action="${page.basePath}/pay?${query.toString()}" novalidate>
      <input type="hidden" name="code" value="${view.code}"><input type="hidden" name="token" value="${view.token}">
      ${form.email && ask(email)}
      ${
        form.name &&
        html`${name('firstName', texts.firstName, 'given-name')}${name('lastName', texts.lastName, 'family-name')}
          <p class="soft or">${texts.orCompany}</p>${name('companyName', texts.companyName, 'organization')}`
      }
      <button class="main">${texts.next}</button></form>`
}
