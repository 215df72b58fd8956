import { Link } from '@tanstack/react-router'
import { Empty, Refusal } from '../kit/parts.tsx'
import { useCore } from '../texts/lang.ts'

export function NotFound() {
  const core = useCore()
  return (
    <div className="py-10">
      <Empty icon="search" title={core.notFound} isPage>
        <p>{core.notFoundText}</p>
        <Link to="/" className="btn mt-4">
          {core.home}
        </Link>
      </Empty>
    </div>
  )
}

/** A screen that could not be loaded, for example because a new version was installed meanwhile. */
export function RouteFailed({ error }: { error: unknown }) {
  const core = useCore()
  return (
    <main className="mx-auto max-w-md px-4 py-10 text-center">
      <h1 className="mb-3 text-xl font-semibold">{core.failed}</h1>
      <Refusal error={error} />
      <button type="button" className="btn" onClick={() => location.reload()}>
        {core.refresh}
      </button>
    </main>
  )
}

export function NoRight() {
  const core = useCore()
  return (
    <Empty icon="shield" title={core.noRight} isPage>
      <p>{core.noRightText}</p>
    </Empty>
  )
}
