import { type ReactNode, useEffect, useState } from 'react'
import type { User } from '../../api/call.ts'
import { enter, giveUp, lookForLogin, useSession } from '../../api/session.ts'
import { Dialog, Notice } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { Password, SecondFactor } from './steps.tsx'
import { texts } from './texts.ts'

/** Over the page on which the session ended: what was typed there stays, and goes on after the login. */
export function LoginAgain() {
  const t = useTexts(texts)
  const { user } = useSession()
  const [pending, setPending] = useState<User | null>(null)
  useEffect(() => {
    const look = (): void => void lookForLogin()
    addEventListener('focus', look)
    return () => removeEventListener('focus', look)
  }, [])
  const onToken = async (token: string): Promise<void> => void (await enter(token))
  if (pending) return <SecondFactor frame={Over} user={pending} onToken={onToken} onBack={() => setPending(null)} />
  return (
    <Password frame={Over} email={user.email} onToken={onToken} onPending={setPending}>
      <Notice tone="warn">{t.overHere}</Notice>
    </Password>
  )
}

/** Nothing of the page is to be read behind it: who sits there now may be another person. */
const Over = ({ title, children }: { title: string; children: ReactNode }) => (
  <Dialog title={title} onClose={giveUp} isOnce isCovering>
    {children}
  </Dialog>
)
