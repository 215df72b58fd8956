import type { Core } from '../texts/core.ts'
import { isAmbiguous, pointOf, readAmount } from './decimal.ts'

/**
 * In the reader's language of the moment, which may change while it is shown.
 * @param usdc writes an amount of USDC
 */
export type Fault = (core: Core, label: string, usdc: (amount: string) => string) => string

type Kind = {
  /** What it looks like without blanks. */
  form?: RegExp
  /** Money: the most decimals it may have; null: the currency decides, and the service knows. */
  digits?: number | null
  /** Blanks inside belong to it. */
  isSpaced?: boolean
  input: { spellCheck?: false; inputMode?: 'decimal' | 'numeric'; type?: 'tel' }
}

/** What a field takes other than any text; `core.fields` has a sentence for each. */
const DEFINED = {
  wallet: { form: /^0x[0-9a-fA-F]{40}$/, input: { spellCheck: false } },
  transaction: { form: /^0x[0-9a-fA-F]{64}$/, input: { spellCheck: false } },
  siret: { form: /^[0-9]{14}$/, input: { inputMode: 'numeric' } },
  color: { form: /^#[0-9a-fA-F]{6}$/, input: { spellCheck: false } },
  phone: { form: /^\+?[0-9][0-9 ()./-]{4,29}$/, isSpaced: true, input: { type: 'tel' } },
  whole: { form: /^[0-9]+$/, input: { inputMode: 'numeric' } },
  amount: { digits: null, input: { inputMode: 'decimal' } },
  money: { digits: 2, input: { inputMode: 'decimal' } },
  usdc: { digits: 6, input: { inputMode: 'decimal' } },
  sixDigits: { form: /^[0-9]{6}$/, input: { inputMode: 'numeric' } },
  code: { form: /^\S{1,20}$/, input: { spellCheck: false } },
} as const satisfies Record<string, Kind>
export type FieldKind = keyof typeof DEFINED
export const KINDS: Readonly<Record<FieldKind, Kind>> = DEFINED

export const isKind = (name: string | undefined): name is FieldKind => name !== undefined && name in KINDS
export const isMoney = (kind: FieldKind | undefined): boolean => kind !== undefined && KINDS[kind].digits !== undefined

/** Blanks that a copied text brings along; some have no width. */
const BLANKS = /[\s\u200b\u2060]/g

type Read = { value: string } | { fault: Fault }

function readMoney(kind: FieldKind, text: string, digits: number | null, lang: string): Read {
  const point = pointOf(lang)
  const value = readAmount(text)
  if (value !== null && isAmbiguous(text, { point, digits: digits ?? 2 })) {
    const plain = text.trim().replace(/[.,]/, '')
    return { fault: ({ refusals }) => refusals.ambiguous(text.trim(), plain, `12${point}50`) }
  }
  const decimals = value?.split('.')[1]?.length ?? 0
  return value === null || (digits !== null && decimals > digits) ? { fault: ({ fields }) => fields[kind] } : { value }
}

/** What a person typed or pasted, in the API's form. Nothing else reads a field of money, a code or an address. */
export function readKind(kind: FieldKind, text: string, lang: string): Read {
  const { form, digits, isSpaced } = KINDS[kind]
  if (digits !== undefined) return readMoney(kind, text, digits, lang)
  const value = isSpaced ? text.trim() : text.replace(BLANKS, '')
  return form?.test(value) === false ? { fault: ({ fields }) => fields[kind] } : { value }
}
