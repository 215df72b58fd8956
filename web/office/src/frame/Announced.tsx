import { useApi } from '../api/hooks.ts'
import { useCan } from '../api/session.ts'
import { Notice } from '../kit/parts.tsx'

const MINUTE_MS = 60_000

/** The operator's announcement to everyone, above every page. */
export function Announced() {
  const can = useCan()
  const { data } = useApi('GET /api/next/announcements', {}, { enabled: can('announcements.read'), liveMs: MINUTE_MS })
  if (!data || data.length === 0) return null
  return (
    <div className="no-print mx-auto w-full max-w-6xl px-4 pt-4 sm:px-6 lg:px-8" role="status">
      {data.map(({ _id, text, tone }) => (
        <Notice key={_id} tone={tone}>
          <span className="break-words whitespace-pre-line">{text}</span>
        </Notice>
      ))}
    </div>
  )
}
