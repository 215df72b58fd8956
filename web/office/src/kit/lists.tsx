import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useAddress, useTyped } from '../frame/address.ts'
import { useCore } from '../texts/lang.ts'
import { Field } from './fields.tsx'
import { LIVE_MS } from './live.ts'
import { Loaded, Pager, PastEnd, TableFrame } from './parts.tsx'
import { usePage } from './Tabs.tsx'

/** Rows of one panel, cards below each other, or cards in two columns on wide screens. */
const LOOKS = {
  rows: ['panel', 'divide-y divide-line'],
  cards: ['', 'space-y-4'],
  grid: ['', 'grid gap-4 lg:grid-cols-2'],
} as const

type Query<Data> = { data: Data | undefined; error: unknown; refetch(): unknown }

type PagedListProps<Data, Row> = {
  query: Query<Data>
  rows(data: Data): readonly Row[]
  keyOf(row: Row): string
  total(data: Data): number
  limit: number
  look: keyof typeof LOOKS
  empty: ReactNode
  children(row: Row): ReactNode
}

/** A list whose page is kept in the URL. */
export function PagedList<Data, Row>(props: PagedListProps<Data, Row>) {
  const { query, rows, keyOf, total, limit, look, empty, children } = props
  const [page, setPage] = usePage()
  const [frame, list] = LOOKS[look]
  const isPast = page > 1 && query.data !== undefined && total(query.data) > 0
  return (
    <div className={frame}>
      <Loaded
        query={query}
        isEmpty={(data) => rows(data).length === 0}
        empty={isPast ? <PastEnd onPage={setPage} /> : empty}
      >
        {(data) => (
          <>
            <ul className={list}>
              {rows(data).map((row) => (
                <li key={keyOf(row)}>{children(row)}</li>
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total(data)} onPage={setPage} />
          </>
        )}
      </Loaded>
    </div>
  )
}

type TurnProps = { page: number; isLast: boolean; onPage(page: number): void }

/** Of a list without a total: a full page may be followed by another. */
export function Turn({ page, isLast, onPage }: TurnProps) {
  const core = useCore()
  if (page === 1 && isLast) return null
  return (
    <p className="no-print mt-4 flex justify-between gap-3">
      <button type="button" className="btn" disabled={page === 1} onClick={() => onPage(page - 1)}>
        {core.previous}
      </button>
      <button type="button" className="btn" disabled={isLast} onClick={() => onPage(page + 1)}>
        {core.next}
      </button>
    </p>
  )
}

type EndlessProps<Page, Row> = {
  queryKey: QueryKey
  ask(before: string | undefined, signal: AbortSignal): Promise<Page>
  nextOf(page: Page): string | null
  rowsOf(page: Page): readonly Row[]
  keyOf(row: Row): string
  older: string
  empty: ReactNode
  isLive?: boolean
  children(row: Row): ReactNode
}

/** A log, newest first, with more on demand. While older rows are open it is not refetched. */
export function EndlessList<Page, Row>(props: EndlessProps<Page, Row>) {
  const { queryKey, ask, nextOf, rowsOf, keyOf, older, empty, isLive, children } = props
  const log = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => ask(pageParam || undefined, signal),
    initialPageParam: '',
    getNextPageParam: nextOf,
    refetchInterval: ({ state }) => (isLive && (state.data?.pages.length ?? 0) <= 1 ? LIVE_MS : false),
  })
  const rows = { ...log, data: log.data?.pages.flatMap(rowsOf) }
  return (
    <div className="panel">
      <Loaded query={rows} isEmpty={(list) => list.length === 0} empty={empty}>
        {(list) => (
          <ul className="divide-y divide-line">
            {list.map((row) => (
              <li key={keyOf(row)}>{children(row)}</li>
            ))}
          </ul>
        )}
      </Loaded>
      {log.hasNextPage && (
        <p className="border-t border-line p-3 text-center">
          <button type="button" className="btn" onClick={() => void log.fetchNextPage()}>
            {older}
          </button>
        </p>
      )}
    </div>
  )
}

/** An expandable line of a log. */
export const LogRow = ({ head, children }: { head: ReactNode; children: ReactNode }) => (
  <details>
    <summary className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm hover:bg-sunken">
      {head}
    </summary>
    <div className="px-4 pb-4">{children}</div>
  </details>
)

type Filter = { name: 'action' | 'actor' | 'object' | 'request' | 'search'; label: string; hint?: string | undefined }

function FilterField({ name, label, hint }: Filter) {
  const [address, go] = useAddress()
  const { value, setTyped } = useTyped(address[name] ?? '')
  return (
    <Field
      label={label}
      type="search"
      maxLength={100}
      value={value}
      placeholder={hint}
      onChange={({ target }) => {
        setTyped(target.value)
        go({ [name]: target.value.trim() || undefined, page: undefined }, { replace: true })
      }}
      onBlur={() => setTyped(null)}
    />
  )
}

/** Text filters, kept in the URL. On a phone, more than one are behind a button. */
export function FilterRow({ filters }: { filters: readonly Filter[] }) {
  const core = useCore()
  const [address] = useAddress()
  const [isOpen, setOpen] = useState(filters.some(({ name }) => address[name] !== undefined))
  const fields = filters.map((filter) => <FilterField key={filter.name} {...filter} />)
  if (filters.length === 1) return <div className="max-w-md">{fields}</div>
  return (
    <>
      <button type="button" className="btn mb-4 sm:hidden" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {core.filters}
      </button>
      <div className={`gap-x-3 sm:grid sm:grid-cols-3 ${isOpen ? '' : 'max-sm:hidden'}`}>{fields}</div>
    </>
  )
}

export type Column<Row> = {
  head: string
  /** Numbers are right-aligned. */
  isNumber?: boolean
  /** From which screen width on it is shown, and its own width. */
  width?: string
  cell(row: Row): ReactNode
}

/** A table that scrolls inside its panel. */
export function Table<Row>(props: {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string
}) {
  const { label, columns, rows, keyOf } = props
  const side = ({ isNumber, width = '' }: Column<Row>): string => `${isNumber ? 'num text-right' : ''} ${width}`
  return (
    <TableFrame label={label}>
      <table className="table">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" className={side(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.head} className={side(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  )
}

/** Buttons for what this person may do here; each opens its own dialog. */
export function Offers<Ask extends string>(props: {
  offers: readonly (readonly [Ask, boolean])[]
  words: Record<NoInfer<Ask>, string>
  onAsk(ask: NoInfer<Ask>): void
  children?: ReactNode
}) {
  const { offers, words, onAsk, children } = props
  return (
    <div className="flex flex-wrap gap-2">
      {children}
      {offers.map(([name, isOffered]) =>
        isOffered ? (
          <button key={name} type="button" className="btn" onClick={() => onAsk(name)}>
            {words[name]}
          </button>
        ) : null,
      )}
    </div>
  )
}
