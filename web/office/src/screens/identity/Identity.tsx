import type { Query } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { PagedList } from '../../kit/lists.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Empty, Money, Page, Time } from '../../kit/parts.tsx'
import { Parts, StatusTabs, usePage, usePart } from '../../kit/Tabs.tsx'
import { useTexts } from '../../texts/lang.ts'
import { CheckDialog } from './CheckDialog.tsx'
import { CheckStatus } from './CheckStatus.tsx'
import { Screenings } from './Screenings.tsx'
import { screeningTexts } from './screening-texts.ts'
import { texts } from './texts.ts'

const LIMIT = 20
/** Two kinds of checks: who a payer is, and which addresses money comes from and goes to. */
export function Identity() {
  const t = useTexts(texts)
  const s = useTexts(screeningTexts)
  const can = useCan()
  const parts = [
    { name: 'identity', word: s.identity },
    { name: 'screening', word: s.screening },
  ]
  const part = usePart(parts)
  if (!can('screenings.read'))
    return (
      <Page title={t.title} lead={t.lead}>
        <Checks />
      </Page>
    )
  return (
    <Page title={part === 'screening' ? s.title : t.title} lead={part === 'screening' ? s.lead : t.lead}>
      <Parts parts={parts} label={s.parts} />
      {part === 'screening' ? <Screenings /> : <Checks />}
    </Page>
  )
}

function Checks() {
  const t = useTexts(texts)
  const [{ status, check }, go] = useAddress()
  const [page] = usePage()
  const query = { ...useCompanyQuery(), page, limit: LIMIT, ...(status ? { status } : {}) } as Query<'listKyc'>
  const checks = useApi('GET /api/next/kyc', { query }, { liveMs: SLOW_MS })
  const show = (id: string | undefined): void => go({ check: id }, { resetScroll: false })
  // an approved check with an open enhanced one is to be decided, too
  const tabs = Object.entries(t.status).map(([name, word]) => [name === 'pending' ? 'waiting' : name, word] as const)
  return (
    <>
      <StatusTabs label={t.title} options={tabs} />
      <PagedList
        query={checks}
        rows={(data) => data.checks}
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
        {(one) => (
          <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3">
            <CheckStatus check={one} />
            <span className="text-sm text-soft">
              {t.provider} {one.provider === 'manual' ? t.manual : 'Sumsub'} · <Time at={one.createdAt} ago />
            </span>
            {one.spendingLimit && (
              <span className="text-sm">
                {t.limit} <Money amount={one.spendingLimit} asset="EUR" />
              </span>
            )}
            <button type="button" className="btn ml-auto" onClick={() => show(one._id)}>
              {t.open}
            </button>
          </div>
        )}
      </PagedList>
      {check && <CheckDialog id={check} onClose={() => show(undefined)} />}
    </>
  )
}
