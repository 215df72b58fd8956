import type { Query, Schemas } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Empty, Loaded, Money, Page, Pager, Time, type Tone } from '../../kit/parts.tsx'
import { StatusTabs, usePage } from '../../kit/Tabs.tsx'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { CheckDialog } from './CheckDialog.tsx'
import { texts } from './texts.ts'

const LIMIT = 20
const TONES: Record<string, Tone> = { pending: 'warn', approved: 'good', refused: 'bad' }

export function CheckStatus({ check }: { check: Pick<Schemas['Kyc'], 'status' | 'eddStatus'> }) {
  const t = useTexts(texts)
  return (
    <>
      <Badge tone={TONES[check.status] ?? 'plain'}>{wordFor(t.status, check.status)}</Badge>{' '}
      {check.eddStatus !== 'none' && <Badge tone="info">{wordFor(t.edd, check.eddStatus)}</Badge>}
    </>
  )
}

export function Identity() {
  const t = useTexts(texts)
  const [{ status, check }, go] = useAddress()
  const [page, setPage] = usePage()
  const query = { ...useCompanyQuery(), page, limit: LIMIT, ...(status ? { status } : {}) } as Query<'listKyc'>
  const checks = useApi('GET /api/next/kyc', { query }, { liveMs: SLOW_MS })
  const show = (id: string | undefined): void => go({ check: id }, { resetScroll: false })
  return (
    <Page title={t.title} lead={t.lead}>
      <StatusTabs label={t.title} options={Object.entries(t.status)} />
      <div className="panel">
        <Loaded
          query={checks}
          isEmpty={(data) => data.checks.length === 0}
          empty={
            <Empty icon="shield" title={t.empty}>
              {t.emptyText}
            </Empty>
          }
        >
          {(data) => (
            <>
              <ul className="divide-y divide-line">
                {data.checks.map((one) => (
                  <li key={one._id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3">
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
                  </li>
                ))}
              </ul>
              <Pager page={page} limit={LIMIT} total={data.total} onPage={setPage} />
            </>
          )}
        </Loaded>
      </div>
      {check && <CheckDialog id={check} onClose={() => show(undefined)} />}
    </Page>
  )
}
