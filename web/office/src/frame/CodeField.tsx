import { useEffect, useRef } from 'react'
import { Field } from '../kit/fields.tsx'

/** Six digits, or a recovery code. Takes the focus; phones suggest the code from the mail. */
export function CodeField({ label, isRecovery }: { label: string; isRecovery?: boolean }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.querySelector('input')?.focus(), [])
  return (
    <div ref={box}>
      <Field
        label={label}
        name="code"
        required
        autoComplete="one-time-code"
        kind={isRecovery ? 'code' : 'sixDigits'}
        {...(isRecovery && { className: 'font-mono' })}
      />
    </div>
  )
}
