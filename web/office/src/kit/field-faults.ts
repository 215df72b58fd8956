import { type SyntheticEvent, useState } from 'react'
import type { Core } from '../texts/core.ts'
import { useCore } from '../texts/lang.ts'

/** What a field takes other than any text; `core.fields` has a sentence for each. */
export const KINDS = {
  wallet: { pattern: '0x[0-9a-fA-F]{40}', spellCheck: false },
  transaction: { pattern: '0x[0-9a-fA-F]{64}', spellCheck: false },
  siret: { pattern: '[0-9]{14}', maxLength: 14, inputMode: 'numeric' },
  color: { pattern: '#[0-9a-fA-F]{6}', spellCheck: false },
  phone: { pattern: '\\+?[0-9][0-9 \\(\\)\\.\\/\\-]{4,29}', type: 'tel' },
  whole: { pattern: '[0-9]+', inputMode: 'numeric' },
  money: { pattern: '[0-9]+([.,][0-9]{1,2})?', inputMode: 'decimal' },
  usdc: { pattern: '[0-9]+([.,][0-9]{1,6})?', inputMode: 'decimal' },
  sixDigits: { pattern: '[0-9]{6}', maxLength: 6, inputMode: 'numeric' },
} as const
export type FieldKind = keyof typeof KINDS

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement
/** In the reader's language of the moment, which may change while it is shown. */
type Fault = (core: Core, label: string) => string

const minLengthOf = (input: Input): string => ('minLength' in input ? String(input.minLength) : '')

/** Why the browser sends no such form; null: it would. */
function faultOf(input: Input, kind: FieldKind | undefined): Fault | null {
  const { validity, type } = input
  if (validity.valid) return null
  if (validity.valueMissing) return ({ fields }) => (type === 'checkbox' ? fields.unticked : fields.missing)
  if (validity.patternMismatch && kind) return ({ fields }) => fields[kind]
  if (validity.typeMismatch) return ({ details }, label) => `${label}: ${type === 'url' ? details.url : details.email}`
  if (validity.tooShort) {
    const least = minLengthOf(input)
    return ({ details }, label) => `${label}: ${details.short(least)}`
  }
  return ({ refusals }) => refusals.invalid
}

const INVALID = 'input:invalid, select:invalid, textarea:invalid'

/**
 * Says under a field what is wrong with it, where the browser would say it in its own language and without an example.
 * @returns the sentence, and what the input needs for it
 */
export function useFault(label: string, kind?: FieldKind) {
  const core = useCore()
  const [fault, setFault] = useState<Fault | null>(null)
  const look = ({ currentTarget }: SyntheticEvent<Input>): void => {
    const found = faultOf(currentTarget, kind)
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
        if (fault) look(event)
      },
    },
  }
}
