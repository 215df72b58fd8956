import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, type Query, type Schemas } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { NoCompany } from '../../frame/NoCompany.tsx'
import { Check } from '../../kit/fields.tsx'
import { FilterRow, PagedList } from '../../kit/lists.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Empty, Facts, Money, Refusal, Time } from '../../kit/parts.tsx'
import { usePage } from '../../kit/Tabs.tsx'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { Limits } from './Limits.tsx'
import { texts } from './texts.ts'

const LIMIT = 20

/** Companies, those that wait for approval, and what each may do. */
export function Companies() {
  const t = useTexts(texts)
  const [{ search, status }, go] = useAddress()
  const [page] = usePage()
  const query = {
    page,
    limit: LIMIT,
    ...(search ? { search } : {}),
    ...(status === 'waiting' ? { waiting: true } : {}),
  } as Query<'listCompanies'>
  const companies = useApi('GET /api/next/companies', { query }, { liveMs: SLOW_MS })
  return (
    <>
      <FilterRow filters={[{ name: 'search', label: t.search }]} />
      <Check
        label={t.onlyWaiting}
        checked={status === 'waiting'}
        onChange={({ target }) =>
          go({ status: target.checked ? 'waiting' : undefined, page: undefined }, { replace: true })
        }
      />
      <PagedList
        query={companies}
        rows={(data) => data.companies}
        keyOf={(company) => company._id}
        total={(data) => data.total}
        limit={LIMIT}
        look="grid"
        empty={<Nothing />}
      >
        {(company) => <Card company={company} />}
      </PagedList>
    </>
  )
}

/** A search that finds nothing is no empty installation. */
function Nothing() {
  const t = useTexts(texts)
  const [{ search, status }] = useAddress()
  if (search) return <Empty icon="shop" title={t.empty} />
  return status === 'waiting' ? <Empty icon="shop" title={t.noneWaits} /> : <NoCompany />
}

function Standing({ company }: { company: Schemas['Company'] }) {
  const t = useTexts(texts)
  if (company.approved) return <Badge tone="good">{t.approved}</Badge>
  return company.managerVerified ? <Badge tone="warn">{t.waiting}</Badge> : <Badge>{t.unconfirmed}</Badge>
}

/** What a company that is not approved waits for. It is refused by disabling those who wait for it. */
function Missing({ company }: { company: Schemas['Company'] }) {
  const t = useTexts(texts)
  const can = useCan()
  if (company.approved) return null
  if (!company.managerVerified) return <p className="mt-3 text-sm text-soft">{t.unconfirmedText}</p>
  if (!can('companies.approve')) return null
  return (
    <p className="mt-3 text-sm text-soft">
      {t.refuseText}{' '}
      <Link to="/people" search={{ company: company._id }} className="link">
        {t.people}
      </Link>
    </p>
  )
}

function Card({ company }: { company: Schemas['Company'] }) {
  const t = useTexts(texts)
  const can = useCan()
  const [isOpen, setOpen] = useState(false)
  const path = { id: company._id }
  const approve = useAction({
    run: () => call('POST /api/next/companies/{id}/approve', { path }),
    done: t.approvedDone,
  })
  return (
    <article className="panel h-full p-4">
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h2 className="min-w-0 font-semibold break-words">{company.name}</h2>
        <Standing company={company} />
        <span className="text-sm text-soft">{wordFor(t.kind, company.kind)}</span>
      </div>
      <Facts
        rows={[
          [t.created, <Time key="created" at={company.createdAt} />],
          [t.max, <Money key="max" amount={company.maxOrderAmount} asset="EUR" />],
          [t.fee, `${company.feeBps / 100} %`],
        ]}
      />
      <Missing company={company} />
      <Refusal error={approve.error} />
      <div className="mt-3 flex flex-wrap gap-2">
        {!company.approved && can('companies.approve') && (
          <button type="button" className="btn btn-fill" onClick={() => approve.mutate(undefined)}>
            {t.approve}
          </button>
        )}
        <Link to="/" search={{ company: company._id }} className="btn">
          {t.open}
        </Link>
        {can('companies.change') && (
          <button type="button" className="btn" onClick={() => setOpen(true)}>
            {t.limits}
          </button>
        )}
      </div>
      {isOpen && <Limits company={company} onClose={() => setOpen(false)} />}
    </article>
  )
}
