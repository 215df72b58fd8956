import { type SyntheticEvent, useState } from 'react'
import { type Lang, useCore, useLang } from '../texts/lang.ts'
import { type Fault, type FieldKind, isKind, readKind } from './field-kinds.ts'

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

const isInput = (element: unknown): element is Input =>
  element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement

const kindOf = ({ dataset }: Input): FieldKind | undefined => (isKind(dataset.kind) ? dataset.kind : undefined)
const minLengthOf = (input: Input): string => ('minLength' in input ? String(input.minLength) : '')

/** What its kind has against what is written; null: nothing, or it is empty. */
function kindFaultOf(input: Input, lang: Lang): Fault | null {
  const { value, required } = input
  if (value.trim() === '') return required && value !== '' ? ({ fields }) => fields.missing : null
  const kind = kindOf(input)
  const read = kind && readKind(kind, value, lang)
  return read && 'fault' in read ? read.fault : null
}

/** Why such a form is not sent; null: it is. */
function faultOf(input: Input, lang: Lang): Fault | null {
  const { validity, type } = input
  const ofKind = kindFaultOf(input, lang)
  input.setCustomValidity(ofKind ? 'kind' : '')
  if (validity.valid) return null
  if (validity.valueMissing) return ({ fields }) => (type === 'checkbox' ? fields.unticked : fields.missing)
  if (ofKind) return ofKind
  if (validity.typeMismatch) return ({ details }, label) => `${label}: ${type === 'url' ? details.url : details.email}`
  if (validity.tooShort) {
    const least = minLengthOf(input)
    return ({ details }, label) => `${label}: ${details.short(least)}`
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

const INVALID = 'input:invalid, select:invalid, textarea:invalid'

/**
 * Says under a field what is wrong with it, where the browser would say it in its own language and without an example.
 * @returns the sentence, and what the input needs for it
 */
export function useFault(label: string) {
  const core = useCore()
  const lang = useLang()
  const [fault, setFault] = useState<Fault | null>(null)
  const look = ({ currentTarget }: SyntheticEvent<Input>): void => {
    const found = faultOf(currentTarget, lang)
    setFault(() => found)
  }
  return {
    fault: fault?.(core, label) ?? null,
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
        // a field of no form works at once, and is sent by nothing that would look at it
        if (fault || (form === null && dataset.kind !== undefined)) look(event)
      },
    },
  }
}
