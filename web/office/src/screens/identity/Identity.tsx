import type { ReactNode } from 'react'
import type { Query, Schemas } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Empty, Loaded, Money, Page, Pager, Time, type Tone } from '../../kit/parts.tsx'
import { StatusTabs, usePage } from '../../kit/Tabs.tsx'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { CheckDialog } from './CheckDialog.tsx'
import { Screenings } from './Screenings.tsx'
import { screeningTexts } from './screening-texts.ts'
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

/** Two kinds of checks: who a payer is, and which addresses money comes from and goes to. */
function Parts({ current }: { current: 'identity' | 'screening' }) {
  const t = useTexts(screeningTexts)
  const [, go] = useAddress()
  const parts = [
    ['identity', t.identity],
    ['screening', t.screening],
  ] as const
  return (
    <fieldset className="flex gap-2">
      <legend className="sr-only">{t.parts}</legend>
      {parts.map(([part, word]) => (
        <button
          key={part}
          type="button"
          className="btn aria-pressed:border-fill"
          aria-pressed={part === current}
          onClick={() =>
            go({ tab: part === 'identity' ? undefined : part, status: undefined, page: undefined, check: undefined })
          }
        >
          {word}
        </button>
      ))}
    </fieldset>
  )
}

export function Identity() {
  const t = useTexts(screeningTexts)
  const can = useCan()
  const [{ tab }] = useAddress()
  if (!can('screenings.read')) return <Checks />
  if (tab !== 'screening') return <Checks actions={<Parts current="identity" />} />
  return (
    <Page title={t.title} lead={t.lead} actions={<Parts current="screening" />}>
      <Screenings />
    </Page>
  )
}

function Checks({ actions }: { actions?: ReactNode }) {
  const t = useTexts(texts)
  const [{ status, check }, go] = useAddress()
  const [page, setPage] = usePage()
  const query = { ...useCompanyQuery(), page, limit: LIMIT, ...(status ? { status } : {}) } as Query<'listKyc'>
  const checks = useApi('GET /api/next/kyc', { query }, { liveMs: SLOW_MS })
  const show = (id: string | undefined): void => go({ check: id }, { resetScroll: false })
  return (
    <Page title={t.title} lead={t.lead} actions={actions}>
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
