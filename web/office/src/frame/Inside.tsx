import { Outlet, useMatches, useRouter } from '@tanstack/react-router'
import { Fragment, useEffect } from 'react'
import { useCan, useSessionState } from '../api/session.ts'
import { LoginAgain } from '../screens/login/LoginAgain.tsx'
import { useCore } from '../texts/lang.ts'
import { Announced } from './Announced.tsx'
import { useAddress } from './address.ts'
import { isOperator, useCanSell } from './company.tsx'
import { Missing } from './Missing.tsx'
import { Navigation, permissionOf, TopBar } from './Navigation.tsx'
import { NoRight } from './NotFound.tsx'
import { OfflineBar } from './OfflineBar.tsx'
import { Shortcuts } from './Shortcuts.tsx'

/** Everything behind the login. */
export function Inside() {
  const { session, isOver } = useSessionState()
  const router = useRouter()
  const core = useCore()
  const can = useCan()
  const canSell = useCanSell()
  const [{ company }] = useAddress()
  // of the rendered page: while the next page loads, the URL is ahead of it
  const path = useMatches({ select: (matches) => matches.at(-1)?.fullPath ?? '/' })
  // if the session ends while a page is open, the route asks for the login again
  useEffect(() => {
    if (!session) void router.invalidate()
  }, [session, router])
  if (!session) return null
  const again = isOver && <LoginAgain />
  if (!session.user.valid || session.user.missing.length > 0)
    return (
      <>
        <Missing />
        {again}
      </>
    )
  const permission = permissionOf(path)
  const mayEnter =
    permission === null || (permission === 'orders.create' ? canSell || isOperator(session.user.role) : can(permission))
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[16rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only z-50 rounded bg-panel px-4 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {core.skip}
      </a>
      <TopBar />
      <Navigation />
      <main id="content" tabIndex={-1} className="min-w-0 outline-none">
        <OfflineBar />
        <Announced />
        {/* forms, dialogs and secrets of one company do not outlive the switch to another */}
        <Fragment key={company ?? ''}>{mayEnter ? <Outlet /> : <NoRight />}</Fragment>
      </main>
      <Shortcuts />
      {again}
    </div>
  )
}
