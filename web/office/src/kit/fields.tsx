import { type ComponentProps, type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { Unsaved } from '../routing/Unsaved.tsx'
import { useLang } from '../texts/lang.ts'
import { checkForm, isFieldOf, Refused, readForm, useFault } from './field-faults.ts'
import { type FieldKind, isMoney, KINDS } from './field-kinds.ts'
import { writeAmount } from './format.ts'
import { Refusal } from './parts.tsx'

type FrameProps = {
  label: string
  input: Parameters<typeof useFault>[1]
  hint?: ReactNode
  className?: string | undefined
  isBare?: boolean | undefined
  children(input: Framed): ReactNode
}
type Framed = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined } & ReturnType<
  typeof useFault
>['watch']

/** The label, the hint and what is wrong, associated with the input for screen readers. */
function Frame({ label, input, hint, className = '', isBare, children }: FrameProps) {
  const id = useId()
  const { fault, watch } = useFault(label, input)
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

/**
 * `kind` instead of a pattern: a pattern has no words for what it refuses. Its form reads and checks what is typed. A
 * sum of money may have a `most`, in USDC; it is then above zero, too.
 */
type FieldProps = { label: string; hint?: ReactNode; kind?: FieldKind; most?: string } & Omit<
  ComponentProps<'input'>,
  'pattern'
>

/** A field of money takes its first value as the API gives it, and shows it as the reader would type it. */
export function Field({ label, hint, kind, most, className, defaultValue, ...input }: FieldProps) {
  const lang = useLang()
  const isWritten = isMoney(kind) && typeof defaultValue === 'string'
  const first = isWritten ? writeAmount(lang, defaultValue) : defaultValue
  return (
    <Frame label={label} input={input} hint={hint} className={className}>
      {(framed) => (
        <input
          className="input"
          {...framed}
          data-kind={kind}
          data-most={most}
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
  <Frame label={label} input={select} hint={hint} isBare={isBare} className={className}>
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
  <Frame label={label} input={area} hint={hint}>
    {(framed) => <textarea className="input min-h-24" {...framed} {...area} />}
  </Frame>
)

export function Check({ label, hint, ...input }: { label: ReactNode; hint?: string } & ComponentProps<'input'>) {
  const id = useId()
  const { fault, watch } = useFault('', { name: input.name })
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
  /** What was sent is kept, also while the page is still asked anew. */
  isSaved?: boolean
  /** What the person sees does not hold any more: nothing is sent. */
  isBlocked?: boolean
  /** Settings of a page: leaving it asks whether what was changed is to be lost. */
  isGuarded?: boolean
  button: string
  tone?: 'fill' | 'bad'
  beside?: ReactNode
  children?: ReactNode
}

/** A form that sends once, shows a refusal at its fields or above its button, and keeps the input. */
export function Form({
  onSend,
  onInput,
  error,
  isBusy,
  isSaved,
  isBlocked,
  isGuarded,
  button,
  tone = 'fill',
  beside,
  children,
}: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const lang = useLang()
  // what was refused earlier is not what is written now
  const [isHeld, setHeld] = useState(false)
  const refused = isHeld ? null : error
  useEffect(() => {
    if (refused) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [refused])
  const onSubmit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const { currentTarget } = event
    if (isBusy || isBlocked) return
    const isGood = checkForm(currentTarget, lang)
    setHeld(!isGood)
    if (isGood) onSend(readForm(currentTarget, lang), currentTarget)
  }
  return (
    <>
      <form ref={form} noValidate onSubmit={onSubmit} onInput={onInput} className="min-w-0">
        <Refused value={refused}>{children}</Refused>
        <Refusal error={refused} isAtField={(path) => isFieldOf(form.current, path)} />
        <div className="mt-2 flex flex-wrap items-center gap-2">
          <button type="submit" className={`btn btn-${tone}`} aria-busy={isBusy} disabled={isBusy || isBlocked}>
            {button}
          </button>
          {beside}
        </div>
      </form>
      {isGuarded && <Unsaved form={form} isBusy={isBusy === true && !isSaved} error={error} />}
    </>
  )
}
