import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCanSell, useCompanyQuery } from '../../frame/company.tsx'
import { formatCount } from '../../kit/format.ts'
import { Icon } from '../../kit/icons.tsx'
import { LIVE_MS } from '../../kit/live.ts'
import { Empty, Loaded, Page, Pager, PastEnd } from '../../kit/parts.tsx'
import { say } from '../../kit/toasts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { ColumnChoice, columnsOf } from './Columns.tsx'
import { Export } from './Export.tsx'
import { Filters } from './Filters.tsx'
import { OrderTable } from './OrderTable.tsx'
import { texts } from './texts.ts'
import { type OrderSearch, toQuery, useSavedViews, VIEWS } from './views.ts'

const LIMIT = 25
/** Debounce: pause in typing before the list is queried. */
const TYPING_MS = 250

function SearchBox({ value, onChange }: { value: string; onChange(text: string): void }) {
  const t = useTexts(texts)
  const [text, setText] = useState(value)
  const known = useRef(value)
  useEffect(() => {
    if (value !== known.current) {
      known.current = value
      setText(value)
    }
  }, [value])
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text.trim() === known.current) return
      known.current = text.trim()
      onChange(text.trim())
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [text, onChange])
  return (
    <div className="relative min-w-52 grow">
      <span className="pointer-events-none absolute top-2.5 left-3 text-soft">
        <Icon name="search" />
      </span>
      <input
        data-search
        type="search"
        className="input pl-10"
        maxLength={100}
        aria-label={t.searchLabel}
        placeholder={t.searchLabel}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  )
}

function Views({ search, go }: { search: OrderSearch; go(change: OrderSearch): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const { views, save, remove, find } = useSavedViews()
  const current = find(search)
  const isFiltered = Object.values(search).some((value) => value !== undefined)
  const onSave = (): void => {
    const name = prompt(t.viewName)?.trim()
    if (name) save(name, search)
  }
  const onRemove = (view: { name: string; search: OrderSearch }): void => {
    remove(view.name)
    say(t.viewRemoved, { word: core.undo, run: () => save(view.name, view.search) })
  }
  const chip =
    'chip min-h-8 border border-line px-3 aria-pressed:border-fill aria-pressed:bg-fill aria-pressed:text-white'
  return (
    <div className="mb-3 flex flex-wrap gap-2">
      {Object.entries(VIEWS).map(([name, status]) => (
        <button
          key={name}
          type="button"
          className={chip}
          aria-pressed={!current && (search.status ?? '') === status}
          onClick={() => go({ status: status || undefined, page: undefined })}
        >
          {t.views[name as keyof typeof VIEWS]}
        </button>
      ))}
      {views.map((view) => (
        <button
          key={view.name}
          type="button"
          className={chip}
          aria-pressed={current?.name === view.name}
          onClick={() => go({ ...EMPTY, ...view.search })}
        >
          {view.name}
        </button>
      ))}
      {isFiltered && (
        <button
          type="button"
          className="btn btn-quiet min-h-8 py-1 text-sm text-brand"
          onClick={() => (current ? onRemove(current) : onSave())}
        >
          {current ? t.removeView : t.saveView}
        </button>
      )}
    </div>
  )
}

const EMPTY: OrderSearch = {
  status: undefined,
  search: undefined,
  from: undefined,
  to: undefined,
  paymentChannel: undefined,
  till: undefined,
  sort: undefined,
  managerEmail: undefined,
  columns: undefined,
  page: undefined,
}

export function OrderList() {
  const t = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const can = useCan()
  const canSell = useCanSell()
  const [address, goTo] = useAddress()
  const { company: _, ...search } = address
  const page = search.page ?? 1
  const query = { ...toQuery(search), ...useCompanyQuery(), page, limit: LIMIT }
  const orders = useApi('GET /api/next/confirm_conversion', { query }, page === 1 ? { liveMs: LIVE_MS } : {})
  const go = (change: OrderSearch): void => goTo(change, { replace: true })
  const isFiltered = Object.entries(search).some(
    ([name, value]) => name !== 'page' && name !== 'columns' && value !== undefined,
  )
  const actions = (
    <>
      {can('orders.download') && <Export search={search} />}
      {canSell && (
        <Link to="/orders/new" className="btn btn-fill max-lg:hidden">
          <Icon name="plus" />
          {core.nav.newOrder}
        </Link>
      )}
    </>
  )
  return (
    <Page title={t.title} lead={orders.data && t.count(formatCount(lang, orders.data.total))} actions={actions}>
      <Views search={search} go={go} />
      <div className="mb-4 flex flex-wrap items-start gap-2">
        <SearchBox
          value={search.search ?? ''}
          onChange={(text) => go({ search: text || undefined, page: undefined })}
        />
        <Filters search={search} go={go} onClear={() => go(EMPTY)} />
        <ColumnChoice columns={search.columns} onChoose={(columns) => go({ columns })} />
      </div>
      <div className="panel overflow-hidden" aria-busy={orders.isPlaceholderData}>
        <Loaded
          query={orders}
          isEmpty={(data) => data.orders.length === 0}
          empty={
            page > 1 && orders.data?.total ? (
              <PastEnd onPage={() => go({ page: undefined })} />
            ) : (
              <NoOrders isFiltered={isFiltered} onClear={() => go(EMPTY)} />
            )
          }
        >
          {(data) => (
            <>
              <OrderTable orders={data.orders} label={t.title} columns={columnsOf(search.columns)} />
              <Pager page={page} limit={LIMIT} total={data.total} onPage={(next) => go({ page: next })} />
            </>
          )}
        </Loaded>
      </div>
    </Page>
  )
}

function NoOrders({ isFiltered, onClear }: { isFiltered: boolean; onClear(): void }) {
  const t = useTexts(texts)
  if (!isFiltered)
    return (
      <Empty icon="list" title={t.empty}>
        {t.emptyText}
      </Empty>
    )
  return (
    <Empty icon="search" title={t.noMatch}>
      <button type="button" className="btn mt-2" onClick={onClear}>
        {t.clear}
      </button>
    </Empty>
  )
}
