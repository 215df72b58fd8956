import { type ComponentProps, type FormEvent, type ReactNode, useId, useRef, useState } from 'react'
import { useLang } from '../texts/lang.ts'
import { checkForm, readForm, useFault } from './field-faults.ts'
import { type FieldKind, isMoney, KINDS } from './field-kinds.ts'
import { writeAmount } from './format.ts'
import { Refusal } from './parts.tsx'

type FrameProps = {
  label: string
  hint?: ReactNode
  className?: string | undefined
  isBare?: boolean | undefined
  children(input: Framed): ReactNode
}
type Framed = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined } & ReturnType<
  typeof useFault
>['watch']

/** The label, the hint and what is wrong, associated with the input for screen readers. */
function Frame({ label, hint, className = '', isBare, children }: FrameProps) {
  const id = useId()
  const { fault, watch } = useFault(label)
  const said = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ')
  return (
    <div className={`${isBare ? '' : 'mb-4'} ${className}`}>
      <label htmlFor={id} className={isBare ? 'sr-only' : 'mb-1 block text-sm font-medium'}>
        {label}
      </label>
      {children({ id, 'aria-describedby': said || undefined, 'aria-invalid': fault ? true : undefined, ...watch })}
      {fault && (
        <p id={`${id}-fault`} role="alert" className="mt-1 text-[13px] text-bad">
          {fault}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className="mt-1 text-[13px] text-soft">
          {hint}
        </p>
      )}
    </div>
  )
}

/** `kind` instead of a pattern: a pattern has no words for what it refuses. Its form reads and checks what is typed. */
type FieldProps = { label: string; hint?: ReactNode; kind?: FieldKind } & Omit<ComponentProps<'input'>, 'pattern'>

/** A field of money takes its first value as the API gives it, and shows it as the reader would type it. */
export function Field({ label, hint, kind, className, defaultValue, ...input }: FieldProps) {
  const lang = useLang()
  const isWritten = isMoney(kind) && typeof defaultValue === 'string'
  const first = isWritten ? writeAmount(lang, defaultValue) : defaultValue
  return (
    <Frame label={label} hint={hint} className={className}>
      {(framed) => (
        <input
          className="input"
          {...framed}
          data-kind={kind}
          defaultValue={first}
          {...(kind && KINDS[kind].input)}
          {...input}
        />
      )}
    </Frame>
  )
}

type SelectProps = {
  label: string
  options: readonly (readonly [string, string])[]
  hint?: string
  isBare?: boolean
} & Omit<ComponentProps<'select'>, 'children'>

export const Select = ({ label, options, hint, isBare, className, ...select }: SelectProps) => (
  <Frame label={label} hint={hint} isBare={isBare} className={className}>
    {(framed) => (
      <select className="input" {...framed} {...select}>
        {options.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    )}
  </Frame>
)

export const Area = ({ label, hint, ...area }: { label: string; hint?: string } & ComponentProps<'textarea'>) => (
  <Frame label={label} hint={hint}>
    {(framed) => <textarea className="input min-h-24" {...framed} {...area} />}
  </Frame>
)

export function Check({ label, hint, ...input }: { label: ReactNode; hint?: string } & ComponentProps<'input'>) {
  const id = useId()
  const { fault, watch } = useFault('')
  const wrong = fault === null ? {} : ({ 'aria-invalid': true, 'aria-describedby': id } as const)
  return (
    <div className="mb-3">
      <label className="flex items-start gap-3">
        <input type="checkbox" className="mt-1 size-4 accent-fill" {...watch} {...wrong} {...input} />
        <span>
          {label}
          {hint && <span className="block text-[13px] text-soft">{hint}</span>}
        </span>
      </label>
      {fault && (
        <p id={id} role="alert" className="mt-1 text-[13px] text-bad">
          {fault}
        </p>
      )}
    </div>
  )
}

type FormProps = {
  /** Called with the person's input, and with the form, which may be cleared. */
  onSend(values: Record<string, string>, form: HTMLFormElement): void
  onInput?: (() => void) | undefined
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
export function Form({
  onSend,
  onInput,
  error,
  isBusy,
  isBlocked,
  button,
  tone = 'fill',
  beside,
  children,
}: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const lang = useLang()
  // what was refused earlier is not what is written now
  const [isHeld, setHeld] = useState(false)
  const onSubmit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const { currentTarget } = event
    if (isBusy || isBlocked) return
    const isGood = checkForm(currentTarget, lang)
    setHeld(!isGood)
    if (isGood) onSend(readForm(currentTarget, lang), currentTarget)
  }
  return (
    <form ref={form} noValidate onSubmit={onSubmit} onInput={onInput} className="min-w-0">
      {children}
      <Refusal error={isHeld ? null : error} labelOf={(path) => labelIn(form.current, path)} />
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <button type="submit" className={`btn btn-${tone}`} aria-busy={isBusy} disabled={isBusy || isBlocked}>
          {button}
        </button>
        {beside}
      </div>
    </form>
  )
}
