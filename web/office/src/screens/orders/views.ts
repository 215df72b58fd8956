import { useState } from 'react'
import { stringifySearch } from '../../search.ts'

export const VIEWS = {
  all: '',
  open: 'INITIAL,PENDING,AWAITING,WAITING_CHAIN_CONFIRMATION',
  paid: 'PAID',
  refunds: 'REFUNDING,REFUNDED,FULL_REFUNDED',
  ended: 'CANCELLED,EXPIRED',
  trouble: 'ERROR,KYT_FAILED',
} as const

export type OrderSearch = {
  status?: string | undefined
  search?: string | undefined
  from?: string | undefined
  to?: string | undefined
  paymentChannel?: string | undefined
  till?: string | undefined
  sort?: string | undefined
  managerEmail?: string | undefined
  columns?: string | undefined
  page?: number | undefined
}

/** Days in the URL are days in the reader's time zone; the API takes instants. */
export const dayStart = (day: string | undefined): string | undefined =>
  day && !Number.isNaN(Date.parse(`${day}T00:00`)) ? new Date(`${day}T00:00`).toISOString() : undefined
export const dayEnd = (day: string | undefined): string | undefined =>
  day && !Number.isNaN(Date.parse(`${day}T00:00`)) ? new Date(`${day}T23:59:59.999`).toISOString() : undefined

/** The days of a period whose end is the first instant after it, as in the books. */
export function toPeriod({ from, to }: { from?: string | undefined; to?: string | undefined }) {
  const [start, last] = [dayStart(from), dayEnd(to)]
  const end = last && new Date(Date.parse(last) + 1).toISOString()
  return { ...(start ? { from: start } : {}), ...(end ? { to: end } : {}) }
}

export const toQuery = ({ status, from, to, page: _page, columns: _columns, sort, till, ...rest }: OrderSearch) => ({
  ...rest,
  ...(till ? { merchantIdentifier: till } : {}),
  ...(status ? { status: [status] } : {}),
  ...(dayStart(from) ? { from: dayStart(from) } : {}),
  ...(dayEnd(to) ? { to: dayEnd(to) } : {}),
  ...(sort ? { sort: sort as 'createdAt' } : {}),
})

type SavedView = { name: string; search: OrderSearch }
const KEY = 'order-views'

function read(): SavedView[] {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '[]') as SavedView[]
    return Array.isArray(kept) ? kept : []
  } catch {
    return []
  }
}

/** Named filters that a person saves in this browser. */
export function useSavedViews() {
  const [views, setViews] = useState(read)
  const keep = (next: SavedView[]): void => {
    localStorage.setItem(KEY, JSON.stringify(next))
    setViews(next)
  }
  return {
    views,
    save: (name: string, search: OrderSearch) =>
      keep([...read().filter((view) => view.name !== name), { name, search: { ...search, page: undefined } }]),
    remove: (name: string) => keep(read().filter((view) => view.name !== name)),
    find: (search: OrderSearch) =>
      views.find((view) => stringifySearch(view.search) === stringifySearch({ ...search, page: undefined })),
  }
}
