import { Link, Navigate, useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { User } from '../../api/call.ts'
import { useUnconfirmed } from '../../api/hooks.ts'
import { enter, useSessionState } from '../../api/session.ts'
import { Outside } from '../../frame/Outside.tsx'
import { Notice } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { Password, type PasswordProps, SecondFactor } from './steps.tsx'
import { texts } from './texts.ts'

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
  if (pending) return <SecondFactor frame={Outside} user={pending} onToken={onToken} onBack={() => setPending(null)} />
  return <PasswordPage onToken={onToken} onPending={setPending} />
}

function PasswordPage(next: Omit<PasswordProps, 'frame' | 'email'>) {
  const t = useTexts(texts)
  const { email } = useSearch({ strict: false })
  const { isOver } = useSessionState()
  const isUnconfirmed = useUnconfirmed()
  return (
    <Password
      frame={Outside}
      email={email}
      {...next}
      beside={
        <p className="mt-5 flex flex-wrap justify-between gap-3 text-sm">
          <Link to="/forgot" className="link">
            {t.forgot}
          </Link>
          <Link to="/register" className="link">
            {t.register}
          </Link>
        </p>
      }
    >
      {isOver && <Notice tone="warn">{t.over}</Notice>}
      {isUnconfirmed && <Notice tone="warn">{t.unconfirmed}</Notice>}
    </Password>
  )
}
