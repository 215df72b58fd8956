import { createContext, type SyntheticEvent, useContext, useState } from 'react'
import { ApiError } from '../api/call.ts'
import type { Core } from '../texts/core.ts'
import { type Lang, useCore, useLang } from '../texts/lang.ts'
import { toUnits } from './decimal.ts'
import { type Fault, type FieldKind, isKind, readKind } from './field-kinds.ts'
import { formatMoney } from './format.ts'
import { detailInWords } from './refusal.ts'

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

const isInput = (element: unknown): element is Input =>
  element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement

const kindOf = ({ dataset }: Input): FieldKind | undefined => (isKind(dataset.kind) ? dataset.kind : undefined)
const minLengthOf = (input: Input): string => ('minLength' in input ? String(input.minLength) : '')

/** A field with a `most` takes a sum above zero and at most that, in USDC. */
function rangeFaultOf(value: string, most: string): Fault | null {
  if (toUnits(value) === 0n) return ({ refusals }) => refusals.aboveZero
  return toUnits(value) > toUnits(most) ? ({ fields }, _, usdc) => fields.most(usdc(most)) : null
}

/** What its kind has against what is written; null: nothing, or it is empty. */
function kindFaultOf(input: Input, lang: Lang): Fault | null {
  const { value, required, dataset } = input
  if (value.trim() === '') return required && value !== '' ? ({ fields }) => fields.missing : null
  const kind = kindOf(input)
  const read = kind && readKind(kind, value, lang)
  if (!read) return null
  if ('fault' in read) return read.fault
  return dataset.most === undefined ? null : rangeFaultOf(read.value, dataset.most)
}

/** Why such a form is not sent; null: it is. */
function faultOf(input: Input, lang: Lang): Fault | null {
  const { validity, type } = input
  const ofKind = kindFaultOf(input, lang)
  input.setCustomValidity(ofKind ? 'kind' : '')
  if (validity.valid) return null
  if (validity.valueMissing) return ({ fields }) => (type === 'checkbox' ? fields.unticked : fields.missing)
  if (ofKind) return ofKind
  if (validity.typeMismatch)
    return ({ details, pair }, label) => pair(label, type === 'url' ? details.url : details.email)
  if (validity.tooShort) {
    const least = minLengthOf(input)
    return ({ details, pair }, label) => pair(label, details.short(least))
  }
  return ({ refusals }) => refusals.invalid
}

/** Looks at every field of a form; those with a fault say so. @returns whether the form may be sent */
export function checkForm(form: HTMLFormElement, lang: Lang): boolean {
  for (const element of form.elements) if (isInput(element)) faultOf(element, lang)
  return form.checkValidity()
}

/** Texts of a form by name, as the API takes them, trimmed; empty ones are left out. */
export function readForm(form: HTMLFormElement, lang: Lang): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [name, text] of new FormData(form)) {
    if (typeof text !== 'string' || text.trim() === '') continue
    const input = form.elements.namedItem(name)
    const kind = isInput(input) ? kindOf(input) : undefined
    const read = kind && readKind(kind, text, lang)
    values[name] = read && 'value' in read ? read.value : text.trim()
  }
  return values
}

/** Why the service refused what the form around a field sent last; null: it did not. */
export const Refused = createContext<unknown>(null)

/** The name of the field that a path of the service is about: of a nested one the last part. */
const fieldOf = (path: string): string => path.split('.').at(-1) ?? ''

/** Whether the form shows that field, which then says itself what is wrong with it. */
export const isFieldOf = (form: HTMLFormElement | null, path: string): boolean =>
  isInput(form?.elements.namedItem(fieldOf(path)))

function refusedOf(core: Core, refused: unknown, name: string | undefined): string | null {
  if (!(refused instanceof ApiError) || name === undefined) return null
  const own = refused.details.filter(({ path }) => fieldOf(path) === name)
  return own.map(({ message }) => detailInWords(core, message)).join('; ') || null
}

/** What is given to the input of a field; the value only of one that its form writes. */
type Watched = { name?: string | undefined; value?: unknown }

const INVALID = 'input:invalid, select:invalid, textarea:invalid'

/**
 * Says under a field what is wrong with it, where the browser would say it in its own language and without an example,
 * and what the service refused about it.
 * @returns the sentence, and what the input needs for it
 */
export function useFault(label: string, { name, value }: Watched) {
  const core = useCore()
  const lang = useLang()
  const [found, setFound] = useState<{ fault: Fault; at: string } | null>(null)
  // the form may have written another value into it meanwhile
  const fault = found !== null && (value === undefined || String(value) === found.at) ? found.fault : null
  const refused = useContext(Refused)
  // once the field is changed, it is no longer what was refused
  const [changed, setChanged] = useState<unknown>(null)
  const words = refused === changed ? null : refusedOf(core, refused, name)
  const look = ({ currentTarget }: SyntheticEvent<Input>): void => {
    const fault = faultOf(currentTarget, lang)
    setFound(fault && { fault, at: currentTarget.value })
  }
  return {
    fault:
      fault?.(core, label, (amount) => formatMoney(lang, amount, 'USDC')) ??
      (words && (label === '' ? words : core.pair(label, words))),
    watch: {
      onInvalid(event: SyntheticEvent<Input>): void {
        event.preventDefault()
        look(event)
        // the browser moves the focus only where it says something itself
        const { currentTarget } = event
        if (currentTarget.form?.querySelector(INVALID) === currentTarget) currentTarget.focus()
      },
      onInput(event: SyntheticEvent<Input>): void {
        const { form, dataset } = event.currentTarget
        setChanged(refused)
        // a field of no form works at once, and is sent by nothing that would look at it
        if (fault || (form === null && dataset.kind !== undefined)) look(event)
      },
    },
  }
}
