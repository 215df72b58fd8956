import { useEffect, useState } from 'react'
import { queryClient, useSilence } from '../api/hooks.ts'
import { formatTime } from '../kit/format.ts'
import { say } from '../kit/toasts.tsx'
import { useCore, useLang } from '../texts/lang.ts'

/** The device has no connection, or the service does not answer: what is shown may be old. */
export function OfflineBar() {
  const core = useCore()
  const lang = useLang()
  const silentSince = useSilence()
  const [isOffline, setOffline] = useState(!navigator.onLine)
  useEffect(() => {
    const lost = (): void => setOffline(true)
    const found = (): void => {
      setOffline(false)
      say(core.offlineAgain)
      void queryClient.invalidateQueries()
    }
    addEventListener('offline', lost)
    addEventListener('online', found)
    return () => {
      removeEventListener('offline', lost)
      removeEventListener('online', found)
    }
  }, [core])
  if (!isOffline && silentSince === null) return null
  return (
    <p role="alert" className="bg-warn-soft px-4 py-2 text-center text-sm text-warn">
      {isOffline || silentSince === null
        ? core.offline
        : core.silent(formatTime(lang, new Date(silentSince).toISOString()))}
    </p>
  )
}
