import { useEffect, useState } from 'react'
import { queryClient } from '../api/hooks.ts'
import { say } from '../kit/toasts.tsx'
import { useCore } from '../texts/lang.ts'

export function OfflineBar() {
  const core = useCore()
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
  if (!isOffline) return null
  return (
    <p role="alert" className="bg-warn-soft px-4 py-2 text-center text-sm text-warn">
      {core.offline}
    </p>
  )
}
