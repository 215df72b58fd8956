import { Link } from '@tanstack/react-router'
import type { Query } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { shorten } from '../../kit/format.ts'
import { PagedList } from '../../kit/lists.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Empty, Time } from '../../kit/parts.tsx'
import { StatusTabs, usePage } from '../../kit/Tabs.tsx'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { ScreeningDialog } from './ScreeningDialog.tsx'
import { type Screening, ScreeningStatus } from './ScreeningStatus.tsx'
import { screeningTexts } from './screening-texts.ts'

const LIMIT = 20
/** Addresses that were screened: what waits for a decision first. */
export function Screenings() {
  const t = useTexts(screeningTexts)
  const [{ status, check }, go] = useAddress()
  const [page] = usePage()
  const query = { ...useCompanyQuery(), page, limit: LIMIT, ...(status ? { status } : {}) } as Query<'listScreenings'>
  const list = useApi('GET /api/next/screenings', { query }, { liveMs: SLOW_MS })
  const show = (id: string | undefined): void => go({ check: id }, { resetScroll: false })
  return (
    <>
      <StatusTabs label={t.title} options={['', ...t.tabs].map((word) => [word, wordFor(t.status, word)])} />
      <PagedList
        query={list}
        rows={(data) => data.screenings}
        keyOf={(one) => one._id}
        total={(data) => data.total}
        limit={LIMIT}
        look="rows"
        empty={
          <Empty icon="shield" title={t.empty}>
            {t.emptyText}
          </Empty>
        }
      >
        {(one) => <Row screening={one} onShow={() => show(one._id)} />}
      </PagedList>
      {check && <ScreeningDialog id={check} onClose={() => show(undefined)} />}
    </>
  )
}

function Row({ screening, onShow }: { screening: Screening; onShow(): void }) {
  const t = useTexts(screeningTexts)
  const { status, purpose, address, isWhole, code, shortCode, openedAt, answers } = screening
  const telling = answers.filter(({ verdict }) => verdict !== 'clean')
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3">
      <ScreeningStatus status={status} />
      <span>{wordFor(t.purpose, purpose)}</span>
      <code className="text-sm" title={address ?? undefined}>
        {address === null ? t.atProvider : shorten(address)}
      </code>
      <span className="text-sm text-soft">
        <Time at={openedAt} ago />
        {isWhole !== null && ` · ${isWhole ? t.whole : t.named}`}
        {telling.length > 0 && ` · ${telling.map(({ source }) => wordFor(t.source, source)).join(', ')}`}
      </span>
      <span className="ml-auto flex items-center gap-3">
        {code && (
          <Link to="/orders/$code" params={{ code }} className="link text-sm">
            {`${t.order} ${shortCode}`}
          </Link>
        )}
        <button type="button" className="btn" onClick={onShow}>
          {t.open}
        </button>
      </span>
    </div>
  )
}
