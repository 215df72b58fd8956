import { useState } from 'react'
import { call } from '../api/call.ts'
import { endStepUp, useSessionState } from '../api/session.ts'
import { Form } from '../kit/fields.tsx'
import { Dialog } from '../kit/parts.tsx'
import { say } from '../kit/toasts.tsx'
import { useCore } from '../texts/lang.ts'
import { CodeField } from './CodeField.tsx'
import { canPasskey, provePasskey } from './passkey.ts'

/** Another tab may have started a login, whose cookie must not receive the code of this session. */
const STEP_UP = { stepUp: true }

type Way = 'code' | 'recovery'

/**
 * Asks for a fresh second factor at the moment an action needs it; the action then continues. Without an authenticator
 * app the code comes by mail.
 */
export function StepUp() {
  const { asks, session } = useSessionState()
  if (!asks || !session) return null
  const { authenticatorEnabled, passkeyEnabled, email } = session.user
  return <StepUpDialog hasApp={authenticatorEnabled} hasPasskey={passkeyEnabled} email={email} />
}

type Props = { hasApp: boolean; hasPasskey: boolean; email: string }

function StepUpDialog({ hasApp, hasPasskey, email }: Props) {
  const core = useCore()
  const [way, setWay] = useState<Way>('code')
  const [isMailed, setMailed] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const byApp = hasApp && !isMailed
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      await work()
    } catch (refusal) {
      setError(refusal)
    }
    setBusy(false)
  }
  const sendMail = (): Promise<void> =>
    attempt(async () => {
      await call('POST /api/next/auth/otp/email', { query: STEP_UP, body: { email } })
      if (isMailed) say(core.stepUp.sent(email))
      setMailed(true)
    })
  const send = (code: string): Promise<void> =>
    attempt(async () => {
      const body = way === 'recovery' ? { recoveryCode: code } : byApp ? { otp: code } : { emailOtp: code }
      await call('POST /api/next/auth/otp', { query: STEP_UP, body })
      endStepUp(true)
    })
  const touch = (): Promise<void> =>
    attempt(async () => {
      const passkey = await provePasskey(STEP_UP).catch((refusal: unknown) => {
        throw refusal instanceof DOMException ? new Error(core.stepUp.passkeyGivenUp) : refusal
      })
      await call('POST /api/next/auth/otp', { query: STEP_UP, body: { passkey } })
      endStepUp(true)
    })
  const label = way === 'recovery' ? core.stepUp.recovery : byApp ? core.stepUp.app : core.stepUp.mail
  const needsMail = way === 'code' && !byApp && !isMailed
  return (
    <Dialog title={core.stepUp.title} onClose={() => endStepUp(false)}>
      <p className="mb-4 text-soft">{core.stepUp.text}</p>
      {isMailed && way === 'code' && <p className="mb-4">{core.stepUp.sent(email)}</p>}
      {hasPasskey && canPasskey() && (
        <p className="mb-4">
          <button type="button" className="btn btn-fill" disabled={isBusy} onClick={() => void touch()}>
            {core.stepUp.passkey}
          </button>
        </p>
      )}
      <Form
        button={needsMail ? core.stepUp.send : core.stepUp.confirm}
        isBusy={isBusy}
        error={error}
        onSend={(values) => void (needsMail ? sendMail() : send(values.code ?? ''))}
      >
        {!needsMail && <CodeField key={label} label={label} isRecovery={way === 'recovery'} />}
      </Form>
      <div className="mt-3 flex flex-wrap gap-1 text-sm">
        {way === 'code' && !needsMail && (
          <button type="button" className="btn btn-quiet text-brand" disabled={isBusy} onClick={() => void sendMail()}>
            {byApp ? core.stepUp.send : core.stepUp.again}
          </button>
        )}
        {hasApp && (
          <button
            type="button"
            className="btn btn-quiet text-brand"
            onClick={() => setWay(way === 'code' ? 'recovery' : 'code')}
          >
            {way === 'code' ? core.stepUp.useRecovery : core.stepUp.useCode}
          </button>
        )}
      </div>
    </Dialog>
  )
}
