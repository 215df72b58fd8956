import { Link } from '@tanstack/react-router'
import { Empty } from '../kit/parts.tsx'
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

export function NoRight() {
  const core = useCore()
  return (
    <Empty icon="shield" title={core.noRight} isPage>
      <p>{core.noRightText}</p>
    </Empty>
  )
}
