import { useState } from 'react'
import { dayEnd, dayStart } from '../../kit/days.ts'
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
