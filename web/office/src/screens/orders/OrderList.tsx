import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCanSell, useCompanyQuery } from '../../frame/company.tsx'
import { formatCount } from '../../kit/format.ts'
import { Icon } from '../../kit/icons.tsx'
import { LIVE_MS } from '../../kit/live.ts'
import { Empty, Loaded, Notice, Page, Pager, PastEnd } from '../../kit/parts.tsx'
import { say } from '../../kit/toasts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { ColumnChoice, columnsOf } from './Columns.tsx'
import { Export } from './Export.tsx'
import { Filters } from './Filters.tsx'
import { OrderTable } from './OrderTable.tsx'
import { isWhole, usePayerSearch } from './payer-search.ts'
import { payerTexts } from './payer-texts.ts'
import { texts } from './texts.ts'
import { type OrderSearch, toQuery, useSavedViews, VIEWS } from './views.ts'

const LIMIT = 25
/** Debounce: pause in typing before the list is queried. */
const TYPING_MS = 250
/** An address that is half typed is another one, and each search for one is in the audit log. */
const TYPING_ADDRESS_MS = 1000
/** Of a search, as the API takes it; and of an address. */
const [MAX_TEXT, MAX_ADDRESS] = [100, 254]

type SearchProps = { value: string; mayFindPayers: boolean; onChange(text: string): void }

function SearchBox({ value, mayFindPayers, onChange }: SearchProps) {
  const t = useTexts(texts)
  const ofPayers = useTexts(payerTexts)
  const label = mayFindPayers ? ofPayers.searchLabel : t.searchLabel
  const [text, setText] = useState(value)
  const known = useRef(value)
  useEffect(() => {
    if (value !== known.current) {
      known.current = value
      setText(value)
    }
  }, [value])
  const search = (typed: string): void => {
    const whole = typed.trim()
    // what the URL then holds is no news that replaces a longer text
    const asked = mayFindPayers && isWhole(whole) ? whole : whole.slice(0, MAX_TEXT)
    if (asked === known.current) return
    known.current = asked
    onChange(asked)
  }
  const isAddress = mayFindPayers && text.includes('@')
  const searchLater = useRef(search)
  searchLater.current = search
  useEffect(() => {
    // a part of an address finds nobody, and its text would stand in the URL: only Enter searches it
    if (isAddress && !isWhole(text.trim())) return
    const timer = setTimeout(() => searchLater.current(text), isAddress ? TYPING_ADDRESS_MS : TYPING_MS)
    return () => clearTimeout(timer)
  }, [text, isAddress])
  return (
    <div className="relative min-w-52 grow">
      <span className="pointer-events-none absolute top-2.5 left-3 text-soft">
        <Icon name="search" />
      </span>
      <input
        data-search
        type="search"
        className="input pl-10"
        maxLength={mayFindPayers ? MAX_ADDRESS : MAX_TEXT}
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === 'Enter' && search(text)}
      />
    </div>
  )
}

type ViewProps = {
  search: OrderSearch
  go(change: OrderSearch): void
  /** Of everyone's orders, not a payer's. */
  goAll(change: OrderSearch): void
}

function Views({ search, go, goAll }: ViewProps) {
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
          onClick={() => goAll({ ...EMPTY, ...view.search })}
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

const filters = (search: OrderSearch): boolean =>
  Object.entries(search).some(([name, value]) => name !== 'page' && name !== 'columns' && value !== undefined)

/** A page of the list. Of a payer it is not refreshed by itself: the service records each answer. */
function useOrders(search: OrderSearch, payerEmail: string | undefined) {
  const { page = 1 } = search
  const { search: text, ...filter } = toQuery(search)
  const shared = { ...filter, ...useCompanyQuery(), page, limit: LIMIT }
  const isAll = payerEmail === undefined
  const all = useApi(
    'GET /api/next/confirm_conversion',
    { query: { ...shared, search: text } },
    { enabled: isAll, ...(page === 1 && { liveMs: LIVE_MS }) },
  )
  const ofPayer = useApi(
    'POST /api/next/confirm_conversion/search',
    { body: { ...shared, payerEmail: payerEmail ?? '' } },
    { enabled: !isAll, isNoted: true },
  )
  return isAll ? all : ofPayer
}

/** What the list shows, and how that is changed: by a filter, for everyone's orders again, by a typed text. */
function useSearching() {
  const [{ company: _, ...search }, goTo] = useAddress()
  const payer = usePayerSearch()
  const go = (change: OrderSearch): void => goTo(change, { replace: true })
  const goAll = (change: OrderSearch): void => goTo(change, { replace: true, state: {} })
  const onSearch = (text: string): void => {
    const found = payer.read(text)
    if (found) goTo({ search: undefined, page: undefined }, { replace: true, state: { payer: found } })
    else goAll({ search: text || undefined, page: undefined })
  }
  return { search, payer, go, goAll, onSearch }
}

export function OrderList() {
  const t = useTexts(texts)
  const ofPayers = useTexts(payerTexts)
  const core = useCore()
  const lang = useLang()
  const can = useCan()
  const canSell = useCanSell()
  const { search, payer, go, goAll, onSearch } = useSearching()
  const page = search.page ?? 1
  const payerEmail = payer.email
  const orders = useOrders(search, payerEmail)
  const isPartial =
    payerEmail !== undefined && orders.data !== undefined && 'complete' in orders.data && !orders.data.complete
  const actions = (
    <>
      {can('orders.download') && payerEmail === undefined && <Export search={search} />}
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
      <Views search={search} go={go} goAll={goAll} />
      <div className="mb-4 flex flex-wrap items-start gap-2">
        <SearchBox value={payerEmail ?? search.search ?? ''} mayFindPayers={payer.mayFind} onChange={onSearch} />
        <Filters search={search} go={go} onClear={() => goAll(EMPTY)} />
        <ColumnChoice columns={search.columns} onChoose={(columns) => go({ columns })} />
      </div>
      {payerEmail !== undefined && (
        <p role="status" className="mb-3 font-medium break-all">
          {ofPayers.ordersOf(payerEmail)}
        </p>
      )}
      {isPartial && <Notice tone="warn">{ofPayers.incomplete}</Notice>}
      <div className="panel overflow-hidden" aria-busy={orders.isPlaceholderData}>
        <Loaded
          query={orders}
          isEmpty={(data) => data.orders.length === 0}
          empty={
            page > 1 && orders.data?.total ? (
              <PastEnd onPage={() => go({ page: undefined })} />
            ) : payerEmail === undefined ? (
              <NoOrders isFiltered={filters(search)} onClear={() => goAll(EMPTY)} />
            ) : (
              <NoOrdersOf
                email={payerEmail}
                onText={() => goAll({ search: payerEmail.slice(0, MAX_TEXT) })}
                onClear={filters(search) ? () => go(EMPTY) : undefined}
              />
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

/** A reference may look like an address, so its text can still be searched. */
function NoOrdersOf({ email, onText, onClear }: { email: string; onText(): void; onClear: (() => void) | undefined }) {
  const t = useTexts(payerTexts)
  const all = useTexts(texts)
  if (onClear)
    return (
      <Empty icon="search" title={all.noMatch}>
        <button type="button" className="btn mt-2" onClick={onClear}>
          {all.clear}
        </button>
      </Empty>
    )
  return (
    <Empty icon="search" title={t.none(email)}>
      <p>{t.noneText}</p>
      <button type="button" className="btn mt-2" onClick={onText}>
        {t.asText}
      </button>
    </Empty>
  )
}
