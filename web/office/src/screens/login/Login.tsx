import { Link, Navigate, useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError, call, type Data, type User } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { enter, useSessionState } from '../../api/session.ts'
import { CodeField } from '../../frame/CodeField.tsx'
import { Outside } from '../../frame/Outside.tsx'
import { canPasskey, provePasskey } from '../../frame/passkey.ts'
import { Field, Form } from '../../kit/fields.tsx'
import { Notice } from '../../kit/parts.tsx'
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

/** Back to where the person came from; never to another site. */
function useThen(): () => void {
  const { then } = useSearch({ strict: false })
  const router = useRouter()
  const target = then !== undefined && /^\/(?![/\\])/.test(then) ? then : '/'
  return () => void router.history.push(`/app${target === '/' ? '' : target}`)
}

export function Login() {
  const { session } = useSessionState()
  const [pending, setPending] = useState<User | null>(null)
  const goOn = useThen()
  const [hasEntered, setEntered] = useState(false)
  const onToken = async (token: string): Promise<void> => {
    setEntered(true)
    await enter(token)
    goOn()
  }
  if (session && !hasEntered) return <Navigate to="/" />
  if (pending) return <SecondFactor user={pending} onToken={onToken} onBack={() => setPending(null)} />
  return <Password onToken={onToken} onPending={setPending} />
}

type Next = { onToken(token: string): Promise<void> }

function Password({ onToken, onPending }: Next & { onPending(user: User): void }) {
  const t = useTexts(texts)
  const { email } = useSearch({ strict: false })
  const { isOver } = useSessionState()
  const action = useAction({
    run: async (values: { email: string; password: string }) => {
      const { token, user } = await logIn(values)
      if (token === null) onPending(user)
      else await onToken(token)
    },
  })
  return (
    <Outside title={t.title}>
      {isOver && <Notice tone="warn">{t.over}</Notice>}
      <Form
        button={t.button}
        isBusy={action.isPending}
        error={action.error}
        onSend={({ email = '', password = '' }) => action.mutate({ email, password })}
      >
        <Field label={t.email} name="email" type="email" autoComplete="username" required defaultValue={email} />
        <Field label={t.password} name="password" type="password" autoComplete="current-password" required />
      </Form>
      <p className="mt-5 flex flex-wrap justify-between gap-3 text-sm">
        <Link to="/forgot" className="link">
          {t.forgot}
        </Link>
        <Link to="/register" className="link">
          {t.register}
        </Link>
      </p>
    </Outside>
  )
}

type Way = 'app' | 'mail' | 'recovery'

function SecondFactor({ user, onToken, onBack }: Next & { user: User; onBack(): void }) {
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
    <Outside title={t.codeTitle}>
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
    </Outside>
  )
}
