import { type ComponentProps, type FormEvent, type ReactNode, useId, useRef } from 'react'
import { useCore, useLang } from '../texts/lang.ts'
import { type AmountForm, isAmbiguous, readAmount } from './decimal.ts'
import { Refusal } from './parts.tsx'

type FieldProps = { label: string; hint?: ReactNode } & ComponentProps<'input'>

/** An input with label and hint, associated for screen readers. */
export function Field({ label, hint, className, ...input }: FieldProps) {
  const id = useId()
  const hintId = `${id}-hint`
  return (
    <div className={`mb-4 ${className ?? ''}`}>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      <input id={id} className="input" aria-describedby={hint ? hintId : undefined} {...input} />
      {hint && (
        <p id={hintId} className="mt-1 text-[13px] text-soft">
          {hint}
        </p>
      )}
    </div>
  )
}

/**
 * Parses typed text as an amount. The browser's own validation message would give no example.
 * @param digits decimals of the currency
 * @throws Error, with an example
 */
export function useAmount(digits = 2): (text: string) => string {
  const core = useCore()
  const point: AmountForm['point'] = useLang() === 'en' ? '.' : ','
  return (text) => {
    const amount = readAmount(text)
    if (amount === null) throw new Error(core.refusals.unreadable(`12${point}50`))
    if (isAmbiguous(text, { point, digits })) {
      const plain = text.trim().replace(/[.,]/, '')
      throw new Error(core.refusals.ambiguous(text.trim(), plain, `12${point}50`))
    }
    return amount
  }
}

type SelectProps = {
  label: string
  options: readonly (readonly [string, string])[]
  hint?: string
  isBare?: boolean
} & Omit<ComponentProps<'select'>, 'children'>

export function Select({ label, options, hint, isBare, className, ...select }: SelectProps) {
  const id = useId()
  const hintId = `${id}-hint`
  return (
    <div className={`${isBare ? '' : 'mb-4'} ${className ?? ''}`}>
      <label htmlFor={id} className={isBare ? 'sr-only' : 'mb-1 block text-sm font-medium'}>
        {label}
      </label>
      <select id={id} className="input" aria-describedby={hint ? hintId : undefined} {...select}>
        {options.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
      {hint && (
        <p id={hintId} className="mt-1 text-[13px] text-soft">
          {hint}
        </p>
      )}
    </div>
  )
}

export function Area({ label, hint, ...area }: { label: string; hint?: string } & ComponentProps<'textarea'>) {
  const id = useId()
  const hintId = `${id}-hint`
  return (
    <div className="mb-4">
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      <textarea id={id} className="input min-h-24" aria-describedby={hint ? hintId : undefined} {...area} />
      {hint && (
        <p id={hintId} className="mt-1 text-[13px] text-soft">
          {hint}
        </p>
      )}
    </div>
  )
}

export function Check({ label, hint, ...input }: { label: ReactNode; hint?: string } & ComponentProps<'input'>) {
  return (
    <label className="mb-3 flex items-start gap-3">
      <input type="checkbox" className="mt-1 size-4 accent-fill" {...input} />
      <span>
        {label}
        {hint && <span className="block text-[13px] text-soft">{hint}</span>}
      </span>
    </label>
  )
}

/** Texts of a form by name, trimmed; empty ones are left out. */
export function readForm(form: HTMLFormElement): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && value.trim() !== '') values[name] = value.trim()
  }
  return values
}

type FormProps = {
  /** Called with the person's input, and with the form, which may be cleared. */
  onSend(values: Record<string, string>, form: HTMLFormElement): void
  error?: unknown
  isBusy?: boolean
  /** What the person sees does not hold any more: nothing is sent. */
  isBlocked?: boolean
  button: string
  tone?: 'fill' | 'bad'
  beside?: ReactNode
  children?: ReactNode
}

/** A form's label for a field. If the service names a nested path, its last part is the field's name. */
function labelIn(form: HTMLFormElement | null, path: string): string | null {
  const field = form?.elements.namedItem(path.split('.').at(-1) ?? '')
  const isLabelled =
    field instanceof HTMLInputElement || field instanceof HTMLSelectElement || field instanceof HTMLTextAreaElement
  const label = isLabelled ? field.labels?.[0] : undefined
  return label?.innerText.split('\n')[0]?.trim() || null
}

/** A form that sends once, shows a refusal above its button, and keeps the input. */
export function Form({ onSend, error, isBusy, isBlocked, button, tone = 'fill', beside, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const onSubmit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    if (!isBusy && !isBlocked) onSend(readForm(event.currentTarget), event.currentTarget)
  }
  return (
    <form ref={form} onSubmit={onSubmit} className="min-w-0">
      {children}
      <Refusal error={error} labelOf={(path) => labelIn(form.current, path)} />
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <button type="submit" className={`btn btn-${tone}`} aria-busy={isBusy} disabled={isBusy || isBlocked}>
          {button}
        </button>
        {beside}
      </div>
    </form>
  )
}
