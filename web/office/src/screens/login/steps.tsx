import { type ReactNode, useState } from 'react'
import { ApiError, call, type Data, type User } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { CodeField } from '../../frame/CodeField.tsx'
import { canPasskey, provePasskey } from '../../frame/passkey.ts'
import { Field, Form } from '../../kit/fields.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

type Answer = Data<'login'>

/** Staff and operators use different endpoints; a person should not have to know which one. */
async function logIn(body: { email: string; password: string }): Promise<Answer> {
  try {
    return await call('POST /api/next/auth/login/manager', { body: { ...body, origin: 'dashboard' } })
  } catch (error) {
    if (error instanceof ApiError && error.code === 'FORBIDDEN') return call('POST /api/next/auth/login', { body })
    throw error
  }
}

/** What a step of the login stands in: a page, or a dialog over another one. */
type Frame = (props: { title: string; children: ReactNode }) => ReactNode
type Next = { frame: Frame; onToken(token: string): Promise<void> }
export type PasswordProps = Next & {
  email: string | undefined
  onPending(user: User): void
  beside?: ReactNode
  children?: ReactNode
}

export function Password({ frame: Frame, email, onToken, onPending, beside, children }: PasswordProps) {
  const t = useTexts(texts)
  const action = useAction({
    run: async (values: { email: string; password: string }) => {
      const { token, user } = await logIn(values)
      if (token === null) onPending(user)
      else await onToken(token)
    },
  })
  return (
    <Frame title={t.title}>
      {children}
      <Form
        button={t.button}
        isBusy={action.isPending}
        error={action.error}
        onSend={({ email = '', password = '' }) => action.mutate({ email, password })}
      >
        <Field label={t.email} name="email" type="email" autoComplete="username" required defaultValue={email} />
        <Field label={t.password} name="password" type="password" autoComplete="current-password" required />
      </Form>
      {beside}
    </Frame>
  )
}

type Way = 'app' | 'mail' | 'recovery'

export function SecondFactor({ frame: Frame, user, onToken, onBack }: Next & { user: User; onBack(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const [way, setWay] = useState<Way>(user.authenticatorEnabled ? 'app' : 'mail')
  const mail = useAction({
    run: async () => {
      await call('POST /api/next/auth/otp/email', { body: { email: user.email } })
      setWay('mail')
    },
    done: t.sent,
  })
  const action = useAction({
    run: async (code: string) => {
      const body = way === 'app' ? { otp: code } : way === 'mail' ? { emailOtp: code } : { recoveryCode: code }
      const { token } = await call('POST /api/next/auth/otp', { body })
      await onToken(token)
    },
  })
  const touch = useAction({
    run: async () => {
      const passkey = await provePasskey().catch((refusal: unknown) => {
        throw refusal instanceof DOMException ? new Error(core.stepUp.passkeyGivenUp) : refusal
      })
      const { token } = await call('POST /api/next/auth/otp', { body: { passkey } })
      await onToken(token)
    },
  })
  // with a passkey no code is mailed until requested
  const hasNoMail = way === 'mail' && user.passkeyEnabled && !mail.isSuccess
  const label = { app: t.appCode, mail: t.mailCode, recovery: t.recovery }[way]
  return (
    <Frame title={t.codeTitle}>
      {user.passkeyEnabled && canPasskey() && (
        <p className="mb-4">
          <button type="button" className="btn btn-fill" onClick={() => touch.mutate(undefined)}>
            {core.stepUp.passkey}
          </button>
        </p>
      )}
      {way !== 'recovery' && !hasNoMail && (
        <p className="mb-4 text-soft">{way === 'app' ? t.fromApp : t.mailed(user.email)}</p>
      )}
      <Form
        button={t.button}
        isBusy={action.isPending}
        error={action.error ?? mail.error ?? touch.error}
        onSend={({ code = '' }) => action.mutate(code)}
      >
        <CodeField key={way} label={label} isRecovery={way === 'recovery'} />
      </Form>
      <div className="mt-4 flex flex-col items-start text-sm">
        <button type="button" className="btn btn-quiet text-brand" onClick={() => mail.mutate(undefined)}>
          {way === 'mail' && !hasNoMail ? t.again : t.byMail}
        </button>
        {user.authenticatorEnabled && way !== 'recovery' && (
          <button type="button" className="btn btn-quiet text-brand" onClick={() => setWay('recovery')}>
            {t.useRecovery}
          </button>
        )}
        <button type="button" className="btn btn-quiet text-brand" onClick={onBack}>
          {t.other}
        </button>
      </div>
    </Frame>
  )
}
